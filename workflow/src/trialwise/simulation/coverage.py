"""How often intervals of a mean kappa hold the truth, in worlds where it is known."""

import numpy as np
import pandas as pd
from scipy import special

from trialwise.consistency.intervals import (
    crossed_interval,
    normal_half_width,
    percentile_interval,
    resample_kappa,
)
from trialwise.consistency.kappa import kappa, pair_counts

LARGE = 400, 4000
ABILITY_SD = 0.5
DIFFICULTY_SD = 1.5
MEAN = 0.5


def rasch_world(m, n, rng):
    """Right and wrong of m observers on n images: logit P = ability - difficulty.

    Parameters
    ----------
    m, n : int
        Observers and images.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of bool, shape (m, n)
    """
    ability = rng.normal(MEAN, ABILITY_SD, size=(m, 1))
    difficulty = rng.normal(0, DIFFICULTY_SD, size=(1, n))
    return rng.random((m, n)) < special.expit(ability - difficulty)


def mean_pair_kappa(correct):
    """Mean kappa over all pairs of observers.

    Parameters
    ----------
    correct : ndarray of bool, shape (m, n)

    Returns
    -------
    float
    """
    n, k, n11 = pair_counts(correct)
    i, j = np.triu_indices(len(k), k=1)
    return kappa(n, k[i], k[j], n11[i, j]).mean()


def measure_coverage(worlds, observers, images, seed, n_resamples=500, level=0.95):
    """Coverage of three intervals of the mean kappa of one group.

    The truth is the mean kappa of a world of 400 observers and 4,000 images drawn from
    the same distribution, that is, over all observers and images there could be.

    Parameters
    ----------
    worlds : int
        Simulated experiments.
    observers, images : int
        Size of each experiment.
    seed, n_resamples : int
    level : float
        Nominal coverage.

    Returns
    -------
    pandas.DataFrame
        ``interval, worlds, coverage, standard_error, mean_width`` for the papers'
        normal interval over pairs, the bootstrap over images alone, and the crossed
        bootstrap over images and observers.
    """
    rng = np.random.default_rng(seed)
    truth = mean_pair_kappa(rasch_world(*LARGE, rng))
    everyone = np.arange(observers)
    i, j = np.triu_indices(observers, k=1)
    covered, widths = [], []
    for _ in range(worlds):
        correct = rasch_world(observers, images, rng)
        n, k, n11 = pair_counts(correct)
        kappas = kappa(n, k[i], k[j], n11[i, j])
        mean, half = kappas.mean(), normal_half_width(kappas, level)
        resampled = resample_kappa(correct, np.arange(images), n_resamples, rng)
        image_means = resampled[:, i, j].mean(axis=1)
        limits = [
            (mean - half, mean + half),
            percentile_interval(image_means, level),
            crossed_interval(resampled, everyone, everyone, rng, level)[:2],
        ]
        covered.append([low <= truth <= high for low, high in limits])
        widths.append([high - low for low, high in limits])
    coverage = np.mean(covered, axis=0)
    return pd.DataFrame(
        {
            "interval": [
                "normal over pairs",
                "bootstrap of images",
                "crossed bootstrap",
            ],
            "worlds": worlds,
            "coverage": coverage,
            "standard_error": np.sqrt(coverage * (1 - coverage) / worlds),
            "mean_width": np.mean(widths, axis=0),
        }
    )
