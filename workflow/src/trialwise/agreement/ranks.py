"""How sure a ranking of models is (Mogstad, Romano, Shaikh & Wilhelm 2024).

"Inference for ranks with applications to mobility across neighbourhoods and academic
achievement across countries", Review of Economic Studies 91: intervals that hold all
pairwise differences at once say who is surely better than whom, and that bounds every
rank. Participants are what is drawn from a population, hence what is resampled: all
models predict the same people, so that one draw serves all of them.
"""

import numpy as np
import pandas as pd

from trialwise.consistency.intervals import draw, resample_kappa
from trialwise.consistency.kappa import kappa, pair_counts
from trialwise.errors import InputError
from trialwise.trials import clusters_of, correctness

# Two models whose values differ by less, relative to their spread, are one.
SAME = 1e-8
# Where two models differ for hardly anybody but one person, resamples without that
# person have next to no spread, and alone would decide about all pairs.
LEAST_SPREAD = 0.5
PAIRS_AT_ONCE = 256


def rank_sets(values, n_resamples=2000, seed=0, level=0.95):
    """Rank models by a mean over people, with all the ranks the data allow.

    Parameters
    ----------
    values : pandas.DataFrame
        A row per participant, a column per model; the larger the better (log score per
        trial, gain over truth, kappa).
    n_resamples, seed : int
        Bootstrap samples of participants, and the seed they are drawn from.
    level : float
        Probability that all rank sets, and all intervals, hold the truth at once.

    Returns
    -------
    ranks : pandas.DataFrame
        ``model, mean, se, rank, rank_low, rank_high``, from the best. The rank set of
        a model is [1 + number surely better, p - number surely worse].
    pairs : pandas.DataFrame
        ``model_i, model_j, difference, se, t, p_maxt, ci_low, ci_high`` of each pair
        of models, the difference being i minus j; p and interval are simultaneous. A
        pair is sure where p_maxt <= 1 - level, which is where its interval leaves out
        0.

    Raises
    ------
    InputError
        If there are fewer than two models or participants, or a value is missing; or
        if there are too few resamples for the level.

    Notes
    -----
    Single-step max-T: every difference is divided by its standard error, in the sample
    and anew in every resample, and the quantile of the largest absolute value serves
    all pairs. Two matrix products of O(n_resamples x participants x pairs), in blocks
    of pairs, so that memory is O(n_resamples + pairs).
    """
    values, models = _checked(values)
    first, second = np.triu_indices(len(models), k=1)
    rng = np.random.default_rng(seed)
    compared = studentised(values, first, second, n_resamples, rng)
    pairs = _pair_table(models, first, second, *compared, level)
    error = values.std(axis=0, ddof=1) / np.sqrt(len(values))
    return _rank_table(models, values.mean(axis=0), error, pairs, level), pairs


def rank_sets_from_resamples(estimates, resampled, level=0.95):
    """Rank models by estimates of any kind whose resamples are given.

    Parameters
    ----------
    estimates : pandas.Series
        One value per model, indexed by model; the larger the better.
    resampled : ndarray, shape (n_resamples, models)
        The estimates in resamples of the data, the same resample for all models.
    level : float

    Returns
    -------
    ranks, pairs : pandas.DataFrame
        As from `rank_sets`, but that the standard error is the spread over resamples,
        the same in all of them.

    Raises
    ------
    InputError
        As `rank_sets`.

    Notes
    -----
    To take the spread for known is to be too sure: of 10 equal models and 85 people it
    covers .92 instead of .95 (`rank_sets` does not take it so). Crossed resamples of
    people and images make up for it by being conservative; see
    `trialwise.simulation.agreement_ranks`. O(n_resamples x pairs).
    """
    models = list(estimates.index)
    resampled = np.asarray(resampled, dtype=float)
    estimates = estimates.to_numpy(dtype=float)
    if len(models) < 2:
        raise InputError("A ranking needs two models or more. Add one.")
    if not (np.isfinite(estimates).all() and np.isfinite(resampled).all()):
        raise InputError(
            "An estimate is missing in some resamples. Leave its model out."
        )
    first, second = np.triu_indices(len(models), k=1)
    spread = resampled.std(axis=0, ddof=1)
    difference, error = np.empty(len(first)), np.empty(len(first))
    largest = np.zeros(len(resampled))
    for block in _blocks(len(first)):
        i, j = first[block], second[block]
        moved = resampled[:, i] - resampled[:, j]
        same = np.abs(moved).max(axis=0) <= SAME * np.maximum(spread[i], spread[j])
        difference[block] = np.where(same, 0, estimates[i] - estimates[j])
        error[block] = np.where(same, 0, moved.std(axis=0, ddof=1))
        moved = np.where(same, 0, moved - difference[block])
        largest = np.maximum(largest, _largest(moved, error[block]))
    pairs = _pair_table(models, first, second, difference, error, largest, level)
    return _rank_table(models, estimates, spread, pairs, level), pairs


