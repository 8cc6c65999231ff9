"""Networks of Harmonization, which need TensorFlow and envs/harmonization.txt."""

import os
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

from trialwise.errors import InputError
from trialwise.models.loaders import check_name, check_size, find_files
from trialwise.models.pooling import pool
from trialwise.models.preprocessing import build_preprocess, check_range
from trialwise.models.registry import Model
from trialwise.models.streaming import run_batches, stream_features

if TYPE_CHECKING:
    import keras

# Module, function and options of the architecture that each published file fills.
ARCHITECTURES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "EfficientNetB0": ("efficientnet.tfkeras", "EfficientNetB0", {"weights": None}),
    "LeViT_small": (
        "keras_cv_attention_models.levit",
        "LeViT128",
        {"pretrained": None, "use_distillation": False},
    ),
    "ResNet50": ("keras.applications.resnet_v2", "ResNet50V2", {"weights": None}),
    "VGG16": ("keras.applications.vgg16", "VGG16", {"weights": None}),
    "ViT_B16": (
        "vit_keras.vit",
        "vit_b16",
        {"image_size": 224, "pretrained": False, "pretrained_top": False},
    ),
    "tiny_ConvNeXT": (
        "keras_cv_attention_models.convnext",
        "ConvNeXtTiny",
        {"pretrained": None},
    ),
    "tiny_MaxViT": (
        "keras_cv_attention_models.maxvit",
        "MaxViT_Tiny",
        {"pretrained": None},
    ),
}


def load_keras(model: Model, weights: str | Path | None) -> "keras.Model":
    """Build a network and give it its weights; nothing is downloaded.

    The architecture is built here, and only numbers are read from the file, since a
    Keras file may hold programs.

    Parameters
    ----------
    model : Model
        Its name is a key of `ARCHITECTURES`.
    weights : path or None
        Folder with the weight file; None leaves random weights.

    Returns
    -------
    keras.Model
        From images of shape (n, height, width, 3) to the output of the model's layer.

    Raises
    ------
    InputError
        If the model, its layer or its size is unknown, or the file does not fit.

    References
    ----------
    Fel et al. (2022), Harmonizing the object recognition strategies of deep neural
    networks with humans; their package `harmonization` 0.0.9.
    """
    check_name(model, ARCHITECTURES, "Harmonization has no")
    # TensorFlow prints pages about the machine otherwise.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    import keras

    # Layers without a name of their own are numbered through the whole process.
    keras.backend.reset_uids()
    module, build, options = ARCHITECTURES[model.name]
    network = getattr(import_module(module), build)(**options)
    check_size(model, network.count_params())
    if weights is not None:
        (file,) = find_files(model, weights)
        _fill(model, network, file)
    names = [layer.name for layer in network.layers]
    if model.layer not in names:
        raise InputError(
            f"{model.id}: the network has no layer {model.layer!r}. "
            f"Its last ones are {', '.join(names[-6:])}."
        )
    return keras.Model(network.input, network.get_layer(model.layer).output)


def extract_keras_features(
    model: Model,
    network: "keras.Model",
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

    Parameters
    ----------
    model : Model
    network : keras.Model
        As `load_keras` returns it; it runs in inference mode.
    root, images, output, weights, batch_size, n_workers, save_every
        As in `trialwise.models.extraction.extract_features`; the workers are threads.

    Raises
    ------
    InputError
        As `extract_features` does.
    """
    preprocess = build_preprocess(model)

    def prepare(image: Image.Image, name: str) -> np.ndarray:
        values = preprocess.prepare(image)
        check_range(values, model.normalisation, name)
        return np.moveaxis(values, 0, -1)

    def predict(prepared: list[np.ndarray]) -> np.ndarray:
        features = network.predict_on_batch(np.stack(prepared))
        return pool(features, model.pooling, model.layer)

    def run(start: int) -> Iterator[np.ndarray]:
        return run_batches(
            root,
            images,
            prepare,
            predict,
            batch_size=batch_size,
            n_workers=n_workers,
            start=start,
            label=model.id,
        )

    stream_features(model, images, output, weights, run, save_every=save_every)


def configure_tensorflow(n_threads: int, seed: int) -> None:
    """Keep TensorFlow to a job's threads, single precision and fixed random weights.

    To be called before anything else of TensorFlow in a process.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(n_threads)
    tf.config.threading.set_inter_op_parallelism_threads(n_threads)
    # GPUs round the inputs of convolutions otherwise.
    tf.config.experimental.enable_tensor_float_32_execution(False)
    tf.keras.utils.set_random_seed(seed)


def _fill(model: Model, network: "keras.Model", file: Path) -> None:
    try:
        network.load_weights(str(file))
    except (OSError, ValueError, KeyError) as error:
        reason = " ".join(str(error).split())[:200].rstrip(".")
        raise InputError(
            f"{model.id}: {file} does not fit Harmonization's {model.name}: {reason}. "
            "Supply the registered file, or correct the registry."
        ) from error
