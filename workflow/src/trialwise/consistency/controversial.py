"""Images that people find easy and networks hard, and the reverse."""

import pandas as pd

from trialwise.trials import is_human, members


def controversial_images(trials, networks, tie_breaker=None):
    """Rank images by how much easier they are for people, or for networks.

    Parameters
    ----------
    trials : pandas.DataFrame
        From `trialwise.trials.read_trials`.
    networks : sequence of str
        Names of the networks, * allowed.
    tie_breaker : str, optional
        Observer whose order of presentation decides between equal images, as the order
        of rows did for the authors; default the first person.

    Returns
    -------
    pandas.DataFrame
        One row per image, in the tie breaker's order: ``image, humans_correct,
        networks_correct, human_easy_rank, network_easy_rank``. Ranks count from 1: most
        people right and, among equals, fewest networks right; or the mirror image.
    """
    people = trials[is_human(trials["observer"])]
    networks = members(networks, sorted(trials["observer"].unique()))
    tie_breaker = tie_breaker or people["observer"].min()
    order = trials[trials["observer"] == tie_breaker].sort_values("row")["image"]
    of_networks = trials[trials["observer"].isin(networks)]
    table = pd.DataFrame(
        {
            "humans_correct": people.groupby("image")["correct"].sum(),
            "networks_correct": of_networks.groupby("image")["correct"].sum(),
        }
    ).reindex(order)
    columns = {
        "human_easy_rank": (["humans_correct", "networks_correct"], [False, True]),
        "network_easy_rank": (["networks_correct", "humans_correct"], [False, True]),
    }
    for column, (keys, ascending) in columns.items():
        ranked = table.sort_values(keys, ascending=ascending, kind="stable").index
        table[column] = pd.Series(range(1, len(ranked) + 1), index=ranked)
    return table.rename_axis("image").reset_index()


def extremes(table, n=5):
    """The `n` images of each kind, in the order in which `table` lists all images.

    Parameters
    ----------
    table : pandas.DataFrame
        From `controversial_images`.
    n : int

    Returns
    -------
    pandas.DataFrame
        ``kind`` (``human-easy`` or ``network-easy``) and ``images``, joined by spaces.
    """
    rows = [
        {"kind": kind, "images": " ".join(table.loc[table[column] <= n, "image"])}
        for kind, column in (
            ("human-easy", "human_easy_rank"),
            ("network-easy", "network_easy_rank"),
        )
    ]
    return pd.DataFrame(rows)
