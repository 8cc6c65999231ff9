import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import cohens_kappa

from trialwise.consistency.bounds import (
    kappa_bounds,
    kappa_limits,
    loevinger_h,
    overlap_bounds,
)
from trialwise.consistency.kappa import (
    expected_overlap,
    kappa,
    naive_standard_error,
    observed_overlap,
    pair_counts,
    standard_error,
)

observers = st.tuples(st.integers(2, 5), st.integers(1, 40)).flatmap(
    lambda shape: arrays(bool, shape)
)


def all_kappas(correct):
    n, k, n11 = pair_counts(correct)
    return kappa(n, k[:, None], k[None, :], n11)


def table(x, y):
    return np.array(
        [[np.sum(x & y), np.sum(x & ~y)], [np.sum(~x & y), np.sum(~x & ~y)]]
    )


def test_kappa_by_hand():
    # Both right 4, only i right 2, only j right 1, both wrong 3: c_obs = 7/10,
    # c_exp = .6 * .5 + .4 * .5 = 1/2, kappa = (.7 - .5) / .5.
    counts = 10, 6, 5, 4
    assert observed_overlap(*counts) == pytest.approx(0.7)
    assert expected_overlap(*counts[:3]) == pytest.approx(0.5)
    assert kappa(*counts) == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("n", "k_i", "k_j", "n11", "value"),
    [
        (10, 10, 10, 10, 1),
        (10, 0, 0, 0, 1),
        (1, 1, 1, 1, 1),
        (1, 1, 0, 0, 0),
        (10, 10, 4, 4, 0),
        (10, 0, 4, 0, 0),
        (10, 10, 0, 0, 0),
        (10, 5, 5, 5, 1),
        (10, 5, 5, 0, -1),
    ],
)
def test_kappa_at_the_edges(n, k_i, k_j, n11, value):
    assert kappa(n, k_i, k_j, n11) == value


@given(observers)
def test_kappa_equals_scikit_learn(correct):
    ours = all_kappas(correct)
    for i, x in enumerate(correct):
        for j, y in enumerate(correct):
            if len(set(x) | set(y)) == 2:
                theirs = cohen_kappa_score(x, y)
                assert ours[i, j] == pytest.approx(theirs, abs=1e-12)


@given(observers, st.randoms())
def test_kappa_is_symmetric_and_ignores_order_and_naming(correct, random):
    ours = all_kappas(correct)
    order = list(range(correct.shape[1]))
    random.shuffle(order)
    assert np.array_equal(ours, ours.T)
    assert np.array_equal(ours, all_kappas(correct[:, order]))
    assert np.allclose(ours, all_kappas(~correct), atol=1e-12)


@given(observers)
def test_integer_weights_repeat_images(correct):
    weights = np.arange(correct.shape[1]) % 3
    repeated = np.repeat(correct, weights, axis=1)
    for ours, theirs in zip(
        pair_counts(correct, weights), pair_counts(repeated), strict=True
    ):
        assert np.array_equal(ours, theirs)


@given(observers)
def test_bounds_hold(correct):
    n, k, n11 = pair_counts(correct)
    counts = n, k[:, None], k[None, :], n11
    value = kappa(*counts)
    observed, expected = observed_overlap(*counts), expected_overlap(*counts[:3])
    for bounds, measured in (
        (overlap_bounds(expected), observed),
        (kappa_bounds(expected), value),
        (kappa_limits(*counts[:3]), value),
    ):
        assert np.all(bounds[0] <= measured + 1e-12)
        assert np.all(measured <= bounds[1] + 1e-12)
    h = loevinger_h(value, *kappa_limits(*counts[:3]))
    assert np.all((np.abs(h) <= 1 + 1e-12) | np.isnan(h))


def test_accuracy_limits_lie_within_the_bounds_of_their_expected_overlap():
    n = 12
    k_i, k_j = np.meshgrid(np.arange(n + 1), np.arange(n + 1))
    low, high = kappa_bounds(expected_overlap(n, k_i, k_j))
    kappa_min, kappa_max = kappa_limits(n, k_i, k_j)
    assert np.all(low <= kappa_min + 1e-12)
    assert np.all(kappa_max <= high + 1e-12)


def test_overlap_bounds_are_reached_by_equal_and_opposite_accuracies():
    # c_exp = p^2 + (1-p)^2 of two observers of accuracy p allows c_obs from |2p - 1|;
    # c_exp = 2 p (1-p) of accuracies p and 1-p allows c_obs up to 1 - |2p - 1|.
    p = np.linspace(0, 1, 11)
    low, _ = overlap_bounds(p**2 + (1 - p) ** 2)
    _, high = overlap_bounds(2 * p * (1 - p))
    assert np.allclose(low, np.abs(2 * p - 1))
    assert np.allclose(high, 1 - np.abs(2 * p - 1))


def test_ceiling_by_hand():
    # p = .8 and .3 of 10: at most 3 shared correct answers, at least 1.
    kappa_min, kappa_max = kappa_limits(10, 8, 3)
    assert kappa_max == pytest.approx((0.5 - 0.38) / 0.62)
    assert kappa_min == pytest.approx((0.1 - 0.38) / 0.62)
    assert loevinger_h(kappa_max, kappa_min, kappa_max) == 1
    assert loevinger_h(kappa_min, kappa_min, kappa_max) == -1


def test_h_is_undefined_without_room():
    limits = kappa_limits(10, np.array([10, 0, 10]), np.array([4, 4, 10]))
    assert np.isnan(loevinger_h(np.array([0.0, 0.0, 1.0]), *limits)).all()


@given(observers)
def test_standard_error_equals_statsmodels(correct):
    x, y = correct[0], correct[1]
    if len(set(x)) == 1 or len(set(y)) == 1:
        return
    n, k, n11 = pair_counts(correct[:2])
    counts = n, k[0], k[1], n11[0, 1]
    result = cohens_kappa(table(x, y))
    assert standard_error(*counts) == pytest.approx(result.std_kappa, abs=1e-7)


def test_naive_standard_error_by_hand():
    assert naive_standard_error(10, 6, 5, 4) == pytest.approx(
        np.sqrt(0.7 * 0.3 / 10) / 0.5
    )
