"""Networks of timm, named with the tag of their weights."""

import math
from pathlib import Path

import timm
import torch
from torch import nn

from trialwise.errors import InputError
from trialwise.models.registry import Model


def build(model: Model, files: list[Path] | None) -> nn.Module:
    """Build the network, with random weights or with those of its file.

    A model whose registered layer is empty is represented by the network's own output,
    so it is built without a classifier. Any other keeps the one its weights have.

    Parameters
    ----------
    model : Model
        `name` and `weights` are timm's name and tag.
    files : list of path, optional

    Returns
    -------
    torch.nn.Module

    Raises
    ------
    InputError
        If timm has no such network or tag.
    RuntimeError
        If the weight file does not fit.
    """
    name = f"{model.name}.{model.weights}"
    known = timm.list_pretrained(f"{model.name}.*")
    if name not in known:
        raise InputError(
            f"{model.id}: timm has no {name}. "
            f"Its weights of {model.name} are {', '.join(known) or 'none'}."
        )
    # With all classes kept, timm loads strictly; `file` takes precedence over its hub.
    module = timm.create_model(
        name,
        pretrained=files is not None,
        pretrained_cfg_overlay=None if files is None else {"file": str(files[0])},
    )
    if not model.layer:
        module.reset_classifier(0)
    return module


def fit_to_input(module: nn.Module, model: Model) -> None:
    """Resample the positions of a vision transformer that sees another size.

    Parameters
    ----------
    module : torch.nn.Module
        Changed in place.
    model : Model
        Its crop, or else its resize, is the size that the network sees.
    """
    side = int(model.crop or model.resize.partition("x")[0])
    size = (side, side)
    if not hasattr(module, "pos_embed") or module.patch_embed.img_size == size:
        return
    positions = resample_positions(
        module.pos_embed, side // module.patch_embed.patch_size[0]
    )
    module.set_input_size(img_size=size)
    module.pos_embed = nn.Parameter(positions, requires_grad=False)


def resample_positions(positions: torch.Tensor, side: int) -> torch.Tensor:
    """Resample a table of positions as DINO and DINOv2 themselves do.

    timm resamples it with an antialiasing filter, which their networks never saw.
    The added 0.1 is the authors' guard against rounding; it shifts the samples a bit.

    Parameters
    ----------
    positions : torch.Tensor
        Of shape (1, 1 + n * n, width), the class token's first.
    side : int
        Number of patches along the side of the image.

    Returns
    -------
    torch.Tensor
        Of shape (1, 1 + side * side, width).

    References
    ----------
    Oquab et al. (2024), DINOv2; `interpolate_pos_encoding` of their repository.
    """
    token, patches = positions[:, :1], positions[:, 1:]
    old = math.isqrt(patches.shape[1])
    grid = patches.reshape(1, old, old, -1).permute(0, 3, 1, 2)
    grid = nn.functional.interpolate(
        grid, scale_factor=((side + 0.1) / old,) * 2, mode="bicubic"
    )
    patches = grid.permute(0, 2, 3, 1).reshape(1, side * side, -1)
    return torch.cat([token, patches], dim=1)
