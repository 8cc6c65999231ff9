"""Observed and expected overlap, and kappa (Geirhos et al. 2020, Eq. 1-3)."""

import numpy as np


def pair_counts(correct, weights=None):
    """Count correct answers, single and joint, of all pairs of observers.

    Parameters
    ----------
    correct : array_like of bool, shape (m, n)
        Right (1) or wrong (0) of m observers on n images.
    weights : array_like of int, shape (n,), optional
        How often each image counts, as in a bootstrap sample.

    Returns
    -------
    n : float
        Number of images.
    k : ndarray, shape (m,)
        Correct answers of each observer.
    n11 : ndarray, shape (m, m)
        Images that both observers classified correctly.

    Notes
    -----
    One product of an (m, n) matrix with its transpose, O(m^2 n). Counts are integers
    held in float64 and therefore exact, whatever the order of summation.
    """
    correct = np.asarray(correct, dtype=float)
    weighted = correct if weights is None else correct * weights
    n = float(correct.shape[1] if weights is None else np.sum(weights))
    n11 = weighted @ correct.T
    return n, np.diagonal(n11).copy(), n11


def observed_overlap(n, k_i, k_j, n11):
    """Share of images on which both are right or both are wrong (c_obs, Eq. 1).

    Parameters
    ----------
    n, k_i, k_j, n11 : array_like, broadcast against each other
        Images, correct answers of each observer, and images both got right.

    Returns
    -------
    ndarray
    """
    return (n - k_i - k_j + 2 * n11) / n


def expected_overlap(n, k_i, k_j):
    """Overlap of independent observers of the same accuracies (c_exp, Eq. 2).

    Parameters
    ----------
    n, k_i, k_j : array_like, broadcast against each other
        Images, and correct answers of each observer.

    Returns
    -------
    ndarray
    """
    return (k_i * k_j + (n - k_i) * (n - k_j)) / n**2


def kappa(n, k_i, k_j, n11):
    """Error consistency: Cohen's kappa of right and wrong.

    Parameters
    ----------
    n, k_i, k_j, n11 : array_like, broadcast against each other
        Images, correct answers of each observer, and images both got right.

    Returns
    -------
    ndarray
        (c_obs - c_exp) / (1 - c_exp), from integers in one division, hence exactly 0
        where the overlap is the expected one. It is 1 where both observers have
        everything right or both everything wrong, as in the authors' code, though
        1 - c_exp is 0 there.
    """
    excess = 2 * (n * n11 - k_i * k_j)
    possible = np.broadcast_to(k_i * (n - k_j) + k_j * (n - k_i), np.shape(excess))
    return np.divide(excess, possible, out=np.ones(possible.shape), where=possible != 0)


def standard_error(n, k_i, k_j, n11):
    """Large-sample standard error of kappa (Fleiss, Cohen & Everitt 1969, Eq. 8).

    Parameters and shapes as in `kappa`. NaN where 1 - c_exp is 0.
    """
    p_i, p_j, p11 = k_i / n, k_j / n, n11 / n
    p10, p01, p00 = p_i - p11, p_j - p11, 1 - p_i - p_j + p11
    expected = expected_overlap(n, k_i, k_j)
    doubt = 1 - kappa(n, k_i, k_j, n11)
    agree = p11 * (1 - (p_i + p_j) * doubt) ** 2
    agree += p00 * (1 - (2 - p_i - p_j) * doubt) ** 2
    differ = doubt**2 * (p10 * (p_j + 1 - p_i) ** 2 + p01 * (p_i + 1 - p_j) ** 2)
    centre = (1 - doubt - expected * doubt) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = (agree + differ - centre) / (n * (1 - expected) ** 2)
    return np.sqrt(np.maximum(variance, 0))


def naive_standard_error(n, k_i, k_j, n11):
    """Textbook standard error that takes c_exp for known (Cohen 1960, Eq. 7).

    Parameters and shapes as in `kappa`. NaN where 1 - c_exp is 0. It ignores that the
    accuracies are estimated from the same images; use `standard_error`.
    """
    observed = observed_overlap(n, k_i, k_j, n11)
    expected = expected_overlap(n, k_i, k_j)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.sqrt(observed * (1 - observed) / n) / (1 - expected)
