"""Worlds in which difficulty, wrong answers and kappa are known, and what is found."""

import numpy as np
import pandas as pd
from scipy import special

from trialwise.agreement import planning
from trialwise.agreement.difficulty import CrossedLaplace, fit, profile_interval
from trialwise.agreement.wrong_answers import (
    agreement_counts,
    chance_corrected,
    jackknife_interval,
    jackknife_weights,
    permutation_test,
)
from trialwise.consistency.intervals import percentile_interval, resample_kappa
from trialwise.consistency.kappa import kappa, pair_counts, standard_error

DIFFICULTY_SD = 2.0
OBSERVER_SD = 0.5
CATEGORIES = 16
BIAS_CONCENTRATION = 0.5


def difficulty_world(images, observers, correlation, rng):
    """Right and wrong of two groups whose difficulties correlate to a known degree.

    log-odds = difficulty of the image for the group + ability of the observer, all
    normal; the mean log-odds are 1 for the first group and -1 for the second.

    Parameters
    ----------
    images : int
    observers : (int, int)
        Size of each group.
    correlation : float in [-1, 1]
    rng : numpy.random.Generator

    Returns
    -------
    correct : ndarray of bool, shape (m, n)
    group : ndarray of int, shape (m,)
    """
    shared, own = rng.normal(size=(2, images))
    second = correlation * shared + np.sqrt(1 - correlation**2) * own
    difficulty = DIFFICULTY_SD * np.array([shared, second])
    group = np.repeat([0, 1], observers)
    ability = rng.normal(0, OBSERVER_SD, size=(len(group), 1))
    log_odds = np.array([[1.0], [-1.0]]) + difficulty
    return rng.random((len(group), images)) < special.expit(
        log_odds[group] + ability
    ), group


def difficulty_coverage(
    worlds, seed, correlations=(0.0, 0.5, 0.9), images=160, observers=(10, 16)
):
    """Recovery of the latent correlation, and coverage of its 95 % interval.

    Parameters
    ----------
    worlds : int
        Simulated experiments of each kind.
    seed : int
    correlations : sequence of float
        True latent correlations of the two groups' difficulties.
    images : int
    observers : (int, int)
        Of either group.

    Returns
    -------
    pandas.DataFrame
        ``correlation, images, worlds, mean, sd, coverage, standard_error, mean_width,
        sd_first, sd_second, singular``: the truth, mean and standard deviation of the
        estimates, the share of profile intervals that hold the truth, the mean standard
        deviations of difficulty beside a truth of 2, and the share of singular fits.
    """
    rng = np.random.default_rng(seed)
    rows = []
    for truth in correlations:
        found = []
        for _ in range(worlds):
            laplace = CrossedLaplace(*difficulty_world(images, observers, truth, rng))
            fitted = fit(laplace)
            low, high = profile_interval(laplace, fitted)
            covered = low <= truth <= high
            found.append(
                [fitted.correlation, covered, high - low, *fitted.sd, fitted.singular]
            )
        mean = np.mean(found, axis=0)
        rows.append(
            {
                "correlation": truth,
                "images": images,
                "worlds": worlds,
                "mean": mean[0],
                "sd": np.std(found, axis=0, ddof=1)[0],
                "coverage": mean[1],
                "standard_error": np.sqrt(mean[1] * (1 - mean[1]) / worlds),
                "mean_width": mean[2],
                "sd_first": mean[3],
                "sd_second": mean[4],
                "singular": mean[5],
            }
        )
    return pd.DataFrame(rows)


def wrong_answer_world(images, accuracies, kappa_w, rng):
    """Answers of observers who agree on wrong answers to a known degree.

    Each of 16 categories has its own distribution of wrong answers, which all observers
    share: a response bias. A wrong observer gives, with probability sqrt(kappa_w), the
    image's own wrong answer, drawn once from that distribution, and otherwise draws
    alone. Hence kappa_w is the true value of every pair.

    Parameters
    ----------
    images : int
    accuracies : sequence of float, length m
    kappa_w : float in [0, 1]
    rng : numpy.random.Generator

    Returns
    -------
    category : ndarray of int, shape (n,)
    answers : ndarray of int, shape (m, n)
    """
    category = np.arange(images) % CATEGORIES
    bias = rng.dirichlet(np.full(CATEGORIES - 1, BIAS_CONCENTRATION), size=CATEGORIES)
    edges = np.cumsum(bias, axis=1)[category]
    size = (len(accuracies), images)

    def draw(uniform):
        other = (uniform[..., None] > edges[:, :-1]).sum(axis=-1)
        return (category + 1 + other) % CATEGORIES

    follows = rng.random(size) < np.sqrt(kappa_w)
    wrong = np.where(follows, draw(rng.random(images)), draw(rng.random(size)))
    right = rng.random(size) < np.asarray(accuracies)[:, None]
    return category, np.where(right, category, wrong)


