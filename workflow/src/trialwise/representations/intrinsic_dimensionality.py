"""Intrinsic dimensionality: how many directions the images fill near one another."""

from typing import NamedTuple

import numpy as np
from scipy import stats
from threadpoolctl import threadpool_limits

from trialwise.errors import InputError
from trialwise.representations.cka import Centred, inner_product
from trialwise.representations.rows import unique_rows

# Share of the largest ratios that Facco et al. (2017) leave out, and scikit-dimension
# after them.
DISCARDED = 0.1
BLOCK = 512
# Neighbours by matrix product whose distances are then computed without cancellation.
CANDIDATES = 4


class Interval(NamedTuple):
    """An estimate and its confidence limits."""

    estimate: float
    low: float
    high: float


def prepare_points(features: np.ndarray) -> np.ndarray:
    """Take each distinct row once, and scale every column to [0, 1].

    Parameters
    ----------
    features : ndarray, shape (n, D)

    Returns
    -------
    ndarray of float64, shape (m, D)
        Columns that are constant up to rounding in the given type become 0. Demircan
        et al. (2024) prepare features in this way.

    Raises
    ------
    InputError
        If fewer than three rows differ.
    """
    from sklearn.preprocessing import MinMaxScaler

    rows = unique_rows(features)
    if len(rows) < 3:
        raise InputError(
            f"Only {len(rows)} images differ in their features; intrinsic "
            "dimensionality needs 3. Extract the features again, or leave the model "
            "out."
        )
    return MinMaxScaler().fit_transform(rows).astype(np.float64)


def neighbour_ratios(points: np.ndarray, n_jobs: int = 1) -> np.ndarray:
    """Ratio of the distances of every point to its second and its first neighbour.

    Parameters
    ----------
    points : ndarray, shape (n, D)
        Distinct rows, as `prepare_points` returns them; at least three.
    n_jobs : int
        Threads, each with BLAS on one; the result is the same for any number.

    Returns
    -------
    ndarray, shape (n,)
        1 or larger; Euclidean distances.

    Notes
    -----
    The nearest rows are found with |x|^2 + |y|^2 - 2xy in float64, block by block, and
    the distances to them computed from differences, so that rows that almost agree keep
    their digits. O(n^2 D) time, O(n) memory beyond the points and one block of n
    columns per thread.
    """
    from joblib import Parallel, delayed

    centred = points - points.mean(axis=0)
    half_squares = np.einsum("ij,ij->i", centred, centred) / 2
    with threadpool_limits(1):
        ratios = Parallel(n_jobs=n_jobs, prefer="threads")(
            delayed(_ratios_of)(points, centred, half_squares, start)
            for start in range(0, len(points), BLOCK)
        )
    return np.concatenate(ratios)


def two_nn(ratios: np.ndarray, discarded: float = DISCARDED) -> float:
    """Intrinsic dimensionality by a line through the distribution of the ratios.

    Parameters
    ----------
    ratios : ndarray, shape (n,)
        From `neighbour_ratios`.
    discarded : float
        Share of the largest ratios to leave out; 0 leaves out the largest one alone,
        for which the logarithm does not exist.

    Returns
    -------
    float
        Slope of -log(1 - F) on log(ratio) without intercept, F the empirical
        distribution function i / n.

    Raises
    ------
    InputError
        If all ratios that are left are 1.

    References
    ----------
    Facco, d'Errico, Rodriguez & Laio (2017), Estimating the intrinsic dimension of
    datasets by a minimal neighborhood information, Scientific Reports 7, 12140.
    """
    n = len(ratios)
    kept = min(int(n * (1 - discarded)), n - 1)
    x = np.log(np.sort(ratios)[:kept])
    y = -np.log1p(-np.arange(1, kept + 1) / n)
    _refuse_equal(x)
    return float(x @ y / (x @ x))


