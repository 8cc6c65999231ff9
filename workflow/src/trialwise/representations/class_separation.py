"""Class separation: how much closer images of one object are than images at large."""

import numpy as np

from trialwise.errors import InputError
from trialwise.representations.rows import group_means, unit_rows


def class_separation(features: np.ndarray, classes: np.ndarray) -> float:
    """Share of the mean cosine distance that lies between classes.

    Parameters
    ----------
    features : ndarray, shape (n, D)
    classes : ndarray of int, shape (n,)
        Numbers from 0 on, each of them present.

    Returns
    -------
    float
        R2 = 1 - d_within / d_total. The distances are 1 - cosine; d_within is the mean
        over all ordered pairs of images of a class (an image with itself included), and
        then over classes; d_total the mean over all ordered pairs of classes of the
        mean over their pairs of images.

    Raises
    ------
    InputError
        If all rows point the same way, so that d_total is 0.

    Notes
    -----
    With m_k the mean of the unit vectors of class k, d_within = 1 - mean_k |m_k|^2 and
    d_total = 1 - |mean_k m_k|^2: time is linear in n. A row of zeros has the distance 1
    to every row, itself included.

    References
    ----------
    Kornblith, Chen, Lee & Norouzi (2021), Why do better loss functions lead to less
    transferable features?, NeurIPS. Demircan et al. (2024), Eq. 2 and 3.
    """
    means = group_means(features, classes, unit_rows)
    within = 1 - np.mean(np.sum(means**2, axis=1))
    total = 1 - np.sum(means.mean(axis=0) ** 2)
    if not total > len(features) * np.finfo(float).eps:
        raise InputError(
            "All features point in one direction, so nothing can separate classes. "
            "Extract the features again, or leave the model out."
        )
    return float(1 - within / total)


def with_pairs_once(separation: float) -> float:
    """Class separation as the committed code of Demircan et al. (2024) computes it.

    Parameters
    ----------
    separation : float
        From `class_separation`.

    Returns
    -------
    float
        (1 + R2) / 2. Within classes the code adds up each pair once, and divides by the
        number of ordered pairs: d_within is half of that in Eq. 3.

    Notes
    -----
    Ranks of models, and with them rank correlations, are the same for both. As d_within
    is never larger than d_total, whatever the features and classes, this code cannot
    give less than .5; of the 79 values of Figure 4D, 37 are smaller and were hence
    computed otherwise.
    """
    return (1 + separation) / 2


def classes_of_task(task_features: np.ndarray) -> np.ndarray:
    """Number the images by their features in the task, equal rows alike.

    Parameters
    ----------
    task_features : ndarray, shape (n, D)

    Returns
    -------
    ndarray of int, shape (n,)
        The classes of Demircan et al. (2024); for THINGS these are its objects.
    """
    _, classes = np.unique(task_features, axis=0, return_inverse=True)
    return classes
