"""The features of any registered model, by what provides them."""

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd

from trialwise.errors import InputError
from trialwise.feature_matrices import blocks_of, expand_objects
from trialwise.models import alignment, precomputed, text
from trialwise.models.features import describe_features, write_features
from trialwise.models.harmonization import (
    configure_tensorflow,
    extract_keras_features,
    load_keras,
)
from trialwise.models.registry import UNTRAINED, Model
from trialwise.models.thingsvision import (
    brings_weights,
    extract_thingsvision_features,
    load_extractor,
)
from trialwise.models.weights import read_record
from trialwise.stimuli import check_present, explain_missing_things

SEED = 0


def make_features(
    model: Model,
    images: Sequence[str],
    output: str | Path,
    places: Mapping[str, str],
    n_workers: int = 1,
) -> None:
    """Write the features of all images of a set, with their sidecar.

    Parameters
    ----------
    model : Model
    images : sequence of str
        The manifest.
    output : path
        The ``.npy`` file; the sidecar bears its name with ``.json``.
    places : mapping of str to str
        Where the model's provider finds what it needs: its ``weights``, the ``root`` of
        the images, the features of its ``base``, the folder of the ``generative``
        embedding, or a ``precomputed`` file and its list of ``names``.
    n_workers : int
        Processes that decode images.

    Raises
    ------
    InputError
        If something is missing or does not fit; see the modules of the providers.
    """
    if "precomputed" in places:
        for warning in precomputed.import_features(
            model, places["precomputed"], places["names"], images, output
        ):
            print(f"warning: {warning}")
        return
    if model.provider == "spose":
        _write_generative(model, images, output, Path(places["generative"]))
        return
    _check_environment(model)
    if model.weights == UNTRAINED or brings_weights(model):
        _extract(model, None, images, output, places.get("root"), {}, n_workers)
        return
    weights = Path(places["weights"])
    checksums = read_record(weights.with_name(f"{weights.name}.sha256"))
    if model.provider == "glocal":
        (transform,) = weights.glob("*.npz")
        alignment.align_features(
            model, places["base"], images, transform, output, weights=checksums
        )
    elif model.provider in text.EMBEDDERS:
        if model.environment == "harmonization":
            configure_tensorflow(n_workers, SEED)
        text.extract_text_features(model, weights, images, output, checksums=checksums)
    else:
        root = places.get("root")
        _extract(model, weights, images, output, root, checksums, n_workers)


def _write_generative(model, images, output, folder):
    features = expand_objects(
        np.loadtxt(folder / f"{model.name}.txt", dtype=np.float32),
        pd.read_csv(folder / "unique_id.csv")["id"].tolist(),
        images,
    )
    facts = describe_features(model, images, {})
    write_features(blocks_of(features), facts, images, output)


def _check_environment(model):
    # Either environment bears the name of the package that it is for.
    if model.environment != "main" and find_spec(model.environment) is None:
        raise InputError(
            f"{model.id}: there is no package {model.environment} here. Run this by "
            f"the interpreter of an environment made from envs/{model.environment}.txt."
        )


def _extract(model, weights, images, output, root, checksums, n_workers):
    if root is None:
        raise InputError(explain_missing_things(None, images, [model.id]))
    check_present(root, images)
    extract = _EXTRACTORS.get(model.provider, _extract_by_torch)
    options = {"weights": checksums, "n_workers": n_workers}
    extract(model, weights, root, images, output, options)


def _extract_by_torch(model, weights, root, images, output, options):
    import torch

    from trialwise.models.extraction import extract_features
    from trialwise.models.loaders import load

    torch.manual_seed(SEED)
    extract_features(model, load(model, weights), root, images, output, **options)


def _extract_by_keras(model, weights, root, images, output, options):
    configure_tensorflow(options["n_workers"], SEED)
    network = load_keras(model, weights)
    extract_keras_features(model, network, root, images, output, **options)


def _extract_by_thingsvision(model, weights, root, images, output, options):
    extractor = load_extractor(model, weights)
    extract_thingsvision_features(model, extractor, root, images, output, **options)


_EXTRACTORS = {
    "harmonization": _extract_by_keras,
    "thingsvision": _extract_by_thingsvision,
}
