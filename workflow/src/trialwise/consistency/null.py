"""What kappa independent observers of the same accuracies show."""

import numpy as np
from scipy import special

from trialwise.consistency.kappa import kappa

TIE = 1e-7


def hypergeometric_logpmf(n, k_i, k_j, n11):
    """Log probability that independent observers share `n11` correct answers.

    log [C(k_i, n11) C(n - k_i, k_j - n11) / C(n, k_j)].

    Parameters
    ----------
    n : int
        Images.
    k_i, k_j, n11 : array_like of int, broadcast against each other
        Correct answers of each observer, and images both got right.

    Returns
    -------
    ndarray
        -inf where n11 is impossible.
    """
    log_factorial = special.gammaln(np.arange(n + 1) + 1.0)
    cells = np.stack(
        np.broadcast_arrays(n11, k_i - n11, k_j - n11, n - k_i - k_j + n11)
    )
    possible = (cells >= 0).all(axis=0)
    margins = log_factorial[k_i] + log_factorial[n - k_i]
    margins = margins + log_factorial[k_j] + log_factorial[n - k_j] - log_factorial[n]
    inside = log_factorial[np.clip(cells, 0, n)].sum(axis=0)
    return np.where(possible, margins - inside, -np.inf)


def exact_null(n, k_i, k_j, n11, level=0.95):
    """Exact null interval and two-sided p of kappa, given both accuracies.

    If two observers err independently, n11 given k_i and k_j is hypergeometric. The p
    value is Fisher's: the probability of all outcomes no more likely than the observed
    one (those within a relative 1e-7 count as equally likely, as in R).

    Parameters
    ----------
    n : int
        Images.
    k_i, k_j, n11 : array_like of int, shape (pairs,)
        Correct answers of each observer, and of both.
    level : float
        Probability that the interval holds at least.

    Returns
    -------
    low, high : ndarray, shape (pairs,)
        Central `level` interval of kappa under independence.
    log10_p : ndarray, shape (pairs,)
        Decimal logarithm of p; finite however small p is.

    Notes
    -----
    O(pairs x min(k)) in time and memory.
    """
    k_i, k_j, n11 = (np.atleast_1d(np.asarray(k, dtype=int)) for k in (k_i, k_j, n11))
    n = int(n)
    fewest = np.maximum(0, k_i + k_j - n)
    outcomes = np.minimum(k_i, k_j) - fewest + 1
    support = fewest[:, None] + np.arange(outcomes.max())
    logpmf = hypergeometric_logpmf(n, k_i[:, None], k_j[:, None], support)
    cdf = np.cumsum(np.exp(logpmf), axis=1)
    tail = (1 - level) / 2
    # A probability that equals the tail exactly may be rounded to less.
    below_low, below_high = (cdf < share * (1 - TIE) for share in (tail, 1 - tail))
    low = fewest + np.sum(below_low, axis=1)
    high = fewest + np.minimum(np.sum(below_high, axis=1), outcomes - 1)
    observed = np.take_along_axis(logpmf, (n11 - fewest)[:, None], axis=1)
    unlikely = np.where(logpmf <= observed + TIE, logpmf, -np.inf)
    log_p = special.logsumexp(unlikely, axis=1) - special.logsumexp(logpmf, axis=1)
    return kappa(n, k_i, k_j, low), kappa(n, k_i, k_j, high), log_p / np.log(10)
