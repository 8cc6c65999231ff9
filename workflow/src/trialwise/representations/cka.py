"""Centred kernel alignment of two representations, linear."""

from collections.abc import Iterator

import numpy as np

from trialwise.errors import InputError
from trialwise.representations.rows import BLOCK


def linear_cka(first: np.ndarray, second: np.ndarray) -> float:
    """Similarity of two representations up to rotation, shift and isotropic scaling.

    Parameters
    ----------
    first : ndarray, shape (n, D1)
    second : ndarray, shape (n, D2)
        Features of the same images, in the same order.

    Returns
    -------
    float
        HSIC(K, L) / sqrt(HSIC(K, K) HSIC(L, L)) with linear kernels K and L, that is
        |Y'X|^2 / (|X'X| |Y'Y|) in Frobenius norms of centred features; from 0 to 1.

    Raises
    ------
    InputError
        If the rows differ in number, or all rows of a representation are the same.

    References
    ----------
    Kornblith, Norouzi, Lee & Hinton (2019), Similarity of neural network
    representations revisited, ICML. Demircan et al. (2024), Eq. 4.
    """
    if len(first) != len(second):
        raise InputError(
            f"The two representations have {len(first)} and {len(second)} rows. "
            "Supply features of the same images."
        )
    own, other = Centred(first), Centred(second)
    shared = inner_product(own, other)
    scale = np.sqrt(inner_product(own, own) * inner_product(other, other))
    if not scale > 0:
        raise InputError(
            "All images have the same features, which agree with nothing. "
            "Extract the features again, or leave the model out."
        )
    return float(shared / scale)


class Centred:
    """Features minus their column means, read in blocks."""

    def __init__(self, features: np.ndarray) -> None:
        self.features = features
        self.mean = np.mean(features, axis=0, dtype=np.float64)
        # Rounding of the mean must not pass for a difference between images.
        constant = np.ptp(features, axis=0) == 0
        self.mean[constant] = features[0][constant]

    @property
    def shape(self) -> tuple[int, int]:
        """Images and features, (n, D)."""
        return self.features.shape

    def blocks(self) -> Iterator[np.ndarray]:
        """Consecutive rows less the mean, so many at a time that memory stays small."""
        for start in range(0, len(self.features), BLOCK):
            yield self.features[start : start + BLOCK] - self.mean


def inner_product(first: Centred, second: Centred) -> float:
    """Sum over all pairs of images of the products of both linear kernels.

    It is computed from the Gram matrices of shape (n, n) or from the product of the
    features of shape (D1, D2), whichever is smaller; that of a representation with
    itself is the sum of the squared eigenvalues of its scatter matrix.

    Parameters
    ----------
    first, second : Centred
        Features of the same n images, with D1 and D2 columns.

    Returns
    -------
    float
    """
    n = first.shape[0]
    if first.shape[1] * second.shape[1] > n**2:
        return _by_gram(first, second)
    cross = np.zeros((second.shape[1], first.shape[1]))
    for x, y in _pairs(first, second):
        cross += y.T @ x
    return float(np.sum(cross**2))


def _by_gram(first: Centred, second: Centred) -> float:
    whole, other = (np.concatenate(list(side.blocks())) for side in (first, second))
    return sum(np.sum((x @ whole.T) * (y @ other.T)) for x, y in _pairs(first, second))


def _pairs(first: Centred, second: Centred) -> Iterator[tuple]:
    # The product of a matrix with itself takes half the work.
    if first is second:
        return ((x, x) for x in first.blocks())
    return zip(first.blocks(), second.blocks(), strict=True)
