"""Tidy tables behind the figures of the learning tasks (Demircan et al. 2024).

Each function takes `tables`, the inputs of the figure by their names in
`trialwise.summary.figures.alignment_catalogue`, and `settings`:

- ``versions``: protocols of computed models, or the version of published ones; figures
  with one value per model show the first;
- ``scalings``: per protocol and task, how features are scaled;
- ``names, types``: of registered models, by id; others keep their id as name;
- ``n_resamples, seed``: of bootstrap intervals.

A column ``source`` says whether a row was computed or published.
"""

import numpy as np
import pandas as pd

from trialwise.choices.people import TASKS
from trialwise.consistency.intervals import draw
from trialwise.stimuli import object_name
from trialwise.summary.alignment_effects import SLIP
from trialwise.summary.correlations import CORRELATIONS, in_subset
from trialwise.summary.figures.style import COMPUTED, PUBLISHED

MEASURES = {
    "r2": "McFadden's R² (mean of tasks)",
    "mcfadden_r2": "McFadden's R²",
    "choice_accuracy": "share of choices predicted",
    "task_accuracy": "task accuracy",
    "parameters": "parameters (million)",
    "training_images": "training images (million)",
    "class_separation": "class separation",
    "cka": "CKA with Task",
    "intrinsic_dimensionality": "intrinsic dimensionality",
    "odd_one_out_zero_shot": "odd one out, zero-shot (share)",
    "odd_one_out_probing": "odd one out, probing (share)",
    "peterson": "similarity judgements ($\\rho$)",
    "nights": "forced choices predicted (share)",
    "clickme": "ClickMe maps ($\\rho$)",
}
MODELS, STATISTICS = "summary/models", "summary/factors"
PEOPLE = "people"
METHODS = ("Harmonization", "DreamSim", "gLocal")
# A panel of learning curves stays legible with so many.
CURVES = 5
CURVE_COLUMNS = [
    *("source", "protocol", "task", "model", "type"),
    *("trial", "accuracy", "ci_low", "ci_high"),
]
_NO_INTERVAL = {"ci_low": np.nan, "ci_high": np.nan}
OBJECTIVES = {"clip": "CLIP", "simclr": "SimCLR", "slip": "SLIP"}
OWNERS, SIDES = {0: "Folty", 1: "Julty"}, {0: "left", 1: "right"}
EXAMPLES = 6


def tabulate_curves(tables, settings):
    """People by trial, and learners in blocks, computed and printed (Fig. 2).

    Of each task at most `CURVES` models are shown: those whose curves are printed, then
    those that learn best under the last protocol. Printed curves belong to the protocol
    ``published`` and are kept for the models that were computed; without computed
    curves all are.
    """
    printed = _printed_curves(tables["printed-curves"], settings)
    if "learners/curves" not in tables:
        return printed[CURVE_COLUMNS]
    curves = _describe(tables["learners/curves"], settings)
    curves = curves[curves["learner"] == "main"]
    *_, last = settings["scalings"].values()
    rows = [_people_curves(tables)]
    for protocol, scalings in settings["scalings"].items():
        for task in TASKS:
            own = curves[curves["task"] == task]
            best = own[own["scaling"] == last[task]]
            shown = _most_telling(best, printed[printed["task"] == task]["model"])
            own = own[(own["scaling"] == scalings[task]) & own["name"].isin(shown)]
            own = own.drop(columns="model").rename(
                columns={"name": "model", "block_start": "trial"}
            )
            rows.append(own.assign(protocol=protocol))
    computed = pd.concat(rows).assign(source=COMPUTED)
    both = ["protocol", "task", "model"]
    kept = printed.merge(computed[both].drop_duplicates(), on=both)
    return pd.concat([computed, kept], ignore_index=True)[CURVE_COLUMNS]


def _printed_curves(table, settings):
    table = _describe(table, settings).drop(columns="model")
    table = table.rename(columns={"block_start": "trial", "name": "model"})
    constant = {"protocol": "published", "source": PUBLISHED}
    return table.assign(**constant, **_NO_INTERVAL)


def _people_curves(tables):
    rows = []
    for task in TASKS:
        own = tables[f"choices/people/{task}-by-trial"]
        columns = own[["trial", "mean", "ci_low", "ci_high"]]
        columns = columns.rename(columns={"mean": "accuracy"})
        columns[["protocol", "model", "type"]] = PEOPLE
        rows.append(columns.assign(task=task))
    return pd.concat(rows)


