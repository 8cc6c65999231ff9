"""New rows of the registry of models."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from trialwise.configuration import guess
from trialwise.errors import InputError
from trialwise.files import whole
from trialwise.models.registry import COLUMNS, read_models

# What a row has where nothing else is said, and what it takes from no other row.
PLAIN = {"input": "image", "pooling": "none", "environment": "main"}
OWN = {
    "set": "other",
    **dict.fromkeys(("parameters_published", "table_name", "figure_name", "note"), ""),
}


def add_model(
    path: str | Path,
    name: str,
    given: Mapping[str, str],
    like: str | None = None,
    schema: str | Path | None = None,
) -> int:
    """Append a row to the registry of models.

    Parameters
    ----------
    path, schema
        See `trialwise.models.registry.read_models`.
    name : str
        The id of the new model.
    given : mapping of str to str
        Values by column.
    like : str, optional
        Another model: its row has the values of all other columns but its sets and
        what papers and notes say of it. Without it they are empty, or those of a model
        of images in the main environment.

    Returns
    -------
    int
        The line of the new row.

    Raises
    ------
    InputError
        As `read_models`, the new row included, and for a column or another model that
        the table does not have. The table then stays as it was.
    """
    read_models(path)
    text = Path(path).read_text(encoding="utf-8").rstrip("\n")
    rows = [
        dict(zip(COLUMNS, line.split("\t"), strict=True)) for line in text.split("\n")
    ]
    by_id = {row["id"]: row for row in rows[1:]}
    for column in given:
        _check_known(column, COLUMNS, path, "column")
    values = {**dict.fromkeys(COLUMNS, ""), **PLAIN, "name": name}
    if like is not None:
        _check_known(like, by_id, path, "model")
        values = by_id[like]
    row = {**values, **OWN, **given, "id": name}
    with whole(path) as temporary:
        new = "\t".join(row[column] for column in COLUMNS)
        temporary.write_text(f"{text}\n{new}\n", encoding="utf-8")
        try:
            read_models(temporary, schema)
        except InputError as error:
            raise InputError(str(error).replace(str(temporary), str(path))) from None
    return len(rows) + 1


def _check_known(word: str, known: Iterable[str], path: str | Path, what: str) -> None:
    if word not in known:
        raise InputError(
            f"{path} has no {what} {word!r}{guess(word, known)}. Choose one it has."
        )
