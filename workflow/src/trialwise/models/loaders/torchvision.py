"""Networks of torchvision, with one of its weight enumerations, written out."""

import re
from pathlib import Path

import torchvision
from torch import nn

from trialwise.errors import InputError
from trialwise.models.loaders.state import read_checkpoint
from trialwise.models.registry import Model

# torchvision sets this for its published weights alone: their input was normalised to
# [-1, 1], and the network converts the usual normalisation itself.
_OWN_NORMALISATION = {"inception_v3", "googlenet"}


def build(model: Model, files: list[Path] | None) -> nn.Module:
    """Build the network, with random weights or with those of its file.

    Parameters
    ----------
    model : Model
        `weights` names a member of the enumeration, which gives the input size.
    files : list of path, optional

    Returns
    -------
    torch.nn.Module

    Raises
    ------
    InputError
        If torchvision has no such network or no such weights.
    RuntimeError
        If the weight file does not fit.
    """
    module = _build_architecture(model)
    if files is not None:
        module.load_state_dict(
            {_modern(key): value for key, value in read_checkpoint(files[0]).items()}
        )
    if isinstance(module, torchvision.models.DenseNet):
        # DenseNet applies its last ReLU and pooling as functions, where no hook
        # reaches. Done before, they leave its output as it is.
        module.features.add_module("relu5", nn.ReLU())
        module.features.add_module("pool5", nn.AdaptiveAvgPool2d(1))
    return module


def _build_architecture(model: Model) -> nn.Module:
    try:
        members = torchvision.models.get_model_weights(model.name).__members__
    except ValueError as error:
        raise InputError(
            f"{model.id}: torchvision has no network {model.name!r}. "
            "Correct name in the registry."
        ) from error
    # An alias such as DEFAULT has another name than its member.
    known = [name for name, member in members.items() if member.name == name]
    if model.weights not in known:
        raise InputError(
            f"{model.id}: torchvision has no weights {model.weights!r} of "
            f"{model.name}. Choose from {', '.join(known)}."
        )
    options = {}
    if model.name in _OWN_NORMALISATION:
        options = {"transform_input": True, "init_weights": False}
    elif model.name.startswith("vit_"):
        options = {"image_size": members[model.weights].meta["min_size"][0]}
    return torchvision.models.get_model(model.name, weights=None, **options)


def _modern(key: str) -> str:
    """Undo the names `norm.1` that the published DenseNets still have."""
    return re.sub(r"\.(norm|relu|conv)\.([12])\.", r".\1\2.", key)
