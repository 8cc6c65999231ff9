"""People and readouts that name the shapes of rendered objects."""

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.metrics import cohen_kappa_score

from trialwise.simulation.rendering import image_names
from trialwise.simulation.shapes import (
    SHAPES,
    read_out,
    see_shapes,
    shape_of,
    simulate_namers,
)


def uniform_loadings(n, seed=0):
    return np.random.default_rng(seed).uniform(0, 2, size=(n, 3))


def true_kappa(loadings, noise):
    """Kappa of two people who see with noise, were answers endless.

    They agree by chance given the image, but share which images are hard: those near
    the border of two shapes.
    """
    borders = np.linspace(0, 2, len(SHAPES) + 1)
    level = np.digitize(loadings, borders[1:-1])
    borders[[0, -1]] = -np.inf, np.inf
    upper, lower = borders[level + 1] - loadings, borders[level] - loadings
    right = norm.cdf(upper / noise) - norm.cdf(lower / noise)
    observed = np.mean(right**2 + (1 - right) ** 2)
    expected = right.mean() ** 2 + (1 - right.mean()) ** 2
    return (observed - expected) / (1 - expected)


def test_without_noise_people_see_the_shape_the_image_is_named_after():
    loadings = uniform_loadings(500)
    seen = see_shapes(loadings[:, 1], 1e-9, np.random.default_rng(1))
    assert (seen == shape_of(image_names(loadings))).all()
    assert set(seen) == set(SHAPES)


@pytest.mark.parametrize("noise", [0.05, 0.15, 0.6])
def test_kappa_of_two_people_approaches_the_truth(noise):
    loadings = uniform_loadings(200_000)[:, 1]
    shapes = see_shapes(loadings, 1e-9, np.random.default_rng(0))
    rng = np.random.default_rng(2)
    first, second = (see_shapes(loadings, noise, rng) == shapes for _ in range(2))
    # Three standard errors of kappa are below 0.01 at this size.
    assert true_kappa(loadings, noise) == pytest.approx(
        cohen_kappa_score(first, second), abs=0.01
    )


def test_a_readout_of_the_loading_is_better_than_one_of_noise_which_guesses():
    loadings = uniform_loadings(400)
    shapes = shape_of(image_names(loadings))
    noise = np.random.default_rng(3).normal(size=(400, 30))
    of_shape = np.mean(read_out(loadings, shapes, seed=0) == shapes)
    of_noise = np.mean(read_out(noise, shapes, seed=0) == shapes)
    # 1 of 5 by chance, with a binomial standard error of 0.02.
    assert of_shape > 0.8
    assert abs(of_noise - 0.2) < 0.08


def test_a_readout_never_sees_the_image_it_names():
    features = np.eye(100)
    shapes = np.repeat(SHAPES, 20)
    assert np.mean(read_out(features, shapes, seed=0) == shapes) <= 0.2


def test_same_seed_same_answers_and_all_observers_name_every_image():
    loadings = uniform_loadings(150)
    arguments = (image_names(loadings), loadings[:, 1], {"source": loadings}, 3, 0.2)
    first, again = (simulate_namers(*arguments, seed=5) for _ in range(2))
    assert [table["subj"].iloc[0] for table in first] == [
        "subject-01",
        "subject-02",
        "subject-03",
        "source",
    ]
    for one, other in zip(first, again, strict=True):
        assert one.equals(other)
        assert len(one) == 150
