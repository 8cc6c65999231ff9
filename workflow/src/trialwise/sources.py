"""External files: from a mirror folder or the network, verified by checksum."""

import csv
import logging
import shutil
from collections.abc import Iterable
from os.path import commonpath
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import pandas as pd
import pooch
from requests import exceptions
from tqdm import tqdm

from trialwise.errors import InputError

COLUMNS = ["group", "path", "url", "sha256", "bytes", "licence", "terms"]


def read_sources(path: str | Path, schema: str | Path | None = None) -> pd.DataFrame:
    """Read and check the table of external files.

    Parameters
    ----------
    path : str or Path
        Tab-separated table with the header
        ``group path url sha256 bytes licence terms``, one file a row.
    schema : str or Path, optional
        JSON schema of one row, written in YAML. Without it only the header and
        repeated names are checked.

    Returns
    -------
    pandas.DataFrame
        The table, every column as text.

    Raises
    ------
    InputError
        If the table cannot be read, its header is another one, a row does not
        satisfy the schema, or a path stands twice.
    """
    try:
        # Read as data, the header fixes the number of fields of all lines; read as
        # a header, it would let pandas take surplus fields for an index.
        lines = pd.read_csv(
            path,
            sep="\t",
            header=None,
            dtype=str,
            keep_default_na=False,
            quoting=csv.QUOTE_NONE,
            skip_blank_lines=False,
        )
    except (OSError, ValueError) as error:
        raise InputError(
            f"{path} cannot be read as a table: {str(error).strip()}. "
            "Restore the file or correct that line."
        ) from error
    header = lines.iloc[0].tolist()
    if header != COLUMNS:
        raise InputError(
            f"{path}, line 1: the columns are {', '.join(header)}. "
            f"Make them {', '.join(COLUMNS)}, separated by tabs."
        )
    sources = lines.iloc[1:].set_axis(COLUMNS, axis="columns").reset_index(drop=True)
    if schema is not None:
        _check_rows(sources, path, schema)
    _refuse_repeats(sources["path"], path)
    return sources


def get_group(
    sources: pd.DataFrame,
    group: str,
    destination: str | Path,
    mirror: str | Path | None = None,
    timeout: float = 30,
    attempts: int = 3,
) -> None:
    """Put every file of a group into one folder.

    There files have the paths that they have below the folder they share. The folder
    appears whole or not at all. What the mirror has is copied from there, the rest is
    downloaded, and every file is verified by its checksum. Files that an interrupted or
    failed call has downloaded are kept in the folder ``.{name}.part`` beside the
    destination, and the next call fetches the others.

    Parameters
    ----------
    sources : pandas.DataFrame
        The external files, as `read_sources` returns them.
    group : str
        The group to get.
    destination : str or Path
        The folder to make; an existing one is replaced once the new one is whole.
    mirror : str or Path, optional
        Folder that holds files at their `path` of `sources`.
    timeout : float, default=30
        Seconds to wait for a connection, and for each part of an answer.
    attempts : int, default=3
        How often each download is tried in all.

    Raises
    ------
    InputError
        If there is no such group or mirror folder, a file in the mirror has
        another checksum, a file can be had from neither place, or the destination
        cannot be written.
    """
    files = sources[sources["group"] == group]
    files = files.assign(name=_shortened(files["path"]))
    if files.empty:
        raise InputError(
            f"There is no group {group!r} of external files. "
            f"Choose from {', '.join(sources['group'].unique())}."
        )
    destination = Path(destination).resolve()
    part = destination.with_name(f".{destination.name}.part")
    try:
        _remove_strangers(part, set(files["name"]))
        fill_folder(files, part, mirror, timeout, attempts)
        _replace(destination, part)
    except OSError as error:
        raise InputError(
            f"Group {group} cannot be put into {destination}: {error}. "
            "Mend the permissions or free space there."
        ) from error


def fill_folder(
    files: pd.DataFrame,
    folder: str | Path,
    mirror: str | Path | None = None,
    timeout: float = 30,
    attempts: int = 3,
) -> None:
    """Make a folder hold these files, whole and verified by their checksums.

    Parameters
    ----------
    files : pandas.DataFrame
        ``group, path, name, url, sha256, bytes``, one file a row: `name` is its path in
        the folder, `path` that in the mirror, `group` what all are called together.
    folder : str or Path
        Made if it is not there; files in it that are right stay.
    mirror, timeout, attempts
        As for `get_group`.

    Raises
    ------
    InputError
        As for `get_group`; files that are right already stay in the folder.
    OSError
        If the folder cannot be written.
    """
    check_mirror(mirror)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    lacking = [
        file
        for file in files.itertuples()
        if not _is_there(file, folder)
        and not (mirror and _copy(file, Path(mirror), folder))
    ]
    if lacking:
        _download(lacking, folder, mirror, timeout, attempts)


def check_mirror(mirror: str | Path | None) -> None:
    """Refuse a mirror that is named and not there.

    Raises
    ------
    InputError
        If `mirror` is given and no folder.
    """
    if mirror and not Path(mirror).is_dir():
        raise InputError(
            f"The mirror {mirror} is not a folder. "
            "Correct TRIALWISE_MIRROR, or unset it to download the files."
        )


