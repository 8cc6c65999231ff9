"""One model beside people who saw the same images, in signed differences."""

import numpy as np
import pandas as pd

from trialwise.consistency import bounds, kappa
from trialwise.consistency.intervals import percentile_interval
from trialwise.errors import InputError
from trialwise.trials import clusters_of, correctness, is_human

POOLED = "all"
MEASURES = (
    *("accuracy_difference", "observed", "expected", "kappa", "kappa_max", "h"),
    "kappa_people",
)


def compare_with_people(trials, model, *, cluster=None, n_resamples=2000, seed=0):
    """Compare a model with every person, pooled and in each condition.

    Parameters
    ----------
    trials : pandas.DataFrame
        Columns ``observer, image, condition, correct`` and perhaps ``cluster``; people
        are the observers whose names contain ``subject``.
    model : str
        The observer to compare.
    cluster : str, optional
        Regular expression whose first group, searched in the image name, labels images
        to be resampled together; default the column ``cluster``, or single images.
    n_resamples, seed : int

    Returns
    -------
    pandas.DataFrame
        One row per condition and measure: ``condition, measure, n_images, n_people,
        value, ci_low, ci_high``. Values are means over people: `accuracy_difference`
        (model minus person), `observed` and `expected` overlap, `kappa`, its ceiling
        `kappa_max`, `h`, and `kappa_people`, the mean over pairs of people. Intervals
        resample images and people (Owen 2007).

    Raises
    ------
    InputError
        If there are fewer than two people, or an observer lacks an image.

    Notes
    -----
    The three measures of Geirhos et al. (2021, Sec. 2): there the difference in
    accuracy is squared, and each is averaged over conditions.
    """
    people = sorted(trials.loc[is_human(trials["observer"]), "observer"].unique())
    if len(people) < 2:
        raise InputError(
            f"{len(people)} of the observers is a person (named `subject`...). "
            "A comparison with people needs two or more."
        )
    conditions = [POOLED]
    own = trials.loc[trials["observer"].isin(people), ["image", "condition"]]
    if own["condition"].nunique() > 1:
        conditions += sorted(own["condition"].unique())
    rows = []
    for condition in conditions:
        images = own.loc[own["condition"].eq(condition) | (condition == POOLED)]
        chosen = trials[trials["image"].isin(images["image"])]
        _, names, correct = correctness(chosen, [model, *people])
        values, low, high = _with_intervals(
            correct, clusters_of(chosen, names, cluster), n_resamples, seed
        )
        rows += [
            [condition, measure, len(names), len(people), *numbers]
            for measure, *numbers in zip(MEASURES, values, low, high, strict=True)
        ]
    return pd.DataFrame(
        rows,
        columns=[
            *("condition", "measure", "n_images", "n_people"),
            *("value", "ci_low", "ci_high"),
        ],
    )


def _with_intervals(correct, clusters, n_resamples, seed):
    rng = np.random.default_rng(seed)
    _, cluster = np.unique(np.asarray(clusters), return_inverse=True)
    n_clusters, n_people = cluster.max() + 1, len(correct) - 1
    once = np.ones(correct.shape[1]), np.ones(n_people)
    resampled = [
        _means(
            correct,
            rng.multinomial(n_clusters, np.full(n_clusters, 1 / n_clusters))[cluster],
            rng.multinomial(n_people, np.full(n_people, 1 / n_people)),
        )
        for _ in range(n_resamples)
    ]
    return _means(correct, *once), *percentile_interval(np.array(resampled))


def _means(correct, image_weights, person_weights):
    n, k, n11 = kappa.pair_counts(correct, image_weights)
    counts = n, k[0], k[1:], n11[0, 1:]
    low, high = bounds.kappa_limits(*counts[:3])
    own = kappa.kappa(*counts)
    between = kappa.kappa(n, k[1:, None], k[None, 1:], n11[1:, 1:])
    return [
        _mean((k[0] - k[1:]) / n, person_weights),
        _mean(kappa.observed_overlap(*counts), person_weights),
        _mean(kappa.expected_overlap(*counts[:3]), person_weights),
        _mean(own, person_weights),
        _mean(high, person_weights),
        _mean(bounds.loevinger_h(own, low, high), person_weights),
        _mean_of_pairs(between, person_weights),
    ]


def _mean(values, weights):
    defined = ~np.isnan(values) & (weights > 0)
    if not defined.any():
        return np.nan
    return np.average(values[defined], weights=weights[defined])


def _mean_of_pairs(values, weights):
    i, j = np.triu_indices(len(weights), k=1)
    return _mean(values[i, j], weights[i] * weights[j])
