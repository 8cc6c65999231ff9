"""All measures of the representation of one model, and the table of all models."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from trialwise.errors import InputError
from trialwise.feature_matrices import check_finite, row_of
from trialwise.representations import external
from trialwise.representations import intrinsic_dimensionality as dimensions
from trialwise.representations.cka import linear_cka
from trialwise.representations.class_separation import (
    class_separation,
    classes_of_task,
    with_pairs_once,
)
from trialwise.representations.odd_one_out import probe, zero_shot
from trialwise.representations.rows import (
    group_means,
    numbers_of_objects,
    unique_rows,
    vary_within,
)

PARTS = 10


def measure_representation(
    model: str,
    features: np.ndarray,
    images: Sequence[str],
    objects: Sequence[str],
    task_features: np.ndarray,
    triplets: np.ndarray,
    seed: int,
    n_jobs: int = 1,
) -> pd.DataFrame:
    """Measure the representation of one model.

    Parameters
    ----------
    model : str
        Its name.
    features : ndarray, shape (n, D)
        May be memory-mapped.
    images : sequence of str, length n
        Names of the rows; the folder of each is its object.
    objects : sequence of str
        All objects, in the order by which `triplets` number them.
    task_features : ndarray, shape (n, D')
        The generative features of the task, for the same images.
    triplets : ndarray of int, shape (m, 3)
        Odd-one-out judgements; see `trialwise.representations.odd_one_out`.
    seed : int
        Of the folds and parts.
    n_jobs : int
        Threads or processes; the result is the same for any number.

    Returns
    -------
    pandas.DataFrame
        One row: ``model``; ``n_distinct`` rows; ``class_separation`` and
        ``class_separation_published`` (by the authors' code), NaN for features that are
        the same for all images of each object, for which they are 1 by construction;
        ``cka`` with the task features; ``intrinsic_dimensionality`` by TwoNN as
        published, ``_all`` without leaving out a tenth, ``_likelihood`` with ``_low,
        _high``, and ``_parts, _se`` from parts of the images; ``participation_ratio``;
        ``odd_one_out_zero_shot`` by cosines, ``odd_one_out_dot`` by dot products and
        ``odd_one_out_probing``. The dimensionalities are those of the distinct rows,
        odd-one-out accuracies those of the mean over the images of each object.

    Raises
    ------
    InputError
        If rows and names do not fit, values are not finite, or a measure is undefined.
    """
    row_of(features, images, "image")
    check_finite(features, images)
    if len(task_features) != len(images):
        raise InputError(
            f"The task features have {len(task_features)} rows, the list {len(images)} "
            "images. Supply those of the same images."
        )
    shown = numbers_of_objects(images, objects)
    with threadpool_limits(1):
        embedding = group_means(features, shown)
        separation = np.nan
        if vary_within(features, shown):
            separation = class_separation(features, classes_of_task(task_features))
        alike = linear_cka(features, task_features)
    shot = zero_shot(embedding, triplets)
    row = {
        "model": model,
        "n_distinct": len(unique_rows(features)),
        "class_separation": separation,
        "class_separation_published": with_pairs_once(separation),
        "cka": alike,
        **_dimensionality(features, seed, n_jobs),
        "odd_one_out_zero_shot": shot.cosine,
        "odd_one_out_dot": shot.dot,
        "odd_one_out_probing": probe(embedding, triplets, seed, n_jobs).accuracy,
    }
    return pd.DataFrame([row])


def gather_measures(
    tables: Sequence[pd.DataFrame], scores: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Join the rows of all models with what was measured elsewhere.

    Parameters
    ----------
    tables : sequence of pandas.DataFrame
        From `measure_representation`.
    scores : pandas.DataFrame, optional
        From `trialwise.representations.external.read_external`.

    Returns
    -------
    pandas.DataFrame
        Those rows, and a column for each of `external.MEASURES`.
    """
    measured = pd.concat(tables, ignore_index=True)
    if scores is None:
        scores = pd.DataFrame(columns=["model", *external.MEASURES])
    return measured.merge(scores, on="model", how="left")


def _dimensionality(features, seed, n_jobs):
    points = dimensions.prepare_points(features)
    ratios = dimensions.neighbour_ratios(points, n_jobs)
    likelihood = dimensions.pareto_likelihood(ratios)
    rng = np.random.default_rng(seed)
    parts, error = dimensions.subsample(points, PARTS, rng, n_jobs)
    name = "intrinsic_dimensionality"
    return {
        name: dimensions.two_nn(ratios),
        f"{name}_all": dimensions.two_nn(ratios, discarded=0),
        f"{name}_likelihood": likelihood.estimate,
        f"{name}_low": likelihood.low,
        f"{name}_high": likelihood.high,
        f"{name}_parts": parts,
        f"{name}_se": error,
        "participation_ratio": dimensions.participation_ratio(unique_rows(features)),
    }
