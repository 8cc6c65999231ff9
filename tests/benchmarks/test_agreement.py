"""Speed of the tests of agreement; times are printed, never asserted."""

import numpy as np
import pandas as pd
import pytest
from threadpoolctl import threadpool_limits

from trialwise.agreement.fixed_margins import difficulty_tests
from trialwise.agreement.individuation import individuation, individuation_power
from trialwise.simulation.coverage import rasch_world

PEOPLE = ["observer-0*"]


def trials_of(observers, images):
    correct = rasch_world(observers, images, np.random.default_rng(0))
    return pd.DataFrame(
        {
            "observer": np.repeat([f"observer-{i:02d}" for i in range(27)], images),
            "image": np.tile([f"image-{i:04d}" for i in range(images)], observers),
            "correct": correct.astype(int).ravel(),
        }
    )


def once(benchmark, function, *arguments):
    with threadpool_limits(1):
        return benchmark.pedantic(function, args=arguments, rounds=1)


@pytest.mark.parametrize("images", [160, 1280])
def test_difficulty_of_351_pairs_by_10000_matrices(benchmark, images):
    groups, comparisons = {"all": ["*"]}, [("all", "all")]
    arguments = trials_of(27, images), groups, comparisons
    pairs, _ = once(benchmark, difficulty_tests, *arguments)
    assert len(pairs) == 351


@pytest.mark.parametrize("images", [160, 1280])
def test_individuation_of_17_replicas(benchmark, images):
    replicas = ["observer-1*", "observer-2*"]
    arguments = trials_of(27, images), PEOPLE, replicas
    assert len(once(benchmark, individuation, *arguments)) == 170


@pytest.mark.parametrize("images", [160, 1280])
def test_power_of_individuation_by_7000_replicas(benchmark, images):
    arguments = trials_of(27, images), PEOPLE
    replicas, _ = once(benchmark, individuation_power, *arguments)
    assert len(replicas) == 7000
