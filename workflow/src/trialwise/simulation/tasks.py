"""Stimuli of the learning tasks, sampled as in appendix A of Demircan et al. (2024)."""

import numpy as np
import pandas as pd

from trialwise.errors import InputError

BIN_EDGES = np.linspace(0, 2, 6)
PER_BIN = 24


def sample_objects(loadings, rng):
    """Draw 120 objects that cover one dimension evenly, in random order.

    Parameters
    ----------
    loadings : array_like, shape (objects,)
        Loading of each object on the dimension of the task.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of int, shape (120,)
        Indices of objects: 24, without replacement, from each of the five bins of
        loadings (0, .4], (.4, .8], ... (1.6, 2]; others are never shown.

    Raises
    ------
    InputError
        If a bin holds fewer than 24 objects.
    """
    bins = np.digitize(np.asarray(loadings, dtype=float), BIN_EDGES, right=True)
    drawn = []
    for b in range(1, len(BIN_EDGES)):
        available = np.flatnonzero(bins == b)
        if available.size < PER_BIN:
            low, high = BIN_EDGES[b - 1 : b + 1]
            raise InputError(
                f"Only {available.size} objects have loadings in ({low:g}, {high:g}]. "
                f"A task needs {PER_BIN}; choose another dimension."
            )
        drawn.append(rng.choice(available, PER_BIN, replace=False))
    return rng.permutation(np.concatenate(drawn))


def sample_images(objects, images_by_object, rng):
    """Draw one image of each object, all images of an object being equally likely.

    Parameters
    ----------
    objects : array_like of int
    images_by_object : sequence of sequences
        Images of each object.
    rng : numpy.random.Generator

    Returns
    -------
    list
        One image for each of `objects`.
    """
    return [
        images_by_object[o][rng.integers(len(images_by_object[o]))] for o in objects
    ]


def categories(loadings):
    """Category of each of a participant's stimuli.

    Parameters
    ----------
    loadings : array_like, shape (n,)
        Of the participant's stimuli on the dimension that the task is about.

    Returns
    -------
    ndarray of int, shape (n,)
        1 (Julty) below the median, otherwise 0.
    """
    loadings = np.asarray(loadings, dtype=float)
    return (loadings < np.median(loadings)).astype(int)


def rewards(loadings):
    """Reward of each of a participant's stimuli.

    Parameters
    ----------
    loadings : array_like, shape (n,)
        Of the participant's stimuli on the dimension that the task is about.

    Returns
    -------
    ndarray of int, shape (n,)
        The loading scaled to 0..100.
    """
    loadings = np.asarray(loadings, dtype=float)
    low, high = loadings.min(), loadings.max()
    return np.rint(100 * (loadings - low) / (high - low)).astype(int)


def sample_task(task, loadings, images_by_object, participant, dimension, rng):
    """Draw one participant's trials, without choices.

    Parameters
    ----------
    task : {"category", "reward"}
    loadings : array_like, shape (objects,)
        Loading of each object on the participant's dimension.
    images_by_object : sequence of sequences of str
    participant : str
    dimension : int
    rng : numpy.random.Generator

    Returns
    -------
    pandas.DataFrame
        The columns of `trialwise.choices.people.read_choices` but `choice` and
        `correct`: 120 trials of one image, or 60 of two.
    """
    objects = sample_objects(loadings, rng)
    images = sample_images(objects, images_by_object, rng)
    shown = np.asarray(loadings, dtype=float)[objects]
    if task == "category":
        table = pd.DataFrame(
            {"image": images, "true_category_binary": categories(shown)}
        )
    else:
        reward = rewards(shown)
        table = pd.DataFrame(
            {
                "left_image": images[::2],
                "right_image": images[1::2],
                "left_reward": reward[::2],
                "right_reward": reward[1::2],
            }
        )
    table.insert(0, "trial", range(len(table)))
    table.insert(0, "dimension", dimension)
    table.insert(0, "participant", participant)
    return table
