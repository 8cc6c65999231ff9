"""Networks whose weights were published as a file of their own, outside a library."""

from collections.abc import Callable
from pathlib import Path

import timm
import torchvision
from torch import nn

from trialwise.models.architectures import cornet, slip
from trialwise.models.loaders import check_name
from trialwise.models.loaders.state import read_checkpoint, state_of
from trialwise.models.registry import Model

N_ECOSET = 565


def _build_trunk() -> nn.Module:
    """ResNet-50 without its classifier, as self-supervised training leaves it."""
    module = torchvision.models.resnet50()
    module.fc = nn.Identity()
    return module


ARCHITECTURES: dict[str, Callable[[], nn.Module]] = {
    "resnet50": torchvision.models.resnet50,
    "resnet50-trunk": _build_trunk,
    "resnet50-ecoset": lambda: torchvision.models.resnet50(num_classes=N_ECOSET),
    "inception-v3-ecoset": lambda: torchvision.models.inception_v3(
        num_classes=N_ECOSET, init_weights=False
    ),
    "cornet-z": cornet.build_cornet_z,
    "cornet-r": cornet.build_cornet_r,
    "cornet-rt": cornet.build_cornet_rt,
    "cornet-s": cornet.build_cornet_s,
    **{
        f"{loss}-{size}": lambda loss=loss, size=size: slip.Slip(loss, size)
        for loss in ("slip", "clip", "simclr")
        for size in ("small", "base", "large")
    },
    "tf_efficientnet_lite0": lambda: timm.create_model("tf_efficientnet_lite0"),
    "tf_efficientnet_lite1": lambda: timm.create_model("tf_efficientnet_lite1"),
}
# Their files name the layers in another way, and hold them in timm's order.
_IN_ORDER = {"tf_efficientnet_lite0", "tf_efficientnet_lite1"}


def build(model: Model, files: list[Path] | None) -> nn.Module:
    """Build the network, with random weights or with those of its file.

    Parameters
    ----------
    model : Model
        `name` is a key of `ARCHITECTURES`.
    files : list of path, optional

    Returns
    -------
    torch.nn.Module

    Raises
    ------
    InputError
        If there is no such architecture, or the file cannot be read.
    RuntimeError
        If the weight file does not fit.
    """
    check_name(model, ARCHITECTURES, "there is no architecture")
    module = ARCHITECTURES[model.name]()
    if files is not None:
        state = state_of(read_checkpoint(files[0]))
        if model.name in _IN_ORDER:
            state = _rename_in_order(state, module)
        if isinstance(getattr(module, "fc", None), nn.Identity):
            state = {key: v for key, v in state.items() if not key.startswith("fc.")}
        module.load_state_dict(state)
    return module


def _rename_in_order(state: dict, module: nn.Module) -> dict:
    names = module.state_dict()
    if len(names) != len(state):
        raise RuntimeError(f"It holds {len(state)} tensors, not {len(names)}.")
    return dict(zip(names, state.values(), strict=True))
