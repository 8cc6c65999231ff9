"""Ranks and kappa of learners in simulated worlds whose truth is known."""

import numpy as np
import pandas as pd
from scipy import special, stats

from trialwise.agreement.learning import kappa_row, learner_kappa
from trialwise.agreement.ranks import rank_observers, rank_sets

ABILITY_SD = 0.5
TASTE_SD = 0.3
HEAVY_TAILS = 5
TWIN_SD = 1e-4
CURVE = 1.5
DIFFICULTY_SD = 1.5


def person_values(means, n_participants, rng):
    """Values of models for people who differ in how well any model predicts them.

    Parameters
    ----------
    means : array_like, shape (p,)
        True mean of each model over all people there could be.
    n_participants : int
    rng : numpy.random.Generator

    Returns
    -------
    pandas.DataFrame, shape (n_participants, p)
        A person's own level, own preference along one dimension on which models
        differ, and noise with heavy tails (t with 5 degrees of freedom), up to three
        times as large for some models as for others.
    """
    p = len(means)
    level = rng.normal(0, ABILITY_SD, size=(n_participants, 1))
    taste = rng.normal(0, TASTE_SD, size=(n_participants, 1)) * rng.normal(size=p)
    noise = rng.standard_t(HEAVY_TAILS, size=(n_participants, p))
    noise *= np.linspace(0.5, 1.5, p)[rng.permutation(p)]
    models = [f"model-{j + 1:02d}" for j in range(p)]
    return pd.DataFrame(np.asarray(means) + level + taste + noise, columns=models)


