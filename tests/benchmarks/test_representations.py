"""Speed of the measures at 26,107 images and 1,024 features; times are printed, never
asserted."""

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from trialwise.representations.cka import linear_cka
from trialwise.representations.class_separation import class_separation
from trialwise.representations.intrinsic_dimensionality import (
    neighbour_ratios,
    participation_ratio,
    prepare_points,
)
from trialwise.representations.odd_one_out import probe, zero_shot
from trialwise.representations.rows import group_means

IMAGES, OBJECTS, DIMENSIONS, TRIPLETS = 26_107, 1854, 1024, 146_168


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Features on the disk, objects, task features and triplets by chance."""
    rng = np.random.default_rng(0)
    shown = np.sort(np.append(np.arange(OBJECTS), rng.integers(OBJECTS, size=24_253)))
    task = rng.normal(size=(OBJECTS, 49)).astype(np.float32)
    meant = task @ rng.normal(size=(49, DIMENSIONS)).astype(np.float32) / 7
    features = meant[shown] + rng.normal(size=(IMAGES, DIMENSIONS)).astype(np.float32)
    path = tmp_path_factory.mktemp("features") / "features.npy"
    np.save(path, np.maximum(features, 0))
    triplets = rng.integers(OBJECTS, size=(2 * TRIPLETS, 3))
    different = (np.diff(np.sort(triplets, axis=1), axis=1) > 0).all(axis=1)
    return (
        np.load(path, mmap_mode="r"),
        shown,
        task[shown],
        triplets[different][:TRIPLETS],
    )


def once(benchmark, measure, *arguments):
    with threadpool_limits(1):
        return benchmark.pedantic(measure, args=arguments, rounds=1)


def test_class_separation(benchmark, world):
    features, shown, _, _ = world
    assert 0 < once(benchmark, class_separation, features, shown) < 1


def test_cka(benchmark, world):
    features, _, task, _ = world
    assert 0 < once(benchmark, linear_cka, features, task) < 1


def test_participation_ratio(benchmark, world):
    features, _, _, _ = world
    assert once(benchmark, participation_ratio, features) < DIMENSIONS


def test_odd_one_out(benchmark, world):
    features, shown, _, triplets = world

    def measure():
        return zero_shot(group_means(features, shown), triplets)

    assert 0 < once(benchmark, measure).cosine < 1


def test_two_nearest_neighbours_on_two_cores(benchmark, world):
    features, _, _, _ = world

    def measure():
        return neighbour_ratios(prepare_points(features), n_jobs=2)

    assert once(benchmark, measure).shape == (IMAGES,)


def test_probe_of_half_the_dimensions_on_two_cores(benchmark, world):
    features, shown, _, triplets = world
    embedding = group_means(features[:, : DIMENSIONS // 2], shown)
    assert once(benchmark, probe, embedding, triplets, 0, 2).accuracy > 0
