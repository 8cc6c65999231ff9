"""Models whose features are the same, or were made from the same weights."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from trialwise.errors import InputError
from trialwise.feature_matrices import blocks_of
from trialwise.models.features import RECIPE, WARNINGS, open_features, read_sidecar

SAMPLE = 64
# Far below what separates two trainings of a network, far above what separates two
# devices, and above the rounding of half precision.
TOLERANCE = 1e-3


def find_identical(files: Sequence[str | Path]) -> list[tuple[Path, Path]]:
    """Find feature files that are the same up to rounding.

    Parameters
    ----------
    files : sequence of path
        Features of the same images, one file per model.

    Returns
    -------
    list of (Path, Path)
        Every pair of the same shape whose largest difference is below `TOLERANCE`
        times the root mean square of their values.

    Notes
    -----
    Five self-supervised networks of Demircan et al. (2024) are in truth two, because
    a cache gave several models the same weights.
    """
    by_shape: dict[tuple[int, ...], list[tuple[Path, np.ndarray]]] = {}
    for file in map(Path, files):
        features = open_features(file)
        by_shape.setdefault(features.shape, []).append((file, _sample(features)))
    return [
        (first, second)
        for alike in by_shape.values()
        for i, (second, second_sample) in enumerate(alike)
        for first, first_sample in alike[:i]
        if _agree(first_sample, second_sample) and _agree_throughout(first, second)
    ]


def find_same_weights(files: Sequence[str | Path]) -> list[tuple[Path, Path]]:
    """Find feature files of different models that were made from the same weights.

    Parameters
    ----------
    files : sequence of path
        Feature files with sidecars.

    Returns
    -------
    list of (Path, Path)
        Every pair whose architecture, weights, layer, pooling and preprocessing are
        the same; of gLocal, whose transforms are the same.
    """
    made: dict[str, list[Path]] = {}
    for file in map(Path, files):
        facts = read_sidecar(file)
        if facts["weights"]:
            # Weight files count by their content, since copies bear other names.
            facts["weights"] = sorted(facts["weights"].values())
            if facts["provider"] == "glocal":
                # A transform that was fitted to one network is no other's.
                facts["name"] = ""
            recipe = json.dumps([facts[key] for key in RECIPE])
            made.setdefault(recipe, []).append(file)
    return [
        (first, second)
        for same in made.values()
        for i, second in enumerate(same)
        for first in same[:i]
    ]


def find_twins(files: Sequence[str | Path]) -> pd.DataFrame:
    """Find pairs of models with identical features or weights.

    Parameters
    ----------
    files : sequence of path
        Feature files with sidecars, of the same images.

    Returns
    -------
    pandas.DataFrame
        ``first, second, same``: two models, and ``weights`` or ``features``. Only
        features that were made elsewhere can be in it.

    Raises
    ------
    InputError
        If features of both models of a pair were made here: one of the two models is
        not what its row says.
    """
    rows = []
    for same, pairs in (
        ("weights", find_same_weights(files)),
        ("features", find_identical(files)),
    ):
        for first, second in pairs:
            if not any(WARNINGS in read_sidecar(path) for path in (first, second)):
                raise InputError(
                    f"{first} and {second} have the same {same}, so one of the two "
                    "models is not what its row says. Check where their weights come "
                    "from, then delete and extract the wrong one again."
                )
            rows.append({"first": first.stem, "second": second.stem, "same": same})
    return pd.DataFrame(rows, columns=["first", "second", "same"])


def _sample(features: np.ndarray) -> np.ndarray:
    rows = np.unique(np.linspace(0, len(features) - 1, SAMPLE).astype(int))
    return np.asarray(features[rows], dtype=np.float64)


def _agree(first: np.ndarray, second: np.ndarray) -> bool:
    scale = np.sqrt(np.mean(np.square(first, dtype=np.float64)))
    return bool(np.max(np.abs(first - second)) <= TOLERANCE * scale)


def _agree_throughout(first: Path, second: Path) -> bool:
    pair = (open_features(file) for file in (first, second))
    return all(_agree(a, b) for a, b in zip(*map(blocks_of, pair), strict=True))
