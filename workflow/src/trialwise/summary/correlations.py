"""Which properties of models go with their alignment: rank correlations."""

from itertools import combinations

import numpy as np
import pandas as pd
from scipy import stats

from trialwise.consistency.intervals import draw
from trialwise.summary.model_table import by_version, is_vision

COLUMNS = (
    *("item", "source", "version", "statistic", "outcome", "predictor", "given"),
    *("subset", "model", "value", "ci_low", "ci_high", "p", "n"),
    *("family_low", "family_high", "n_families"),
)
TYPES = ("Supervised", "Self-Supervised", "Multimodal")
SIX = (
    *("task_accuracy", "parameters", "training_images"),
    *("class_separation", "cka", "intrinsic_dimensionality"),
)
# Outcome, predictor and the models of each correlation of the paper.
CORRELATIONS = (
    ("Fig. 4A", "r2", "task_accuracy", "all"),
    ("Fig. 4B", "r2", "parameters", "vision"),
    ("Fig. 4C", "r2", "training_images", "vision"),
    ("Fig. 4D", "r2", "class_separation", "vision"),
    ("Fig. 4E", "r2", "cka", "all"),
    ("Fig. 4E", "r2", "cka", "all but Task"),
    ("Fig. 4F", "r2", "intrinsic_dimensionality", "vision"),
    *(("Fig. 5", "r2", "intrinsic_dimensionality", name) for name in TYPES),
    ("Fig. 8A", "r2", "odd_one_out_zero_shot", "vision"),
    ("Fig. 8B", "r2", "odd_one_out_probing", "vision"),
    ("Fig. 8C", "r2", "peterson", "vision"),
    ("Fig. 8D", "r2", "nights", "vision"),
    ("Fig. 8E", "r2", "clickme", "vision"),
    ("Fig. 10", "category_r2", "category_choice_accuracy", "all"),
    ("Fig. 10", "reward_r2", "reward_choice_accuracy", "all"),
    # The authors' matrix has no CKA of Task with itself.
    *(
        ("Fig. 14", *pair, "all but Task" if "cka" in pair else "all")
        for pair in combinations(SIX, 2)
    ),
)
# Predictor and what is held constant, among vision networks.
PARTIAL = (
    ("parameters", ("training_images",)),
    ("parameters", ("type",)),
    ("parameters", ("training_images", "type")),
    ("training_images", ("parameters",)),
    ("training_images", ("type",)),
    ("training_images", ("parameters", "type")),
    ("class_separation", ("type",)),
    ("cka", ("type",)),
    ("intrinsic_dimensionality", ("type",)),
)


def correlate(table, n_resamples, seed):
    """All correlations of the paper and the partial ones, with their intervals.

    Parameters
    ----------
    table : pandas.DataFrame
        Of `trialwise.summary.model_table`; each version is taken by itself.
    n_resamples : int
        Bootstrap samples; the paper has 1,000.
    seed : int
        Every statistic starts from it, so that none depends on the others.

    Returns
    -------
    pandas.DataFrame
        `COLUMNS`, a row per statistic and version. `value` is Spearman's correlation
        over the models of `subset` that have both values (`n`; p of SciPy's t
        approximation), or the partial one with `given` held constant. The interval
        `ci_low, ci_high` resamples models, as the paper does, `family_low, family_high`
        whole families: models of one family are not independent. For Fig. 5 there is
        also the number of ``types with p below 0.05``, named in `subset`.
    """
    rows = []
    for label, models in by_version(table):
        for item, outcome, predictor, subset in CORRELATIONS:
            chosen = models[in_subset(models, subset)]
            own = rank_correlation(chosen, outcome, predictor, (), n_resamples, seed)
            names = {"item": item, "outcome": outcome, "predictor": predictor}
            names |= {"statistic": "Spearman correlation", "subset": subset}
            rows.append({**label, **names, **own})
        rows.append({**label, **_significant_types(rows[-len(CORRELATIONS) :])})
        vision = models[is_vision(models)]
        for predictor, given in PARTIAL:
            own = rank_correlation(vision, "r2", predictor, given, n_resamples, seed)
            names = {"item": "partial", "outcome": "r2", "predictor": predictor}
            names |= {"statistic": "partial Spearman correlation", "subset": "vision"}
            rows.append({**label, **names, "given": ", ".join(given), **own})
    return pd.DataFrame(rows, columns=list(COLUMNS))


def rank_correlation(models, outcome, predictor, given, n_resamples, seed):
    """One (partial) Spearman correlation with both of its intervals.

    Parameters
    ----------
    models : pandas.DataFrame
        Of `trialwise.summary.model_table`.
    outcome, predictor : str
        Columns.
    given : sequence of str
        Columns held constant; `type` stands for the types as groups.
    n_resamples, seed : int
        See `correlate`.

    Returns
    -------
    dict
        ``value, p, n, ci_low, ci_high, family_low, family_high, n_families``; only the
        numbers of models and families where the correlation is undefined.
    """
    numeric = [name for name in given if name != "type"]
    complete = models.dropna(subset=[outcome, predictor, *numeric])
    x = complete[predictor].to_numpy(dtype=float)
    y = complete[outcome].to_numpy(dtype=float)
    n, families = len(complete), pd.factorize(complete["family"])[0]
    undefined = {"value": np.nan, "n": n, "n_families": len(set(families))}
    if n < 3:
        return undefined
    parts = [complete[numeric].to_numpy(dtype=float)]
    if "type" in given:
        dummies = pd.get_dummies(complete["type"], drop_first=True)
        parts.append(dummies.to_numpy(dtype=float))
    covariates = np.column_stack(parts)
    value, p = partial_spearman(x, y, covariates)
    if np.isnan(value):
        return undefined
    rng = np.random.default_rng(seed)
    draws = draw(n, n_resamples, rng)
    low, high = _percentiles(resample_spearman(x, y, covariates, draws))
    draws = draw(families.max() + 1, n_resamples, rng)[:, families]
    family = _percentiles(resample_spearman(x, y, covariates, draws))
    return {
        **undefined,
        "value": value,
        "p": p,
        **{"ci_low": low, "ci_high": high},
        **{"family_low": family[0], "family_high": family[1]},
    }


