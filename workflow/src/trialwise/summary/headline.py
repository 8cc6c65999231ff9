"""What a study has found, as tables of a report: gains, kappas, protocols."""

import pandas as pd

from trialwise.consistency import ALL_TRIALS
from trialwise.summary.grid import Grid
from trialwise.summary.numbers import NONE, fixed, interval
from trialwise.summary.protocols import MODEL, PREDICTED, label_step
from trialwise.trials import members

PROTOCOL, LEARNER, BASELINE, TRUTH = "comparable", "main", "baseline", "truth"
# Half the width of a 95 % interval in standard errors.
Z = 1.959964
# Comparisons of an experiment and models that stand above the fold.
N_COMPARISONS, N_MODELS = 3, 12
# Share of undefined bootstrap samples above which they are mentioned.
MANY_UNDEFINED = 0.01


def gains(tables):
    """Gain over truth of each model under the protocol to compare models with.

    Parameters
    ----------
    tables : dict of str to pandas.DataFrame
        ``choices/scores``, see `trialwise.choices.scores.score_table`.

    Returns
    -------
    dict or None
        `protocol`, `evaluation` in words, `grid` of the leading models and `others`,
        `n_models`, and `tasks` with `n_participants`, `n_trials` and `n_above`: models
        more than `Z` standard errors above zero.
    """
    scores = tables.get("choices/scores")
    if scores is None or LEARNER not in set(scores["learner"]):
        return None
    used = scores["protocol"].unique()
    protocol = PROTOCOL if PROTOCOL in used else used[0]
    scores = scores[scores["protocol"] == protocol]
    own = scores[scores["learner"] == LEARNER].set_index(["model", "task"])
    truth = scores[scores["model"] == TRUTH].set_index("task")
    tasks = list(truth.index)
    ranked = own["gain_over_truth"].groupby("model").mean()
    models = ranked.sort_values(ascending=False, kind="stable").index
    columns = ("gain ± SE", "McFadden R²", "learner right")
    head = ("Model", *(f"{task}: {column}" for task in tasks for column in columns))
    rows = tuple(
        (model, *(cell for task in tasks for cell in _gain_cells(own, model, task)))
        for model in models
    )
    baseline = ["right answer alone"]
    for task in tasks:
        baseline += [NONE, fixed(truth.loc[task, "mcfadden_r2"]), fixed(1.0)]
    caption = (
        f"Gain over truth in nats per trial, protocol {protocol}, learner {LEARNER}"
    )
    leading, others = Grid(caption, head, (("", rows),)).split(
        N_MODELS, "The other models"
    )
    bodies = (*leading.bodies, ("Baseline", (tuple(baseline),)))
    low = own["gain_over_truth"] - Z * own["gain_se"]
    return {
        "protocol": protocol,
        "evaluation": PREDICTED[scores["evaluation"].iloc[0]],
        "grid": Grid(caption, head, bodies),
        "others": others,
        "n_models": len(models),
        "has_generative": MODEL in models,
        "tasks": {
            task: {
                "n_participants": int(truth.loc[task, "n_participants"]),
                "n_trials": int(truth.loc[task, "n_trials"]),
                "n_above": int((low.xs(task, level="task") > 0).sum()),
            }
            for task in tasks
        },
    }


def _gain_cells(scores, model, task):
    if (model, task) not in scores.index:
        return [NONE] * 3
    row = scores.loc[(model, task)]
    return [
        f"{fixed(row['gain_over_truth'], 4)} ± {fixed(row['gain_se'], 4)}",
        fixed(row["mcfadden_r2"]),
        fixed(row["learner_accuracy"]),
    ]