def rank_observers(
    trials, models, people, *, cluster=None, n_resamples=2000, seed=0, level=0.95
):
    """Rank models by their mean kappa with people.

    Parameters
    ----------
    trials : pandas.DataFrame
        From `trialwise.trials.read_trials`.
    models, people : sequence of str
        Names of observers; at least two models and one person.
    cluster : str, optional
        Regular expression whose first group, searched in the image name, labels images
        to be resampled together; default the column ``cluster`` of the trials, or every
        image by itself.
    n_resamples, seed : int
        Crossed bootstrap samples of images and people (Owen 2007).
    level : float

    Returns
    -------
    ranks, pairs : pandas.DataFrame
        As from `rank_sets_from_resamples`.

    Raises
    ------
    InputError
        If an observer is absent, or images cannot be paired.
    """
    models, people = list(models), list(people)
    _, images, correct = correctness(trials, [*models, *people])
    labels = clusters_of(trials, images, cluster)
    n, k, n11 = pair_counts(correct)
    own = slice(None, len(models)), slice(len(models), None)
    means = kappa(n, k[:, None], k[None, :], n11)[own].mean(axis=1)
    rng = np.random.default_rng([seed, 0])
    resampled = resample_kappa(correct, labels, n_resamples, rng)[:, *own]
    rng = np.random.default_rng([seed, 1])
    weights = draw(len(people), n_resamples, rng) / len(people)
    crossed = np.einsum("bmp,bp->bm", resampled, weights)
    return rank_sets_from_resamples(pd.Series(means, index=models), crossed, level)


def sure(values, first, second, n_resamples=2000, seed=0, level=0.95):
    """How sure it is that some models are better than another one.

    Parameters
    ----------
    values, n_resamples, seed, level
        As in `rank_sets`.
    first : sequence of str
        The models said to be better.
    second : str
        The model they are compared with.

    Returns
    -------
    pandas.DataFrame
        A row per model of `first`: ``first, second, n_participants, share_better,
        difference, se, t, p, ci_low, ci_high, p_maxt``. `share_better` is the share of
        participants for whom `first` is better; p (two-sided) and interval are of the
        one comparison by itself, `p_maxt` allows for all comparisons of the table.
        That all of `first` are better is as sure as the largest p.

    Raises
    ------
    InputError
        As `rank_sets`, and if a model is unknown or compared with itself.
    """
    first = list(first)
    for model in (*first, second):
        if model not in values:
            raise InputError(
                f"There is no model {model!r}. Take one of "
                f"{', '.join(map(str, values.columns))}."
            )
    if second in first:
        raise InputError(f"{second} cannot be better than itself. Take it out.")
    values, models = _checked(values[[*first, second]])
    own, other = np.arange(len(first)), np.full(len(first), len(first))
    rows, largest = [], np.zeros(n_resamples)
    for at in own:
        rng = np.random.default_rng(seed)
        compared = studentised(values, own[[at]], other[[at]], n_resamples, rng)
        rows.append(_pair_table(models, own[[at]], other[[at]], *compared, level))
        largest = np.maximum(largest, compared[-1])
    table = pd.concat(rows, ignore_index=True)
    table = table.rename(
        columns={"model_i": "first", "model_j": "second", "p_maxt": "p"}
    )
    better = (values[:, :-1] > values[:, [-1]]).mean(axis=0)
    table.insert(2, "n_participants", len(values))
    table.insert(3, "share_better", better)
    return table.assign(p_maxt=_adjusted_p(table["t"].to_numpy(), largest))


def participant_values(participants, measure):
    """Values of one measure as a matrix, for people who have it with every model.

    Parameters
    ----------
    participants : pandas.DataFrame
        ``participant, model`` and the measure, of one task, protocol and learner.
    measure : str

    Returns
    -------
    values : pandas.DataFrame
        A row per participant, a column per model.
    n_incomplete : int
        Participants left out because some model has no value.

    Raises
    ------
    InputError
        If a participant has two values of a model.
    """
    repeated = participants.duplicated(["participant", "model"])
    if repeated.any():
        row = participants[repeated].iloc[0]
        raise InputError(
            f"Participant {row.participant} has {row.model} twice. Take one task, "
            "protocol and learner at a time."
        )
    wide = participants.pivot(index="participant", columns="model", values=measure)
    complete = wide.dropna()
    return complete, len(wide) - len(complete)


