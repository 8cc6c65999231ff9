"""CSV files read strictly: a fault is named by file, line and remedy."""

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from trialwise.errors import InputError


def read_table(
    path: str | Path, columns: Sequence[str] | None, optional: Sequence[str] = ()
) -> pd.DataFrame:
    """Read the named columns of a CSV file as text, with the place of every row.

    Parameters
    ----------
    path : path
        UTF-8 text with a header line.
    columns : sequence of str, optional
        Columns that must be there; others are dropped. None: keep all.
    optional : sequence of str
        Columns to keep as well where they are there.

    Returns
    -------
    pandas.DataFrame
        `columns` as text, and ``file`` and ``line``.

    Raises
    ------
    InputError
        If the file is missing, empty, not UTF-8, lacks a column, has one twice or has a
        ragged line.
    """
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise InputError(
            f"{path}: {error.strerror}. Name a CSV file that can be read."
        ) from error
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{path}, line {line}: not UTF-8 text. Save the file as UTF-8."
        ) from error
    reader = csv.reader(io.StringIO(text, newline=None), strict=True)
    try:
        header = next(reader, [])
        _check_header(path, header, columns or ())
        rows, lines = [], []
        for row in reader:
            if len(row) != len(header):
                raise InputError(
                    f"{path}, line {reader.line_num}: {len(row)} values under "
                    f"{len(header)} columns. Mend the line."
                )
            rows.append(row)
            lines.append(reader.line_num)
    except csv.Error as error:
        raise InputError(
            f"{path}, line {reader.line_num}: no CSV ({error}). Mend the line."
        ) from error
    if not rows:
        raise InputError(f"{path}, line 2: no trial under the header. Supply them.")
    table = pd.DataFrame(rows, columns=header, dtype=str)
    if columns is not None:
        table = table[[*columns, *(name for name in optional if name in header)]]
    return table.assign(file=str(path), line=lines)


def check_table(table: pd.DataFrame, schema: Any, allowed: Mapping[str, str]) -> None:
    """Validate a table of `read_table` with a pandera schema.

    Parameters
    ----------
    table : pandas.DataFrame
    schema : pandera.pandas.DataFrameSchema
    allowed : mapping of str to str
        For each checked column the values it may have, in words.

    Raises
    ------
    InputError
        For the first value that is not allowed.
    """
    from pandera.errors import SchemaErrors

    try:
        schema.validate(table, lazy=True)
    except SchemaErrors as error:
        first = error.failure_cases.sort_values("index", kind="stable").iloc[0]
        raise InputError(
            f"{place(table.loc[first['index']])}: {first['column']} is "
            f"{first['failure_case']!r}. Allowed: {allowed[first['column']]}."
        ) from error


def place(row: pd.Series) -> str:
    """File and line of a row of `read_table`."""
    return f"{row.file}, line {row.line}"


def _check_header(path: str | Path, header: list[str], columns: Sequence[str]) -> None:
    if not header:
        raise InputError(f"{path}, line 1: the file is empty. Supply its trials.")
    for column in header:
        if header.count(column) > 1:
            raise InputError(
                f"{path}, line 1: two columns are called {column!r}. Rename one."
            )
    missing = [column for column in columns if column not in header]
    if missing:
        raise InputError(
            f"{path}, line 1: no column {', '.join(missing)}. "
            f"The columns must be {', '.join(columns)}."
        )
