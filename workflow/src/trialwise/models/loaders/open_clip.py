"""CLIP models of open_clip, with the activation of their training."""

import zipfile
from pathlib import Path

import open_clip
import torch
from torch import nn

from trialwise.errors import InputError
from trialwise.models.registry import Model

# Suffix for an architecture with GELU whose weights were trained with QuickGELU: what
# Demircan et al. (2024) ran, kept to reproduce their row.
_GELU = "-gelu"
# Numbers that OpenAI's archives hold among the weights.
_SETTINGS = ("input_resolution", "context_length", "vocab_size")


def build(model: Model, files: list[Path] | None) -> nn.Module:
    """Build both towers, with random weights or with those of their file.

    Parameters
    ----------
    model : Model
        `name` and `weights` are open_clip's name and tag. A name that ends in -gelu
        asks for GELU whatever the weights were trained with.
    files : list of path, optional

    Returns
    -------
    torch.nn.Module

    Raises
    ------
    InputError
        If open_clip has no such model or tag, or the weights were trained with another
        activation; open_clip itself only warns of it, and computes other features.
    RuntimeError
        If the weight file does not fit.
    """
    name = model.name.removesuffix(_GELU)
    _check_activation(model, name)
    module = open_clip.create_model(name, device=torch.get_default_device())
    if files is not None:
        if _is_script(files[0]):
            archive = torch.jit.load(files[0], map_location="cpu")
            state = archive.state_dict()
            module.load_state_dict(
                {key: value for key, value in state.items() if key not in _SETTINGS}
            )
        else:
            open_clip.load_checkpoint(module, str(files[0]), strict=True)
    return module


def _check_activation(model: Model, name: str) -> None:
    config = open_clip.get_model_config(name)
    if config is None:
        raise InputError(
            f"{model.id}: open_clip has no model {name!r}. "
            "Correct name in the registry."
        )
    tag = open_clip.get_pretrained_cfg(name, model.weights)
    if not tag:
        raise InputError(
            f"{model.id}: open_clip has no weights {model.weights!r} of {name}. Choose "
            f"from {', '.join(open_clip.list_pretrained_tags_by_model(name))}."
        )
    built, trained = config.get("quick_gelu", False), tag.get("quick_gelu", False)
    if built != trained and not model.name.endswith(_GELU):
        remedy = f"Make the name {name}-quickgelu" if trained else "Choose others"
        raise InputError(
            f"{model.id}: the weights {model.weights} were trained with "
            f"{'QuickGELU' if trained else 'GELU'}, and {name} computes "
            f"{'QuickGELU' if built else 'GELU'}. {remedy}."
        )


def _is_script(path: Path) -> bool:
    """Whether the file is a TorchScript archive, as OpenAI publishes its weights."""
    if not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        return any(name.endswith("/constants.pkl") for name in archive.namelist())
