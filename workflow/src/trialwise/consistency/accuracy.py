"""Accuracy of each observer, over all trials and by level of a distortion."""

import numpy as np
import pandas as pd

from trialwise.consistency import ALL_TRIALS, PUBLISHED
from trialwise.errors import InputError
from trialwise.trials import NO_RESPONSE, is_human, members

HUMANS = "humans"


def observer_accuracy(trials):
    """Share of correct trials of each observer.

    Parameters
    ----------
    trials : pandas.DataFrame
        ``observer, response, correct``.

    Returns
    -------
    pandas.DataFrame
        ``observer, n, n_correct, n_no_response, accuracy``.
    """
    table = trials.groupby("observer", as_index=False).agg(
        n=("correct", "size"),
        n_correct=("correct", "sum"),
        n_no_response=("response", lambda r: int((r == NO_RESPONSE).sum())),
    )
    return table.assign(accuracy=table["n_correct"] / table["n"])


def group_accuracy(accuracies, groups):
    """Mean accuracy of groups of observers, each observer counting once.

    Parameters
    ----------
    accuracies : pandas.DataFrame
        From `observer_accuracy`.
    groups : dict of str to sequence of str
        Patterns of observer names.

    Returns
    -------
    pandas.DataFrame
        ``group, n_observers, accuracy, minimum, maximum``.
    """
    by_observer = accuracies.set_index("observer")["accuracy"]
    rows = []
    for group, patterns in groups.items():
        own = by_observer[members(patterns, sorted(by_observer.index))]
        rows.append([group, len(own), own.mean(), own.min(), own.max()])
    columns = ["group", "n_observers", "accuracy", "minimum", "maximum"]
    return pd.DataFrame(rows, columns=columns)


def accuracy_table(accuracies, patterns, decimals=2):
    """Table 1 of the 2020 paper: observers by experiments, rounded half to even.

    Parameters
    ----------
    accuracies : dict of str to pandas.DataFrame
        `observer_accuracy` of each experiment.
    patterns : sequence of str
        Names of the observers in the order of the rows, * allowed.

    Returns
    -------
    pandas.DataFrame
        ``observer`` and one column per experiment.
    """
    wide = pd.DataFrame(
        {
            experiment: table.set_index("observer")["accuracy"]
            for experiment, table in accuracies.items()
        }
    )
    rows = wide.loc[members(patterns, sorted(wide.index))]
    return np.round(rows, decimals).rename_axis("observer").reset_index()


def accuracy_by_level(trials, level_pattern, networks):
    """Accuracy against the strength of a distortion (noise generalisation).

    Parameters
    ----------
    trials : pandas.DataFrame
        From `trialwise.trials.read_trials`, unpaired.
    level_pattern : str
        Regular expression whose first group, matched against the whole condition, is
        the level as a number; trials of other conditions are left out.
    networks : sequence of str
        Networks to report beside the people, who are pooled as ``humans``.

    Returns
    -------
    pandas.DataFrame
        ``variant, observer, level, n, accuracy, low, high``, ordered by level. `low`
        and `high` are the range over people or, for a network, over its sessions.
        Variant ``published`` repeats the range of the people for every network: the
        authors' code tests membership in a list of lists, which is never true.

    Raises
    ------
    InputError
        If a network is absent or no condition matches.
    """
    level = trials["condition"].str.extract(f"^(?:{level_pattern})$", expand=False)
    trials = trials.assign(level=level.astype(float))[level.notna()]
    if trials.empty:
        raise InputError(
            f"No condition matches the level pattern {level_pattern}. Correct the "
            "pattern, whose one group is the number in the name of a condition."
        )
    people = trials[is_human(trials["observer"])]
    tables = [_levels(people, "observer").assign(observer=HUMANS)]
    for network in networks:
        own = trials[trials["observer"] == network]
        if own.empty:
            raise InputError(
                f"No observer is called {network!r}.\nObservers of this experiment: "
                f"{', '.join(sorted(trials['observer'].unique()))}."
            )
        tables.append(_levels(own, "session").assign(observer=network))
    right = pd.concat(tables, ignore_index=True)
    people_range = tables[0].set_index("level")[["low", "high"]]
    published = right.drop(columns=["low", "high"]).join(people_range, on="level")
    both = {ALL_TRIALS: right, PUBLISHED: published}
    columns = ["variant", "observer", "level", "n", "accuracy", "low", "high"]
    return pd.concat(
        [table.assign(variant=variant) for variant, table in both.items()],
        ignore_index=True,
    )[columns]


def _levels(trials, unit):
    pooled = trials.groupby("level")["correct"].agg(n="size", accuracy="mean")
    of_units = trials.groupby(["level", unit])["correct"].mean().groupby("level")
    return pooled.assign(low=of_units.min(), high=of_units.max()).reset_index()
