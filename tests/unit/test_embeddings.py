"""Synthetic embeddings: what they must have in common with features of networks."""

import numpy as np
import pytest

from trialwise.simulation.embeddings import draw_embedding

N_IMAGES = 5000


@pytest.fixture
def generative():
    return np.random.default_rng(0).gamma(1.0, size=(N_IMAGES, 5))


@pytest.mark.parametrize("dimension", [5, 60])
def test_the_generative_features_can_be_read_out(generative, dimension):
    embedding = draw_embedding(generative, dimension, np.random.default_rng(1))
    assert embedding.shape == (N_IMAGES, dimension)
    design = np.column_stack([embedding, np.ones(N_IMAGES)])
    fitted = design @ np.linalg.lstsq(design, generative, rcond=None)[0]
    np.testing.assert_allclose(fitted, generative, atol=1e-3)


def test_variances_fall_as_one_over_their_rank_and_average_one(generative):
    embedding = draw_embedding(generative, 60, np.random.default_rng(1))
    variances = np.linalg.eigvalsh(np.cov(embedding.T))[::-1]
    assert variances.mean() == pytest.approx(1, rel=0.05)
    slope = np.polyfit(np.log(np.arange(1, 61)), np.log(variances), 1)[0]
    assert slope == pytest.approx(-1, abs=0.1)


def test_the_same_seed_draws_the_same_embedding(generative):
    first, again, other = (
        draw_embedding(generative, 20, np.random.default_rng(seed))
        for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.allclose(first, other)