def in_subset(models, subset):
    """Which models a statistic is about."""
    if subset == "all":
        return pd.Series(True, models.index)
    if subset == "all but Task":
        return models["type"] != "Task"
    if subset == "vision":
        return is_vision(models)
    return models["type"] == subset


def partial_spearman(x, y, given):
    """Spearman's correlation with covariates held constant.

    The correlation of what is left of the ranks of `x` and `y` after their regression
    on the ranks of the covariates.

    Parameters
    ----------
    x, y : array_like, shape (n,)
    given : array_like, shape (n, k)
        Covariates; columns of zeros and ones stand for groups. Without any (k = 0) this
        is Spearman's correlation.

    Returns
    -------
    correlation, p : float
        p from Student's t with n - 2 - k degrees of freedom, k being the number of
        linearly independent covariates. NaN where the correlation is undefined.
    """
    given = np.asarray(given, dtype=float)
    ones = np.ones((1, len(given)), dtype=int)
    r = float(resample_spearman(x, y, given, ones)[0])
    ranks = np.array([stats.rankdata(column) for column in given.T]).reshape(-1, len(x))
    k = np.linalg.matrix_rank(ranks - ranks.mean(axis=1, keepdims=True))
    degrees = len(given) - 2 - int(k)
    if np.isnan(r) or degrees < 1:
        return np.nan, np.nan
    if abs(r) == 1:
        return r, 0.0
    return r, float(2 * stats.t.sf(abs(r) * np.sqrt(degrees / (1 - r**2)), degrees))


def resample_spearman(x, y, given, weights):
    """Partial Spearman correlation in bootstrap samples.

    Parameters
    ----------
    x, y, given
        See `partial_spearman`; ranks are taken anew in each sample.
    weights : ndarray of int, shape (n_resamples, n)
        How often each row is drawn.

    Returns
    -------
    ndarray, shape (n_resamples,)
        NaN where a sample does not define the correlation.
    """
    columns = [x, y, *np.asarray(given, dtype=float).T]
    ranks = np.stack([weighted_ranks(column, weights) for column in columns], axis=2)
    counts, n_drawn = weights[:, :, None], weights.sum(axis=1)[:, None, None]
    # Sums of ranks are exact, so that equal ranks leave exactly nothing.
    centred = ranks - (counts * ranks).sum(axis=1, keepdims=True) / n_drawn
    share = counts / n_drawn
    pair, covariates = centred[:, :, :2], centred[:, :, 2:]
    if covariates.shape[2]:
        transposed = np.swapaxes(share * covariates, 1, 2)
        gram = np.linalg.pinv(transposed @ covariates, rcond=1e-10, hermitian=True)
        pair = pair - covariates @ (gram @ (transposed @ pair))
    spread = (share * pair**2).sum(axis=1)
    total = (share * centred[:, :, :2] ** 2).sum(axis=1)
    # What regression leaves of a column that the covariates determine is round-off.
    defined = np.all((spread > 1e-9 * total) & (total > 0), axis=1)
    products = (share[:, :, 0] * pair[:, :, 0] * pair[:, :, 1]).sum(axis=1)
    r = np.full(len(weights), np.nan)
    r[defined] = products[defined] / np.sqrt(spread[defined].prod(axis=1))
    return np.clip(r, -1, 1)


def weighted_ranks(values, weights):
    """Ranks of values that are drawn several times, ties sharing their mean rank.

    Parameters
    ----------
    values : array_like, shape (n,)
    weights : ndarray of int, shape (n_resamples, n)

    Returns
    -------
    ndarray, shape (n_resamples, n)
    """
    _, inverse = np.unique(np.asarray(values, dtype=float), return_inverse=True)
    order = np.argsort(inverse, kind="stable")
    starts = np.searchsorted(inverse[order], np.arange(inverse.max() + 1))
    ties = np.add.reduceat(weights[:, order], starts, axis=1)
    ranks = ties.cumsum(axis=1) - (ties - 1) / 2
    return ranks[:, inverse]


def _significant_types(rows):
    own = [row for row in rows if row["item"] == "Fig. 5"]
    own = [row for row in own if "p" in row]
    names = [row["subset"] for row in own if row["p"] < 0.05]
    return {
        **{"item": "Fig. 5", "outcome": "r2"},
        "predictor": "intrinsic_dimensionality",
        "statistic": "types with p below 0.05",
        "subset": ", ".join(names),
        "value": len(names) if own else np.nan,
        "n": len(own),
    }


def _percentiles(resampled):
    defined = resampled[~np.isnan(resampled)]
    if not defined.size:
        return np.nan, np.nan
    return np.quantile(defined, [0.025, 0.975])
