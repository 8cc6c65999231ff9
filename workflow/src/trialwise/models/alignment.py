"""gLocal: features of a network, transformed to agree with human similarity."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from trialwise.errors import InputError
from trialwise.feature_matrices import blocks_of
from trialwise.models.features import describe_features, read_sidecar, write_features
from trialwise.models.registry import Model
from trialwise.stimuli import manifest_sha256


@dataclass(frozen=True)
class Transform:
    """Standardise all features by one mean and deviation, then map them linearly.

    References
    ----------
    Muttenthaler et al. (2023), Improving neural network representations using human
    similarity judgments, NeurIPS.
    """

    weights: np.ndarray
    bias: np.ndarray
    mean: float
    std: float

    def __call__(self, features: np.ndarray) -> np.ndarray:
        """Transform features, shape (n, D), to float32 of the same shape."""
        standard = (features.astype(np.float64) - self.mean) / self.std
        return (standard @ self.weights + self.bias).astype(np.float32)


def read_transform(path: str | Path) -> Transform:
    """Read a published transform.

    Parameters
    ----------
    path : path
        ``.npz`` file with `weights` (D x D), `mean`, `std` and perhaps `bias`.

    Returns
    -------
    Transform

    Raises
    ------
    InputError
        If it cannot be read, lacks a part, or the parts do not fit one another.
    """
    try:
        with np.load(path) as parts:
            weights = parts["weights"].astype(np.float64)
            mean, std = float(parts["mean"]), float(parts["std"])
            bias = parts["bias"] if "bias" in parts else np.zeros(len(weights))
    except (OSError, ValueError, KeyError, TypeError, EOFError) as error:
        raise InputError(
            f"{path} is no gLocal transform: {error}. Supply the published file with "
            "weights, mean, std and perhaps bias."
        ) from error
    n = len(weights)
    if weights.shape != (n, n) or bias.shape != (n,) or not std > 0:
        raise InputError(
            f"{path} has weights of shape {weights.shape}, a bias of shape "
            f"{bias.shape} and the deviation {std}. Supply the published file."
        )
    return Transform(weights, bias.astype(np.float64), mean, std)


def align_features(
    model: Model,
    base: str | Path,
    images: Sequence[str],
    transform: str | Path,
    output: str | Path,
    *,
    weights: Mapping[str, str],
) -> None:
    """Write the aligned features of a model from those of the network it is based on.

    Parameters
    ----------
    model : Model
    base : path
        Feature file of the model's `base`, with its sidecar.
    images : sequence of str
        The manifest.
    transform : path
        The model's transform.
    output : path
        The ``.npy`` file to make; its sidecar holds that of the base as well.
    weights : mapping of str to str
        The sha256 of the transform, by its name.

    Raises
    ------
    InputError
        If the features are of another model or other images, or the transform does not
        fit them.
    """
    facts = read_sidecar(base)
    if facts["model"] != model.base:
        raise InputError(
            f"{base} holds the features of {facts['model']}, but {model.id} is made "
            f"from those of {model.base}. Supply these."
        )
    if facts["manifest_sha256"] != manifest_sha256(images):
        raise InputError(
            f"{base} holds features of other images than the list. "
            f"Extract {model.base} again."
        )
    function = read_transform(transform)
    features = np.load(base, mmap_mode="r")
    if features.shape[1] != len(function.weights):
        raise InputError(
            f"{transform} takes {len(function.weights)} features, but {model.base} has "
            f"{features.shape[1]}. Correct the base or the name of {model.id}."
        )
    own = describe_features(model, images, weights, base=facts)
    write_features(map(function, blocks_of(features)), own, images, output)
