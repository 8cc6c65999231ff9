"""Decisions of ImageNet classifiers between 16 categories, as trials of an observer."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

import numpy as np
import pandas as pd
from scipy.special import softmax

from trialwise.errors import InputError
from trialwise.models.registry import Model
from trialwise.tables import read_table
from trialwise.trials import CATEGORIES, COLUMNS

N_CLASSES = 1000


def read_categories(path: str | Path) -> dict[str, np.ndarray]:
    """Read which ImageNet classes belong to which of the 16 categories.

    Parameters
    ----------
    path : path
        CSV file with the columns ``imagenet_index`` (from 0, in the order of
        ILSVRC-2012) and ``category``.

    Returns
    -------
    dict of str to ndarray of int
        Classes of each category.

    Raises
    ------
    InputError
        If an index is no class or is there twice, or a category is unknown or lacking.
    """
    table = read_table(path, ["imagenet_index", "category"])
    seen: dict[int, int] = {}
    classes: dict[str, list[int]] = {category: [] for category in CATEGORIES}
    for row in table.itertuples():
        index = int(row.imagenet_index) if row.imagenet_index.isdecimal() else -1
        if not 0 <= index < N_CLASSES or index in seen:
            raise InputError(
                f"{path}, line {row.line}: {row.imagenet_index!r} is no class from 0 "
                f"to {N_CLASSES - 1}, or stands there twice. Correct it."
            )
        if row.category not in classes:
            raise InputError(
                f"{path}, line {row.line}: {row.category!r} is none of the categories "
                f"{', '.join(CATEGORIES)}. Correct it."
            )
        seen[index] = row.line
        classes[row.category].append(index)
    for category, indices in classes.items():
        if not indices:
            raise InputError(f"{path} has no class of {category}. Restore the file.")
    return {category: np.array(indices) for category, indices in classes.items()}


def choose_categories(
    logits: np.ndarray, classes: Mapping[str, np.ndarray]
) -> list[str]:
    """Choose for each image the category with the highest mean probability.

    Parameters
    ----------
    logits : ndarray, shape (n, 1000)
    classes : mapping of str to ndarray of int
        As `read_categories` returns it.

    Returns
    -------
    list of str, length n

    Raises
    ------
    InputError
        If there are not 1000 logits per image.

    Notes
    -----
    The mean, and not the sum, over the classes of a category makes up for their
    different number.

    References
    ----------
    Geirhos et al. (2019), ImageNet-trained CNNs are biased towards texture, ICLR.
    """
    if logits.ndim != 2 or logits.shape[1] != N_CLASSES:
        raise InputError(
            f"The network's output has the shape {logits.shape}, not (n, {N_CLASSES}). "
            "Decisions need a classifier of the ImageNet classes."
        )
    probability = softmax(logits.astype(np.float64), axis=1)
    means = [probability[:, indices].mean(axis=1) for indices in classes.values()]
    names = list(classes)
    return [names[best] for best in np.argmax(means, axis=0)]


def decision_table(
    observer: str, images: Sequence[str], responses: Sequence[str]
) -> pd.DataFrame:
    """Arrange decisions as the trial table of an observer.

    Parameters
    ----------
    observer : str
    images : sequence of str, length n
        Paths whose folder is the image's category.
    responses : sequence of str, length n

    Returns
    -------
    pandas.DataFrame
        The columns and the order of the networks' tables of Geirhos et al. (2020): by
        image name, ``airplane10.png`` before ``airplane2.png``.

    Raises
    ------
    InputError
        If the folder of an image is no category.
    """
    names = [PurePosixPath(image).name for image in images]
    categories = [PurePosixPath(image).parent.name for image in images]
    for image, category in zip(images, categories, strict=True):
        if category not in CATEGORIES:
            raise InputError(
                f"Image {image}: its folder is none of the categories "
                f"{', '.join(CATEGORIES)}. Put it into the folder of its category."
            )
    table = pd.DataFrame(
        {"object_response": responses, "category": categories, "imagename": names}
    ).sort_values("imagename", ignore_index=True)
    return table.assign(
        subj=observer,
        session=1,
        trial=range(1, len(table) + 1),
        rt="NaN",
        condition="NaN",
    )[list(COLUMNS)]


def decide(
    model: Model,
    weights: str | Path | None,
    root: str | Path,
    images: Sequence[str],
    classes: Mapping[str, np.ndarray],
    **options: object,
) -> pd.DataFrame:
    """Let a classifier decide on every image.

    People saw stimuli whole, so networks do: each is brought to the network's input
    size, and nothing is cut off. Stimuli of that size stay as they are.

    Parameters
    ----------
    model : Model
        One that is built with a classifier of the 1000 ImageNet classes.
    weights : path or None
        Folder with its weight files.
    root : path
        Folder of the images.
    images : sequence of str
        Paths relative to `root`, each in the folder of its category.
    classes : mapping of str to ndarray of int
        As `read_categories` returns it.
    **options
        `device`, `batch_size` and `n_workers` of `run_network`.

    Returns
    -------
    pandas.DataFrame
        As `decision_table` returns it; the observer is the model's id.

    Raises
    ------
    InputError
        If the network is no such classifier, or an image cannot be used.
    """
    from trialwise.models.extraction import run_network
    from trialwise.models.loaders import load

    whole = f"{model.crop}x{model.crop}" if model.crop else model.resize
    network = load(replace(model, resize=whole, crop=None), weights)
    network = replace(network, layer="", pooling="none")
    responses: list[str] = []
    for logits in run_network(
        network, root, images, model.normalisation, label=model.id, **options
    ):
        responses += choose_categories(logits, classes)
    return decision_table(model.id, images, responses)
