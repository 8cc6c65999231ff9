"""Worlds of known truth for the tests of agreement: size and power.

Logit P(correct) = discrimination (ability - difficulty), with the abilities and
difficulties of `trialwise.simulation.coverage`.
"""

import numpy as np
import pandas as pd
from scipy import special

from trialwise.agreement.fixed_margins import (
    overall_test,
    pair_tests,
    sample_overlaps,
)
from trialwise.agreement.individuation import (
    copy_replicas,
    fixed_observer_null,
    individuation,
)
from trialwise.simulation.coverage import ABILITY_SD, DIFFICULTY_SD, MEAN

DISCRIMINATION_SD = 0.5
CORRELATION = 0.5


def shared_difficulty_world(m, n, rng, discrimination_sd=0.0):
    """Right and wrong of observers to whom images have the same difficulties.

    Parameters
    ----------
    m, n : int
        Observers and images.
    rng : numpy.random.Generator
    discrimination_sd : float
        Standard deviation of the log discrimination of observers. 0 is the Rasch model,
        under which the test with fixed margins is exact. Otherwise difficulty matters
        more to some than to others, which is no shared difficulty in the sense of the
        test though nobody has a strategy of their own.

    Returns
    -------
    ndarray of bool, shape (m, n)
    """
    ability = rng.normal(MEAN, ABILITY_SD, size=(m, 1))
    difficulty = rng.normal(0, DIFFICULTY_SD, size=n)
    discrimination = np.exp(rng.normal(0, discrimination_sd, size=(m, 1)))
    return rng.random((m, n)) < special.expit(discrimination * (ability - difficulty))


def strategies_probability(strategy, n, rng, correlation=CORRELATION):
    """Probability of a correct answer where every strategy has its own difficulties.

    Parameters
    ----------
    strategy : array_like of int, shape (m,)
        Number of the strategy of each observer, from 0.
    n : int
        Images.
    rng : numpy.random.Generator
    correlation : float
        Of the difficulty of an image for one strategy with that for another.

    Returns
    -------
    ndarray, shape (m, n)
    """
    ability = rng.normal(MEAN, ABILITY_SD, size=(len(strategy), 1))
    common = rng.normal(0, DIFFICULTY_SD, size=n)
    own = rng.normal(0, DIFFICULTY_SD, size=(max(strategy) + 1, n))
    difficulty = np.sqrt(correlation) * common + np.sqrt(1 - correlation) * own
    return special.expit(ability - difficulty[strategy])


