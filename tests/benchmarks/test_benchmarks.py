"""Speed of the costly computations; times are printed, never asserted."""

import numpy as np
import pytest

from trialwise.consistency.intervals import resample_kappa
from trialwise.consistency.kappa import kappa, pair_counts
from trialwise.consistency.null import exact_null
from trialwise.consistency.percentiles import independence_band
from trialwise.simulation.coverage import rasch_world


@pytest.fixture(scope="module")
def correct():
    return rasch_world(35, 1280, np.random.default_rng(0))


def test_kappa_of_595_pairs(benchmark, correct):
    def all_pairs():
        n, k, n11 = pair_counts(correct)
        return kappa(n, k[:, None], k[None, :], n11)

    assert benchmark(all_pairs).shape == (35, 35)


def test_exact_null_of_595_pairs(benchmark, correct):
    n, k, n11 = pair_counts(correct)
    i, j = np.triu_indices(35, k=1)
    low, high, _ = benchmark(exact_null, n, k[i], k[j], n11[i, j])
    assert np.all(low <= high)


def test_2000_resamples_of_595_pairs(benchmark, correct):
    resampled = benchmark.pedantic(
        resample_kappa,
        args=(correct, np.arange(1280), 2000, np.random.default_rng(1)),
        rounds=3,
    )
    assert resampled.shape == (2000, 35, 35)


@pytest.mark.parametrize("n", [160, 1280])
def test_exact_percentiles(benchmark, n):
    band = benchmark.pedantic(
        independence_band, args=(n, 0.05), rounds=3, warmup_rounds=1
    )
    assert len(band) == 100
