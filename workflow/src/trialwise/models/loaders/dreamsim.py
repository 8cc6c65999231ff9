"""DreamSim's single-network models."""

import io
import json
import zipfile
from pathlib import Path

import torch
from safetensors.torch import load as load_safetensors
from torch import nn

from trialwise.errors import InputError
from trialwise.models.architectures.dreamsim import DreamSim
from trialwise.models.loaders import check_name
from trialwise.models.loaders.state import read_checkpoint, state_of
from trialwise.models.registry import Model

KINDS = ("clip_vitb32", "open_clip_vitb32", "dino_vitb16")


def build(model: Model, files: list[Path] | None) -> nn.Module:
    """Build the network, with random weights or with those of its files.

    Parameters
    ----------
    model : Model
        `name` is one of `KINDS`.
    files : list of path, optional
        The published archive; for DINO, its own weights before it.

    Returns
    -------
    torch.nn.Module

    Raises
    ------
    InputError
        If there is no such kind, or an archive lacks a part.
    RuntimeError
        If a weight file does not fit.
    """
    check_name(model, KINDS, "there is no DreamSim network")
    module = DreamSim(model.name)
    if files is None:
        module.adapt()
        return module
    with zipfile.ZipFile(files[-1]) as archive:
        if module.projected:
            part = _read_part(archive, f"{model.name}_pretrain.pth.tar")
            state = state_of(read_checkpoint(part))
            module.proj.copy_(state.pop("proj"))
        else:
            state = state_of(read_checkpoint(files[0]))
        module.vit.load_state_dict(state)
        _load_changes(module, archive, f"{model.name}_single_lora")
    return module


def _load_changes(module: DreamSim, archive: zipfile.ZipFile, folder: str) -> None:
    settings = json.load(_read_part(archive, f"{folder}/adapter_config.json"))
    module.adapt(settings["r"], settings["lora_alpha"] / settings["r"])
    changes = {
        _own_name(name): tensor
        for name, tensor in _read_changes(archive, folder).items()
    }
    wanted = {name for name in module.state_dict() if ".lora_" in name}
    if set(changes) != wanted:
        raise RuntimeError(f"{folder} changes other layers than the queries.")
    module.load_state_dict(changes, strict=False)


def _read_changes(archive: zipfile.ZipFile, folder: str) -> dict[str, torch.Tensor]:
    name = f"{folder}/adapter_model.safetensors"
    if name in archive.namelist():
        return load_safetensors(archive.read(name))
    return read_checkpoint(_read_part(archive, f"{folder}/adapter_model.bin"))


def _own_name(name: str) -> str:
    """The name here of the package's base_model.model.extractor_list.0.model. ..."""
    return "vit." + name.partition(".0.model.")[2]


def _read_part(archive: zipfile.ZipFile, name: str) -> io.BytesIO:
    if name not in archive.namelist():
        raise InputError(
            f"{archive.filename} has no {name}. Supply the archive as published."
        )
    return io.BytesIO(archive.read(name))
