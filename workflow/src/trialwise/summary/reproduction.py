"""Published values beside reproduced ones, with a verdict for each."""

from pathlib import Path

import pandas as pd

from trialwise.errors import InputError

COLUMNS = (
    *("item", "protocol", "published", "tolerance"),
    *("table", "select", "column", "source", "reason"),
)
MATCH, DIFFERS, NOT_AVAILABLE = "match", "differs", "not available"
RECOMPUTED = "recomputed"
# Tables below this folder rest on published values of each model, not on data.
FROM_PUBLISHED = "summary/published/"


def read_published(path):
    """Read a table of published values, all columns as text.

    Columns: `item` and `protocol` (together unique), the `published` number or text,
    the largest difference that is a match (`tolerance`), where the reproduced value
    stands (`table` below the results folder; `select`, as ``column=value`` joined by
    ``;``; `column`), the `source` in the paper, and the `reason` for a difference. A
    row without `table` cannot be reproduced and says why in `reason`.

    Returns
    -------
    pandas.DataFrame

    Raises
    ------
    InputError
        If a column is missing or an item stands twice under one protocol.
    """
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    missing = [column for column in COLUMNS if column not in table.columns]
    if missing:
        raise InputError(f"{path}, line 1: no column {', '.join(missing)}. Add it.")
    repeated = table.duplicated(["item", "protocol"])
    if repeated.any():
        line = int(repeated.idxmax()) + 2
        raise InputError(
            f"{path}, line {line}: the item {table['item'][line - 2]!r} stands twice "
            "under one protocol. Remove one of the two."
        )
    return table


def tables_needed(published):
    """Names of the computed tables that the published values are compared with."""
    return sorted(set(published["table"]) - {""})


def compare(published, results):
    """Look up each published value's counterpart and judge it.

    Parameters
    ----------
    published : pandas.DataFrame
        From `read_published`.
    results : path
        Folder of the computed tables.

    Returns
    -------
    pandas.DataFrame
        ``item, protocol, published, reproduced, difference, tolerance, status, note``.
        A match with a table that rests on published values is ``recomputed``.

    Raises
    ------
    InputError
        If a row of `published` does not select exactly one row of its table.
    """
    tables = {
        name: pd.read_csv(Path(results) / name, dtype=str, keep_default_na=False)
        for name in tables_needed(published)
    }
    rows = [_judge(row, tables.get(row.table)) for row in published.itertuples()]
    return pd.DataFrame(rows)


def _judge(row, table):
    verdict = {"item": row.item, "protocol": row.protocol, "published": row.published}
    if table is None:
        empty = dict.fromkeys(["reproduced", "difference"], "")
        status = {"tolerance": row.tolerance, "status": NOT_AVAILABLE}
        return {**verdict, **empty, **status, "note": row.reason}
    reproduced = _look_up(row, table)
    if row.tolerance and reproduced:
        difference = float(reproduced) - float(row.published)
        matches = abs(difference) <= float(row.tolerance)
    else:
        difference = ""
        matches = reproduced == row.published
    agreement = RECOMPUTED if row.table.startswith(FROM_PUBLISHED) else MATCH
    return {
        **verdict,
        "reproduced": reproduced,
        "difference": difference,
        "tolerance": row.tolerance,
        "status": agreement if matches else DIFFERS,
        "note": row.source if matches else row.reason or "no reason is known",
    }


def _look_up(row, table):
    chosen = table
    for condition in row.select.split(";"):
        column, _, value = condition.partition("=")
        chosen = chosen[chosen[column] == value]
    if len(chosen) != 1:
        raise InputError(
            f"{row.item}: {row.select} selects {len(chosen)} rows of {row.table}. "
            "It must select one."
        )
    return chosen.iloc[0][row.column]