def two_strategies_world(m, n, rng, correlation=CORRELATION):
    """Right and wrong of m observers, the first half of whom has another strategy.

    Parameters
    ----------
    m, n : int
        Observers and images.
    rng : numpy.random.Generator
    correlation : float
        See `strategies_probability`.

    Returns
    -------
    ndarray of bool, shape (m, n)
    """
    strategy = (np.arange(m) >= m // 2).astype(int)
    return rng.random((m, n)) < strategies_probability(strategy, n, rng, correlation)


def replica_world(m, n, copy_probability, rng):
    """People under the Rasch model, and a replica that copies the first of them.

    Parameters
    ----------
    m, n : int
        People and images.
    copy_probability : float
    rng : numpy.random.Generator

    Returns
    -------
    people : ndarray of bool, shape (m, n)
    replica : ndarray of bool, shape (n,)
        On each image as the first person with `copy_probability`; otherwise a fresh
        answer of somebody of the same ability.
    """
    ability = rng.normal(MEAN, ABILITY_SD, size=(m, 1))
    difficulty = rng.normal(0, DIFFICULTY_SD, size=n)
    probability = special.expit(ability - difficulty)
    people = rng.random((m, n)) < probability
    replica = copy_replicas(people[0], probability[0], copy_probability, 1, rng)
    return people, replica[0]


def measure_difficulty_tests(
    worlds, observers, images, seed, n_matrices=199, alpha=0.05
):
    """Size and power of the tests of pairs and of the overall test.

    Parameters
    ----------
    worlds : int
        Simulated experiments of each kind.
    observers, images : int
        Size of each experiment.
    seed, n_matrices : int
    alpha : float
        Nominal size.

    Returns
    -------
    pandas.DataFrame
        ``world, test, worlds, rejected, standard_error``. Pairs: share of p_upper <=
        `alpha`, whose standard error is that over worlds. Worlds ``Rasch`` and ``two
        strategies, each by itself`` give the size, the latter of pairs between the two;
        ``unequal discrimination`` tells how far the model matters.
    """
    i, j = np.triu_indices(observers, k=1)
    strategy = np.arange(observers) >= observers // 2
    between = strategy[i] != strategy[j]
    everyone = np.zeros(observers)
    one_matrix = {"pairs": slice(None)}
    by_strategy = {"pairs within": ~between, "pairs between": between}
    cases = [
        ("Rasch", _rasch, everyone, slice(None), one_matrix),
        ("unequal discrimination", _unequal, everyone, slice(None), one_matrix),
        ("two strategies", two_strategies_world, everyone, slice(None), by_strategy),
        (
            *("two strategies, each by itself", two_strategies_world),
            *(strategy, between, {"pairs between": slice(None)}),
        ),
    ]
    rng = np.random.default_rng(seed)
    rows = []
    for name, world, labels, kept, kinds in cases:
        rejected = {**{kind: [] for kind in kinds}, "overall": []}
        for _ in range(worlds):
            correct = world(observers, images, rng)
            first, second = i[kept], j[kept]
            n11 = np.sum(correct[first] & correct[second], axis=1)
            sampled = sample_overlaps(correct, first, second, n_matrices, rng, labels)
            p_upper = pair_tests(n11, sampled)[2]
            for kind, which in kinds.items():
                rejected[kind].append(np.mean(p_upper[which] <= alpha))
            rejected["overall"].append(overall_test(n11, sampled)[1] <= alpha)
        for test, shares in rejected.items():
            error = np.std(shares, ddof=1) / np.sqrt(worlds)
            rows.append([name, test, worlds, np.mean(shares), error])
    columns = ["world", "test", "worlds", "rejected", "standard_error"]
    return pd.DataFrame(rows, columns=columns)


def measure_individuation(
    worlds, observers, images, copy_probabilities, seed, n_matrices=199, alpha=0.05
):
    """Size (copy probability 0) and power of the test of a replica against its target.

    Parameters
    ----------
    worlds : int
        Simulated experiments per copy probability, of one replica each.
    observers, images : int
        Size of each experiment.
    copy_probabilities : sequence of float
    seed, n_matrices : int
    alpha : float
        Nominal size.

    Returns
    -------
    pandas.DataFrame
        ``copy_probability, test, worlds, rejected, standard_error`` for the test
        ``target``, of the person who was copied, and ``another person``, of somebody
        who was not.
    """
    rng = np.random.default_rng(seed)
    rows = []
    for copy_probability in copy_probabilities:
        p_upper = np.empty((worlds, 2))
        for w in range(worlds):
            people, replica = replica_world(observers, images, copy_probability, rng)
            tests, _ = fixed_observer_null(people, replica[None, None], n_matrices, rng)
            p_upper[w] = tests["p_upper"][:2, 0]
        for test, p in zip(["target", "another person"], p_upper.T, strict=True):
            rejected = np.mean(p <= alpha)
            error = np.sqrt(rejected * (1 - rejected) / worlds)
            rows.append([copy_probability, test, worlds, rejected, error])
    columns = ["copy_probability", "test", "worlds", "rejected", "standard_error"]
    return pd.DataFrame(rows, columns=columns)


def measure_fidelity(
    worlds, observers, images, seed, n_matrices=199, n_resamples=500, level=0.95
):
    """Coverage of the interval of fidelity, where fidelity is 1.

    All people have difficulties of their own, and the replica answers as the target
    does in a session of its own: it is one more repeat session.

    Parameters
    ----------
    worlds : int
    observers, images : int
        Size of each experiment.
    seed, n_matrices, n_resamples : int
    level : float
        Nominal coverage.

    Returns
    -------
    dict of str to float
        ``median`` fidelity, ``coverage`` of 1, its ``standard_error``, and the share of
        worlds in which fidelity is ``defined``, as its denominator is positive.
    """
    rng = np.random.default_rng(seed)
    fidelity, low, high = np.empty((3, worlds))
    for w in range(worlds):
        probability = strategies_probability(np.arange(observers), images, rng)
        sessions = np.vstack([probability, probability[[0, 0]]])
        correct = rng.random(sessions.shape) < sessions
        trials = pd.DataFrame(
            {
                "observer": np.repeat(
                    [*(f"person-{i}" for i in range(observers)), "person-0", "replica"],
                    images,
                ),
                "image": np.tile(np.arange(images), observers + 2),
                "correct": correct.ravel().astype(int),
            }
        )
        row = individuation(
            trials,
            ["person-*"],
            ["replica"],
            n_matrices=n_matrices,
            n_resamples=n_resamples,
            level=level,
            seed=w,
        ).iloc[0]
        fidelity[w], low[w], high[w] = row[
            ["fidelity", "fidelity_low", "fidelity_high"]
        ]
    defined = ~np.isnan(fidelity)
    coverage = np.mean((low <= 1) & (high >= 1), where=defined)
    return {
        "median": np.nanmedian(fidelity),
        "coverage": coverage,
        "standard_error": np.sqrt(coverage * (1 - coverage) / defined.sum()),
        "defined": defined.mean(),
    }


def _rasch(m, n, rng):
    return shared_difficulty_world(m, n, rng)


def _unequal(m, n, rng):
    return shared_difficulty_world(m, n, rng, DISCRIMINATION_SD)
