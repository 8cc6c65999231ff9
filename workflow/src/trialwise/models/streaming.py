"""Features written batch by batch as they are made, whatever library makes them."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from tqdm import tqdm

from trialwise.models.features import PartialFeatures, check_rows, describe_features
from trialwise.models.preprocessing import read_image
from trialwise.models.registry import Model

SECONDS_BETWEEN_UPDATES = {True: 1, False: 30}


def stream_features(
    model: Model,
    images: Sequence[str],
    output: str | Path,
    weights: Mapping[str, str],
    run: Callable[[int], Iterable[np.ndarray]],
    *,
    save_every: float = 10,
) -> None:
    """Write the rows that a model gives, going on where an interrupted run ended.

    Parameters
    ----------
    model : Model
    images : sequence of str
        The manifest.
    output : path
        The ``.npy`` file to make, with a sidecar.
    weights : mapping of str to str
        The sha256 of each weight file, by name.
    run : callable
        From the number of images that are done to the rows of the others, in batches
        of shape (n, dimension).
    save_every : float, default=10
        Seconds after which new rows are saved against a crash.

    Raises
    ------
    InputError
        If features have another dimension than registered or are not finite, or rows
        of an earlier run were made from other images or weights or in another way.
    """
    facts = describe_features(model, images, weights)
    with PartialFeatures(output, facts) as partial:
        saved = time.monotonic()
        for rows in run(partial.finished):
            n = partial.finished
            check_rows(rows, model.dimension, images[n : n + len(rows)])
            partial.append(rows)
            if time.monotonic() - saved >= save_every:
                partial.save()
                saved = time.monotonic()
        partial.finish()


def show_progress(
    batches: Iterable[np.ndarray], label: str, total: int, start: int = 0
) -> Iterator[np.ndarray]:
    """Pass batches on under a progress bar with images per second and time left.

    Parameters
    ----------
    batches : iterable of ndarray, shape (n, ...)
    label : str
    total : int
        Number of all images.
    start : int
        Number of those that were done before.
    """
    interval = SECONDS_BETWEEN_UPDATES[sys.stderr.isatty()]
    with tqdm(
        desc=label,
        total=total,
        initial=start,
        unit=" images",
        mininterval=interval,
        maxinterval=interval,
    ) as bar:
        for batch in batches:
            yield batch
            bar.update(len(batch))


def run_batches(
    root: str | Path,
    images: Sequence[str],
    prepare: Callable[[Image.Image, str], Any],
    run: Callable[[list[Any]], np.ndarray],
    *,
    batch_size: int = 32,
    n_workers: int = 1,
    start: int = 0,
    label: str = "",
) -> Iterator[np.ndarray]:
    """Run a model on images that threads decode and prepare.

    Threads, since TensorFlow must not be forked.

    Parameters
    ----------
    root : path
        Folder of the images.
    images : sequence of str
        The manifest.
    prepare : callable
        From an RGB image and its name to what `run` takes a list of.
    run : callable
        From a list of n prepared images to their rows, shape (n, features).
    batch_size, n_workers : int
    start : int, default=0
        Number of images to pass over.
    label : str
        Of the progress bar.

    Yields
    ------
    ndarray, shape (n, features)

    Raises
    ------
    InputError
        If an image cannot be read.
    """

    def read(image: str) -> Any:
        return prepare(read_image(root, image), image)

    with ThreadPoolExecutor(n_workers) as pool:
        batches = (
            run(list(pool.map(read, images[first : first + batch_size])))
            for first in range(start, len(images), batch_size)
        )
        yield from show_progress(batches, label, len(images), start)
