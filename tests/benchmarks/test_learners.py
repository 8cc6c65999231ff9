"""Speed of the learners with 768 features; times are printed, never asserted."""

import numpy as np
import pytest

from trialwise.learners.protocol import LEARNERS, SCALINGS

DIMENSIONS = 768
BY_COPIES = [name for name, scaling in SCALINGS.items() if not scaling.by_all]


@pytest.fixture(scope="module")
def images():
    rng = np.random.default_rng(0)
    signal = rng.normal(size=(120, 49))
    features = signal @ rng.normal(size=(49, DIMENSIONS)) / 7
    features += 0.5 * rng.normal(size=features.shape)
    return features, signal[:, 0]


def once(benchmark, learn, *arguments):
    return benchmark.pedantic(learn, args=arguments, rounds=1)


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("name", BY_COPIES)
def test_category_learning_of_one_person(benchmark, images, name, learner):
    features, signal = images
    learners = {learner: LEARNERS[learner]}
    labels = (signal > np.median(signal)).astype(int)
    values = once(benchmark, SCALINGS[name].category, features, labels, learners)
    assert values[learner]["value_right"].shape == (120,)


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("name", ["in-place", "raw"])
def test_reward_learning_of_one_person(benchmark, images, name, learner):
    features, signal = images
    rewards = np.round(50 + 15 * signal)
    sides = features[:60], features[60:], rewards[:60], rewards[60:]
    learners = {learner: LEARNERS[learner]}
    values = once(benchmark, SCALINGS[name].reward, *sides, learners)
    assert values[learner]["value_right"].shape == (60,)


def test_comparable_category_learning_of_one_person(benchmark, images):
    features, signal = images
    phi = features / np.sqrt(np.mean((features**2).sum(axis=1)))
    labels = (signal > np.median(signal)).astype(int)
    learners = {"main": LEARNERS["main"]}
    values = once(benchmark, SCALINGS["global"].category, phi, labels, learners)
    assert values["main"]["C"].shape == (120,)