def measure_rank_sets(worlds, participants, models, seed, n_resamples=500, level=0.95):
    """How often all rank sets hold the truth, and how many pairs they tell apart.

    Parameters
    ----------
    worlds : int
        Simulated data sets of each kind.
    participants, models : int
    seed, n_resamples : int
    level : float

    Returns
    -------
    pandas.DataFrame
        ``world, worlds, coverage, standard_error, found, mean_size``: the share of
        worlds in which every rank set holds every rank its model can have (all of them
        if all models are ``equal``), the share of truly different pairs that are sure,
        and the mean number of ranks in a set. The other worlds are ``graded``, means
        from 0 to 1 in equal steps, ``separated``, half of the models better by 1, and
        ``twins``, the same with two models that differ for a single person alone, but
        for a ten thousandth.
    """
    rng = np.random.default_rng(seed)
    means = {
        "equal": np.zeros(models),
        "graded": np.linspace(0, 1, models),
        "separated": (np.arange(models) < models // 2).astype(float),
        "twins": (np.arange(models) < models // 2).astype(float),
    }
    rows = []
    for world, truth in means.items():
        results = []
        for at in range(worlds):
            values = person_values(truth, participants, rng)
            if world == "twins":
                noise = TWIN_SD * rng.normal(size=participants)
                noise[0] += 100 * TWIN_SD * rng.choice([-1, 1])
                values["model-02"] = values["model-01"] + noise
            ranks, pairs = rank_sets(values, n_resamples, at, level)
            results.append(_judge(ranks, pairs, truth, level))
        rows.append(_summary(world, results))
    return pd.DataFrame(rows)


def measure_observer_ranks(
    worlds, people, images, models, seed, n_resamples=500, level=0.95
):
    """The same for models ranked by their mean kappa with people.

    Everybody is right with log-odds ability - slope x difficulty. Models of one slope
    have one expected kappa with people; in ``separated`` half of them do not feel the
    difficulty, and agree with people by chance alone.

    Parameters
    ----------
    worlds, people, images, models : int
    seed, n_resamples : int
    level : float

    Returns
    -------
    pandas.DataFrame
        Columns as from `measure_rank_sets`.
    """
    rng = np.random.default_rng(seed)
    slopes = {
        "equal": np.ones(models),
        "separated": (np.arange(models) < models // 2).astype(float),
    }
    names = [f"model-{j + 1:02d}" for j in range(models)]
    persons = [f"subject-{i + 1:02d}" for i in range(people)]
    rows = []
    for world, truth in slopes.items():
        results = []
        for at in range(worlds):
            difficulty = rng.normal(0, DIFFICULTY_SD, size=images)
            ability = rng.normal(0, ABILITY_SD, size=(people, 1))
            log_odds = np.vstack([-truth[:, None] * difficulty, ability - difficulty])
            correct = rng.random(log_odds.shape) < special.expit(log_odds)
            trials = pd.DataFrame(
                {
                    "observer": np.repeat([*names, *persons], images),
                    "image": np.tile(np.arange(images).astype(str), len(correct)),
                    "correct": correct.ravel().astype(int),
                }
            )
            ranks, pairs = rank_observers(
                trials, names, persons, n_resamples=n_resamples, seed=at, level=level
            )
            results.append(_judge(ranks, pairs, truth, level))
        rows.append(_summary(world, results))
    return pd.DataFrame(rows)


def measure_learner_kappa(worlds, participants, trials, seed, level=0.95):
    """How often a learner and people are found to agree, and by which test.

    Parameters
    ----------
    worlds : int
        Simulated experiments of each kind.
    participants, trials : int
        Size of each.
    seed : int
    level : float

    Returns
    -------
    pandas.DataFrame
        ``world, worlds, kappa, kappa_other, above_zero, above_other``: mean kappa with
        the own and with other people's sequences, and the share of worlds in which a
        two-sided t test over people finds kappa, or its excess over other sequences,
        different from 0. Learner and people err ``independent``ly at constant
        accuracies; both improve along one ``learning curve`` and nothing else; or both
        find the same stimuli hard (``shared difficulty``).
    """
    rng = np.random.default_rng(seed)
    shape = participants, trials
    curve = CURVE * np.linspace(-1, 1, trials)
    flat = np.zeros(trials)
    rows = []
    for world, along, spread in (
        ("independent", flat, 0),
        ("learning curve", curve, 0),
        ("shared difficulty", curve, DIFFICULTY_SD),
    ):
        pooled = []
        for _ in range(worlds):
            difficulty = spread * rng.normal(size=shape)
            ability = rng.normal(1, ABILITY_SD, size=(participants, 1))
            person = rng.random(shape) < special.expit(ability + along - difficulty)
            learner = rng.random(shape) < special.expit(1 + along - difficulty)
            scored = pd.DataFrame(
                {
                    "participant": np.repeat(np.arange(participants), trials),
                    "trial": np.tile(np.arange(trials), participants),
                    "correct": person.ravel().astype(int),
                    "learner_correct": learner.ravel().astype(int),
                }
            )
            pooled.append(kappa_row(learner_kappa(scored, "category"), {}))
        pooled = pd.DataFrame(pooled)
        limit = stats.t.ppf((1 + level) / 2, participants - 1)
        found = (pooled["kappa"] / pooled["kappa_se"]).abs() > limit
        beyond = (pooled["excess"] / pooled["excess_se"]).abs() > limit
        rows.append(
            {
                "world": world,
                "worlds": worlds,
                "kappa": pooled["kappa"].mean(),
                "kappa_other": pooled["kappa_other"].mean(),
                "above_zero": found.mean(),
                "above_other": beyond.mean(),
            }
        )
    return pd.DataFrame(rows)


def _judge(ranks, pairs, truth, level):
    """Whether all rank sets hold all ranks, share of pairs found, size of a set."""
    ranks = ranks.sort_values("model")
    best = 1 + (truth > truth[:, None]).sum(axis=1)
    worst = len(truth) - (truth < truth[:, None]).sum(axis=1)
    held = (ranks["rank_low"] <= best) & (ranks["rank_high"] >= worst)
    i, j = np.triu_indices(len(truth), k=1)
    different = truth[i] != truth[j]
    right = np.sign(pairs["difference"]) == np.sign(truth[i] - truth[j])
    found = (pairs["p_maxt"] <= 1 - level) & right
    size = (ranks["rank_high"] - ranks["rank_low"] + 1).mean()
    return held.all(), found[different].mean(), size


def _summary(world, results):
    held, found, size = np.array(results, dtype=float).T
    coverage = held.mean()
    return {
        "world": world,
        "worlds": len(results),
        "coverage": coverage,
        "standard_error": np.sqrt(coverage * (1 - coverage) / len(results)),
        "found": found.mean(),
        "mean_size": size.mean(),
    }