def kappas(tables, experiments, groups, n_resamples):
    """Mean kappa of each comparison, its interval and its ceiling.

    Parameters
    ----------
    tables : dict of str to pandas.DataFrame
        ``consistency/{experiment}/groups`` and ``.../pairs``, see
        `trialwise.consistency.comparisons.compare_observers`.
    experiments : dict of str to dict
        `comparisons`, each two names of groups, by experiment.
    groups : dict of str to list of str
        Patterns of observer names.
    n_resamples : int

    Returns
    -------
    dict or None
        `grid` of the leading comparisons of each experiment and `others`; `undefined`,
        comparisons many of whose bootstrap samples are undefined, with their number;
        `groups`, those that appear.
    """
    bodies, undefined, appearing = [], [], []
    for name, experiment in experiments.items():
        if f"consistency/{name}/groups" not in tables:
            continue
        means = tables[f"consistency/{name}/groups"]
        means = means[means["variant"] == ALL_TRIALS].set_index("comparison")
        pairs = tables[f"consistency/{name}/pairs"]
        rows = []
        for first, second in experiment["comparisons"]:
            row = means.loc[f"{first}-{second}"]
            label = label_comparison(first, second)
            top = ceiling(pairs, groups[first], groups[second])
            rows.append(
                (
                    *(label, str(int(row["n_pairs"])), fixed(row["mean"])),
                    *(interval(row["ci_low"], row["ci_high"]), fixed(top)),
                    fixed(row["h_mean"], 2),
                )
            )
            if row["n_undefined"] > MANY_UNDEFINED * n_resamples:
                undefined.append(f"{name}, {label}: {int(row['n_undefined']):,}")
            appearing += [group for group in (first, second) if group not in appearing]
        bodies.append((name, tuple(rows)))
    if not bodies:
        return None
    head = ("Comparison", "pairs", "kappa", "95 % interval", "ceiling")
    grid = Grid(
        "Mean error consistency of pairs of observers",
        (*head, "share of ceiling"),
        tuple(bodies),
    )
    leading, others = grid.split(N_COMPARISONS, "Further comparisons")
    return {
        "grid": leading,
        "others": others,
        "undefined": undefined,
        "groups": {name: ", ".join(groups[name]) for name in appearing},
    }


def label_comparison(first, second):
    """Two groups of observers in words."""
    one, other = ("people" if name == "human" else name for name in (first, second))
    return f"{one} among themselves" if first == second else f"{one} with {other}"


def ceiling(pairs, first, second):
    """Mean over the pairs of two groups of the largest kappa their accuracies allow.

    Parameters
    ----------
    pairs : pandas.DataFrame
        From `trialwise.consistency.comparisons.compare_observers`.
    first, second : list of str
        Patterns of observer names.

    Returns
    -------
    float
    """
    pairs = pairs[pairs["variant"] == ALL_TRIALS]
    observers = sorted({*pairs["observer_i"], *pairs["observer_j"]})
    one, other = members(first, observers), members(second, observers)
    i, j = pairs["observer_i"], pairs["observer_j"]
    chosen = (i.isin(one) & j.isin(other)) | (i.isin(other) & j.isin(one))
    return pairs.loc[chosen, "kappa_max"].mean()


def recovered(tables, experiments):
    """What observers and people were simulated with, beside what was estimated.

    Parameters
    ----------
    tables : dict of str to pandas.DataFrame
        ``consistency/{experiment}/recovery``, ``choices/recovery`` and
        ``consistency/coverage``, those there are.
    experiments : dict of str to dict
        See `kappas`.

    Returns
    -------
    list of Grid
    """
    grids = []
    for name, experiment in experiments.items():
        if f"consistency/{name}/recovery" in tables:
            labels = {
                "-".join(pair): label_comparison(*pair)
                for pair in experiment["comparisons"]
            }
            table = tables[f"consistency/{name}/recovery"]
            grids.append(_kappa_recovery(name, table, labels))
    if "choices/recovery" in tables:
        grids.append(_choice_recovery(tables["choices/recovery"]))
    if "consistency/coverage" in tables:
        rows = tuple(
            (row.interval, str(row.worlds), fixed(100 * row.coverage, 1))
            for row in tables["consistency/coverage"].itertuples()
        )
        head = ("Interval", "simulated experiments", "holds the truth (%)")
        caption = "How often 95 % intervals of a mean kappa hold the truth"
        grids.append(Grid(caption, head, (("", rows),)))
    return grids


