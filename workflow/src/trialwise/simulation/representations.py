"""Simulated images, what tasks about them are about, and representations of them."""

from dataclasses import dataclass

import numpy as np

from trialwise.simulation.rendering import image_names

SOURCE = "source"
N_DIMENSIONS = 3


@dataclass(frozen=True)
class Representations:
    """Features of the same images: the one people learn from, and decoys.

    Attributes
    ----------
    images : list of str, length n
        Names that say what the images show.
    latent : ndarray, shape (n, D)
        All that the images are made from; the first three columns, from 0 to 2, are
        what the tasks are about, one dimension per participant.
    features : dict of str to ndarray, shape (n, D)
        ``source`` is `latent`, rotated; ``decoy-1, decoy-2, ...`` hold it under more
        and more noise.
    """

    images: list
    latent: np.ndarray
    features: dict

    @property
    def loadings(self):
        """What the tasks are about, shape (n, 3)."""
        return self.latent[:, :N_DIMENSIONS]


def representation_names(n_decoys):
    """Names of the simulated representations, the one people learn from first.

    Parameters
    ----------
    n_decoys : int

    Returns
    -------
    list of str
    """
    return [SOURCE, *(f"decoy-{decoy}" for decoy in range(1, n_decoys + 1))]


def simulate_representations(n_images, n_features, n_decoys, rng):
    """Draw images, what the tasks are about, and representations of it.

    Parameters
    ----------
    n_images, n_features : int
    n_decoys : int
        Representations with more and more noise, beside the one people learn from.
    rng : numpy.random.Generator

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
    return Representations(image_names(loadings), latent, features)


def _rotation(n, rng):
    return np.linalg.qr(rng.normal(size=(n, n)))[0]