def pareto_likelihood(ratios: np.ndarray, level: float = 0.95) -> Interval:
    """Intrinsic dimensionality by the likelihood of the ratios, with its interval.

    Parameters
    ----------
    ratios : ndarray, shape (n,)
        From `neighbour_ratios`.
    level : float
        Coverage of the interval.

    Returns
    -------
    Interval
        The estimate (n - 1) / sum log(ratio), without bias, and limits from the gamma
        distribution of the sum. They take the ratios for independent, though points
        share neighbours.

    Raises
    ------
    InputError
        If all ratios are 1.

    References
    ----------
    Denti, Doimo, Laio & Mira (2022), The generalized ratios intrinsic dimension
    estimator, Scientific Reports 12, 20005.
    """
    logarithms = np.log(ratios)
    _refuse_equal(logarithms)
    n, total = len(ratios), logarithms.sum()
    tails = stats.gamma.ppf([(1 - level) / 2, (1 + level) / 2], n)
    return Interval(float((n - 1) / total), *map(float, tails / total))


def subsample(
    points: np.ndarray, parts: int, rng: np.random.Generator, n_jobs: int = 1
) -> tuple[float, float]:
    """TwoNN in parts of the points, drawn without replacement.

    Parameters
    ----------
    points : ndarray, shape (n, D)
        From `prepare_points`.
    parts : int
        Into so many parts, of equal size up to one, the points are dealt out at random.
    rng : numpy.random.Generator
    n_jobs : int
        As in `neighbour_ratios`.

    Returns
    -------
    mean : float
        Over the parts. Where it differs from the value of all points, dimensionality
        depends on the scale: parts are sparser.
    standard_error : float
        Of the value of all points, the standard deviation of the parts over sqrt(parts)
        (Politis & Romano 1994).

    Raises
    ------
    InputError
        If a part has fewer than three points.

    Notes
    -----
    A bootstrap sample would hold copies, at distance 0 from one another.
    """
    if len(points) < 3 * parts:
        raise InputError(
            f"{len(points)} distinct images cannot make {parts} parts of 3 or more. "
            "Supply more images."
        )
    order = rng.permutation(len(points))
    values = [
        two_nn(neighbour_ratios(points[np.sort(part)], n_jobs))
        for part in np.array_split(order, parts)
    ]
    return float(np.mean(values)), float(np.std(values, ddof=1) / np.sqrt(parts))


def participation_ratio(features: np.ndarray) -> float:
    """Number of directions that the variance of the features is spread over.

    Parameters
    ----------
    features : ndarray, shape (n, D)

    Returns
    -------
    float
        (sum of eigenvalues)^2 / sum of squared eigenvalues of the covariance matrix,
        from 1 to min(n - 1, D).

    Raises
    ------
    InputError
        If all rows are the same.
    """
    centred = Centred(features)
    total = sum(np.sum(block**2) for block in centred.blocks())
    squares = inner_product(centred, centred)
    if not squares > 0:
        raise InputError(
            "All images have the same features. Extract them again, or leave the "
            "model out."
        )
    return float(total**2 / squares)


def _ratios_of(points, centred, half_squares, start):
    """Ratios of one block of points, among all."""
    own = slice(start, start + BLOCK)
    # Half the squared distance, less half the squared norm of the row's own point.
    farness = centred[own] @ centred.T
    np.subtract(half_squares, farness, out=farness)
    rows = np.arange(len(farness))
    farness[rows, start + rows] = np.inf
    k = min(CANDIDATES, len(points) - 1)
    near = np.argpartition(farness, k - 1, axis=1)[:, :k]
    distances = np.stack(
        [np.linalg.norm(points[column] - points[own], axis=1) for column in near.T],
        axis=1,
    )
    distances = np.partition(distances, 1, axis=1)
    return distances[:, 1] / distances[:, 0]


def _refuse_equal(logarithms):
    if not np.any(logarithms > 0):
        raise InputError(
            "Every image is equally far from its two nearest neighbours, so no "
            "dimensionality fits. Check the features."
        )