def _kappa_recovery(experiment, table, labels):
    rows = tuple(
        (
            *(labels[row.comparison], fixed(row.true), fixed(row.estimated)),
            *(interval(row.ci_low, row.ci_high), "yes" if row.covered else "no"),
        )
        for row in table.itertuples()
    )
    head = ("Comparison", "true kappa", "estimate", "95 % interval", "holds the truth")
    caption = f"Kappa of simulated observers, experiment {experiment}"
    return Grid(caption, head, (("", rows),))


def _choice_recovery(table):
    bodies = tuple(
        (
            f"{task} task: {own['ranked_first'].iloc[0]} predicts choices best",
            tuple(
                (
                    *(row.parameter, fixed(row.true), fixed(row.estimate)),
                    fixed(row.standard_error),
                )
                for row in own.itertuples()
            ),
        )
        for task, own in table.groupby("task")
    )
    head = ("Parameter", "true", "estimate", "SE")
    return Grid("Choice model of simulated people", head, bodies)


def protocols(tables):
    """How far the protocols move likelihood and gain.

    Parameters
    ----------
    tables : dict of str to pandas.DataFrame
        ``choices/scores``, and ``summary/protocol-steps/{task}`` and
        ``choices/penalty`` where there are.

    Returns
    -------
    dict or None
        `grid` of the leading models and `others`, `steps` (a grid or None), `penalty`
        (numbers or None), and `alt`: the likelihoods of the generative features in
        words.
    """
    scores = tables.get("choices/scores")
    if scores is None or LEARNER not in set(scores["learner"]):
        return None
    if scores["protocol"].nunique() == 1:
        return None
    scores = scores[(scores["learner"] == LEARNER) | (scores["model"] == TRUTH)]
    used = list(scores["protocol"].unique())
    bodies = []
    for task, own in scores.groupby("task", sort=False):
        nll = own.pivot(index="model", columns="protocol", values="nll")
        gain = own.pivot(index="model", columns="protocol", values="gain_over_truth")
        models = nll[used[-1]].drop(TRUTH).sort_values(kind="stable").index
        nothing = [float("nan")] * len(used)
        rows = [("right answer alone", *nll.loc[TRUTH, used], *nothing)]
        rows += [(name, *nll.loc[name, used], *gain.loc[name, used]) for name in models]
        digits = [1] * len(used) + [4] * len(used)
        texts = tuple((row[0], *map(fixed, row[1:], digits)) for row in rows)
        bodies.append((task, texts))
    head = ("Model", *(f"{kind}, {name}" for kind in ("NLL", "gain") for name in used))
    caption = f"Negative log-likelihood (NLL) and gain over truth, learner {LEARNER}"
    leading, others = Grid(caption, head, tuple(bodies)).split(
        N_MODELS, "The other models"
    )
    generative = scores[scores["model"] == MODEL].set_index(["task", "protocol"])["nll"]
    return {
        "grid": leading,
        "others": others,
        "steps": _step_grid(tables),
        "penalty": _penalty(tables),
        "alt": "; ".join(
            f"{task} task, {name}: {value:.0f}"
            for (task, name), value in generative.items()
        ),
    }


def _step_grid(tables):
    steps = [table for name, table in tables.items() if "/protocol-steps/" in name]
    if not steps:
        return None
    bodies = tuple(
        (
            task,
            tuple(
                (
                    *(label_step(row), row.end, fixed(row.nll, 1)),
                    fixed(row.difference, 1) if row.start else NONE,
                )
                for row in own.itertuples()
            ),
        )
        for task, own in pd.concat(steps).groupby("task")
    )
    head = ("One change", "towards", "NLL", "difference")
    return Grid(f"From protocol to protocol, {MODEL}", head, bodies)


def _penalty(tables):
    table = tables.get("choices/penalty")
    if table is None or MODEL not in set(table["model"]):
        return None
    own = table[table["model"] == MODEL]
    return {
        "worst": own["nll"].max(),
        "best": own.loc[own["nll"].idxmin()],
        "right": own.loc[own["learner_accuracy"].idxmax()],
        "edges": own["share_ending"].iloc[0] + own["share_ending"].iloc[-1],
    }
