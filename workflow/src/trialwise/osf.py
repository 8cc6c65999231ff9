"""Files of projects on the Open Science Framework (OSF), by its public interface."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
import pooch
import requests
from requests.adapters import HTTPAdapter
from urllib3 import Retry

from trialwise.errors import InputError
from trialwise.models.weights import read_record, write_record
from trialwise.sources import fill_folder, reason

API = "https://api.osf.io/v2"
COLUMNS = ["path", "url", "sha256", "bytes"]
# OSF answers a hundred questions an hour to those without an account, with at most a
# hundred files each.
PAGE_SIZE = 100


def list_project(
    project: str,
    folders: Iterable[str],
    api: str = API,
    timeout: float = 30,
    attempts: int = 3,
) -> pd.DataFrame:
    """List the files that a project has in its storage.

    Parameters
    ----------
    project : str
        Five characters, as in ``https://osf.io/h3t52``.
    folders : iterable of str
        Folders at the top that are gone into, with all below them. Files at the top are
        always listed.
    api : str
        Address of the interface.
    timeout : float
        Seconds to wait for each part of an answer.
    attempts : int
        How often each question is asked in all.

    Returns
    -------
    pandas.DataFrame
        ``path, url, sha256, bytes``, ordered by the path within the project. Where OSF
        knows no checksum, it is empty.

    Raises
    ------
    InputError
        If OSF cannot be reached, answers in an unknown form, or names a path that
        leaves the project's folder.
    """
    root = f"{api}/nodes/{project}/files/osfstorage/"
    with _explained(project, api), _session(attempts) as session:
        rows = [
            _row(project, entry, entry["attributes"]["materialized_path"])
            for entry in _walk(session, root, timeout, set(folders))
        ]
    return pd.DataFrame(sorted(rows), columns=COLUMNS)


def describe_file(
    identifier: str, api: str = API, timeout: float = 30, attempts: int = 3
) -> pd.DataFrame:
    """Describe a single file, whatever project it belongs to.

    Parameters
    ----------
    identifier : str
        Five characters, as in ``https://osf.io/rsd46``.
    api, timeout, attempts
        As for `list_project`.

    Returns
    -------
    pandas.DataFrame
        One row as `list_project` returns them; the path is the file's name.

    Raises
    ------
    InputError
        As for `list_project`.
    """
    with _explained(identifier, api), _session(attempts) as session:
        entry = _ask(session, f"{api}/files/{identifier}/", timeout)["data"]
        row = _row(identifier, entry, entry["attributes"]["name"])
    return pd.DataFrame([row], columns=COLUMNS)


def add_mirror(
    listed: pd.DataFrame, identifier: str, mirror: str | Path | None
) -> pd.DataFrame:
    """Add files that a mirror folder holds and OSF does not, or without a checksum.

    Parameters
    ----------
    listed : pandas.DataFrame
        As `list_project` returns it.
    identifier : str
        The project, or the single file.
    mirror : path or None
        Folder that holds files as ``osf/{identifier}/{path}``.

    Returns
    -------
    pandas.DataFrame
        The same columns, ordered by path; the checksum of an added file is its own.
    """
    if not mirror:
        return listed
    folder = Path(mirror) / "osf" / identifier
    known = set(listed["path"][listed["sha256"] != ""])
    files = {
        file.relative_to(folder).as_posix(): file
        for file in folder.rglob("*")
        if file.is_file()
    }
    added = [
        (path, "", pooch.file_hash(file), file.stat().st_size)
        for path, file in files.items()
        if path not in known
    ]
    kept = listed[~listed["path"].isin(files.keys() - known)]
    both = pd.concat([kept, pd.DataFrame(added, columns=COLUMNS)])
    return both.sort_values("path", ignore_index=True)


def get_files(
    identifier: str,
    files: pd.DataFrame,
    store: str | Path,
    mirror: str | Path | None = None,
    timeout: float = 30,
    attempts: int = 3,
) -> Path:
    """Put files into the folder of their project, and remember their checksums.

    Parameters
    ----------
    identifier : str
        The project, or the single file.
    files : pandas.DataFrame
        Rows of `list_project`, `describe_file` or `add_mirror`.
    store : path
        The folder ``{store}/{identifier}`` will hold these files; those that are there
        already and right are not fetched again, also after an interrupted call.
    mirror : path, optional
        Folder that holds files as ``osf/{identifier}/{path}``; what it has is copied.
    timeout, attempts
        As for `list_project`.

    Returns
    -------
    Path
        The folder.

    Raises
    ------
    InputError
        If a file has no checksum, is another one than when it was first fetched, as
        recorded in ``{store}/{identifier}.sha256``, can be had from nowhere or has
        another checksum than OSF says, or the folder cannot be written.
    """
    for path in files["path"][files["sha256"] == ""]:
        raise InputError(
            f"OSF knows no sha256 of {path} of osf.io/{identifier}. Put the file at "
            f"osf/{identifier}/{path} in a folder and name that folder in "
            "TRIALWISE_MIRROR."
        )
    folder = Path(store).resolve() / identifier
    record = folder.with_name(f"{identifier}.sha256")
    recorded = read_record(record)
    checksums = dict(zip(files["path"], files["sha256"], strict=True))
    for path, checksum in checksums.items():
        if recorded.get(path, checksum) != checksum:
            raise InputError(
                f"{path} of osf.io/{identifier} now has the sha256 {checksum}, not "
                f"{recorded[path]} as when it was first fetched. To accept it, remove "
                f"{record} and what was made from the file."
            )
    named = files.assign(
        group=f"osf.io/{identifier}",
        name=files["path"],
        path=[f"osf/{identifier}/{path}" for path in files["path"]],
    )
    try:
        fill_folder(named, folder, mirror, timeout, attempts)
        if recorded != recorded | checksums:
            write_record(recorded | checksums, record)
    except OSError as error:
        raise InputError(
            f"Files of osf.io/{identifier} cannot be put into {folder}: {error}. "
            "Mend the permissions or free space there."
        ) from error
    return folder


@contextmanager
def _explained(identifier: str, api: str) -> Iterator[None]:
    """Say in one line why files cannot be listed."""
    try:
        yield
    except requests.RequestException as error:
        raise InputError(_cannot_list(identifier, api, reason(error))) from error
    except (KeyError, TypeError, ValueError) as error:
        why = f"the form of its answer is unknown: {error!r}"
        raise InputError(_cannot_list(identifier, api, why)) from error


def _cannot_list(identifier: str, api: str, why: str) -> str:
    return (
        f"The files of osf.io/{identifier} cannot be listed by {api} ({why}). Try "
        "again later (OSF answers a hundred questions an hour), or put the files into "
        f"osf/{identifier} in a folder and name that folder in TRIALWISE_MIRROR."
    )


def _session(attempts: int) -> requests.Session:
    session = requests.Session()
    retries = Retry(
        attempts - 1,
        backoff_factor=0.5,
        status_forcelist=[500, 502, 503, 504],
        raise_on_status=False,
        # It may ask to wait for an hour.
        respect_retry_after_header=False,
    )
    for scheme in ("http://", "https://"):
        session.mount(scheme, HTTPAdapter(max_retries=retries))
    return session


def _ask(
    session: requests.Session, address: str, timeout: float, **parameters: object
) -> dict:
    response = session.get(address, params=parameters, timeout=timeout)
    response.raise_for_status()
    return response.json()


def _walk(
    session: requests.Session,
    address: str,
    timeout: float,
    folders: set[str] | None = None,
) -> Iterator[dict]:
    """Entries of the files of a folder; `folders` are those to enter, if not all."""
    answer = _ask(session, address, timeout, **{"page[size]": PAGE_SIZE})
    while True:
        for entry in answer["data"]:
            if entry["attributes"]["kind"] == "file":
                yield entry
            elif folders is None or entry["attributes"]["name"] in folders:
                inside = entry["relationships"]["files"]["links"]["related"]["href"]
                yield from _walk(session, inside, timeout)
        # The address of the next page says how many files a page has.
        following = answer["links"]["next"]
        if not following:
            return
        answer = _ask(session, following, timeout)


def _row(identifier: str, entry: dict, path: str) -> tuple[str, str, str, int]:
    path = path.removeprefix("/")
    checksum = entry["attributes"]["extra"]["hashes"]["sha256"]
    parts = path.split("/")
    if not path.isprintable() or any(
        part in {"", ".", ".."} or "\\" in part for part in parts
    ):
        raise InputError(
            f"osf.io/{identifier} lists a file {path!r}, whose path leaves its folder. "
            "Nothing is fetched; tell the owners of the project."
        )
    size = int(entry["attributes"]["size"])
    return path, entry["links"]["download"], checksum or "", size
