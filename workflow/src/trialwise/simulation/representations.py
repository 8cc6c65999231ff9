"""Simulated images, what tasks about them are about, and representations of them."""

from dataclasses import dataclass

import numpy as np

SOURCE = "source"
N_DIMENSIONS = 3


@dataclass(frozen=True)
class Representations:
    """Features of the same images: the one people learn from, and decoys.

    Attributes
    ----------
    images : list of str, length n
    loadings : ndarray, shape (n, 3)
        What the tasks are about, one dimension per participant.
    features : dict of str to ndarray, shape (n, D)
        ``source`` holds the loadings among other dimensions, rotated;
        ``decoy-1, decoy-2, ...`` hold them under more and more noise.
    """

    images: list
    loadings: np.ndarray
    features: dict


def representation_names(n_decoys):
    """Names of the simulated representations, the one people learn from first."""
    return [SOURCE, *(f"decoy-{decoy}" for decoy in range(1, n_decoys + 1))]


def simulate_representations(n_images, n_features, n_decoys, rng):
    """Draw images, what the tasks are about, and representations of it.

    Returns
    -------
    Representations
    """
    loadings = rng.uniform(0, 2, size=(n_images, N_DIMENSIONS))
    latent = np.hstack(
        [loadings, rng.normal(size=(n_images, n_features - N_DIMENSIONS))]
    )
    features = {}
    for rank, name in enumerate(representation_names(n_decoys)):
        noise = 2.0 ** (rank - 1) if rank else 0
        noisy = latent + noise * rng.normal(size=latent.shape)
        features[name] = noisy @ _rotation(n_features, rng)
    images = [f"stimuli/object{i:04d}/object{i:04d}_01.jpg" for i in range(n_images)]
    return Representations(images, loadings, features)


def _rotation(n, rng):
    return np.linalg.qr(rng.normal(size=(n, n)))[0]
