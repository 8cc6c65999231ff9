"""Feature matrices: standardised, scaled, rotated, reduced."""

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from trialwise.errors import InputError
from trialwise.feature_matrices import blocks_of


def standardise(seen: np.ndarray, new: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Z-score rows by the mean and SD of those already seen.

    Parameters
    ----------
    seen : ndarray, shape (n, D)
    new : ndarray, shape (D,) or (m, D)

    Returns
    -------
    seen, new : ndarray, of the same shapes
        Minus the column means of `seen`, over its SD (ddof 0). The SD of a constant
        column counts as 1.
    """
    # The mean of equal values can differ from them in the last digit.
    constant = np.ptp(seen, axis=0) == 0
    mean = np.where(constant, seen[0], seen.mean(axis=0))
    sd = np.where(constant, 1.0, seen.std(axis=0))
    return (seen - mean) / sd, (new - mean) / sd


def unchanged(seen: np.ndarray, new: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Leave rows as they are; takes the place of `standardise`."""
    return seen, new


def rotate(rows: np.ndarray) -> np.ndarray:
    """Rotate rows so that row i has zeros behind column i.

    Parameters
    ----------
    rows : ndarray, shape (n, D)

    Returns
    -------
    ndarray, shape (n, min(n, D))
        The factor L of ``rows = L Q``, Q with orthonormal rows; the rows themselves if
        D <= n. Inner products of rows are kept, so learners with an l2 penalty predict
        the same from it; the first m rows vary in the first m columns only. Unlike U S
        of the SVD, which serves as well, it is half zeros, which liblinear skips.
    """
    # With more rows than columns nothing is gained, and on collapsed columns rounding
    # can change the step at which liblinear stops.
    if rows.shape[1] <= rows.shape[0]:
        return rows
    return np.linalg.qr(rows.T, mode="r").T


def principal_components(rows: np.ndarray, k: int) -> np.ndarray:
    """Scores of the rows on their first k principal components.

    Parameters
    ----------
    rows : ndarray, shape (n, D)
    k : int

    Returns
    -------
    ndarray, shape (n, k)

    Raises
    ------
    InputError
        If the rows have fewer than k components.
    """
    from sklearn.decomposition import PCA

    if min(rows.shape) < k:
        raise _too_few(k, min(rows.shape))
    pca = PCA(n_components=k, svd_solver="full")
    scores = pca.fit_transform(rows)
    smallest = max(rows.shape) * np.finfo(float).eps * pca.singular_values_[0]
    _check_rank(k, pca.singular_values_ > smallest)
    return scores


@dataclass(frozen=True)
class Whole:
    """An affine map of features, fixed by all images: (rows - mean) axes / scale.

    Attributes
    ----------
    mean : ndarray, shape (D,)
    axes : ndarray, shape (D, k), or None for no change of axes
    scale : float
    """

    mean: np.ndarray
    axes: np.ndarray | None
    scale: float

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        """Map rows, shape (n, D), to shape (n, D) or (n, k)."""
        centred = np.asarray(rows, dtype=float) - self.mean
        return (centred if self.axes is None else centred @ self.axes) / self.scale


def scale_by_all(features: np.ndarray, components: int | None = None) -> Whole:
    """Centre features and divide them by one number, the root mean squared norm.

    Parameters
    ----------
    features : ndarray, shape (n, D)
        All images of the manifest, not only those of one participant.
    components : int, optional
        First reduce to this many principal components, over the same images.

    Returns
    -------
    Whole
        Maps rows to phi = (f - mean f) / sqrt(mean ||f - mean f||^2). A norm of 0
        counts as 1.

    Raises
    ------
    InputError
        If the features have fewer components.

    Notes
    -----
    Memory beyond the features: one block of rows and, with `components`, (D, D).
    """
    features = np.asarray(features)
    n, dimensions = features.shape
    mean = features.mean(axis=0, dtype=float)
    if components is None:
        squares = sum(np.square(block - mean).sum() for block in blocks_of(features))
        return Whole(mean, None, float(np.sqrt(squares / n)) or 1.0)
    if min(n, dimensions) < components:
        raise _too_few(components, min(n, dimensions))
    covariance = np.zeros((dimensions, dimensions))
    for block in blocks_of(features):
        covariance += (block - mean).T @ (block - mean)
    variances, axes = linalg.eigh(
        covariance / n, subset_by_index=[dimensions - components, dimensions - 1]
    )
    _check_rank(
        components, variances > dimensions * np.finfo(float).eps * variances[-1]
    )
    return Whole(mean, axes, float(np.sqrt(variances.sum())))


def _check_rank(k, present):
    if not present.all():
        raise _too_few(k, np.count_nonzero(present))


def _too_few(k, available):
    return InputError(
        f"The learner needs {k} principal components, the features have {available}. "
        "Leave this learner out for these features."
    )
