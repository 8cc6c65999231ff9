"""Reward learning: the rewards of two images, predicted before they are told."""

from collections.abc import Callable, Mapping

import numpy as np
from sklearn.linear_model import ARDRegression, BayesianRidge

from trialwise.learners.ard import predict_by_ard
from trialwise.learners.scaling import principal_components

LARGEST_AS_IT_STANDS = 128


def learn(
    left: np.ndarray,
    right: np.ndarray,
    left_reward: np.ndarray,
    right_reward: np.ndarray,
    learners: Mapping,
    scale: Callable,
    predictors: Mapping[str, Callable],
) -> dict:
    """Predict the rewards of each trial from the trials before.

    Parameters
    ----------
    left, right : ndarray, shape (n, D)
        Features of the two images of each trial, in order.
    left_reward, right_reward : ndarray, shape (n,)
        Both rewards are told after each trial.
    learners : mapping of str to `trialwise.learners.protocol.Learner`
    scale : {standardise, unchanged}
        What happens to rows, by those seen so far; from `trialwise.learners.scaling`.
    predictors : {AS_PUBLISHED, BY_PENALTY, BY_PENALTY_AXIS_FREE}
        For each penalty, a function of seen rows, their rewards and new rows.

    Returns
    -------
    dict
        For each learner ``value_left`` and ``value_right``, shape (n,); 0 in the first
        trial.

    Raises
    ------
    InputError
        If there are too few components for a learner.
    """
    results = {}
    rewards = np.stack([left_reward, right_reward]).astype(float)
    for name, learner in learners.items():
        images = np.stack([left, right])
        if learner.components is not None:
            rows = principal_components(np.vstack(images), learner.components)
            images = rows.reshape(*rewards.shape, -1)
        values = np.zeros(rewards.shape)
        for t in range(1, values.shape[1]):
            seen, new = scale(np.vstack(images[:, :t]), images[:, t])
            told = rewards[:, :t].ravel()
            values[:, t] = predictors[learner.penalty](seen, told, new)
        results[name] = {"value_left": values[0], "value_right": values[1]}
    return results


class RotatedRidge(BayesianRidge):
    """BayesianRidge on rotated rows, with coefficients of the rows themselves.

    BayesianRidge needs a (D, D) matrix, which rows rotated to n columns avoid. It stops
    once the coefficients' absolute changes sum to less than `tol`. That sum depends on
    the axes, so it is taken on the original ones, `axes` of shape (n, D).
    """

    def _update_coef_(self, *args):
        coefficients, squares = super()._update_coef_(*args)
        return coefficients @ self.axes, squares


def ridge(seen: np.ndarray, rewards: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Predict what scikit-learn's BayesianRidge predicts, faster where D > n.

    Parameters
    ----------
    seen : ndarray, shape (n, D)
    rewards : ndarray, shape (n,)
    new : ndarray, shape (m, D)

    Returns
    -------
    ndarray, shape (m,)
    """
    if seen.shape[1] <= len(seen):
        return BayesianRidge().fit(seen, rewards).predict(new)
    mean, level = seen.mean(axis=0), rewards.mean()
    axes, rotated = np.linalg.qr((seen - mean).T)
    model = RotatedRidge(fit_intercept=False)
    model.axes = axes.T
    model.fit(rotated.T, rewards - level)
    return (new - mean) @ model.coef_ + level


def axis_free_ridge(
    seen: np.ndarray, rewards: np.ndarray, new: np.ndarray
) -> np.ndarray:
    """Predict by BayesianRidge on the principal axes of the seen rows.

    Parameters and returns as in `ridge`; the two differ by when they stop.
    """
    mean = seen.mean(axis=0)
    left, sizes, axes = np.linalg.svd(seen - mean, full_matrices=False)
    return BayesianRidge().fit(left * sizes, rewards).predict((new - mean) @ axes.T)


def published_ard(seen: np.ndarray, rewards: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Predict by ARDRegression as it stands; parameters and returns as in `ridge`.

    Where n < D its predictions depend on rounding; see `predict_by_ard`, which takes
    its place for more than LARGEST_AS_IT_STANDS features. There nobody's number can be
    had again, and ARDRegression would take hours, O(n D^2) a step.
    """
    if seen.shape[1] > LARGEST_AS_IT_STANDS:
        return predict_by_ard(seen, rewards, new)
    return ARDRegression().fit(seen, rewards).predict(new)


AS_PUBLISHED = {"l2": ridge, "l1": published_ard}
BY_PENALTY = {"l2": ridge, "l1": predict_by_ard}
BY_PENALTY_AXIS_FREE = {"l2": axis_free_ridge, "l1": predict_by_ard}
