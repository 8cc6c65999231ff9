"""People's choices in the two learning tasks (Demircan et al. 2024)."""

import io
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from trialwise.consistency.intervals import draw
from trialwise.errors import InputError
from trialwise.tables import check_table, place, read_table

TASKS = ("category", "reward")
COLUMNS = {
    "category": {
        "image": str,
        "true_category_binary": int,
        "choice": int,
        "correct": int,
    },
    "reward": {
        "left_image": str,
        "right_image": str,
        "left_reward": int,
        "right_reward": int,
        "choice": int,
        "correct": int,
    },
}
IDENTITY = {"participant": str, "dimension": int, "trial": int}
INCLUDE = "include"
CHANCE = 0.5


def read_choices(path: str | Path, task: str, participants: str = "paper"):
    """Read and validate the choices of one task.

    Parameters
    ----------
    path : path
        CSV with one row per participant and trial. Category: ``participant, dimension,
        trial, image, true_category_binary, choice, correct``. Reward: ``participant,
        dimension, trial, left_image, right_image, left_reward, right_reward, choice,
        correct``. Trials count from 0; `choice` is 1 for Julty or the right image.
        Other columns are dropped, but for `include`, the consent in the authors' files.
    task : {"category", "reward"}
    participants : {"paper", "all"}
        ``paper`` keeps, as the paper does, people who answered more than half of the
        trials correctly and, where there is a column `include`, have a 1 there.

    Returns
    -------
    pandas.DataFrame
        The columns named above, ordered by participant and trial.

    Raises
    ------
    InputError
        With file and line: unreadable or missing values, trials that are missing or
        stand twice, a `correct` that contradicts the choice; or if nobody is left.
    """
    kinds = {**IDENTITY, **COLUMNS[task]}
    table = _read(path, kinds)
    _check_trials(table)
    _check_correct(table, task)
    if participants == "paper":
        accuracy = table.groupby("participant")["correct"].transform("mean")
        table = table[(accuracy > CHANCE) & (table[INCLUDE] == 1)]
        if table.empty:
            raise InputError(
                f"{path}: nobody answered more than half of the trials correctly and "
                "consented. Set `participants: all` to keep everybody."
            )
    ordered = table.sort_values(["participant", "trial"], ignore_index=True)
    return ordered[list(kinds)]


def accuracy_by_trial(trials, n_resamples=1000, seed=0, level=0.95):
    """Share of correct answers in each trial, over people (Figs. 2A, 2B and 12).

    Parameters
    ----------
    trials : pandas.DataFrame
        From `read_choices`.
    n_resamples, seed : int
        Bootstrap samples of people.
    level : float

    Returns
    -------
    pandas.DataFrame
        ``trial, n, n_correct, mean, ci_low, ci_high, t, p``: a percentile bootstrap
        interval, and a two-sided one-sample t-test against one half.
    """
    wide = trials.pivot(index="trial", columns="participant", values="correct")
    correct = wide.to_numpy(dtype=float)
    n = correct.shape[1]
    rng = np.random.default_rng(seed)
    weights = draw(n, n_resamples, rng)
    tails = [(1 - level) / 2, (1 + level) / 2]
    low, high = np.quantile(correct @ weights.T / n, tails, axis=1)
    with warnings.catch_warnings():
        # Where all answers agree there is no spread, and t is infinite.
        warnings.filterwarnings("ignore", "Precision loss", RuntimeWarning)
        test = stats.ttest_1samp(correct, CHANCE, axis=1)
    return pd.DataFrame(
        {
            "trial": wide.index,
            "n": n,
            "n_correct": correct.sum(axis=1).astype(int),
            "mean": correct.mean(axis=1),
            "ci_low": low,
            "ci_high": high,
            "t": test.statistic,
            "p": test.pvalue,
        }
    )


CATEGORY_MODEL = "correct ~ 1 + trial + (1 + trial + C(dimension) | participant)"
REWARD_MODEL = (
    "choice ~ -1 + trial*difference"
    " + (-1 + trial + C(dimension) + difference | participant)"
)


