"""State dictionaries read from weight files, without running code from them."""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
import torch

# Where published checkpoints keep the weights of the network, outermost first: VISSL's
# training state, then the usual names.
_WRAPPERS = (
    ("classy_state_dict", "base_model", "model", "trunk"),
    ("model_state_dict",),
    ("state_dict",),
)
# What wrappers of the network (data parallelism, VISSL's trunk) put before its names.
_PREFIXES = ("module.", "_feature_blocks.")
# Plain values that published checkpoints hold beside their tensors.
_HARMLESS = [
    argparse.Namespace,
    np.dtype,
    np.ndarray,
    type(np.dtype(np.float32)),
    type(np.dtype(np.float64)),
    type(np.dtype(np.int64)),
    *(
        (getattr(np._core.multiarray, name), f"numpy.{core}.multiarray.{name}")
        for core in ("core", "_core")
        for name in ("scalar", "_reconstruct")
    ),
]


def read_checkpoint(source: str | Path | IO[bytes]) -> Any:
    """Read a file that `torch.save` or safetensors wrote.

    Parameters
    ----------
    source : path or file

    Returns
    -------
    object
        What was saved; of safetensors, tensors by name.

    Raises
    ------
    pickle.UnpicklingError
        If the file holds objects that could run code.
    """
    if str(source).endswith(".safetensors"):
        from safetensors.torch import load_file

        return load_file(source)
    with torch.serialization.safe_globals(_HARMLESS):
        return torch.load(source, map_location="cpu", weights_only=True)


def state_of(checkpoint: Mapping[str, Any]) -> dict[str, torch.Tensor]:
    """The network's own state dictionary within a published checkpoint.

    Parameters
    ----------
    checkpoint : mapping
        As `read_checkpoint` returns it: the state dictionary, bare or inside the
        training state of VISSL or of a script, with or without the prefixes that
        wrappers of the network leave.

    Returns
    -------
    dict of str to torch.Tensor
    """
    state = checkpoint
    for keys in _WRAPPERS:
        if keys[0] in state:
            for key in keys:
                state = state[key]
            break
    for prefix in _PREFIXES:
        if all(name.startswith(prefix) for name in state):
            state = {name.removeprefix(prefix): value for name, value in state.items()}
    return {name: torch.as_tensor(value) for name, value in state.items()}
