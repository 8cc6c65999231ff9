"""Automatic relevance determination where there are fewer rows than features."""

import numpy as np
from scipy import linalg
from sklearn.linear_model import ARDRegression

HYPERPRIOR = 2e-6
SMALLEST_VARIANCE = 1e-4
TOLERANCE = 1e-3
MAX_STEPS = 300


def predict_by_ard(
    seen: np.ndarray, rewards: np.ndarray, new: np.ndarray, tolerance: float = TOLERANCE
) -> np.ndarray:
    """Predict what scikit-learn's ARDRegression defines, stably where n < D.

    With at least as many rows as features this is ARDRegression. Otherwise its
    iteration, pruning and stop are kept, but the posterior comes from a factor of the
    (n, n) covariance of the rewards. ARDRegression subtracts nearly equal
    numbers there, so that the mere order of the rows changes its predictions.

    Parameters
    ----------
    seen : ndarray, shape (n, D)
    rewards : ndarray, shape (n,)
    new : ndarray, shape (m, D)
    tolerance : float
        Stop once the absolute changes of the coefficients sum to less.

    Returns
    -------
    ndarray, shape (m,)

    Notes
    -----
    Coefficient i has prior variance v_i, the noise variance s. With K = X V X' + s I,
    the posterior mean w is V X' K^-1 y, and the share of the prior variance that the
    data explain is g_i = v_i x_i' K^-1 x_i; v_i becomes w_i^2 / g_i, and s the squared
    residuals over n - sum g (MacKay 1994; Tipping 2001). O(n^2 D) a step, in place of
    O(n D^2).
    """
    n, n_features = seen.shape
    if n_features <= n:
        return ARDRegression(tol=tolerance).fit(seen, rewards).predict(new)
    mean, level = seen.mean(axis=0), rewards.mean()
    columns, told = np.ascontiguousarray((seen - mean).T), rewards - level
    kept, variance = np.arange(n_features), np.ones(n_features)
    noise = rewards.var() + np.finfo(float).eps
    before = np.zeros(n_features)
    for step in range(MAX_STEPS):
        weights, explained = _posterior(columns, told, variance, noise)
        squares = np.sum((told - weights @ columns) ** 2)
        variance = (weights**2 + HYPERPRIOR) / (explained + HYPERPRIOR)
        noise = (squares + HYPERPRIOR) / (n - explained.sum() + HYPERPRIOR)
        relevant = variance > SMALLEST_VARIANCE
        coefficients = np.zeros(n_features)
        coefficients[kept[relevant]] = weights[relevant]
        if not relevant.all():
            kept, variance = kept[relevant], variance[relevant]
            columns = columns[relevant]
        change = np.abs(coefficients - before).sum()
        before = coefficients
        if len(kept) == 0:
            return np.full(len(new), level)
        if step > 0 and change < tolerance:
            break
    weights, _ = _posterior(columns, told, variance, noise)
    return (new[:, kept] - mean[kept]) @ weights + level


def _posterior(columns, told, variance, noise):
    """Posterior mean of the coefficients, and explained shares of their variances."""
    root = np.sqrt(variance)
    scaled = columns * root[:, None]
    covariance = scaled.T @ scaled
    try:
        factor = np.linalg.cholesky(covariance + noise * np.eye(len(told)))
        reduced = linalg.solve_triangular(factor, told, lower=True)
        half = linalg.blas.dtrsm(1, factor, scaled.T, lower=1, overwrite_b=1).T
    except np.linalg.LinAlgError:
        # Equal rewards leave no noise, and centred rows no full rank.
        sizes, axes = np.linalg.eigh(covariance)
        whitening = axes / np.sqrt(np.maximum(sizes, 0) + noise)
        half, reduced = scaled @ whitening, told @ whitening
    return root * (half @ reduced), np.einsum("ij,ij->i", half, half)
