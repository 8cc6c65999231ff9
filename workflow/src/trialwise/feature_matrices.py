"""Feature matrices, a row per image or object: named, expanded, checked, in blocks."""

from collections.abc import Iterator, Sequence

import numpy as np

from trialwise.errors import InputError

BLOCK = 1024


def expand_objects(
    features: np.ndarray, objects: Sequence[str], images: Sequence[str]
) -> np.ndarray:
    """Give every image the features of the object it shows.

    Parameters
    ----------
    features : ndarray, shape (n_objects, D)
    objects : sequence of str, length n_objects
        Names of the rows.
    images : sequence of str, length n
        Paths such as ``stimuli/aardvark/aardvark_01b.jpg``; the folder is the object.

    Returns
    -------
    ndarray, shape (n, D)

    Raises
    ------
    InputError
        If names and rows differ in number, a name repeats, or an object is missing.
    """
    index = row_of(features, objects, "object")
    shown = [image.split("/")[-2] if "/" in image else "" for image in images]
    for image, name in zip(images, shown, strict=True):
        if name not in index:
            raise InputError(
                f"Image {image} shows the object {name!r}, which has no features. "
                "Add its row, or correct the image's folder."
            )
    return np.asarray(features)[[index[name] for name in shown]]


def row_of(features: np.ndarray, names: Sequence[str], what: str) -> dict[str, int]:
    """Map the names of the rows of a feature matrix to their numbers.

    Parameters
    ----------
    features : ndarray, shape (n, D)
    names : sequence of str
    what : str
        What the rows are, for the message.

    Returns
    -------
    dict of str to int

    Raises
    ------
    InputError
        If the matrix has not two dimensions, names and rows differ in number, or a name
        repeats.
    """
    shape = np.shape(features)
    if len(shape) != 2 or shape[0] != len(names) or shape[1] == 0:
        raise InputError(
            f"The features have the shape {shape}, their list {len(names)} names. "
            f"Supply a matrix with one row per {what}, in the order of the list."
        )
    index = {name: row for row, name in enumerate(names)}
    if len(index) < len(names):
        name = next(n for row, n in enumerate(names) if index[n] != row)
        rows = [row for row, other in enumerate(names) if other == name]
        raise InputError(
            f"The {what} {name} is listed twice, for rows {rows[0]} and {rows[1]} "
            "of the features. Keep one of the two."
        )
    return index


def check_finite(features: np.ndarray, images: Sequence[str]) -> None:
    """Refuse features that are not numbers, naming the first image and column.

    Parameters
    ----------
    features : ndarray, shape (n, D)
    images : sequence of str
        Names of the rows.

    Raises
    ------
    InputError
        If a value is NaN or infinite, or the matrix is not numeric.
    """
    if not np.issubdtype(np.asarray(features).dtype, np.number):
        raise InputError(
            f"The features are of type {np.asarray(features).dtype}. Supply numbers."
        )
    start = 0
    for block in blocks_of(features):
        if not np.isfinite(block).all():
            row, column = np.argwhere(~np.isfinite(block))[0]
            raise InputError(
                f"Image {images[start + row]}: feature {column} is "
                f"{block[row, column]}. Extract the features of this image again."
            )
        start += len(block)


def blocks_of(features: np.ndarray) -> Iterator[np.ndarray]:
    """Consecutive rows of a matrix, so many at a time that memory stays small.

    Parameters
    ----------
    features : ndarray, shape (n, D)

    Yields
    ------
    ndarray, shape (at most 1024, D)
    """
    for start in range(0, len(features), BLOCK):
        yield np.asarray(features[start : start + BLOCK])
