"""Confusion matrices (supplement, Figs. SF.8)."""

import pandas as pd

from trialwise.consistency.accuracy import HUMANS
from trialwise.trials import is_human


def confusion(trials):
    """What each observer answered to each category, and the people pooled.

    Parameters
    ----------
    trials : pandas.DataFrame
        ``observer, category, response``.

    Returns
    -------
    pandas.DataFrame
        ``observer, category, response, count, percent``; `percent` of the trials of the
        presented category. Responses an observer never gave are left out, cells of
        responses given to other categories only hold 0.
    """
    people = trials[is_human(trials["observer"])].assign(observer=HUMANS)
    tables = []
    for observer, own in pd.concat([people, trials]).groupby("observer"):
        counts = pd.crosstab(own["category"], own["response"])
        percent = counts.div(counts.sum(axis=1), axis=0) * 100
        table = pd.DataFrame({"count": counts.stack(), "percent": percent.stack()})
        tables.append(table.reset_index().assign(observer=observer))
    columns = ["observer", "category", "response", "count", "percent"]
    return pd.concat(tables, ignore_index=True)[columns]