def _most_telling(curves, printed):
    best = curves.groupby("name")["accuracy"].mean().rename("accuracy").reset_index()
    best["printed"] = best["name"].isin(printed)
    best = best.sort_values(["printed", "accuracy"], ascending=False, kind="stable")
    return best["name"].head(CURVES)


def _describe(table, settings):
    types = table["model"].map(lambda model: settings["types"].get(model, "other"))
    return table.assign(name=_names(table["model"], settings), type=types)


def _names(models, settings):
    return models.map(lambda model: settings["names"].get(model, model))


def tabulate_alignment(tables, settings):
    """McFadden's R2 of every model in each task (Fig. 3)."""
    values = {task: f"{task}_r2" for task in TASKS}
    return _by_model(tables, settings, values, "mcfadden_r2")


def tabulate_choice_accuracy(tables, settings):
    """Share of people's choices that every model predicts (Fig. 10).

    ``rho, p, n`` say how it goes with R2 over the models of the first version.
    """
    values = {task: f"{task}_choice_accuracy" for task in TASKS}
    table = _by_model(tables, settings, values, "choice_accuracy")
    correlations = _statistics(tables, settings, "Fig. 10", "Spearman correlation")
    correlations["task"] = correlations["outcome"].str.removesuffix("_r2")
    correlations = correlations.rename(columns={"value": "rho"})
    return table.merge(correlations[["task", "rho", "p", "n"]], on="task", how="left")


def _by_model(tables, settings, values, measure):
    rows = []
    for version in settings["versions"]:
        models = _models(tables, settings, version)
        for task, column in values.items():
            known = models[models[column].notna()]
            rows.append(
                pd.DataFrame(
                    {
                        "source": known["source"],
                        "protocol": version,
                        "task": task,
                        "model": known["name"],
                        "type": known["type"],
                        "measure": measure,
                        "value": known[column],
                    }
                )
            )
    return pd.concat(rows, ignore_index=True)


def _models(tables, settings, version):
    models = tables[MODELS]
    models = models[models["version"] == version]
    return _describe(models, settings)


def _statistics(tables, settings, item, *kinds):
    """The statistics of one figure for the first version, of the named kinds."""
    statistics = tables[STATISTICS]
    return statistics[
        (statistics["item"] == item)
        & (statistics["version"] == settings["versions"][0])
        & statistics["statistic"].isin(kinds)
    ].copy()


def tabulate_gain(tables, settings):
    """Gain over truth of the main learner, with standard errors over participants."""
    scores = tables["choices/scores"]
    first = scores["protocol"] == settings["versions"][0]
    own = _describe(scores[first & (scores["learner"] == "main")], settings)
    return pd.DataFrame(
        {
            "source": COMPUTED,
            "protocol": own["protocol"],
            "task": own["task"],
            "model": own["name"],
            "type": own["type"],
            "value": own["gain_over_truth"],
            "standard_error": own["gain_se"],
        }
    )


def tabulate_correlates(tables, settings, figure):
    """Alignment and one property of models in each panel (Figs. 4 and 8).

    `figure` is the number in the paper; its panels, and the models that belong to each,
    are those of `trialwise.summary.correlations.CORRELATIONS`.
    """
    models = _models(tables, settings, settings["versions"][0])
    rows = []
    for item, outcome, predictor, subset in panels_of(figure):
        own = models[in_subset(models, subset)]
        own = own.dropna(subset=[outcome, predictor])
        statistic = _statistics(tables, settings, item, "Spearman correlation")
        statistic = statistic[statistic["subset"] == subset].iloc[0]
        rows.append(
            pd.DataFrame(
                {
                    "source": own["source"],
                    "item": item,
                    "measure": predictor,
                    "model": own["name"],
                    "type": own["type"],
                    "value": own[predictor],
                    "r2": own[outcome],
                    "rho": statistic["value"],
                    "p": statistic["p"],
                    "n": statistic["n"],
                }
            )
        )
    return pd.concat(rows, ignore_index=True)


def panels_of(figure):
    """Item, outcome, predictor and models of each panel, one per item."""
    panels = {}
    for row in CORRELATIONS:
        if row[0].rstrip("ABCDEF") == figure:
            panels.setdefault(row[0], row)
    return list(panels.values())


def tabulate_types(tables, settings):
    """Intrinsic dimensionality and alignment within each type of model (Fig. 5)."""
    own = _statistics(tables, settings, "Fig. 5", "Spearman correlation")
    own = own.rename(columns={"subset": "type", "value": "rho"})
    return own[["source", "type", "n", "rho", "p", "ci_low", "ci_high"]]