def wrong_answer_power(
    worlds,
    seed,
    kappas=(0.0, 0.05, 0.1, 0.2),
    images=(160, 1280),
    accuracies=(0.5, 0.3),
):
    """How often the exact test of one pair finds agreement on wrong answers.

    Parameters
    ----------
    worlds : int
        Simulated experiments of each kind.
    seed : int
    kappas : sequence of float
        True kappa_w.
    images : sequence of int
    accuracies : (float, float)
        Of the two observers.

    Returns
    -------
    pandas.DataFrame
        ``images, kappa_w, worlds, n, mean, rejected, standard_error``: the mean number
        of images used and estimate of kappa_w, and the share of two-sided p below .05,
        which is the size of the test where the true kappa_w is 0.
    """
    rng = np.random.default_rng(seed)
    rows = []
    for n_images in images:
        for truth in kappas:
            found = []
            for _ in range(worlds):
                world = wrong_answer_world(n_images, accuracies, truth, rng)
                category, (first, second) = world
                counts = agreement_counts(
                    category, first, second, np.ones((1, n_images))
                )
                log10_p = permutation_test(category, first, second)
                estimate = chance_corrected(*counts[:3])[0]
                found.append([counts[2][0], estimate, log10_p < np.log10(0.05)])
            n, mean, rejected = np.mean(found, axis=0)
            error = np.sqrt(rejected * (1 - rejected) / worlds)
            rows.append([n_images, truth, worlds, n, mean, rejected, error])
    columns = ["images", "kappa_w", "worlds", "n", "mean", "rejected", "standard_error"]
    return pd.DataFrame(rows, columns=columns)


def wrong_answer_coverage(
    worlds, seed, kappas=(0.0, 0.1, 0.5), images=(160, 1280), accuracies=(0.4,) * 6
):
    """Coverage of the jackknife interval of kappa_w, pooled over all pairs.

    Parameters
    ----------
    worlds : int
        Simulated experiments of each kind.
    seed : int
    kappas : sequence of float
        True kappa_w.
    images : sequence of int
    accuracies : sequence of float
        Of each observer.

    Returns
    -------
    pandas.DataFrame
        ``images, kappa_w, worlds, per_category, mean, mean_corrected, coverage,
        standard_error, mean_width``: how many images of a category both of a pair got
        wrong, the means of kappa_w and of its correction for small categories, and the
        coverage of the interval of the latter.
    """
    rng = np.random.default_rng(seed)
    rows = []
    for n_images in images:
        weights = jackknife_weights(np.arange(n_images))
        for truth in kappas:
            found = []
            for _ in range(worlds):
                category, answers = wrong_answer_world(n_images, accuracies, truth, rng)
                counts = sum(
                    np.array(agreement_counts(category, one, other, weights))
                    for i, one in enumerate(answers)
                    for other in answers[:i]
                )
                observed, expected, used, distinct = counts
                values = chance_corrected(observed, distinct, used)
                low, high = jackknife_interval(values)
                found.append(
                    [
                        used[0],
                        chance_corrected(observed[0], expected[0], used[0]),
                        values[0],
                        low <= truth <= high,
                        high - low,
                    ]
                )
            n, plain, corrected, coverage, width = np.mean(found, axis=0)
            n_pairs = len(accuracies) * (len(accuracies) - 1) / 2
            error = np.sqrt(coverage * (1 - coverage) / worlds)
            per_category = n / n_pairs / CATEGORIES
            means = [per_category, plain, corrected, coverage, error, width]
            rows.append([n_images, truth, worlds, *means])
    columns = ["images", "kappa_w", "worlds", "per_category", "mean", "mean_corrected"]
    columns += ["coverage", "standard_error", "mean_width"]
    return pd.DataFrame(rows, columns=columns)


def copying_models(n, kappas, accuracies, rng):
    """Right and wrong of a person, and of models that copy the person.

    On every image a model copies, with the probability that gives its kappa
    (`trialwise.agreement.planning.copy_probability`), or answers alone.

    Parameters
    ----------
    n : int
        Images.
    kappas : sequence of float, length k
        Of each model with the person.
    accuracies : sequence of float, length 1 + k
        Of the person, then of the models.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of bool, shape (1 + k, n)
    """
    person = rng.random(n) < accuracies[0]
    rows = [person]
    for value, accuracy in zip(kappas, accuracies[1:], strict=True):
        q, alone = planning.copy_probability(value, (accuracies[0], accuracy))
        copied = person if q >= 0 else ~person
        copies = rng.random(n) < abs(q)
        rows.append(np.where(copies, copied, rng.random(n) < alone))
    return np.array(rows)


