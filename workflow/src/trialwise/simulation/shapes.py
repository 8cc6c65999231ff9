"""Simulated people and networks that name the shapes of rendered objects."""

from collections.abc import Sequence
from pathlib import PurePosixPath

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from trialwise.learners.scaling import scale_by_all
from trialwise.simulation.rendering import MAX_LOADING, SHAPE, WORDS
from trialwise.trials import COLUMNS, HUMAN

SHAPES = WORDS[SHAPE]
N_FOLDS = 10
PENALTY = 100
_EDGES = np.linspace(0, MAX_LOADING, len(SHAPES) + 1)[1:-1]


def shape_of(images: Sequence[str]) -> np.ndarray:
    """The shape that the name of each image says.

    Parameters
    ----------
    images : sequence of str, length n
        As from `trialwise.simulation.rendering.image_names`.

    Returns
    -------
    ndarray of str, shape (n,)
    """
    words = (PurePosixPath(image).name.split("_")[SHAPE] for image in images)
    return np.array(list(words))


def see_shapes(
    loadings: np.ndarray, noise: float, rng: np.random.Generator
) -> np.ndarray:
    """Answers of a person who sees the shape's loading with Gaussian noise.

    Parameters
    ----------
    loadings : ndarray, shape (n,)
        From 0, a disc, to 2, a star; the five shapes have equal widths.
    noise : float
        Standard deviation.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of str, shape (n,)
    """
    seen = loadings + noise * rng.normal(size=len(loadings))
    return np.array(SHAPES)[np.searchsorted(_EDGES, seen, side="right")]


def read_out(features: np.ndarray, shapes: np.ndarray, seed: int) -> np.ndarray:
    """Shapes that a linear readout of features names, each image held out in turn.

    Multinomial logistic regression with an l2 penalty, in ten folds, of features that
    are centred and divided by their root mean squared norm.

    Parameters
    ----------
    features : ndarray, shape (n, D)
    shapes : ndarray of str, shape (n,)
    seed : int

    Returns
    -------
    ndarray of str, shape (n,)
    """
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed)
    scaled = scale_by_all(features)(features)
    model = LogisticRegression(C=PENALTY, max_iter=1000)
    return cross_val_predict(model, scaled, shapes, cv=folds)


def shape_trials(
    observer: str, images: Sequence[str], answers: np.ndarray
) -> pd.DataFrame:
    """Answers of one observer as a trial table in the error-consistency format.

    Parameters
    ----------
    observer : str
    images : sequence of str
        Paths, which name what is shown.
    answers : ndarray of str, shape (n,)

    Returns
    -------
    pandas.DataFrame
        The columns of the published data.
    """
    return pd.DataFrame(
        {
            "subj": observer,
            "session": 1,
            "trial": np.arange(1, len(images) + 1),
            "rt": "NaN",
            "object_response": answers,
            "category": shape_of(images),
            "condition": 0,
            "imagename": [PurePosixPath(image).name for image in images],
        }
    )[list(COLUMNS)]


def simulate_namers(
    images: Sequence[str],
    loadings: np.ndarray,
    features: dict[str, np.ndarray],
    people: int,
    noise: float,
    seed: int,
) -> list[pd.DataFrame]:
    """Trial tables of simulated people, and of a readout of each representation.

    Parameters
    ----------
    images : sequence of str, length n
    loadings : ndarray, shape (n,)
        Of the shape.
    features : dict of str to ndarray, shape (n, D)
        By observer.
    people : int
    noise : float
    seed : int

    Returns
    -------
    list of pandas.DataFrame
    """
    rng = np.random.default_rng(seed)
    answers = {
        f"{HUMAN}-{person:02d}": see_shapes(loadings, noise, rng)
        for person in range(1, people + 1)
    }
    shapes = shape_of(images)
    for name, matrix in features.items():
        answers[name] = read_out(matrix, shapes, seed)
    return [shape_trials(name, images, given) for name, given in answers.items()]
