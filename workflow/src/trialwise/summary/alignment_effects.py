"""What training for alignment, or two losses at once, change in a network."""

import re

import numpy as np
import pandas as pd

from trialwise.summary.correlations import COLUMNS
from trialwise.summary.model_table import by_version

FIG_7 = ("r2", "task_accuracy", "class_separation", "cka", "intrinsic_dimensionality")
FIG_11 = ("r2", "peterson", "nights")
# Fig. 7 shows the networks of the first submission; Fig. 11 all.
NOT_IN_FIG_7 = ("dreamsim-dino-vitb16",)
SLIP = re.compile("^(?P<loss>slip|clip|simclr)-slip-(?P<size>small|base|large)$")
STEPS = (("slip", "clip"), ("clip", "simclr"), ("slip", "simclr"))


def alignment_effects(table):
    """Aligned networks minus those they start from (Figs. 7 and 11).

    Parameters
    ----------
    table : pandas.DataFrame
        Of `trialwise.summary.model_table`; each version is taken by itself.

    Returns
    -------
    pandas.DataFrame
        Columns of `trialwise.summary.correlations.correlate`: the ``difference`` of
        every aligned `model` in every `outcome`, with the method of alignment as
        `subset`, and for each method and outcome the number of ``models that gain``
        among the `n` with a difference.
    """
    rows = []
    for version, models in by_version(table):
        by_id = models.set_index("model")
        aligned = by_id[(by_id["baseline"] != "") & (by_id["aligned_by"] != "")]
        for item, outcomes in (("Fig. 7", FIG_7), ("Fig. 11", FIG_11)):
            left_out = NOT_IN_FIG_7 if item == "Fig. 7" else ()
            chosen = aligned.drop(index=[*left_out], errors="ignore")
            for outcome in outcomes:
                base = by_id[outcome].reindex(chosen["baseline"]).to_numpy()
                differences = chosen[outcome] - base
                label = {**version, "item": item, "outcome": outcome}
                rows += _differences(label, differences, chosen["aligned_by"])
    return pd.DataFrame(rows, columns=list(COLUMNS))


def loss_effects(table):
    """Networks of one architecture, data and epochs under three losses (Fig. 6).

    Parameters
    ----------
    table : pandas.DataFrame
        Of `trialwise.summary.model_table`; each version is taken by itself.

    Returns
    -------
    pandas.DataFrame
        Columns of `trialwise.summary.correlations.correlate`. The ``mean over
        participants`` of both tasks together weights each task by its participants (R2,
        and accuracy where it is known by task); ``mean over tasks`` does not
        (accuracy). A ``difference`` of two losses (`predictor`) is given for
        each size (`subset`), with the number of ``sizes that gain``.
    """
    rows = []
    for version, models in by_version(table):
        parts = models["model"].str.extract(SLIP)
        models = models.join(parts)[parts["loss"].notna()]
        for outcome, statistic, values in _bars(models):
            label = {**version, "item": "Fig. 6", "outcome": outcome}
            sizes = values.notna() * models["category_participants"]
            sizes = sizes + values.notna() * models["reward_participants"]
            rows += [
                {**label, "statistic": statistic, "subset": size, "model": model}
                | {"value": value, "n": n}
                for size, model, value, n in zip(
                    models["size"], models["model"], values, sizes, strict=True
                )
            ]
            if not (outcome == "task_accuracy" and statistic.endswith("participants")):
                rows += _steps(label, models.assign(bar=values))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _differences(label, differences, methods):
    rows = [
        {**label, "statistic": "difference", "subset": methods[model]}
        | {"model": model, "value": value, "n": int(np.isfinite(value))}
        for model, value in differences.items()
    ]
    for method in pd.unique(methods):
        gains = {"statistic": "models that gain", "subset": method}
        rows.append({**label, **gains, **_count(differences[methods == method])})
    return rows


def _bars(models):
    people = [models[f"{task}_participants"] for task in ("category", "reward")]
    for outcome, names in (
        ("r2", ("category_r2", "reward_r2")),
        ("task_accuracy", ("category_accuracy", "reward_accuracy")),
    ):
        sums = sum(n * models[name] for n, name in zip(people, names, strict=True))
        yield outcome, "mean over participants", sums / sum(people)
    yield "task_accuracy", "mean over tasks", models["task_accuracy"]


def _steps(label, models):
    rows = []
    bars = models.set_index(["size", "loss"])["bar"]
    for more, less in STEPS:
        names = {"predictor": f"{more} - {less}"}
        values = {
            size: bars.get((size, more), np.nan) - bars.get((size, less), np.nan)
            for size in ("small", "base", "large")
        }
        rows += [
            {**label, **names, "statistic": "difference", "subset": size}
            | {"value": value, "n": int(np.isfinite(value))}
            for size, value in values.items()
        ]
        gains = {"statistic": "sizes that gain", **_count(pd.Series(values))}
        rows.append({**label, **names, **gains})
    return rows


def _count(differences):
    """How many of the known differences are gains."""
    known = differences.dropna()
    count = int((known > 0).sum()) if len(known) else np.nan
    return {"value": count, "n": len(known)}
