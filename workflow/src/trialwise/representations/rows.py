"""Rows of feature matrices: in blocks, by what they show, each of them once."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import PurePosixPath

import numpy as np
from scipy import sparse

from trialwise.errors import InputError

BLOCK = 1024


def blocks(features: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
    """Consecutive rows of a matrix in float64, and where they stand in it."""
    for start in range(0, len(features), BLOCK):
        rows = slice(start, start + BLOCK)
        yield rows, np.asarray(features[rows], dtype=np.float64)


def unit_rows(rows: np.ndarray) -> np.ndarray:
    """Divide rows by their Euclidean norm; a row of zeros stays one.

    The cosine of a row of zeros with any row is hence 0, as in scikit-learn.

    Parameters
    ----------
    rows : ndarray, shape (n, D)

    Returns
    -------
    ndarray, shape (n, D)
    """
    norm = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, norm, out=np.zeros_like(rows), where=norm > 0)


def numbers_of_objects(images: Sequence[str], objects: Sequence[str]) -> np.ndarray:
    """Number the object that each image shows.

    Parameters
    ----------
    images : sequence of str, length n
        Paths such as ``stimuli/aardvark/aardvark_01b.jpg``; the folder is the object.
    objects : sequence of str
        Their names, in the order of the numbers.

    Returns
    -------
    ndarray of int, shape (n,)

    Raises
    ------
    InputError
        If an image shows none of the objects, or an object has no image.
    """
    number = {name: i for i, name in enumerate(objects)}
    shown = [PurePosixPath(image).parent.name for image in images]
    for image, name in zip(images, shown, strict=True):
        if name not in number:
            raise InputError(
                f"Image {image} shows the object {name!r}, which is not in the list of "
                "objects. Correct the image's folder, or add the object."
            )
    missing = [name for name in objects if name not in set(shown)]
    if missing:
        raise InputError(
            f"The object {missing[0]} has no image, as {len(missing)} of "
            f"{len(objects)}. Supply features of all images."
        )
    return np.array([number[name] for name in shown])


def group_means(
    features: np.ndarray,
    groups: np.ndarray,
    transform: Callable[[np.ndarray], np.ndarray] = np.asarray,
) -> np.ndarray:
    """Mean row of each group.

    Parameters
    ----------
    features : ndarray, shape (n, D)
    groups : ndarray of int, shape (n,)
        Numbers from 0 on, each of them present.
    transform : callable
        What to average instead of the rows: maps shape (m, D) to (m, D).

    Returns
    -------
    ndarray of float64, shape (n_groups, D)
    """
    counts = np.bincount(groups)
    sums = np.zeros((len(counts), features.shape[1]))
    for rows, block in blocks(features):
        members = groups[rows]
        shape = len(counts), len(members)
        ones = np.ones(len(members)), (members, np.arange(len(members)))
        sums += sparse.csr_array(ones, shape=shape) @ transform(block)
    return sums / counts[:, None]


def vary_within(features: np.ndarray, groups: np.ndarray) -> bool:
    """Whether two rows of the same group differ.

    Parameters as in `group_means`. Features of object names do not vary within objects.
    """
    _, first = np.unique(groups, return_index=True)
    examples = np.asarray(features[first], dtype=np.float64)
    return any(
        not np.array_equal(block, examples[groups[rows]])
        for rows, block in blocks(features)
    )


def unique_rows(features: np.ndarray) -> np.ndarray:
    """Each distinct row once, in the order of first appearance, in the given type.

    Parameters
    ----------
    features : ndarray, shape (n, D)

    Returns
    -------
    ndarray, shape (at most n, D)
    """
    # Adding zero turns -0 into 0, so that equal rows have equal bytes.
    rows = np.ascontiguousarray(features) + np.zeros((), dtype=features.dtype)
    as_bytes = rows.view(np.dtype((np.void, rows.itemsize * rows.shape[1]))).ravel()
    _, first = np.unique(as_bytes, return_index=True)
    return rows[np.sort(first)]
