"""A network with the layer its features come from, and how they become one vector."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from PIL import Image
from torch import Tensor, nn

from trialwise.errors import InputError
from trialwise.models.pooling import check_pooling, pool


@dataclass(frozen=True)
class Network:
    """A network in evaluation mode and single precision, ready for `extract_features`.

    Attributes
    ----------
    module : torch.nn.Module
        Called with a batch of prepared images, shape (n, 3, height, width).
    preprocess : callable
        From an RGB image to a float32 tensor of shape (3, height, width).
    layer : str, default=""
        Path of the submodule whose output is taken; empty for the module's own.
    pooling : str, default="none"
        A key of `POOLINGS`.
    """

    module: nn.Module
    preprocess: Callable[[Image.Image], Tensor]
    layer: str = ""
    pooling: str = "none"

    def __call__(self, batch: Tensor) -> Tensor:
        """Features of a batch, shape (n, features), on the module's device.

        The output of the layer itself is taken, before a later layer changes it in
        place; a layer that runs several times gives the output of its last run.

        Raises
        ------
        InputError
            If there is no such layer or pooling, the layer does not run, or its
            output does not have the shape that the pooling takes.
        """
        check_pooling(self.pooling)
        found: list[Tensor] = []

        def keep(module: nn.Module, inputs: tuple, output: Tensor) -> None:
            found[:] = [pool(output, self.pooling, self.layer).clone()]

        hook = self._submodule().register_forward_hook(keep)
        try:
            with torch.inference_mode():
                self.module(batch)
        finally:
            hook.remove()
        if not found:
            raise InputError(
                f"The layer {self.layer!r} does not run when the network is called. "
                "Name one that does in the model's row."
            )
        return found[0]

    def check(self) -> None:
        """Refuse a network that would give other features than its weights stand for.

        Raises
        ------
        InputError
            If a part of it is in training mode, or not in single precision.
        """
        for name, part in self.module.named_modules():
            if part.training:
                raise InputError(
                    f"The network's part {name or type(part).__name__!r} is in "
                    "training mode, so that its features would vary. "
                    "Call eval() in its loader."
                )
        for name, values in self.module.state_dict().items():
            if values.is_floating_point() and values.dtype != torch.float32:
                raise InputError(
                    f"The network's parameter {name} is of type {values.dtype}. "
                    "Call float() in its loader."
                )

    def _submodule(self) -> nn.Module:
        try:
            return self.module.get_submodule(self.layer)
        except AttributeError as error:
            names = [name for name, _ in self.module.named_children()]
            raise InputError(
                f"The network has no layer {self.layer!r}. "
                f"Its parts are {', '.join(names)}."
            ) from error
