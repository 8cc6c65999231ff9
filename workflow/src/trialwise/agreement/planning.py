"""How many trials an interval of kappa, or a comparison of two kappas, needs.

Two answers, for two questions. In the copy model (Klein, Meyen, Brendel, Wichmann &
Meding 2025, arXiv 2507.06645) an observer answers as another with some probability and
otherwise alone; trials are independent, and the accuracies found vary by chance as
kappa does. This is what intervals that resample images allow for. With *fixed*
accuracies, k correct answers of n as planned, the number of images both got right has
an exact distribution, Fisher's noncentral hypergeometric one.
"""

from itertools import product

import numpy as np
import pandas as pd
from scipy import special

from trialwise.consistency.kappa import kappa as kappa_of_counts
from trialwise.consistency.kappa import standard_error
from trialwise.consistency.null import hypergeometric_logpmf
from trialwise.errors import InputError

COPY_MODEL = "copy model"
FIXED_ACCURACIES = "fixed accuracies"
SAME_IMAGES = "same images"
DIFFERENT_IMAGES = "different images"

NEGLIGIBLE = 1e-13
ENOUGH = 1024
LARGEST_LOG_ODDS_RATIO = 1e3

COLUMNS = [
    *("question", "accuracy_i", "accuracy_j", "kappa", "kappa_other", "target"),
    *("images", "model", "n"),
]


def joint_probabilities(kappa, accuracies):
    """Probabilities of right and wrong of two observers of given kappa.

    Parameters
    ----------
    kappa : float
    accuracies : (float, float)
        In (0, 1).

    Returns
    -------
    ndarray, shape (2, 2)
        At [x, y]: the first is right (x = 1) or wrong, the second right (y = 1) or
        wrong. Accuracies and kappa determine it, whatever model they come from.

    Raises
    ------
    InputError
        If an accuracy is not between 0 and 1, or they do not allow that kappa.
    """
    p_i, p_j = accuracies
    for accuracy in accuracies:
        if not 0 < accuracy < 1:
            raise InputError(
                f"An accuracy is {accuracy}. Plan with accuracies between 0 and 1."
            )
    both = p_i * p_j + kappa * (p_i * (1 - p_j) + p_j * (1 - p_i)) / 2
    cells = np.array([[1 - p_i - p_j + both, p_j - both], [p_i - both, both]])
    if cells.min() < -NEGLIGIBLE:
        least, most = (
            kappa_of_counts(1.0, p_i, p_j, bound)
            for bound in (max(0.0, p_i + p_j - 1), min(p_i, p_j))
        )
        raise InputError(
            f"Accuracies of {p_i} and {p_j} do not allow a kappa of {kappa:.3g}. "
            f"Take one between {least:.3f} and {most:.3f}."
        )
    return np.maximum(cells, 0)


def copy_probability(kappa, accuracies):
    """Probability that one observer copies the other (Klein et al. 2025).

    With probability abs(q) the second observer is right where the first is (wrong, if
    q is negative), otherwise right with a probability of its own. q is kappa where the
    accuracies are equal.

    Parameters
    ----------
    kappa : float
    accuracies : (float, float)
        In (0, 1).

    Returns
    -------
    q : float
    alone : float
        Probability that the second is right when it does not copy; NaN if it always
        does.

    Raises
    ------
    InputError
        As `joint_probabilities`.
    """
    cells = joint_probabilities(kappa, accuracies)
    if_right, if_wrong = cells[1, 1] / cells[1].sum(), cells[0, 1] / cells[0].sum()
    q = if_right - if_wrong
    alone = min(if_right, if_wrong) / (1 - abs(q)) if abs(q) < 1 else np.nan
    return q, alone


