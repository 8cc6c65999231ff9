"""Models as the package thingsvision extracts them, under envs/thingsvision.txt."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from trialwise.errors import InputError
from trialwise.models.loaders import check_size, find_files
from trialwise.models.pooling import pool
from trialwise.models.preprocessing import check_range
from trialwise.models.registry import Model
from trialwise.models.streaming import run_batches, stream_features

# Sources whose networks thingsvision fills from a file; of others it ignores the file.
READ_FILES = ("torchvision", "timm", "keras")


def brings_weights(model: Model) -> bool:
    """Whether thingsvision itself fetches the weights of a model."""
    return model.provider == "thingsvision" and not model.url


def parse_source(model: Model) -> tuple[str, dict[str, str]]:
    """Source and parameters of a model, as thingsvision takes them.

    Parameters
    ----------
    model : Model
        Its weights are a source, such as ``timm``, or with parameters, such as
        ``custom:variant=ViT-B-32,dataset=laion400m_e32``.

    Returns
    -------
    source : str
    parameters : dict of str to str

    Raises
    ------
    InputError
        If a parameter has no value.
    """
    source, _, text = model.weights.partition(":")
    pairs = [pair.partition("=") for pair in text.split(",") if pair]
    if not all(value for _, _, value in pairs):
        raise InputError(
            f"{model.id}: thingsvision cannot take the weights {model.weights!r}. "
            "Give a source, and parameters after a colon: custom:variant=ViT-B/32."
        )
    return source, {key: value for key, _, value in pairs}


def load_extractor(model: Model, weights: str | Path | None) -> Any:
    """Build thingsvision's extractor.

    Parameters
    ----------
    model : Model
    weights : path or None
        Folder with a weight file, for a model with an address. Any other gets its
        weights from where thingsvision does.

    Returns
    -------
    thingsvision.core.extraction.base.BaseExtractor

    Raises
    ------
    InputError
        If thingsvision knows no such model or layer, cannot get or read its weights,
        or builds one of another size than registered.
    """
    from thingsvision import get_extractor

    source, parameters = parse_source(model)
    if weights is not None and source not in READ_FILES:
        raise InputError(
            f"{model.id}: thingsvision reads no weight file for the source {source!r}. "
            "Leave its url empty, so that thingsvision fetches the weights itself."
        )
    file = None if weights is None else str(find_files(model, weights)[0])
    try:
        extractor = get_extractor(
            model_name=model.name,
            source=source,
            device=_choose_device(),
            pretrained=file is None,
            model_path=file,
            model_parameters=parameters or None,
        )
    except (OSError, RuntimeError, ValueError) as error:
        reason = " ".join(str(error).split())[:200].rstrip(".")
        raise InputError(
            f"{model.id}: thingsvision cannot load {model.name} from {source}: "
            f"{reason}. Correct the model's row, or supply what is missing."
        ) from error
    if model.layer not in extractor.get_module_names():
        raise InputError(
            f"{model.id}: thingsvision finds no layer {model.layer!r} in {model.name}. "
            f"The last ones are {', '.join(extractor.get_module_names()[-6:])}."
        )
    if model.parameters is not None:
        check_size(model, sum(value.size for value in _parameters(extractor)))
    return extractor


def extract_thingsvision_features(
    model: Model,
    extractor: Any,
    root: str | Path,
    images: Sequence[str],
    output: str | Path,
    *,
    weights: Mapping[str, str],
    batch_size: int = 32,
    n_workers: int = 1,
    save_every: float = 10,
) -> None:
    """Extract the features of every image and write them with their sidecar.

    Preparation, network and layer are thingsvision's; pooling is that of the registry.

    Parameters
    ----------
    model : Model
        Its resize and crop are passed on, and prepared images are checked against its
        normalisation, where it has them.
    extractor : thingsvision.core.extraction.base.BaseExtractor
        As `load_extractor` returns it.
    root, images, output, weights, batch_size, n_workers, save_every
        As in `trialwise.models.extraction.extract_features`; the workers are threads.
        Without weight files, the sidecar has the sha256 of the parameters.

    Raises
    ------
    InputError
        As `extract_features` does.
    """
    transform = _transformation(model, extractor)
    is_torch = extractor.get_backend() == "pt"

    def prepare(image: Image.Image, name: str) -> Any:
        prepared = transform(image if is_torch else np.asarray(image, np.float32))
        if model.normalisation:
            values = np.asarray(prepared)
            channels_first = values if is_torch else np.moveaxis(values, -1, 0)
            check_range(channels_first, model.normalisation, name)
        return prepared

    def run_extractor(prepared: list[Any]) -> np.ndarray:
        activations = _activations(extractor, prepared, model.layer)
        return pool(activations, model.pooling, model.layer)

    def run(start: int) -> Iterator[np.ndarray]:
        return run_batches(
            root,
            images,
            prepare,
            run_extractor,
            batch_size=batch_size,
            n_workers=n_workers,
            start=start,
            label=model.id,
        )

    checksums = weights or {"parameters": _checksum(extractor)}
    stream_features(model, images, output, checksums, run, save_every=save_every)


def _choose_device() -> str:
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def _transformation(model: Model, extractor: Any) -> Any:
    sizes = {}
    if model.resize:
        sizes["resize_dim"] = int(model.resize.partition("x")[0])
    if model.crop:
        sizes["crop_dim"] = model.crop
    return extractor.get_transformations(**sizes)


def _activations(extractor: Any, prepared: list[Any], layer: str) -> np.ndarray:
    if extractor.get_backend() == "tf":
        batch = np.stack([np.asarray(image) for image in prepared])
        return extractor.extract_batch(batch=batch, module_name=layer)
    import torch

    with extractor.batch_extraction(layer, output_type="ndarray") as hooked:
        return hooked.extract_batch(batch=torch.stack(prepared), flatten_acts=False)


def _parameters(extractor: Any) -> list[np.ndarray]:
    if extractor.get_backend() == "tf":
        return extractor.model.get_weights()
    return [value.detach().cpu().numpy() for value in extractor.model.parameters()]


def _checksum(extractor: Any) -> str:
    digest = hashlib.sha256()
    for value in _parameters(extractor):
        digest.update(np.ascontiguousarray(value))
    return digest.hexdigest()
