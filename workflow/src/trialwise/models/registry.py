"""The registry of models: one row of `config/models.tsv` per representation."""

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from trialwise.errors import InputError

# Weights of a network as its library draws them.
UNTRAINED = "random"


@dataclass(frozen=True)
class Model:
    """One row of the registry; `models.schema.yaml` describes every field."""

    id: str
    set: tuple[str, ...]
    provider: str
    name: str
    weights: str
    url: str
    sha256: str
    base: str
    input: str
    resize: str
    crop: int | None
    interpolation: str
    normalisation: str
    layer: str
    pooling: str
    dimension: int
    parameters: int | None
    parameters_published: float | None
    training_images: float | None
    type: str
    aligned_by: str
    environment: str
    table_name: str
    figure_name: str
    note: str

    @property
    def files(self) -> dict[str, str]:
        """Address of each weight file, by the name that the file gets on disk."""
        return {_file_name(url): url for url in self.url.split()}

    @property
    def checksums(self) -> dict[str, str]:
        """Registered sha256 of each weight file, as far as they are known."""
        return dict(zip(self.files, self.sha256.split(), strict=False))


COLUMNS = [field.name for field in fields(Model)]
_TYPES = {
    "set": lambda text: tuple(text.split(",")),
    "crop": lambda text: int(text) if text else None,
    "dimension": int,
    "parameters": lambda text: int(text) if text else None,
    "parameters_published": lambda text: float(text) if text else None,
    "training_images": lambda text: float(text) if text else None,
}


def read_models(path: str | Path, schema: str | Path | None = None) -> dict[str, Model]:
    """Read and check the registry of models.

    Parameters
    ----------
    path : path
        Tab-separated table, one model a row, with the fields of `Model` as columns.
    schema : path, optional
        JSON schema of one row, written in YAML. Without it, the registry must be
        one that has been checked before.

    Returns
    -------
    dict of str to Model
        By id, in the order of the table.

    Raises
    ------
    InputError
        Naming file, line and remedy, if the table cannot be read, has other columns,
        a ragged line, a value that the schema refuses, an id twice, a base that is
        no row, or another number of checksums than of addresses.
    """
    rows = _read_rows(path)
    if schema is not None:
        _check_schema(rows, path, schema)
    models: dict[str, Model] = {}
    for line, row in rows.items():
        if row["id"] in models:
            raise InputError(
                f"{path}, line {line}: {row['id']} stands there twice. "
                "Give one of the two rows another id."
            )
        try:
            typed = {key: _TYPES.get(key, str)(text) for key, text in row.items()}
        except ValueError as error:
            raise InputError(
                f"{path}, line {line}: {error}. Correct the number."
            ) from error
        models[row["id"]] = Model(**typed)
    for line, model in zip(rows, models.values(), strict=True):
        _check_references(model, models, f"{path}, line {line}")
    return models


def select_models(names: Iterable[str], models: Mapping[str, Model]) -> list[str]:
    """Put the models of a set in the place of its name.

    Parameters
    ----------
    names : iterable of str
        Models, and sets of the registry such as ``paper-2024``.
    models : mapping of str to Model
        The registry.

    Returns
    -------
    list of str
        Each model once, at its first place; names that are no set stay.
    """
    chosen = []
    for name in names:
        chosen += [model.id for model in models.values() if name in model.set] or [name]
    return list(dict.fromkeys(chosen))


def _read_rows(path: str | Path) -> dict[int, dict[str, str]]:
    """Rows as text, by their line in the file."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path} cannot be read as a table: {error}. Restore the file."
        ) from error
    lines = list(csv.reader(text.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE))
    if not lines or lines[0] != COLUMNS:
        raise InputError(
            f"{path}, line 1: the columns are {', '.join(lines[0]) if lines else ''}. "
            f"Make them {', '.join(COLUMNS)}, separated by tabs."
        )
    rows = {}
    for line, values in enumerate(lines[1:], start=2):
        if len(values) != len(COLUMNS):
            raise InputError(
                f"{path}, line {line}: {len(values)} values under {len(COLUMNS)} "
                "columns. Separate them by single tabs, empty ones too."
            )
        rows[line] = dict(zip(COLUMNS, values, strict=True))
    return rows


def _check_schema(
    rows: Mapping[int, dict[str, str]], path: str | Path, schema: str | Path
) -> None:
    import yaml
    from jsonschema import Draft202012Validator

    validator = Draft202012Validator(yaml.safe_load(Path(schema).read_text()))
    for line, row in rows.items():
        for error in validator.iter_errors(row):
            raise InputError(
                f"{path}, line {line}: {error.path[0]} is {error.instance!r}. "
                f"It must be {error.schema['description']}."
            )


def _check_references(model: Model, models: Mapping[str, Model], place: str) -> None:
    if model.base and model.base not in models:
        raise InputError(
            f"{place}: base is {model.base!r}, which is no model of the table. "
            "Add a row for it, or correct the name."
        )
    urls, checksums = model.url.split(), model.sha256.split()
    if checksums and len(checksums) != len(urls):
        raise InputError(
            f"{place}: {len(checksums)} checksums for {len(urls)} addresses. "
            "Give one for each address, in the same order, or none."
        )
    if len(model.files) != len(urls):
        raise InputError(
            f"{place}: two addresses end in the same file name. "
            "Files of one model need names of their own."
        )


def _file_name(url: str) -> str:
    return PurePosixPath(urlsplit(url).path).name