def influence(cells):
    """Influence of one image on kappa.

    Parameters
    ----------
    cells : ndarray, shape (2, 2)
        Probabilities as from `joint_probabilities`.

    Returns
    -------
    ndarray, shape (2, 2)
        By what is right on the image; its mean is 0, and its mean square over n the
        variance of kappa in large samples (that of Fleiss, Cohen & Everitt 1969).
    """
    x, y = np.array([[0], [1]]), np.array([0, 1])
    p_i, p_j = cells[1].sum(), cells[:, 1].sum()
    observed, expected = np.trace(cells), p_i * p_j + (1 - p_i) * (1 - p_j)
    doubt = (1 - observed) / (1 - expected)
    chance = (2 * p_j - 1) * (x - p_i) + (2 * p_i - 1) * (y - p_j)
    return ((x == y) - observed - doubt * chance) / (1 - expected)


def observed_probabilities(first, second):
    """Shares of right and wrong of two observers, as `joint_probabilities` has them.

    Parameters
    ----------
    first, second : ndarray of bool, shape (n,)

    Returns
    -------
    ndarray, shape (2, 2)
        At [x, y], x and y being right (1) or wrong (0) of the first and the second.
    """
    cells = np.zeros((2, 2))
    np.add.at(cells, (first.astype(int), second.astype(int)), 1 / len(first))
    return cells


def difference_test(person, first, second):
    """Large-sample test of two kappas on the same images.

    Parameters
    ----------
    person, first, second : ndarray of bool, shape (n,)
        Right or wrong of a person, and of two models compared with the same person.

    Returns
    -------
    difference : float
        Kappa of the first less that of the second.
    standard_error : float
        Of the difference, from the influence of every image on it, so that it allows
        for all that the three observers share.
    """
    values, influences = [], []
    for model in (first, second):
        cells = observed_probabilities(person, model)
        k_i, k_j = cells[1].sum(), cells[:, 1].sum()
        values.append(kappa_of_counts(1.0, k_i, k_j, cells[1, 1]))
        influences.append(influence(cells)[person.astype(int), model.astype(int)])
    error = np.sqrt(np.mean((influences[0] - influences[1]) ** 2) / len(person))
    return float(values[0] - values[1]), error


def fixed_accuracies(kappa, accuracies, n):
    """Distribution of the images both got right, given how many each did.

    Fisher's noncentral hypergeometric distribution with the odds ratio of
    `joint_probabilities`, and n times each accuracy, rounded, correct answers.

    Parameters
    ----------
    kappa : float
    accuracies : (float, float)
        In (0, 1).
    n : int
        Images.

    Returns
    -------
    counts : tuple of (int, int, int, ndarray)
        n, k_i, k_j and the possible n11, as `trialwise.consistency.kappa` takes them.
    pmf : ndarray
        Probability of each n11.

    Raises
    ------
    InputError
        As `joint_probabilities`.
    """
    cells = joint_probabilities(kappa, accuracies)
    k_i, k_j = (round(n * accuracy) for accuracy in accuracies)
    n11 = np.arange(max(0, k_i + k_j - n), min(k_i, k_j) + 1)
    with np.errstate(divide="ignore"):
        log_odds_ratio = (
            np.log(cells.diagonal()).sum() - np.log(np.fliplr(cells).diagonal()).sum()
        )
    # Infinite at the bounds of kappa: all probability is at one end.
    log_odds_ratio = np.clip(
        log_odds_ratio, -LARGEST_LOG_ODDS_RATIO, LARGEST_LOG_ODDS_RATIO
    )
    logpmf = hypergeometric_logpmf(n, k_i, k_j, n11) + n11 * log_odds_ratio
    return (n, k_i, k_j, n11), special.softmax(logpmf)