def fit_people(category, reward):
    """Fit the paper's mixed models of people: accuracy by trial, and use of rewards.

    Parameters
    ----------
    category, reward : pandas.DataFrame
        From `read_choices`.

    Returns
    -------
    pandas.DataFrame
        ``task, term, estimate, standard_error, z, p_value, log_likelihood, converged,
        singular``. Trial and difference in reward (right minus left) are z-scored.
    """
    from trialwise.choices.design import design
    from trialwise.choices.glmm import fit
    from trialwise.choices.scores import fit_table

    def scaled(values):
        return (values - values.mean()) / values.std(ddof=1)

    tables = {
        "category": (CATEGORY_MODEL, category.assign(trial=scaled(category["trial"]))),
        "reward": (
            REWARD_MODEL,
            reward.assign(
                trial=scaled(reward["trial"]),
                difference=scaled(reward["right_reward"] - reward["left_reward"]),
            ),
        ),
    }
    rows = []
    for task, (model, data) in tables.items():
        fitted = fit(design(model, data))
        rows.append(fit_table(fitted).assign(task=task))
    table = pd.concat(rows, ignore_index=True)
    return table[["task", *table.columns.drop("task")]]


def _read(path, kinds):
    import pandera.pandas as pa

    table = read_table(path, list(kinds), optional=[INCLUDE])
    columns = [name for name in (*kinds, INCLUDE) if name in table]
    whole = pa.Check.str_matches(r"^-?[0-9]{1,15}(\.0)?$")
    binary = pa.Check.str_matches(r"^([01](\.0)?|True|False)$")
    checks, allowed = {}, {}
    for column in columns:
        if kinds.get(column) is str:
            checks[column] = pa.Column(str, pa.Check.str_length(min_value=1))
            allowed[column] = "text that is not empty"
        elif column in {"choice", "correct", "true_category_binary", INCLUDE}:
            checks[column] = pa.Column(str, binary)
            allowed[column] = "0 or 1, False or True"
        else:
            checks[column] = pa.Column(str, whole)
            allowed[column] = "a whole number"
    check_table(table, pa.DataFrameSchema(checks), allowed)
    _check_names(table, [column for column in columns if kinds.get(column) is str])
    numbers = [column for column in columns if kinds.get(column) is not str]
    table[numbers] = table[numbers].replace({"False": "0", "True": "1"})
    table[numbers] = table[numbers].astype(float).astype(int)
    return table if INCLUDE in table else table.assign(include=1)


def _check_names(table, columns):
    """Refuse names that are no longer told apart once a table is read again."""
    kept = pd.read_csv(io.StringIO(table[columns].to_csv(index=False)))
    for column in columns:
        if kept[column].isna().any():
            row = table[kept[column].isna()].iloc[0]
            raise InputError(
                f"{place(row)}: {column} is {row[column]!r}, which tables use for a "
                "missing value. Give it another name."
            )
        same = table[column].groupby(kept[column])
        if (same.nunique() > 1).any():
            row = table[same.transform("nunique") > 1].iloc[0]
            raise InputError(
                f"{place(row)}: {column} {row[column]!r} is written in another way "
                "elsewhere, as the same number. Write all as text or all alike."
            )


def _check_trials(table):
    repeated = table.duplicated(["participant", "trial"])
    if repeated.any():
        row = table[repeated].iloc[0]
        raise InputError(
            f"{place(row)}: {row.participant} has trial {row.trial} again. "
            "Keep one of the two rows."
        )
    counts = table.groupby("participant")["trial"].agg(["size", "min", "max"])
    n = counts["size"].max()
    incomplete = (counts != [n, 0, n - 1]).any(axis=1)
    if incomplete.any():
        participant = counts.index[incomplete][0]
        row = table[table["participant"] == participant].iloc[0]
        raise InputError(
            f"{place(row)}: {participant} does not have the trials 0 to {n - 1}, as "
            "others have. Add the missing rows, or leave the participant out."
        )


def _check_correct(table, task):
    chosen = table["choice"].to_numpy()
    if task == "category":
        truth = chosen == table["true_category_binary"]
    else:
        rewards = table[["left_reward", "right_reward"]].to_numpy()
        truth = rewards[np.arange(len(table)), chosen] == rewards.max(axis=1)
    wrong = table["correct"].to_numpy(dtype=bool) != truth
    if wrong.any():
        row = table[wrong].iloc[0]
        raise InputError(
            f"{place(row)}: correct is {row.correct}, but the choice {row.choice} says "
            "otherwise. Correct the one or the other."
        )
