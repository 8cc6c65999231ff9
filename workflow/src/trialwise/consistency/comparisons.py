"""Tables of one experiment: every pair of observers, and every comparison of groups."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from trialwise.consistency import (
    ALL_TRIALS,
    OTHER,
    PUBLISHED,
    bounds,
    intervals,
    kappa,
    null,
    percentiles,
)
from trialwise.trials import (
    HUMAN,
    clusters_of,
    correctness,
    members,
    pairs_between,
)

ROW_PERIOD = 4


@dataclass(frozen=True)
class Comparison:
    """Two groups of observers, and the rows the authors' code used for them.

    Where the authors pass an R list of four elements in place of an observer's name, R
    recycles it down the trial table, so that only rows at certain positions modulo 4
    are compared. `published_rows` holds those positions; empty where the code is right.
    """

    first: str
    second: str
    published_rows: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        """Both groups joined by a hyphen."""
        return f"{self.first}-{self.second}"


def compare_observers(
    trials, groups, comparisons, *, cluster=None, n_resamples=2000, seed=0
):
    """Compare all pairs of observers, and the groups they form.

    Parameters
    ----------
    trials : pandas.DataFrame
        From `trialwise.trials.read_trials`.
    groups : dict of str to sequence of str
        Patterns of observer names.
    comparisons : sequence of Comparison
    cluster : str, optional
        Regular expression whose first group, searched in the image name, labels images
        to be resampled together; default the column ``cluster`` of the trials, or every
        image by itself.
    n_resamples, seed : int
        Bootstrap samples, and the seed they are drawn from.

    Returns
    -------
    pairs : pandas.DataFrame
        One row per pair. Variant ``all-trials``: every pair once, its `group` the first
        comparison that holds it (``other`` if none). Variant ``published``: pairs of
        the comparisons with `published_rows`, on those rows alone.
    group_means : pandas.DataFrame
        One row per variant and comparison: mean kappa over pairs, the papers' normal
        half width, the crossed interval, mean H, and the extreme pairs.
    networks : pandas.DataFrame
        One row per observer who is not a person: mean kappa with all people.

    Raises
    ------
    InputError
        If a group names an observer that is absent, or images cannot be paired.
    """
    all_observers = sorted(trials["observer"].unique())
    selected = {
        name: members(groups[name], all_observers)
        for comparison in comparisons
        for name in (comparison.first, comparison.second)
    }
    everyone = _Resampled(trials, all_observers, cluster, n_resamples, seed)
    labels = np.full((len(all_observers),) * 2, OTHER, dtype=object)
    for comparison in reversed(comparisons):
        i, j = everyone.pairs(selected[comparison.first], selected[comparison.second])
        labels[i, j] = comparison.name
    i, j = np.triu_indices(len(all_observers), k=1)
    pairs = [everyone.pair_table(i, j).assign(variant=ALL_TRIALS, group=labels[i, j])]
    means = []
    for comparison in comparisons:
        first, second = selected[comparison.first], selected[comparison.second]
        label = {"variant": ALL_TRIALS, "comparison": comparison.name}
        means.append({**label, **everyone.mean_row(first, second)})
        if comparison.published_rows:
            kept = trials["row"].mod(ROW_PERIOD).isin(comparison.published_rows)
            observers = sorted({*first, *second})
            subset = _Resampled(trials[kept], observers, cluster, n_resamples, seed)
            label["variant"] = PUBLISHED
            means.append({**label, **subset.mean_row(first, second)})
            table = subset.pair_table(*subset.pairs(first, second))
            pairs.append(table.assign(variant=PUBLISHED, group=comparison.name))
    people = [o for o in all_observers if HUMAN in o]
    networks = [o for o in all_observers if HUMAN not in o] if people else []
    with_people = [
        {"observer": network, **everyone.mean_row([network], people)}
        for network in networks
    ]
    return (
        pd.concat(pairs, ignore_index=True)[PAIR_COLUMNS],
        pd.DataFrame(means),
        pd.DataFrame(with_people, columns=["observer", *MEAN_COLUMNS]),
    )


def outside_band(pairs, band, groups, comparisons, alpha=0.05):
    """Count the pairs of each comparison that exceed chance, by band and by exact test.

    Parameters
    ----------
    pairs : pandas.DataFrame
        From `compare_observers`.
    band : pandas.DataFrame
        From `trialwise.consistency.percentiles.independence_band`.
    groups : dict of str to sequence of str
        Patterns of observer names.
    comparisons : sequence of (str, str)
        Names of two groups each.
    alpha : float
        Level of the exact two-sided test, not corrected for the number of pairs.

    Returns
    -------
    pandas.DataFrame
        ``comparison, n_pairs, above, below, significant``.
    """
    pairs = pairs[pairs["variant"] == ALL_TRIALS]
    observers = sorted({*pairs["observer_i"], *pairs["observer_j"]})
    rows = []
    for first, second in comparisons:
        one, other = (members(groups[name], observers) for name in (first, second))
        i, j = pairs["observer_i"], pairs["observer_j"]
        chosen = pairs[(i.isin(one) & j.isin(other)) | (i.isin(other) & j.isin(one))]
        above, below = percentiles.count_outside(
            chosen["expected"], chosen["kappa"], band
        )
        significant = int((chosen["log10_p"] < np.log10(alpha)).sum())
        rows.append([f"{first}-{second}", len(chosen), above, below, significant])
    columns = ["comparison", "n_pairs", "above", "below", "significant"]
    return pd.DataFrame(rows, columns=columns)


PAIR_COLUMNS = [
    *("variant", "observer_i", "observer_j", "group", "n", "accuracy_i", "accuracy_j"),
    *("observed", "expected", "kappa", "kappa_min", "kappa_max", "h"),
    *("null_low", "null_high", "log10_p", "ci_low", "ci_high"),
    *("standard_error", "standard_error_naive"),
]
MEAN_COLUMNS = [
    *("n_pairs", "mean", "half_width", "ci_low", "ci_high", "h_mean"),
    *("minimum", "maximum", "maximum_pair", "n_undefined"),
]


class _Resampled:
    """The trials of some observers, counted once and in every bootstrap sample."""

    def __init__(self, trials, observers, cluster, n_resamples, seed):
        self.observers, images, correct = correctness(trials, observers)
        self.n, self.k, self.n11 = kappa.pair_counts(correct)
        self.kappa = kappa.kappa(self.n, self.k[:, None], self.k[None, :], self.n11)
        labels = clusters_of(trials, images, cluster)
        self.seed = seed
        self.resampled = intervals.resample_kappa(
            correct, labels, n_resamples, np.random.default_rng([seed, 0])
        )

    def pairs(self, first, second):
        """Indices i < j of the pairs between two lists of names, each pair once."""
        return pairs_between(self.observers, first, second)

    def pair_table(self, i, j):
        """All measures of the pairs (i, j)."""
        counts = self.n, self.k[i], self.k[j], self.n11[i, j]
        kappa_min, kappa_max = bounds.kappa_limits(*counts[:3])
        null_low, null_high, log10_p = null.exact_null(*counts)
        ci_low, ci_high = intervals.percentile_interval(self.resampled[:, i, j])
        return pd.DataFrame(
            {
                "observer_i": np.take(self.observers, i),
                "observer_j": np.take(self.observers, j),
                "n": int(self.n),
                "accuracy_i": self.k[i] / self.n,
                "accuracy_j": self.k[j] / self.n,
                "observed": kappa.observed_overlap(*counts),
                "expected": kappa.expected_overlap(*counts[:3]),
                "kappa": self.kappa[i, j],
                "kappa_min": kappa_min,
                "kappa_max": kappa_max,
                "h": bounds.loevinger_h(self.kappa[i, j], kappa_min, kappa_max),
                "null_low": null_low,
                "null_high": null_high,
                "log10_p": log10_p,
                "ci_low": ci_low,
                "ci_high": ci_high,
                "standard_error": kappa.standard_error(*counts),
                "standard_error_naive": kappa.naive_standard_error(*counts),
            }
        )

    def mean_row(self, first, second):
        """Mean, intervals and extremes of kappa between two lists of names."""
        i, j = self.pairs(first, second)
        values = self.kappa[i, j]
        limits = bounds.kappa_limits(self.n, self.k[i], self.k[j])
        h = bounds.loevinger_h(values, *limits)
        low, high, n_undefined = intervals.crossed_interval(
            self.resampled,
            [self.observers.index(o) for o in first],
            [self.observers.index(o) for o in second],
            np.random.default_rng([self.seed, 1]),
        )
        largest = values.argmax()
        row = [
            *(len(values), values.mean(), intervals.normal_half_width(values)),
            *(low, high, np.nan if np.isnan(h).all() else np.nanmean(h)),
            *(values.min(), values.max()),
            f"{self.observers[i[largest]]} {self.observers[j[largest]]}",
            n_undefined,
        ]
        return dict(zip(MEAN_COLUMNS, row, strict=True))
