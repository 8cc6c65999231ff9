"""How large and small overlap and kappa can be at all."""

import numpy as np

from trialwise.consistency.kappa import kappa


def overlap_bounds(expected):
    """Bounds of the observed overlap given the expected one (supplement S.2).

    Parameters
    ----------
    expected : array_like in [0, 1]
        c_exp of a pair whose accuracies are not known.

    Returns
    -------
    low, high : ndarray
        c_exp < .5: 0 and 1 - sqrt(1 - 2 c_exp); c_exp > .5: sqrt(2 c_exp - 1) and 1.
    """
    expected = np.asarray(expected, dtype=float)
    low = np.sqrt(np.maximum(2 * expected - 1, 0))
    high = 1 - np.sqrt(np.maximum(1 - 2 * expected, 0))
    return low, high


def kappa_bounds(expected):
    """Bounds of kappa given the expected overlap alone (supplement S.2).

    Parameters
    ----------
    expected : array_like in [0, 1]
        c_exp of a pair whose accuracies are not known.

    Returns
    -------
    low, high : ndarray
        Both are 1 at c_exp = 1, as `kappa` is there.
    """
    expected = np.asarray(expected, dtype=float)
    room = 1 - expected
    return tuple(
        np.divide(overlap - expected, room, out=np.ones_like(room), where=room != 0)
        for overlap in overlap_bounds(expected)
    )


def kappa_limits(n, k_i, k_j):
    """Smallest and largest kappa two observers of given accuracies can have.

    Cohen (1960): the errors overlap as little, or as much, as the margins allow.

    Parameters
    ----------
    n, k_i, k_j : array_like
        Images, and correct answers of each observer.

    Returns
    -------
    kappa_min, kappa_max : ndarray
    """
    fewest = np.maximum(0, k_i + k_j - n)
    most = np.minimum(k_i, k_j)
    return kappa(n, k_i, k_j, fewest), kappa(n, k_i, k_j, most)


def loevinger_h(kappa, kappa_min, kappa_max):
    """Kappa as a share of what the accuracies allow (Loevinger 1948).

    Parameters
    ----------
    kappa, kappa_min, kappa_max : ndarray
        Kappa, and its limits as from `kappa_limits`.

    Returns
    -------
    ndarray
        kappa / kappa_max, or -kappa / kappa_min where kappa is negative, so that H lies
        in [-1, 1]. NaN where the accuracies leave kappa a single possible value: an
        observer who has everything right, or everything wrong.
    """
    limit = np.where(kappa >= 0, kappa_max, -kappa_min)
    fixed = kappa_min == kappa_max
    return np.divide(
        kappa, limit, out=np.full(np.shape(kappa), np.nan), where=~np.asarray(fixed)
    )