def expected_width(kappa, accuracies, n, *, level=0.95, model=COPY_MODEL):
    """Width of the interval of kappa that n images give.

    Parameters
    ----------
    kappa : float
        True kappa.
    accuracies : (float, float)
    n : int
    level : float
    model : {"copy model", "fixed accuracies"}
        Width of the large-sample interval if accuracies vary by chance, or of the
        exact central range of kappa if they are as planned.

    Returns
    -------
    float
        From end to end.

    Raises
    ------
    InputError
        As `joint_probabilities`.
    """
    if model == COPY_MODEL:
        cells = joint_probabilities(kappa, accuracies)
        variance = np.sum(cells * influence(cells) ** 2) / n
        return 2 * special.ndtri((1 + level) / 2) * np.sqrt(variance)
    counts, pmf = fixed_accuracies(kappa, accuracies, n)
    tails = (1 - level) / 2, (1 + level) / 2
    low, high = np.searchsorted(np.cumsum(pmf) + NEGLIGIBLE, tails)
    values = kappa_of_counts(*counts)
    return values[min(high, len(values) - 1)] - values[low]


def n_trials_for_width(kappa, accuracies, width, *, level=0.95, model=COPY_MODEL):
    """Smallest number of images that gives an interval of kappa this narrow.

    Parameters
    ----------
    kappa, accuracies, level, model
        As in `expected_width`.
    width : float
        From end to end.

    Returns
    -------
    int
        With fixed accuracies, the width falls by steps, not always: n - 1 is not
        enough, though a smaller number may be by the luck of rounding.

    Raises
    ------
    InputError
        As `joint_probabilities`, or if `width` is not positive.
    """
    if width <= 0:
        raise InputError(f"An interval cannot be {width} wide. Ask for more than 0.")
    options = {"level": level, "model": model}
    return _smallest(lambda n: expected_width(kappa, accuracies, n, **options) <= width)


def power_of_difference(
    kappas, accuracies, n, *, images=SAME_IMAGES, model=COPY_MODEL, level=0.95
):
    """Probability of telling two kappas with one observer apart.

    Two models are compared with the same person. The test divides the difference of
    the kappas by its large-sample standard error, two-sided.

    Parameters
    ----------
    kappas : (float, float)
        True kappa of either model with the person.
    accuracies : (float, float, float)
        Of the person, the first and the second model.
    n : int
        Images that the person and each model see.
    images : {"same images", "different images"}
        Same: both models see the same n images, each copies the person, and they agree
        only by that; models that share more are told apart more easily. Different: n
        images for either model.
    model : {"copy model", "fixed accuracies"}
        By the large-sample distribution, or, for different images, exactly, with
        accuracies as planned.
    level : float
        1 - level is the probability of a difference found where there is none.

    Returns
    -------
    float

    Raises
    ------
    InputError
        As `joint_probabilities`, or for fixed accuracies on the same images.
    """
    z = special.ndtri((1 + level) / 2)
    if model == COPY_MODEL:
        ratio = abs(kappas[0] - kappas[1]) / np.sqrt(
            _difference_variance(kappas, accuracies, images) / n
        )
        return special.ndtr(ratio - z) + special.ndtr(-ratio - z)
    if images == SAME_IMAGES:
        raise InputError(
            "There is no exact distribution for two models on the same images. "
            f"Plan with different images, or by the {COPY_MODEL}."
        )
    found = []
    for kappa, accuracy in zip(kappas, accuracies[1:], strict=True):
        counts, pmf = fixed_accuracies(kappa, (accuracies[0], accuracy), n)
        likely = pmf > NEGLIGIBLE
        counts = (*counts[:3], counts[3][likely])
        found.append((pmf[likely], kappa_of_counts(*counts), standard_error(*counts)))
    (pmf, first, error), (pmf_other, second, error_other) = found
    difference = np.abs(first[:, None] - second)
    significant = difference > z * np.hypot(error[:, None], error_other)
    return pmf @ significant @ pmf_other


