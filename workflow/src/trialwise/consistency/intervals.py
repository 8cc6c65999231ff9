"""Confidence intervals of kappa: of one pair, and of the mean over many pairs."""

import numpy as np
from scipy import special

from trialwise.consistency.kappa import kappa, pair_counts


def normal_half_width(values, level=0.95):
    """The papers' plus-minus: a normal interval that takes pairs for independent.

    Parameters
    ----------
    values : array_like, shape (pairs,)
        Kappa of each pair. Pairs share observers, so that the interval is too narrow
        by far; see `crossed_interval`.

    Returns
    -------
    float
        z sqrt(s^2 / pairs); NaN for a single pair.
    """
    values = np.asarray(values, dtype=float)
    if values.size < 2:
        return np.nan
    z = special.ndtri((1 + level) / 2)
    return z * np.sqrt(values.var(ddof=1) / values.size)


def resample_kappa(correct, clusters, n_resamples, rng):
    """Kappa of all pairs in bootstrap samples of the images.

    Parameters
    ----------
    correct : ndarray of bool, shape (m, n)
        Right or wrong of m observers on n images.
    clusters : array_like, shape (n,)
        Images with one label are drawn together (such as all cue-conflict images of
        one shape). All different: images are drawn singly.
    n_resamples : int
    rng : numpy.random.Generator

    Returns
    -------
    ndarray, shape (n_resamples, m, m)

    Notes
    -----
    The same draw serves all observers. One matrix product per draw, O(m^2 n).
    """
    draws = draw_clusters(clusters, n_resamples, rng)
    correct = np.asarray(correct, dtype=float)
    resampled = np.empty((n_resamples, len(correct), len(correct)))
    for b, weights in enumerate(draws):
        n, k, n11 = pair_counts(correct, weights=weights)
        resampled[b] = kappa(n, k[:, None], k[None, :], n11)
    return resampled


def percentile_interval(resampled, level=0.95):
    """Central `level` interval over the first axis; undefined draws (NaN) left out.

    Parameters
    ----------
    resampled : ndarray, shape (n_resamples, ...)
    level : float

    Returns
    -------
    low, high : ndarray, shape (...)
    """
    tails = [(1 - level) / 2, (1 + level) / 2]
    low, high = np.nanquantile(resampled, tails, axis=0)
    return low, high


def crossed_interval(resampled, first, second, rng, level=0.95):
    """Interval of a mean over pairs that resamples both images and observers.

    The pigeonhole bootstrap (Owen 2007): each draw of images from `resample_kappa` is
    joined with a draw of observers, and the mean kappa weights each pair by how often
    its observers were drawn. Pairs of copies of one observer, whose kappa would be 1,
    are excluded.

    Parameters
    ----------
    resampled : ndarray, shape (n_resamples, m, m)
    first, second : sequence of int
        Indices of the observers of the two groups; the same group twice takes each
        unordered pair once.
    rng : numpy.random.Generator

    Returns
    -------
    low, high : float
        NaN if a group compared with itself has fewer than two observers.
    n_undefined : int
        Draws left out because all their pairs were copies of one observer.

    Notes
    -----
    Conservative: in simulated worlds of 10 observers and 160 images it covers the
    truth in more than its nominal share (`trialwise.simulation.coverage`).
    """
    first, second = np.asarray(first), np.asarray(second)
    within = np.array_equal(first, second)
    n_resamples = len(resampled)
    weights_first = draw(first.size, n_resamples, rng).astype(float)
    weights_second = (
        weights_first if within else draw(second.size, n_resamples, rng).astype(float)
    )
    weight = weights_first[:, :, None] * weights_second[:, None, :]
    weight *= first[:, None] != second[None, :]
    total = weight.sum(axis=(1, 2))
    defined = total > 0
    if not defined.any():
        return np.nan, np.nan, n_resamples
    block = resampled[:, first[:, None], second[None, :]]
    means = (weight * block).sum(axis=(1, 2))[defined] / total[defined]
    low, high = percentile_interval(means, level)
    return low, high, int(np.sum(~defined))


def draw(n, n_resamples, rng):
    """How often each of n is drawn in every bootstrap sample.

    Parameters
    ----------
    n, n_resamples : int
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of int, shape (n_resamples, n)
    """
    return rng.multinomial(n, np.full(n, 1 / n), size=n_resamples)


def draw_clusters(clusters, n_resamples, rng):
    """The same for images of which those with one label are drawn together.

    Parameters
    ----------
    clusters : array_like, shape (n,)
        Labels.
    n_resamples : int
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of int, shape (n_resamples, n)
    """
    labels, cluster = np.unique(np.asarray(clusters), return_inverse=True)
    return draw(len(labels), n_resamples, rng)[:, cluster]