def _check_rows(sources: pd.DataFrame, path: str | Path, schema: str | Path) -> None:
    import yaml
    from jsonschema import Draft202012Validator

    validator = Draft202012Validator(yaml.safe_load(Path(schema).read_text()))
    for index, row in enumerate(sources.to_dict("records")):
        for error in validator.iter_errors(row):
            raise InputError(
                f"{path}, line {_line(index)}: {error.path[0]} is "
                f"{error.instance!r}. It must be {error.schema['description']}."
            )


def _refuse_repeats(names: pd.Series, path: str | Path) -> None:
    repeated = names.duplicated()
    if repeated.any():
        index = repeated.idxmax()
        first = (names == names[index]).idxmax()
        raise InputError(
            f"{path}, line {_line(index)}: {names[index]} stands already in line "
            f"{_line(first)}. Remove one of the two rows."
        )


def _line(index: int) -> int:
    return index + 2


def _shortened(paths: pd.Series) -> list[str]:
    """Paths below the folder that all of them share."""
    parents = [PurePosixPath(path).parent for path in paths]
    shared = commonpath(parents) if parents else ""
    return [PurePosixPath(path).relative_to(shared).as_posix() for path in paths]


def _remove_strangers(folder: Path, names: Iterable[str]) -> None:
    for file in folder.rglob("*"):
        if file.is_file() and file.relative_to(folder).as_posix() not in names:
            file.unlink()


def _is_there(file: NamedTuple, folder: Path) -> bool:
    target = folder / file.name
    return target.is_file() and pooch.file_hash(target) == file.sha256


def _copy(file: NamedTuple, mirror: Path, folder: Path) -> bool:
    """Copy a file from the mirror and verify it; False if the mirror lacks it."""
    original = mirror / file.path
    if not original.is_file():
        return False
    target = folder / file.name
    target.parent.mkdir(parents=True, exist_ok=True)
    found = pooch.file_hash(shutil.copyfile(original, target))
    if found != file.sha256:
        raise InputError(
            f"{original} has the sha256 {found}, not {file.sha256}. "
            "Replace it in the mirror, or remove it there to have it downloaded."
        )
    return True


def _download(
    files: list[NamedTuple],
    folder: Path,
    mirror: str | Path | None,
    timeout: float,
    attempts: int,
) -> None:
    """Download those files that the folder does not hold already."""
    pooch.get_logger().setLevel(logging.WARNING)
    total = sum(int(file.bytes) for file in files)
    with tqdm(
        desc=files[0].group, total=total, unit="B", unit_scale=True, mininterval=1
    ) as bar:
        place = "a folder and name that folder in TRIALWISE_MIRROR"
        if mirror:
            place = f"the mirror {mirror}, which lacks it"
        for file in files:
            remedy = f"Put it at {file.path} in {place}."
            _download_file(file, folder, bar, remedy, timeout, attempts)


def _download_file(
    file: NamedTuple,
    folder: Path,
    bar: tqdm,
    remedy: str,
    timeout: float,
    attempts: int,
) -> None:
    name = file.name
    if not file.url:
        raise InputError(f"{file.path} has no public address. {remedy}")
    fetcher = pooch.create(
        path=folder,
        base_url="",
        registry={name: f"sha256:{file.sha256}"},
        urls={name: file.url},
        retry_if_failed=attempts - 1,
    )
    share = _Share(bar, int(file.bytes))
    http = pooch.HTTPDownloader(progressbar=share, chunk_size=2**16, timeout=timeout)

    def attempt(url: str, output: str, fetcher: pooch.Pooch) -> None:
        share.reset()
        http(url, output, fetcher)

    try:
        fetcher.fetch(name, downloader=attempt)
    except (exceptions.RequestException, ValueError) as error:
        raise InputError(
            f"{file.path} cannot be downloaded from {file.url} ({reason(error)}). "
            f"{remedy}"
        ) from error
    # pooch leaves its files readable by their owner alone.
    (folder / name).chmod(folder.stat().st_mode & 0o666)
    share.fill()


class _Share:
    """The share of one file in the group's progress bar, as pooch wants its bars."""

    def __init__(self, bar: tqdm, size: int) -> None:
        self.bar = bar
        self.start = bar.n
        self.end = bar.n + size

    def update(self, n: int) -> None:
        self.bar.update(min(n, self.end - self.bar.n))

    def reset(self) -> None:
        self.bar.update(self.start - self.bar.n)

    def fill(self) -> None:
        self.bar.update(self.end - self.bar.n)

    def close(self) -> None:
        """Leave the group's bar open for the next file."""


def reason(error: Exception) -> str:
    """Why a file or an answer could not be had, in a few words."""
    if isinstance(error, exceptions.HTTPError):
        return f"HTTP {error.response.status_code}"
    # An answer that stalls halfway reaches us as a ConnectionError.
    if "timed out" in str(error):
        return "timed out"
    if isinstance(error, exceptions.ChunkedEncodingError):
        return "the answer broke off"
    if isinstance(error, exceptions.SSLError):
        return "no secure connection"
    if isinstance(error, exceptions.ConnectionError):
        return "no connection"
    if isinstance(error, exceptions.RequestException):
        return type(error).__name__
    return "checksum differs"


def _replace(destination: Path, new: Path) -> None:
    old = destination.with_name(f".{destination.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if destination.exists():
        destination.rename(old)
    new.rename(destination)
    shutil.rmtree(old, ignore_errors=True)
