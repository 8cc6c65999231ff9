"""The manifest of a study's results: what each file is, and what made it."""

import hashlib
import os
import platform
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from trialwise import __version__
from trialwise.errors import InputError
from trialwise.files import whole

NAME = "manifest.tsv"
COLUMNS = ("path", "sha256", "bytes", "rule", "code", "versions")
# Folders of a study that hold no results.
APART = frozenset({"logs", "benchmarks", "sources"})
# Each study has logs of its own, also one whose folder lies in that of another.
LOGS = "logs"
LIBRARIES = ("numpy", "scipy", "pandas", "scikit-learn", "formulaic", "matplotlib")


class Output(NamedTuple):
    """What made a file or a folder of results, and when."""

    rule: str
    code: str
    ended: float


def update_manifest(results: str | Path, outputs: Mapping[str, Output]) -> None:
    """Bring the manifest up to date with what runs have made.

    Parameters
    ----------
    results : path
        The folder of the study, which gets the manifest ``manifest.tsv``: one row per
        file, ordered by path, with the columns `COLUMNS`.
    outputs : mapping of str to Output
        Files and folders that rules of the study make, by path; `ended` is the time of
        the job's end, in seconds since the epoch. Those outside of `results` and in
        the folders `APART` are left out, and so are those that are not there.

    Raises
    ------
    InputError
        If the present manifest is damaged, or the new one cannot be written.

    Notes
    -----
    A file gets a new row if it has none or its job ended after the manifest was
    written; all other rows stay. A file that was changed by hand keeps its row, and
    `find_changes` finds it.
    """
    path = Path(results) / NAME
    rows, written = {}, 0.0
    if path.exists():
        rows, written = read_manifest(path), path.stat().st_mtime
    versions = _versions()
    try:
        for output, made in outputs.items():
            for name in _results_in(Path(output), path.parent):
                if name not in rows or made.ended > written:
                    file = path.parent / name
                    size = str(file.stat().st_size)
                    own = (name, _sha256(file), size, made.rule, made.code, versions)
                    rows[name] = dict(zip(COLUMNS, own, strict=True))
        lines = ["\t".join(rows[name].values()) for name in sorted(rows)]
        with whole(path) as temporary:
            text = "\n".join(["\t".join(COLUMNS), *lines, ""])
            temporary.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"{path} cannot be written: {error.strerror}. "
            "Mend the permissions or free space there."
        ) from error


def read_manifest(path: str | Path) -> dict[str, dict[str, str]]:
    """Read a manifest.

    Parameters
    ----------
    path : path

    Returns
    -------
    dict of str to dict
        The rows by path, each by the names of its columns.

    Raises
    ------
    InputError
        If the file cannot be read, or a line of it is none of a manifest.
    """
    try:
        lines = Path(path).read_text(encoding="utf-8").removesuffix("\n").split("\n")
    except FileNotFoundError as error:
        raise InputError(
            f"{path}: there is no manifest. Name that of a study, "
            "which a run writes when it ends well."
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise _damaged(path, str(error)) from error
    if tuple(lines[0].split("\t")) != COLUMNS:
        raise _damaged(path, f"line 1: the columns are not {', '.join(COLUMNS)}")
    rows = {}
    for number, line in enumerate(lines[1:], start=2):
        row = dict(zip(COLUMNS, line.split("\t"), strict=False))
        name = PurePosixPath(row["path"])
        if len(row) != len(COLUMNS) or line.count("\t") != len(COLUMNS) - 1:
            raise _damaged(path, f"line {number}: not {len(COLUMNS)} values")
        if name.is_absolute() or ".." in name.parts or "\0" in row["path"]:
            raise _damaged(path, f"line {number}: {row['path']!r} leaves the folder")
        if row["path"] in rows:
            raise _damaged(path, f"line {number}: {row['path']} is there twice")
        rows[row["path"]] = row
    return rows


def find_changes(path: str | Path) -> tuple[list[str], int]:
    """Find every change to results since runs made them.

    Parameters
    ----------
    path : path
        The manifest. Its folder is searched, but for hidden files, the folders `APART`
        and those of other studies.

    Returns
    -------
    list of str
        For each file that was changed, is missing or was made by no run that ended
        well, its path and what is wrong with it, ordered by path.
    int
        Number of files in the manifest.

    Raises
    ------
    InputError
        If the manifest is missing or damaged.
    """
    path = Path(path)
    rows = read_manifest(path)
    changes = {}
    for name, row in rows.items():
        change = _change(path.parent / name, row)
        if change:
            changes[name] = f"{change} since {row['rule']} made it"
    for name in _files_below(path.parent):
        if name not in rows:
            changes[name] = "made by no run that ended well"
    return [f"{path.parent / name}: {changes[name]}" for name in sorted(changes)], len(
        rows
    )


def _results_in(output: Path, results: Path) -> Iterator[str]:
    """Paths, below the folder of results, of the files of an output."""
    if not output.is_relative_to(results):
        return
    name = output.relative_to(results)
    if name.parts[0] in APART:
        return
    if output.is_file():
        yield name.as_posix()
    for folder, _, files in os.walk(output):
        below = Path(folder).relative_to(results)
        yield from ((below / file).as_posix() for file in files if _counts(file))


def _files_below(results: Path) -> Iterator[str]:
    for folder, inner, files in os.walk(results):
        below = Path(folder).relative_to(results)
        left_out = APART if Path(folder) == results else frozenset()
        inner[:] = [
            name
            for name in inner
            if _counts(name)
            and name not in left_out
            and not (Path(folder) / name / LOGS).is_dir()
        ]
        for file in files:
            name = (below / file).as_posix()
            if _counts(file) and name != NAME:
                yield name


def _counts(name: str) -> bool:
    """Whether a file or folder is none that comes and goes with a run."""
    return not name.startswith(".")


def _change(file: Path, row: Mapping[str, str]) -> str:
    """In a word what has happened to a file; empty if nothing."""
    try:
        if not file.is_file():
            return "missing"
        same = str(file.stat().st_size) == row["bytes"] and (
            _sha256(file) == row["sha256"]
        )
    except OSError as error:
        return f"unreadable ({error.strerror})"
    return "" if same else "changed"


def _sha256(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def _versions() -> str:
    found = [f"trialwise {__version__}", f"python {platform.python_version()}"]
    for library in LIBRARIES:
        try:
            found.append(f"{library} {version(library)}")
        except PackageNotFoundError:
            continue
    return ", ".join(found)


def _damaged(path: str | Path, why: str) -> InputError:
    return InputError(
        f"{path} is no manifest of results ({why}). Restore it, or delete it: the next "
        "run that makes something writes a new one, without knowing what was changed."
    )
