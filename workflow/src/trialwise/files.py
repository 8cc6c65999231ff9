"""Outputs that appear whole or not at all."""

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd

from trialwise.errors import InputError

UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM)


@contextmanager
def whole(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path that becomes `path` when the block ends without error.

    The temporary name lies in the same folder, so that the final rename is atomic,
    and keeps the suffix, which some writers choose their format by.

    Raises
    ------
    InputError
        If the folder cannot be written to, or its disk is full.
    """
    path = Path(path)
    with _explained(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(
            dir=path.parent, prefix=f".{path.stem}-", suffix=path.suffix
        )
        os.close(handle)
        temporary = Path(name)
        try:
            yield temporary
            temporary.chmod(0o666 & ~_umask())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)


@contextmanager
def whole_folder(path: str | Path) -> Iterator[Path]:
    """Yield a temporary folder that becomes `path` when the block ends well.

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
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}-") as name:
        yield name


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
