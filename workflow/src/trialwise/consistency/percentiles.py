"""The grey band of the figures: independent observers of unknown accuracies (S.3).

The authors draw 88.2 million pairs of independent observers whose accuracies lie on a
grid, and take percentiles of overlap and kappa in bins of expected overlap. Here the
same percentiles are summed exactly. The band depends on the grid; it is no confidence
interval of a given pair (for that see `trialwise.consistency.null`).
"""

import numpy as np
import pandas as pd
from scipy import special

from trialwise.consistency.null import hypergeometric_logpmf

N_BINS = 99
POINTS_PER_BLOCK = 1400
KAPPA_STEPS = 2**15
REACH = 6.0


def accuracy_grid(break_point):
    """Accuracies the authors simulate: three blocks of 1,400 points, ends repeated.

    Parameters
    ----------
    break_point : float
        t, which splits [0, 1] at t and 1 - t: .15 in the published script and its
        160-trial table, .05 in the published 1280-trial table.

    Returns
    -------
    ndarray, shape (4200,)
    """
    t = break_point
    blocks = [(0, t), (t, 1 - t), (1 - t, 1)]
    return np.concatenate([np.linspace(*block, POINTS_PER_BLOCK) for block in blocks])


def correct_count_distribution(n, grid):
    """Distribution of k correct answers of n, the accuracy being drawn from a grid.

    Parameters
    ----------
    n : int
        Images.
    grid : ndarray
        Accuracies, symmetric about one half, so that the lower half suffices.

    Returns
    -------
    ndarray, shape (n + 1,)
        Probability of each k.
    """
    k = np.arange(n + 1)[:, None]
    p = grid[: grid.size // 2]
    log_choose = -special.betaln(k + 1, n - k + 1) - np.log(n + 1)
    log_pmf = log_choose + special.xlogy(k, p) + special.xlog1py(n - k, -p)
    lower = np.exp(log_pmf).mean(axis=1)
    return (lower + lower[::-1]) / 2


def independence_band(n, break_point, level=0.95):
    """Percentiles of overlap and kappa of independent observers, by expected overlap.

    Parameters
    ----------
    n : int
        Images.
    break_point : float
        See `accuracy_grid`.
    level : float
        Probability between the two percentiles.

    Returns
    -------
    pandas.DataFrame
        One row per bin i of width 1/99, [i/99, (i+1)/99), i = 0..99: ``expected`` (mean
        c_exp in the bin), ``observed_low, observed_high`` (percentiles of c_obs),
        ``kappa_low, kappa_high``. In the last bin c_exp is 1 and kappa undefined (NaN).

    Notes
    -----
    P(k1, k2) is a product, as the grid is, and n11 given both is hypergeometric. Pairs
    are visited once for (k1, k2), (k2, k1) and both with right and wrong exchanged,
    which share c_exp, c_obs and kappa. Outcomes beyond 6 standard deviations (less than
    1e-8) are left out; kappa is resolved to 2^-14, about 6e-5. O(n^2.5).
    """
    weight = correct_count_distribution(n, accuracy_grid(break_point))
    overlap_mass = np.zeros((N_BINS + 1) * (n + 1))
    kappa_mass = np.zeros((N_BINS + 1) * (KAPPA_STEPS + 1))
    expected_mass = np.zeros(N_BINS + 1)
    pair_mass = np.zeros(N_BINS + 1)
    for k1 in range(n // 2 + 1):
        k2 = np.arange(k1, n - k1 + 1)
        copies = np.where(k2 == k1, 1, 2) * np.where(k2 == n - k1, 1, 2)
        mass = copies * weight[k1] * weight[k2]
        overlap_n2 = k1 * k2 + (n - k1) * (n - k2)
        bins = overlap_n2 * N_BINS // n**2
        expected_mass += np.bincount(bins, mass * overlap_n2 / n**2, N_BINS + 1)
        pair_mass += np.bincount(bins, mass, N_BINS + 1)

        spread = np.sqrt(k1 * (n - k1) * k2 * (n - k2) / (n**2 * max(n - 1, 1)))
        reach = int(np.ceil(REACH * spread.max())) + 1
        first = np.maximum(k1 * k2 // n - reach, 0)
        n11 = first[:, None] + np.arange(2 * reach + 1)
        probability = _hypergeometric_run(n, k1, k2, n11) * mass[:, None]

        overlap_cell = (bins * (n + 1) + n - k1 - k2)[:, None] + 2 * n11
        possible = n11 <= k1
        overlap_mass += np.bincount(
            overlap_cell[possible], probability[possible], overlap_mass.size
        )
        room = n**2 - overlap_n2
        defined = possible & (room > 0)[:, None]
        half_steps = KAPPA_STEPS / np.maximum(room, 1)
        step = np.rint((n * n11 - (k1 * k2)[:, None]) * half_steps[:, None])
        kappa_cell = (bins * (KAPPA_STEPS + 1) + KAPPA_STEPS // 2)[:, None] + step
        np.add.at(
            kappa_mass, kappa_cell[defined].astype(np.int64), probability[defined]
        )
    tails = (1 - level) / 2, (1 + level) / 2
    overlaps = np.arange(n + 1) / n
    kappas = np.arange(KAPPA_STEPS + 1) / KAPPA_STEPS * 2 - 1
    observed_low, observed_high = _quantiles(overlap_mass, overlaps, tails)
    kappa_low, kappa_high = _quantiles(kappa_mass, kappas, tails)
    with np.errstate(invalid="ignore"):
        expected = expected_mass / pair_mass
    return pd.DataFrame(
        {
            "expected": expected,
            "observed_low": observed_low,
            "observed_high": observed_high,
            "kappa_low": kappa_low,
            "kappa_high": kappa_high,
        }
    )


def all_bands(n, break_point):
    """`independence_band` with the two other intervals the supplement draws.

    Parameters
    ----------
    n, break_point
        As in `independence_band`.

    Returns
    -------
    pandas.DataFrame
        ``bin`` (from 1), the columns of `independence_band`, and the limits of
        `clopper_pearson` and `textbook_kappa_band` at the mean expected overlap.
    """
    band = independence_band(n, break_point)
    band.insert(0, "bin", range(1, len(band) + 1))
    low, high = clopper_pearson(band["expected"], n)
    band = band.assign(clopper_pearson_low=low, clopper_pearson_high=high)
    low, high = textbook_kappa_band(band["expected"], n)
    return band.assign(textbook_kappa_low=low, textbook_kappa_high=high)


def clopper_pearson(expected, n, level=0.95):
    """Exact binomial interval of an overlap of `expected` in n images.

    Parameters
    ----------
    expected : array_like in [0, 1]
        c_exp.
    n : int
        Images.
    level : float

    Returns
    -------
    low, high : ndarray
    """
    expected = np.asarray(expected, dtype=float)
    tail = (1 - level) / 2
    k = expected * n
    low = np.where(k > 0, special.betaincinv(k, n - k + 1, tail), 0.0)
    high = np.where(k < n, special.betaincinv(k + 1, n - k, 1 - tail), 1.0)
    return low, high


def textbook_kappa_band(expected, n, level=0.95):
    """Normal band of kappa around 0 that takes c_exp for known, drawn as erroneous.

    Parameters
    ----------
    expected : array_like in [0, 1]
        c_exp.
    n : int
        Images.
    level : float

    Returns
    -------
    low, high : ndarray
        Infinite at c_exp = 1.
    """
    expected = np.asarray(expected, dtype=float)
    with np.errstate(divide="ignore"):
        deviation = np.sqrt(expected / (n * (1 - expected)))
    half = special.ndtri((1 + level) / 2) * deviation
    return -half, half


def _hypergeometric_run(n, k1, k2, n11):
    """P(n11 | k1, k2) along each row of consecutive n11: the first, then ratios."""
    first = np.exp(hypergeometric_logpmf(n, k1, k2, n11[:, 0]))
    before, k2 = n11[:, :-1].astype(float), k2[:, None]
    ratio = (k1 - before) * (k2 - before)
    ratio /= (before + 1) * (n - k1 - k2 + before + 1)
    probability = np.ones(n11.shape)
    np.cumprod(ratio, axis=1, out=probability[:, 1:])
    return probability * first[:, None]


def _quantiles(mass, values, probabilities):
    mass = mass.reshape(-1, values.size)
    cumulative = np.cumsum(mass, axis=1)
    total = cumulative[:, -1:]
    share = np.divide(cumulative, total, out=np.zeros_like(mass), where=total > 0)
    return [
        np.where(total[:, 0] > 0, values[np.argmax(share >= p, axis=1)], np.nan)
        for p in probabilities
    ]


def count_outside(expected, kappa, band):
    """Count pairs above and below the band, interpolated between its bins.

    Parameters
    ----------
    expected, kappa : array_like, shape (pairs,)
    band : pandas.DataFrame
        From `independence_band`.

    Returns
    -------
    above, below : int
    """
    known = band.dropna()
    low = np.interp(expected, known["expected"], known["kappa_low"])
    high = np.interp(expected, known["expected"], known["kappa_high"])
    return int(np.sum(kappa > high)), int(np.sum(kappa < low))
