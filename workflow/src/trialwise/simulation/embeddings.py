"""Synthetic embeddings of any dimension, to measure what learning from them costs."""

import numpy as np


def draw_embedding(
    generative: np.ndarray, n_features: int, rng: np.random.Generator
) -> np.ndarray:
    """Rotate generative features into more dimensions, beside noise.

    The variance along the k-th axis falls as 1/k, as that of networks' features
    roughly does, so that learners need about as many steps as with those.

    Parameters
    ----------
    generative : ndarray, shape (n_images, G)
        What the tasks are about, no column constant.
    n_features : int
        D, at least G.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of float32, shape (n_images, D)
        The mean over the D features of their variances is 1. O(n_images D^2) to draw.
    """
    known = (generative - generative.mean(axis=0)) / generative.std(axis=0)
    n_images, n_known = known.shape
    noise = rng.standard_normal((n_images, n_features - n_known), dtype=np.float32)
    variances = 1 / np.arange(1, n_features + 1)
    spread = np.sqrt(variances / variances.mean()).astype(np.float32)
    rotation = np.linalg.qr(rng.standard_normal((n_features, n_features)))[0]
    latent = np.hstack([known.astype(np.float32), noise]) * spread
    return latent @ rotation.astype(np.float32)