def tabulate_objectives(tables, settings):
    """Networks that differ in their objective alone, by size (Fig. 6).

    Means over the participants of both tasks, where accuracies are known by task, and
    otherwise over tasks; for computed models with bootstrap intervals over
    participants.
    """
    kinds = ("mean over participants", "mean over tasks")
    own = _statistics(tables, settings, "Fig. 6", *kinds).dropna(subset=["value"])
    own = own.sort_values("statistic", key=lambda column: column.map(kinds.index))
    own = own.drop_duplicates(["outcome", "model"])
    parts = own["model"].str.extract(SLIP)
    limits = [_interval(tables, settings, row) for row in own.itertuples()]
    low, high = np.reshape(limits, (-1, 2)).T
    table = pd.DataFrame(
        {
            "source": own["source"],
            "measure": own["outcome"],
            "statistic": own["statistic"],
            "objective": parts["loss"].map(OBJECTIVES),
            "size": parts["size"].str.capitalize(),
            "value": own["value"],
            "ci_low": low,
            "ci_high": high,
        }
    )
    return table.sort_values(["measure", "objective", "size"])


def _interval(tables, settings, row):
    if "choices/participants" not in tables:
        return np.nan, np.nan
    people = tables["choices/participants"]
    own = people[
        (people["protocol"] == row.version)
        & (people["learner"] == "main")
        & (people["model"] == row.model)
    ]
    values = own["mcfadden_r2" if row.outcome == "r2" else row.outcome].to_numpy()
    rng = np.random.default_rng(settings["seed"])
    n = len(values)
    weights = draw(n, settings["n_resamples"], rng)
    return np.quantile(weights @ values / n, [0.025, 0.975])


def tabulate_differences(tables, settings, figure):
    """Aligned models minus those they come from, by method (Figs. 7 and 11)."""
    own = _statistics(tables, settings, figure, "difference").dropna(subset=["value"])
    methods = list(METHODS)
    own = own.sort_values(
        "subset", key=lambda column: column.map(methods.index), kind="stable"
    )
    bases = tables[MODELS].drop_duplicates("model").set_index("model")["baseline"]
    return pd.DataFrame(
        {
            "source": own["source"],
            "method": own["subset"],
            "model": _names(own["model"], settings),
            "base": _names(own["model"].map(bases), settings),
            "measure": own["outcome"],
            "difference": own["value"],
        }
    )


def tabulate_tests(tables, settings):
    """A t-test against chance for every trial (Fig. 12)."""
    rows = []
    for task in TASKS:
        own = tables[f"choices/people/{task}-by-trial"]
        own = own[["trial", "n", "mean", "t", "p"]]
        rows.append(own.assign(source=COMPUTED, task=task))
    table = pd.concat(rows, ignore_index=True)
    return table[["source", "task", "trial", "n", "mean", "t", "p"]]


def tabulate_examples(tables, settings):
    """The first trials of one participant in each task, objects by name (Fig. 13)."""
    category = _first_trials(tables["choices/people/category"])
    reward = _first_trials(tables["choices/people/reward"])
    identity = ["participant", "dimension", "trial", "correct"]
    rows = [
        category[identity].assign(
            task="category",
            left_object=category["image"].map(object_name),
            owner=category["true_category_binary"].map(OWNERS),
            choice=category["choice"].map(OWNERS),
        ),
        reward[identity].assign(
            task="reward",
            left_object=reward["left_image"].map(object_name),
            right_object=reward["right_image"].map(object_name),
            left_reward=reward["left_reward"],
            right_reward=reward["right_reward"],
            choice=reward["choice"].map(SIDES),
        ),
    ]
    table = pd.concat(rows, ignore_index=True).assign(source=COMPUTED)
    return table[["source", "task", *table.columns.drop(["source", "task"])]]


def _first_trials(trials):
    first = trials["participant"] == trials["participant"].iloc[0]
    return trials[first].head(EXAMPLES)


def tabulate_matrix(tables, settings):
    """Rank correlations between properties of models, each pair once (Fig. 14)."""
    own = _statistics(tables, settings, "Fig. 14", "Spearman correlation")
    own = own.rename(
        columns={"outcome": "first", "predictor": "second", "value": "rho"}
    )
    return own[["source", "first", "second", "rho", "p", "n"]]
