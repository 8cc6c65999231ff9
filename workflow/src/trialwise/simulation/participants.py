"""Simulated people who choose by a known learner on a known representation."""

import numpy as np
import pandas as pd
from scipy import special

from trialwise.learners.protocol import learner_values
from trialwise.simulation.representations import N_DIMENSIONS, SOURCE
from trialwise.simulation.tasks import sample_task


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
