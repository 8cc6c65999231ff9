from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats

from trialwise.consistency.kappa import kappa
from trialwise.consistency.null import exact_null, hypergeometric_logpmf


@st.composite
def pair_counts(draw):
    n = draw(st.integers(1, 200))
    k_i, k_j = draw(st.integers(0, n)), draw(st.integers(0, n))
    n11 = draw(st.integers(max(0, k_i + k_j - n), min(k_i, k_j)))
    return n, k_i, k_j, n11


@given(pair_counts())
def test_p_is_fishers(counts):
    n, k_i, k_j, n11 = counts
    table = [[n11, k_i - n11], [k_j - n11, n - k_i - k_j + n11]]
    _, _, log10_p = exact_null(*counts)
    expected = stats.fisher_exact(table).pvalue
    assert 10 ** log10_p[0] == pytest.approx(expected, rel=1e-9)


def exact_quantile(n, k_i, k_j, share):
    """Fewest shared correct answers up to which the probability reaches `share`."""
    reached = 0
    for n11 in range(max(0, k_i + k_j - n), min(k_i, k_j) + 1):
        reached += comb(k_i, n11) * comb(n - k_i, k_j - n11)
        if reached >= share * comb(n, k_j):
            return n11
    raise AssertionError("all outcomes together have probability 1")


# Ties: a cumulated probability that is 1/40 or 39/40 to the last digit, which
# floating-point numbers miss; so does scipy's ppf in the first.
@example((16, 13, 2, 0))
@example((16, 2, 3, 0))
@example((40, 1, 1, 0))
@example((40, 1, 39, 0))
@example((40, 39, 39, 38))
@given(pair_counts())
def test_null_interval_is_the_hypergeometric_one(counts):
    n, k_i, k_j, _ = counts
    low, high, _ = exact_null(*counts)
    assert low[0] == kappa(n, k_i, k_j, exact_quantile(n, k_i, k_j, Fraction(1, 40)))
    assert high[0] == kappa(n, k_i, k_j, exact_quantile(n, k_i, k_j, Fraction(39, 40)))


@given(pair_counts())
def test_logpmf_equals_scipy(counts):
    n, k_i, k_j, _ = counts
    n11 = np.arange(n + 1)
    ours = hypergeometric_logpmf(n, k_i, k_j, n11)
    assert np.allclose(np.exp(ours), stats.hypergeom.pmf(n11, n, k_i, k_j), atol=1e-12)


def test_p_of_overwhelming_agreement_is_not_zero():
    # Identical observers, half right of 100,000: the single most extreme table.
    n, k = 100_000, 50_000
    _, _, log10_p = exact_null(n, k, k, k)
    from math import lgamma, log

    log_choose = lgamma(n + 1) - 2 * lgamma(k + 1)
    assert log10_p[0] == pytest.approx((log(2) - log_choose) / log(10), rel=1e-9)


def test_null_of_observers_without_errors_is_a_point():
    low, high, log10_p = exact_null(20, [20, 20, 0], [20, 7, 5], [20, 7, 0])
    assert low.tolist() == high.tolist() == [1, 0, 0]
    assert log10_p.tolist() == [0, 0, 0]


def test_exact_test_holds_its_level_and_interval_covers():
    rng = np.random.default_rng(3)
    n, k_i, k_j = 40, 26, 17
    n11 = rng.hypergeometric(k_i, n - k_i, k_j, size=4000)
    low, high, log10_p = exact_null(n, np.full(4000, k_i), np.full(4000, k_j), n11)
    value = kappa(n, k_i, k_j, n11)
    assert np.mean(log10_p < np.log10(0.05)) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 4000)
    assert np.mean((low <= value) & (value <= high)) >= 0.95 - 0.011