def planned_widths(
    worlds,
    seed,
    kappas=(0.1, 0.5),
    accuracies=((0.7, 0.7), (0.9, 0.8)),
    width=0.2,
    n_resamples=300,
):
    """Width and coverage of bootstrap intervals with the planned number of images.

    Parameters
    ----------
    worlds : int
        Simulated experiments of each kind.
    seed : int
    kappas : sequence of float
    accuracies : sequence of (float, float)
    width : float
        That the number of images is planned for, from end to end.
    n_resamples : int

    Returns
    -------
    pandas.DataFrame
        ``accuracy_i, accuracy_j, kappa, width, n, worlds, mean_width, coverage,
        standard_error``.
    """
    rng = np.random.default_rng(seed)
    rows = []
    for pair in accuracies:
        for truth in kappas:
            n = planning.n_trials_for_width(truth, pair, width)
            found = []
            for _ in range(worlds):
                correct = copying_models(n, [truth], pair, rng)
                resampled = resample_kappa(correct, np.arange(n), n_resamples, rng)
                low, high = percentile_interval(resampled[:, 0, 1])
                found.append([high - low, low <= truth <= high])
            mean_width, coverage = np.mean(found, axis=0)
            error = np.sqrt(coverage * (1 - coverage) / worlds)
            rows.append([*pair, truth, width, n, worlds, mean_width, coverage, error])
    columns = ["accuracy_i", "accuracy_j", "kappa", "width", "n", "worlds"]
    columns += ["mean_width", "coverage", "standard_error"]
    return pd.DataFrame(rows, columns=columns)


def planned_power(
    worlds,
    seed,
    kappas=((0.2, 0.4), (0.5, 0.6)),
    accuracies=((0.8, 0.7, 0.7), (0.9, 0.8, 0.85)),
    power=0.8,
):
    """Power and size of the test of two kappas with the planned number of images.

    Parameters
    ----------
    worlds : int
        Simulated experiments of each kind.
    seed : int
    kappas : sequence of (float, float)
        Of either model with the person.
    accuracies : sequence of (float, float, float)
        Of the person, the first and the second model.
    power : float
        That the number of images is planned for.

    Returns
    -------
    pandas.DataFrame
        ``images, accuracy_i, kappa, kappa_other, n, worlds, planned, attained,
        standard_error, size``: `planned` power, the share of worlds in which the
        kappas are told apart, and the share if both are the smaller one.
    """
    rng = np.random.default_rng(seed)
    rows = []
    for images in (planning.SAME_IMAGES, planning.DIFFERENT_IMAGES):
        for truth in kappas:
            for accuracy in accuracies:
                n = planning.n_trials_for_power(truth, accuracy, power, images=images)
                attained, size = (
                    np.mean(
                        [
                            _told_apart(n, values, accuracy, images, rng)
                            for _ in range(worlds)
                        ]
                    )
                    for values in (truth, (min(truth),) * 2)
                )
                error = np.sqrt(attained * (1 - attained) / worlds)
                rows.append(
                    [
                        images,
                        accuracy[0],
                        *truth,
                        n,
                        worlds,
                        power,
                        attained,
                        error,
                        size,
                    ]
                )
    columns = ["images", "accuracy_i", "kappa", "kappa_other", "n", "worlds"]
    columns += ["planned", "attained", "standard_error", "size"]
    return pd.DataFrame(rows, columns=columns)


def _told_apart(n, kappas, accuracies, images, rng):
    """Whether the test of one simulated experiment is significant at .05."""
    if images == planning.SAME_IMAGES:
        correct = copying_models(n, kappas, accuracies, rng)
        difference, error = planning.difference_test(*correct)
    else:
        counts = []
        for value, accuracy in zip(kappas, accuracies[1:], strict=True):
            pair = copying_models(n, [value], (accuracies[0], accuracy), rng)
            _, k, n11 = pair_counts(pair)
            counts.append((n, *k, n11[0, 1]))
        difference = kappa(*counts[0]) - kappa(*counts[1])
        error = np.hypot(*(standard_error(*count) for count in counts))
    return abs(difference) > special.ndtri(0.975) * error
