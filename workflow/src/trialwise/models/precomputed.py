"""Features that others have extracted, put into the order of the manifest."""

import re
from collections.abc import Iterator, Sequence
from os.path import commonpath
from pathlib import Path, PurePosixPath

import numpy as np
import pooch

from trialwise.errors import InputError
from trialwise.feature_matrices import blocks_of
from trialwise.models.features import (
    WARNINGS,
    describe_features,
    open_features,
    write_features,
)
from trialwise.models.registry import Model
from trialwise.models.twins import find_identical

NAMES = "file_names.txt"
_ROWS = re.compile(r"_(\d+)-(\d+)\.npy$")


def import_features(
    model: Model,
    source: str | Path,
    names: str | Path,
    images: Sequence[str],
    output: str | Path,
    *,
    others: Sequence[str | Path] = (),
) -> list[str]:
    """Write features that were extracted elsewhere in the order of the manifest.

    Parameters
    ----------
    model : Model
    source : path
        A ``.npy`` file with one row per line of `names`, or a folder of thingsvision's
        files ``features_{first}-{last}.npy`` that together have them.
    names : path
        The image of each row, one path a line; folders above the images may differ
        from those of the manifest.
    images : sequence of str
        The manifest; `names` may list further images.
    output : path
        The ``.npy`` file to make, with a sidecar.
    others : sequence of path
        Files of other models with rows in the same order, to compare with.

    Returns
    -------
    list of str
        Warnings, also recorded in the sidecar: other models with the same features.

    Raises
    ------
    InputError
        If files and names do not fit one another, an image is missing or there twice,
        or the features are not of the registered dimension or not finite.
    """
    source = Path(source)
    listed = read_names(names)
    parts = _parts(source) if source.is_dir() else [source]
    rows = match_rows(listed, images, names)
    features = _Rows(parts, len(listed), names)
    warnings = [
        f"{source.name} and {other.name} hold the same features, so one of the two "
        "models is not what its name says."
        for other in map(Path, others)
        if len(parts) == 1 and find_identical([source, other])
    ]
    facts = describe_features(
        model,
        images,
        {part.name: pooch.file_hash(part) for part in [*parts, Path(names)]},
        **{WARNINGS: warnings},
    )
    write_features(features.take(rows), facts, images, output)
    return warnings


def match_rows(
    listed: Sequence[str], images: Sequence[str], names: str | Path
) -> np.ndarray:
    """Find the row of every image of the manifest.

    Parameters
    ----------
    listed : sequence of str
        Path of the image of each row, under any root.
    images : sequence of str, length n
        Paths of the manifest. A listed path is that of an image if it ends in its path
        below the folder that all images share.
    names : path
        The file of `listed`, for messages.

    Returns
    -------
    ndarray of int, shape (n,)

    Raises
    ------
    InputError
        Naming the first image that is missing or listed twice.
    """
    # The folder of a single image is no part that tells it from others.
    shared = commonpath([PurePosixPath(image).parent for image in images])
    keys = [PurePosixPath(image).relative_to(shared).parts for image in images]
    wanted, lengths = set(keys), sorted({len(key) for key in keys})
    row: dict[tuple[str, ...], int] = {}
    for index, path in enumerate(listed):
        parts = tuple(re.split(r"[/\\]+", path))
        for key in (parts[-length:] for length in lengths):
            if key not in wanted:
                continue
            if key in row:
                raise InputError(
                    f"{names}, line {index + 1}: {path} is listed already in line "
                    f"{row[key] + 1}. Remove one of the two, and its features."
                )
            row[key] = index
    for image, key in zip(images, keys, strict=True):
        if key not in row:
            raise InputError(
                f"{names} lists no image {image}, but {len(row)} of {len(images)} "
                "others. Supply its features, or another list of images."
            )
    return np.array([row[key] for key in keys])


class _Rows:
    """Rows spread over files, read without loading any of them whole."""

    def __init__(self, parts: Sequence[Path], n: int, names: str | Path) -> None:
        self.arrays = [_load(part) for part in parts]
        self.ends = np.cumsum([len(array) for array in self.arrays])
        if self.ends[-1] != n:
            raise InputError(
                f"{parts[0]} has features of {self.ends[-1]} images, but {names} lists "
                f"{n}. Supply the list that was written with the features."
            )

    def take(self, rows: np.ndarray) -> Iterator[np.ndarray]:
        for block in blocks_of(rows):
            number = np.searchsorted(self.ends, block, side="right")
            yield np.stack(
                [
                    self.arrays[k][row - self.ends[k] + len(self.arrays[k])]
                    for k, row in zip(number, block, strict=True)
                ]
            )


def _load(path: Path) -> np.ndarray:
    """Open a matrix; axes of length 1 that extractors leave behind are dropped."""
    array = open_features(path)
    width = np.prod(array.shape[1:], dtype=int)
    if array.ndim < 2 or max(array.shape[1:]) != width:
        raise InputError(
            f"{path} has the shape {array.shape}, which is not one vector per image. "
            "Pool its tokens or positions first."
        )
    return array.reshape(len(array), width)


def _parts(folder: Path) -> list[Path]:
    """thingsvision's files of consecutive rows, in their order."""
    found = {
        tuple(map(int, match.groups())): file
        for file in folder.glob("*.npy")
        if (match := _ROWS.search(file.name))
    }
    if not found:
        raise InputError(
            f"{folder} has no file such as features_0-100.npy. "
            "Name a .npy file, or the folder of one model that thingsvision wrote."
        )
    end = 0
    for first, last in sorted(found):
        if first != end:
            raise InputError(
                f"{found[first, last]} begins with row {first}, but row {end} comes "
                "next. Supply all files of one extraction, and no others."
            )
        end = last
    return [found[rows] for rows in sorted(found)]


def read_names(path: str | Path) -> list[str]:
    """Read the image of each row, one path a line.

    Parameters
    ----------
    path : path

    Returns
    -------
    list of str

    Raises
    ------
    InputError
        If the file cannot be read.
    """
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path} cannot be read: {error}. Supply the list of file names that was "
            "written with the features."
        ) from error
    return [line.strip() for line in lines if line.strip()]
