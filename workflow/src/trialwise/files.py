"""Outputs that appear whole or not at all."""

import errno
import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pandas as pd

from trialwise.errors import InputError

UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM)


@contextmanager
def whole(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path that becomes `path` when the block ends without error.

    The temporary name lies in the same folder, so that the final rename is atomic,
    and keeps the suffix, which some writers choose their format by. What writers that
    were killed left of the same output is removed.

    Raises
    ------
    InputError
        If the folder cannot be written to, or its disk is full.
    """
    path = Path(path)
    with _explained(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        _remove_leftovers(path.parent, f".{path.stem}-", path.suffix)
        handle, name = tempfile.mkstemp(
            dir=path.parent, prefix=f".{path.stem}-", suffix=path.suffix
        )
        os.close(handle)
        temporary = Path(name)
        try:
            with _held(temporary):
                yield temporary
                temporary.chmod(0o666 & ~_umask())
                temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)


@contextmanager
def whole_folder(path: str | Path) -> Iterator[Path]:
    """Yield a temporary folder that becomes `path` when the block ends well.

    What writers that were killed left of the same output is removed.

    Raises
    ------
    InputError
        If the folder cannot be written to, or its disk is full.
    """
    path = Path(path)
    with _explained(path), _temporary_beside(path) as name:
        inner = Path(name) / path.name
        inner.mkdir()
        yield inner
        shutil.rmtree(path, ignore_errors=True)
        inner.replace(path)


def write_table(table: pd.DataFrame, path: str | Path) -> None:
    """Write a tidy table as CSV, floats in their shortest exact form."""
    with whole(path) as temporary:
        table.to_csv(temporary, index=False, lineterminator="\n")


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Say in one line that an output cannot be written; other errors pass."""
    try:
        yield
    except OSError as error:
        folder = path.parent
        here = error.filename is None or folder in Path(str(error.filename)).parents
        if error.errno not in UNWRITABLE or not here:
            raise
        raise InputError(
            f"{path} cannot be written: {error.strerror}. Free space or mend the "
            "permissions there, and run the same command again; what is done is kept."
        ) from error


@contextmanager
def _temporary_beside(path: Path) -> Iterator[str]:
    path.parent.mkdir(parents=True, exist_ok=True)
    prefix = f".{path.name}-"
    _remove_leftovers(path.parent, prefix, "")
    with (
        tempfile.TemporaryDirectory(dir=path.parent, prefix=prefix) as name,
        _held(Path(name)),
    ):
        yield name


def _remove_leftovers(folder: Path, prefix: str, suffix: str) -> None:
    """Remove temporary files and folders of these names that no process holds."""
    name = re.compile(rf"{re.escape(prefix)}[a-z0-9_]{{8}}{re.escape(suffix)}")
    for entry in [e for e in folder.iterdir() if name.fullmatch(e.name)]:
        with suppress(OSError), _held(entry) as alone:
            if alone and entry.is_dir():
                shutil.rmtree(entry)
            elif alone:
                entry.unlink()


@contextmanager
def _held(path: Path) -> Iterator[bool]:
    """Lock a temporary file or folder until the block, or the process, ends.

    Yields whether that was possible: a lock that another process has, or a file system
    without locks, prevents it.
    """
    descriptor = os.open(path, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
        else:
            yield True
    finally:
        os.close(descriptor)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
