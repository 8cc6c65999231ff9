import numpy as np
import pytest

from trialwise.consistency.intervals import (
    crossed_interval,
    normal_half_width,
    percentile_interval,
    resample_kappa,
)
from trialwise.consistency.kappa import kappa, pair_counts
from trialwise.simulation.coverage import measure_coverage, rasch_world


def test_normal_half_width_by_hand():
    assert normal_half_width([0.1, 0.2, 0.3]) == pytest.approx(
        1.959964 * 0.1 / np.sqrt(3), abs=1e-7
    )
    assert np.isnan(normal_half_width([0.3]))


def test_resampled_images_spread_as_the_standard_error_says():
    rng = np.random.default_rng(0)
    correct = rasch_world(2, 2000, rng)
    resampled = resample_kappa(correct, np.arange(2000), 2000, rng)[:, 0, 1]
    n, k, n11 = pair_counts(correct)
    from statsmodels.stats.inter_rater import cohens_kappa

    both, i, j = n11[0, 1], k[0], k[1]
    table = [[both, i - both], [j - both, n - i - j + both]]
    assert resampled.std() == pytest.approx(cohens_kappa(table).std_kappa, rel=0.06)
    assert resampled.mean() == pytest.approx(kappa(n, i, j, both), abs=0.002)


def test_clusters_of_identical_images_widen_the_interval():
    rng = np.random.default_rng(1)
    single = rasch_world(2, 300, rng)
    correct = np.repeat(single, 4, axis=1)
    together = np.repeat(np.arange(300), 4)
    apart = resample_kappa(correct, np.arange(1200), 800, np.random.default_rng(2))
    joint = resample_kappa(correct, together, 800, np.random.default_rng(2))
    original = resample_kappa(single, np.arange(300), 800, np.random.default_rng(2))
    assert np.array_equal(joint, original)
    assert joint[:, 0, 1].std() == pytest.approx(2 * apart[:, 0, 1].std(), rel=0.1)


def test_copies_of_one_observer_are_no_pair():
    resampled = np.ones((500, 3, 3))
    resampled[:, ~np.eye(3, dtype=bool)] = 0.25
    low, high, _ = crossed_interval(
        resampled, [0, 1, 2], [0, 1, 2], np.random.default_rng(0)
    )
    assert (low, high) == (0.25, 0.25)


def test_draws_of_a_single_observer_are_counted():
    # Both of two observers are drawn in half the samples.
    resampled = np.full((4000, 2, 2), 0.5)
    _, _, undefined = crossed_interval(
        resampled, [0, 1], [0, 1], np.random.default_rng(0)
    )
    assert undefined == pytest.approx(2000, abs=150)


def test_observers_without_a_pair_have_no_interval():
    low, high, undefined = crossed_interval(
        np.ones((50, 1, 1)), [0], [0], np.random.default_rng(0)
    )
    assert np.isnan([low, high]).all()
    assert undefined == 50


def test_one_image_and_perfect_observers_are_defined():
    rng = np.random.default_rng(0)
    one = resample_kappa(np.array([[True], [False]]), [0], 20, rng)
    assert np.array_equal(one[:, 0, 1], np.zeros(20))
    perfect = resample_kappa(np.ones((2, 30), dtype=bool), np.arange(30), 20, rng)
    assert np.array_equal(percentile_interval(perfect), np.ones((2, 2, 2)))


def test_same_seed_same_interval():
    correct = rasch_world(4, 100, np.random.default_rng(5))
    one, two = (
        resample_kappa(correct, np.arange(100), 50, np.random.default_rng(7))
        for _ in range(2)
    )
    assert np.array_equal(one, two)


@pytest.mark.full
def test_coverage_in_simulated_worlds():
    coverage = measure_coverage(worlds=400, observers=10, images=160, seed=11)
    by_interval = coverage.set_index("interval")["coverage"]
    assert by_interval["normal over pairs"] < 0.7
    assert 0.85 < by_interval["bootstrap of images"] < 0.98
    assert by_interval["crossed bootstrap"] >= 0.95
