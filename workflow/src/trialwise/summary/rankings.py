"""Which models, and how many, are better than what: the counts of the text."""

import numpy as np
import pandas as pd
from scipy import stats

from trialwise.summary.correlations import COLUMNS
from trialwise.summary.model_table import (
    LEARNERS,
    MEASURES,
    NLL,
    TASKS,
    by_version,
)

# Networks trained on images with text: what the text calls CLIP.
CLIP = "Multimodal"
PRINTED = ("category_nll", "reward_nll", "task_accuracy", *MEASURES[:3])
ROUNDING = 0.005


def rank_models(table):
    """Count how models rank, and whether they are above chance (Fig. 3, Table 1).

    Parameters
    ----------
    table : pandas.DataFrame
        Of `trialwise.summary.model_table`; each version is taken by itself.

    Returns
    -------
    pandas.DataFrame
        Columns of `trialwise.summary.correlations.correlate`.
    """
    rows = []
    for version, models in by_version(table):
        own = [{"statistic": "models", "value": len(models), "n": len(models)}]
        for task in TASKS:
            own += _ranks(models, task) + _learners(models, task)
        own += _task_performance(models)
        rows += [{**version, "item": "Fig. 3", **row} for row in own]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def compare_versions(table, printed="tables", drawn="figures"):
    """For how many models the printed tables round what the figures show.

    Parameters
    ----------
    table : pandas.DataFrame
        Of `trialwise.summary.model_table`.
    printed, drawn : str
        Two versions in it.

    Returns
    -------
    pandas.DataFrame
        Columns of `trialwise.summary.correlations.correlate`: the number of ``models
        that agree with`` the other version, of `n` with both values, and of ``models
        that have the size`` printed, as counted when they are built.
    """
    by_version = {
        version: models.set_index("model")
        for version, models in table.groupby("version", sort=False)
    }
    first, second = by_version[printed], by_version[drawn]
    rows = []
    for outcome in PRINTED:
        values = pd.concat([first[outcome], second[outcome]], axis=1).dropna()
        # Binary fractions of the last printed digit are no difference.
        near = np.abs(values.iloc[:, 0] - values.iloc[:, 1]) <= ROUNDING + 1e-9
        rows.append(
            {
                "item": "Tables 1 and 2",
                "source": "published",
                "version": printed,
                "statistic": f"models that agree with {drawn}",
                "outcome": outcome,
                "value": int(near.sum()),
                "n": len(values),
            }
        )
    sizes = first[["parameters", "parameters_counted"]].dropna()
    near = np.abs(sizes.diff(axis=1).iloc[:, 1]) <= ROUNDING + 1e-9
    counted = {"statistic": "models that have the size", "outcome": "parameters"}
    rows.append({**rows[0], **counted, "value": int(near.sum()), "n": len(sizes)})
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _ranks(models, task):
    outcome = f"{task}_r2"
    ranked = models.dropna(subset=[outcome]).sort_values(
        outcome, ascending=False, kind="stable"
    )
    n, clip = len(ranked), (ranked["type"] == CLIP).to_numpy()
    reference = ranked.loc[ranked["type"] == "Task", outcome]
    better = (
        (ranked[outcome] > reference.iloc[0]).to_numpy()
        if len(reference)
        else np.full(n, np.nan)
    )
    counts = {
        ("leading models", CLIP): np.cumprod(clip).sum() if n else np.nan,
        ("models better than Task", "all"): better.sum() if n else np.nan,
        ("models better than Task", CLIP): (better * clip).sum() if n else np.nan,
        ("models below chance", "all"): (ranked[outcome] < 0).sum() if n else np.nan,
    }
    rows = [
        {"statistic": statistic, "outcome": outcome, "subset": subset}
        | {"value": float(value), "n": n}
        for (statistic, subset), value in counts.items()
    ]
    best = ranked.iloc[0] if n else {"model": "", outcome: np.nan}
    row = {"statistic": "best model", "outcome": outcome, "subset": "all"}
    return [*rows, {**row, "model": best["model"], "value": best[outcome], "n": n}]


def _learners(models, task):
    """The best cell of each column of Table 1, and rows where main is not the best."""
    names = [name for name in NLL if name.startswith(task)]
    rows = []
    for learner, name in zip(LEARNERS, names, strict=True):
        known = models.dropna(subset=[name])
        best = known.loc[known[name].idxmin()] if len(known) else {}
        rows.append(
            {"item": "Table 1", "statistic": "lowest nll", "outcome": name}
            | {"predictor": learner, "model": best.get("model", "")}
            | {"value": best.get(name, np.nan), "n": len(known)}
        )
    known = models.dropna(subset=names)
    main, *others = (known[name] for name in names)
    beaten = {
        learner: other < main
        for learner, other in zip(LEARNERS[1:], others, strict=True)
    }
    beaten["sparse or pca"] = beaten["sparse"] | beaten["pca"]
    if rows[0]["n"]:
        winner = min(rows, key=lambda row: row["value"])
        rows.append({**winner, "statistic": "best learner", "outcome": names[0]})
    label = {"item": "Table 1", "statistic": "models better than with main"}
    rows += [
        {**label, "outcome": names[0], "predictor": learner, "n": len(known)}
        | {"value": int(better.sum()) if len(known) else np.nan}
        for learner, better in beaten.items()
    ]
    return rows


def _task_performance(models):
    """Task accuracy against chance, trials taken for independent (one-sided z)."""
    known = models.dropna(subset=["task_accuracy"])
    label = {"item": "task performance", "outcome": "task_accuracy"}
    trials = [known[f"{task}_trials"] for task in TASKS]
    error = np.sqrt(sum(1 / n for n in trials)) / 4
    p = stats.norm.sf((known["task_accuracy"] - 0.5) / error)
    rows = [
        {**label, "statistic": "accuracy", "model": model, "value": value}
        | {"p": chance, "n": int(n)}
        for model, value, chance, n in zip(
            known["model"], known["task_accuracy"], p, sum(trials), strict=True
        )
    ]
    count = int((p < 0.05).sum()) if len(known) else np.nan
    above = {"statistic": "models above chance", "subset": "all", "value": count}
    return [*rows, {**label, **above, "n": len(known)}]