def n_trials_for_power(
    kappas,
    accuracies,
    power=0.8,
    *,
    images=SAME_IMAGES,
    model=COPY_MODEL,
    level=0.95,
):
    """Smallest number of images with which two kappas are told apart this surely.

    Parameters
    ----------
    kappas, accuracies, images, model, level
        As in `power_of_difference`.
    power : float
        More than 1 - level.

    Returns
    -------
    int
        For different images: of each of the two sets.

    Raises
    ------
    InputError
        As `power_of_difference`, or if kappas are equal or `power` is impossible.
    """
    if kappas[0] == kappas[1]:
        raise InputError(
            f"Both kappas are {kappas[0]}. Give the difference to be found."
        )
    if not 1 - level < power < 1:
        raise InputError(
            f"A power of {power} is not between {1 - level:.3g}, which any number of "
            "images has, and 1. Ask for one in between."
        )
    options = {"images": images, "model": model, "level": level}
    return _smallest(
        lambda n: power_of_difference(kappas, accuracies, n, **options) >= power
    )


def planning_table(
    accuracies,
    kappas=(0.1, 0.3, 0.5),
    widths=(0.1, 0.2),
    differences=(0.1, 0.2),
    power=0.8,
    level=0.95,
):
    """Numbers of images over a grid.

    Parameters
    ----------
    accuracies : sequence of (float, float)
        Accuracies of a person and a model.
    kappas, widths : sequence of float
        Kappa of the two, and widths of its interval.
    differences : sequence of float
        By how much the kappa of another model of the same accuracy is larger.
    power, level : float

    Returns
    -------
    pandas.DataFrame
        ``question, accuracy_i, accuracy_j, kappa, kappa_other, target, images, model,
        n``: `question` is ``width`` or ``power``, `target` the width or power asked
        for (`images` only for power), and n is missing where the accuracies do not
        allow such a kappa.
    """
    rows = []
    for (p_i, p_j), kappa in product(accuracies, kappas):
        for width, model in product(widths, (COPY_MODEL, FIXED_ACCURACIES)):
            n = _if_possible(
                n_trials_for_width, kappa, (p_i, p_j), width, level=level, model=model
            )
            asked = [np.nan, width, None, model, n]
            rows.append(["width", p_i, p_j, kappa, *asked])
        for difference, (images, model) in product(differences, _DESIGNS):
            # .1 + .2 is not .3 in binary.
            other = round(kappa + difference, 12)
            n = _if_possible(
                n_trials_for_power,
                (kappa, other),
                (p_i, p_j, p_j),
                power,
                images=images,
                model=model,
                level=level,
            )
            asked = [other, power, images, model, n]
            rows.append(["power", p_i, p_j, kappa, *asked])
    return pd.DataFrame(rows, columns=COLUMNS).astype({"n": "Int64"})


_DESIGNS = (
    (SAME_IMAGES, COPY_MODEL),
    (DIFFERENT_IMAGES, COPY_MODEL),
    (DIFFERENT_IMAGES, FIXED_ACCURACIES),
)


def _if_possible(function, *arguments, **options):
    try:
        return function(*arguments, **options)
    except InputError:
        return pd.NA


def _difference_variance(kappas, accuracies, images):
    """n times the large-sample variance of the difference of two kappas."""
    person, *models = accuracies
    cells = [
        joint_probabilities(kappa, (person, accuracy))
        for kappa, accuracy in zip(kappas, models, strict=True)
    ]
    by_cell = [influence(table) for table in cells]
    variance = sum(
        np.sum(table * by**2) for table, by in zip(cells, by_cell, strict=True)
    )
    if images == DIFFERENT_IMAGES:
        return variance
    # Given the person, the models are independent.
    means = [
        np.sum(table * by, axis=1) for table, by in zip(cells, by_cell, strict=True)
    ]
    covariance = np.sum(means[0] * means[1] / [1 - person, person])
    return variance - 2 * covariance


def _smallest(holds):
    """Smallest n for which `holds(n)`, searched downwards from one that is too large.

    Where an accuracy times a very small n rounds to 0 or n, kappa is certain by
    rounding alone; such n are not looked at.
    """
    high = ENOUGH
    while not holds(high):
        high *= 2
    low = high // 2
    while low > 1 and holds(low):
        low, high = low // 2, low
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
