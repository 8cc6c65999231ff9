"""Feature scalings and learners as data, and the run over all participants."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from trialwise.errors import InputError
from trialwise.feature_matrices import check_finite, row_of
from trialwise.learners import category, reward
from trialwise.learners.scaling import scale_by_all, standardise, unchanged


@dataclass(frozen=True)
class Learner:
    """How a learner regularises, and what it sees.

    Attributes
    ----------
    penalty : {"l1", "l2"}
        "l2": l2 logistic and Bayesian ridge regression. "l1": l1 logistic regression
        and automatic relevance determination.
    components : int, optional
        Learn from this many principal components instead of the features.
    """

    penalty: str
    components: int | None = None


@dataclass(frozen=True)
class Scaling:
    """What the learners of each task do with features.

    Attributes
    ----------
    category, reward : callable
        Features and targets of one participant, and learners -> values; see the
        modules of these names.
    by_all : bool
        Centre and scale (and reduce) by all images before the first trial.
    """

    category: Callable
    reward: Callable
    by_all: bool = False


@dataclass(frozen=True)
class Task:
    """Columns of a trial table that name images, and those that hold what is told."""

    images: tuple[str, ...]
    targets: tuple[str, ...]


LEARNERS = {"main": Learner("l2"), "sparse": Learner("l1"), "pca": Learner("l2", 49)}

SCALINGS = {
    # In the reward task the authors' code scales copies.
    "in-place": Scaling(
        category.in_place,
        partial(reward.learn, scale=standardise, predictors=reward.AS_PUBLISHED),
    ),
    "seen-scaled": Scaling(
        partial(category.on_copies, scale=standardise),
        partial(reward.learn, scale=standardise, predictors=reward.BY_PENALTY),
    ),
    "raw": Scaling(
        partial(category.on_copies, scale=unchanged),
        partial(reward.learn, scale=unchanged, predictors=reward.BY_PENALTY),
    ),
    "global": Scaling(
        category.prequential,
        partial(reward.learn, scale=unchanged, predictors=reward.BY_PENALTY_AXIS_FREE),
        by_all=True,
    ),
}
SHARED = ["participant", "trial"]
TASKS = {
    "category": Task(("image",), ("true_category_binary",)),
    "reward": Task(("left_image", "right_image"), ("left_reward", "right_reward")),
}


def learner_values(
    trials: pd.DataFrame,
    features: np.ndarray,
    images: Sequence[str],
    scaling: str,
    learners: Sequence[str] = tuple(LEARNERS),
    n_jobs: int = 1,
) -> dict[str, pd.DataFrame]:
    """Run learners through the trials of every participant.

    Parameters
    ----------
    trials : pandas.DataFrame
        Either task's table: ``participant, trial`` and ``image, true_category_binary``
        or ``left_image, right_image, left_reward, right_reward``. Trials of a
        participant are met in the order of `trial`.
    features : ndarray, shape (n_images, D)
        Any real type; computed in float64.
    images : sequence of str, length n_images
        Names of the rows of `features`.
    scaling : {"in-place", "seen-scaled", "raw", "global"}
    learners : sequence of {"main", "sparse", "pca"}
        Those of one call share the choice of C and the standardised rows.
    n_jobs : int
        Processes, each with BLAS on one thread; the result is the same for any number.

    Returns
    -------
    dict of str to pandas.DataFrame
        For each learner ``participant, trial, value_left, value_right``, ordered by
        participant and trial; category tables also have ``C``. Values are P(0) and
        P(1), or predicted rewards.

    Raises
    ------
    InputError
        If columns are missing or ambiguous, a trial repeats, a target is not a number,
        a category not 0 or 1, an image has no features or two rows, features are NaN
        or infinite, components are too few, or a name is unknown.
    """
    method = _named(SCALINGS, [scaling], "scaling")[scaling]
    chosen = _named(LEARNERS, learners, "learner")
    task = _task_of(trials)
    learn = getattr(method, task)
    return _run(learn, method.by_all, trials, task, features, images, chosen, n_jobs)


def fixed_penalty_values(
    trials: pd.DataFrame,
    features: np.ndarray,
    images: Sequence[str],
    learners: Sequence[str] = ("main",),
    n_jobs: int = 1,
) -> dict[str, pd.DataFrame]:
    """Values of the category task under `global` with each C held fixed.

    Parameters
    ----------
    trials, features, images, learners, n_jobs
        As in `learner_values`.

    Returns
    -------
    dict of str to pandas.DataFrame
        As from `learner_values`, with one row for each participant, trial and C.

    Raises
    ------
    InputError
        As `learner_values`, or if the trials are those of the reward task.
    """
    chosen = _named(LEARNERS, learners, "learner")
    task = _task_of(trials)
    if task != "category":
        raise InputError("Reward learners have no C. Supply the category trials.")
    learn = category.every_penalty
    return _run(learn, True, trials, task, features, images, chosen, n_jobs)


def _run(learn, by_all, trials, task, features, images, learners, n_jobs):
    from joblib import Parallel, delayed

    features = np.asarray(features)
    rows = row_of(features, images, "image")
    check_finite(features, images)
    trials = _checked(trials, TASKS[task], rows)
    with threadpool_limits(1):
        parts = [(partial(np.asarray, dtype=float), learners)]
        if by_all:
            parts = [
                (
                    scale_by_all(features, learner.components),
                    {name: replace(learner, components=None)},
                )
                for name, learner in learners.items()
            ]
    jobs = (
        delayed(_one_participant)(
            learn,
            own[["participant", "trial"]],
            [features[own[image].map(rows).to_numpy()] for image in TASKS[task].images],
            [own[target].to_numpy() for target in TASKS[task].targets],
            parts,
        )
        for _, own in trials.groupby("participant")
    )
    tables = Parallel(n_jobs=n_jobs)(jobs)
    return {
        name: pd.concat([table[name] for table in tables], ignore_index=True)
        for name in learners
    }


def _one_participant(learn, trials, features, targets, parts):
    values = {}
    try:
        with threadpool_limits(1):
            for change, learners in parts:
                values |= learn(*map(change, features), *targets, learners)
    except InputError as error:
        name = trials["participant"].iloc[0]
        raise InputError(f"Participant {name}: {error}") from error
    return {name: _table(trials, columns) for name, columns in values.items()}


def _table(trials, columns):
    columns = {name: np.asarray(values) for name, values in columns.items()}
    each = columns["value_left"][0].size
    table = trials.loc[trials.index.repeat(each)].reset_index(drop=True)
    return table.assign(**{name: values.ravel() for name, values in columns.items()})


def _named(known: Mapping, names: Sequence[str], what: str) -> dict:
    for name in names:
        if name not in known:
            raise InputError(
                f"There is no {what} {name!r}. Choose from {', '.join(known)}."
            )
    return {name: known[name] for name in names}


def _task_of(trials: pd.DataFrame) -> str:
    """The task whose columns a table has."""
    found = [
        name
        for name, task in TASKS.items()
        if {*SHARED, *task.images, *task.targets} <= set(trials.columns)
    ]
    if len(found) == 1:
        return found[0]
    needed = " or ".join(
        ", ".join([*SHARED, *task.images, *task.targets]) for task in TASKS.values()
    )
    raise InputError(
        f"The trials have the columns {', '.join(map(str, trials.columns))}. "
        f"Supply those of one task: {needed}."
    )


def _checked(trials: pd.DataFrame, task: Task, rows: Mapping[str, int]) -> pd.DataFrame:
    """Trials in order, or a message about the first that cannot be learned from."""
    if trials.empty or trials["participant"].isna().any():
        raise InputError("There are no trials, or some without participant. Add them.")
    trials = trials.copy()
    for column in ("trial", *task.targets):
        trials[column] = pd.to_numeric(trials[column], errors="coerce")
        wrong = ~np.isfinite(trials[column])
        if column == "true_category_binary":
            wrong = ~trials[column].isin([0, 1])
        if wrong.any():
            value = trials[column][wrong].iloc[0]
            raise InputError(
                f"{_place(trials[wrong])}: {column} is {value}. "
                "Categories are 0 or 1; trials and rewards are numbers."
            )
    trials = trials.sort_values(SHARED, ignore_index=True)
    repeated = trials.duplicated(SHARED)
    if repeated.any():
        raise InputError(
            f"{_place(trials[repeated])} occurs twice. Keep one of the two."
        )
    for column in task.images:
        unknown = ~trials[column].isin(rows.keys())
        if unknown.any():
            image = trials[column][unknown].iloc[0]
            raise InputError(
                f"{_place(trials[unknown])}: the image {image} has no features. "
                "Extract them, or correct the image's name."
            )
    return trials


def _place(trials: pd.DataFrame) -> str:
    first = trials.iloc[0]
    return f"Participant {first['participant']}, trial {first['trial']}"