def studentised(values, first, second, n_resamples, rng):
    """Differences of models, and the largest studentised one in every resample.

    Parameters
    ----------
    values : ndarray, shape (n, p)
        n participants, p models.
    first, second : ndarray of int, shape (pairs,)
        Columns to compare.
    n_resamples : int
    rng : numpy.random.Generator

    Returns
    -------
    difference, error : ndarray, shape (pairs,)
        Mean over participants of first minus second, and its standard error; both 0
        where the two models differ by no more than rounding errors.
    largest : ndarray, shape (n_resamples,)
        Largest absolute value over pairs of (resampled difference - difference) /
        resampled standard error, which is at least half of the sample's.
    """
    n = len(values)
    weights = draw(n, n_resamples, rng) / n
    spread = values.std(axis=0)
    difference, error = np.empty(len(first)), np.empty(len(first))
    largest = np.zeros(n_resamples)
    for block in _blocks(len(first)):
        i, j = first[block], second[block]
        by_person = values[:, i] - values[:, j]
        same = np.abs(by_person).max(axis=0) <= SAME * np.maximum(spread[i], spread[j])
        by_person[:, same] = 0
        difference[block] = by_person.mean(axis=0)
        error[block] = by_person.std(axis=0, ddof=1) / np.sqrt(n)
        by_person -= difference[block]
        moved = weights @ by_person
        variance = np.maximum(weights @ by_person**2 - moved**2, 0)
        resampled_error = np.sqrt(variance / (n - 1))
        resampled_error = np.maximum(resampled_error, LEAST_SPREAD * error[block])
        largest = np.maximum(largest, _largest(moved, resampled_error))
    return difference, error, largest


def _checked(values):
    """The values as an array, and the models."""
    models = list(values.columns)
    if len(models) < 2:
        raise InputError("A ranking needs two models or more. Add one.")
    if len(values) < 2:
        raise InputError("A ranking needs two participants or more. Add some.")
    array = values.to_numpy(dtype=float)
    if not np.isfinite(array).all():
        row, column = np.argwhere(~np.isfinite(array))[0]
        raise InputError(
            f"Participant {values.index[row]} has no value of {models[column]}. Leave "
            "the participant out, or the model."
        )
    return array, models


def _blocks(n_pairs):
    return (slice(at, at + PAIRS_AT_ONCE) for at in range(0, n_pairs, PAIRS_AT_ONCE))


def _largest(moved, error):
    """Largest |moved / error| of each row; 0 where a pair has neither."""
    error = np.broadcast_to(error, moved.shape)
    ratio = np.divide(moved, error, out=np.zeros_like(moved), where=error > 0)
    return np.abs(ratio).max(axis=1)


def _critical(largest, level):
    """The smallest of the largest values that the level's share do not exceed."""
    place = int(np.ceil(level * (len(largest) + 1) - 1e-9))
    if place > len(largest):
        needed = int(np.ceil(1 / (1 - level) - 1e-9)) - 1
        raise InputError(
            f"{len(largest)} resamples are too few for a level of {level}. Take "
            f"{needed} or more."
        )
    return np.partition(largest, place - 1)[place - 1]


def _adjusted_p(t, largest):
    """(1 + resamples whose largest value reaches |t|) / (1 + resamples)."""
    below = np.searchsorted(np.sort(largest), np.abs(t), side="left")
    return (1 + len(largest) - below) / (1 + len(largest))


def _pair_table(models, first, second, difference, error, largest, level):
    certain = np.where(difference == 0, 0, np.copysign(np.inf, difference))
    t = np.divide(difference, error, out=certain, where=error > 0)
    half_width = _critical(largest, level) * error
    return pd.DataFrame(
        {
            "model_i": np.take(models, first),
            "model_j": np.take(models, second),
            "difference": difference,
            "se": error,
            "t": t,
            "p_maxt": _adjusted_p(t, largest),
            "ci_low": difference - half_width,
            "ci_high": difference + half_width,
        }
    )


def _rank_table(models, means, errors, pairs, level):
    p = len(models)
    i, j = np.triu_indices(p, k=1)
    better = np.zeros((p, p), dtype=bool)
    better[i, j], better[j, i] = pairs["difference"] > 0, pairs["difference"] < 0
    surely = np.zeros((p, p), dtype=bool)
    surely[i, j] = surely[j, i] = pairs["p_maxt"] <= 1 - level + 1e-12
    surely &= better
    table = pd.DataFrame(
        {
            "model": models,
            "mean": means,
            "se": errors,
            "rank": 1 + better.sum(axis=0),
            "rank_low": 1 + surely.sum(axis=0),
            "rank_high": p - surely.sum(axis=1),
        }
    )
    return table.sort_values("rank", kind="stable", ignore_index=True)
