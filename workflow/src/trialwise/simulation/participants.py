"""Simulated people who choose by a known learner on a known representation."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import special

from trialwise.learners.protocol import learner_values
from trialwise.simulation.tasks import sample_task

SOURCE = "source"
N_DIMENSIONS = 3


@dataclass(frozen=True)
class Representations:
    """Features of the same images: the one people learn from, and decoys.

    Attributes
    ----------
    images : list of str, length n
    loadings : ndarray, shape (n, 3)
        What the tasks are about, one dimension per participant.
    features : dict of str to ndarray, shape (n, D)
        ``source`` holds the loadings among other dimensions, rotated;
        ``decoy-1, decoy-2, ...`` hold them under more and more noise.
    """

    images: list
    loadings: np.ndarray
    features: dict


def simulate_representations(n_images, n_features, n_decoys, rng):
    """Draw images, what the tasks are about, and representations of it.

    Returns
    -------
    Representations
    """
    loadings = rng.uniform(0, 2, size=(n_images, N_DIMENSIONS))
    latent = np.hstack(
        [loadings, rng.normal(size=(n_images, n_features - N_DIMENSIONS))]
    )
    features = {SOURCE: latent @ _rotation(n_features, rng)}
    for decoy in range(1, n_decoys + 1):
        noisy = latent + 2.0 ** (decoy - 1) * rng.normal(size=latent.shape)
        features[f"decoy-{decoy}"] = noisy @ _rotation(n_features, rng)
    images = [f"stimuli/object{i:04d}/object{i:04d}_01.jpg" for i in range(n_images)]
    return Representations(images, loadings, features)


def simulate_people(task, world, n_participants, beta, sigma, scaling, learner, rng):
    """Let people choose by what a learner has learned from the source representation.

    Each choice is 1 with log-odds (beta + b_i) x, where x is the learner's signed
    value (2 P(1) - 1, or the difference in predicted reward) divided by its standard
    deviation over all trials, and b_i is normal with standard deviation `sigma`.

    Parameters
    ----------
    task : {"category", "reward"}
    world : Representations
    n_participants : int
    beta, sigma : float
    scaling, learner : str
        See `trialwise.learners.protocol.learner_values`.
    rng : numpy.random.Generator

    Returns
    -------
    pandas.DataFrame
        The columns of `trialwise.choices.people.read_choices`.
    """
    trials = pd.concat(
        [
            sample_task(
                task,
                world.loadings[:, i % N_DIMENSIONS],
                [[image] for image in world.images],
                f"sim{i + 1:03d}",
                i % N_DIMENSIONS,
                rng,
            )
            for i in range(n_participants)
        ],
        ignore_index=True,
    )
    values = learner_values(
        trials, world.features[SOURCE], world.images, scaling, [learner]
    )[learner]
    table = trials.merge(values, on=["participant", "trial"], validate="one_to_one")
    signed = table["value_right"] - table["value_left"]
    x = (signed / signed.std(ddof=1)).to_numpy()
    person = pd.factorize(table["participant"])[0]
    slope = beta + sigma * rng.normal(size=n_participants)[person]
    choice = (rng.random(len(x)) < special.expit(slope * x)).astype(int)
    return trials.assign(choice=choice, correct=_correct(trials, choice, task))


def _correct(trials, choice, task):
    if task == "category":
        return (choice == trials["true_category_binary"]).astype(int)
    rewards = trials[["left_reward", "right_reward"]].to_numpy()
    chosen = rewards[np.arange(len(rewards)), choice]
    return (chosen == rewards.max(axis=1)).astype(int)


def _rotation(n, rng):
    return np.linalg.qr(rng.normal(size=(n, n)))[0]
