"""A network with the layer its features come from, and how they become one vector."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from PIL import Image
from torch import Tensor, nn

from trialwise.errors import InputError


def _squeeze(output: Tensor) -> Tensor:
    return output.flatten(1)


def _first_token(output: Tensor) -> Tensor:
    return output[:, 0]


def _mean_over_tokens(output: Tensor) -> Tensor:
    return output.mean(dim=1)


@dataclass(frozen=True)
class Pooling:
    """How a layer's output becomes one vector per image.

    Attributes
    ----------
    pool : callable
    takes : str
        The shape it takes, in words; "1" stands for an axis of that length.
    fits : callable
        Whether a shape is such a one.
    """

    pool: Callable[[Tensor], Tensor]
    takes: str
    fits: Callable[[torch.Size], bool]


POOLINGS = {
    "none": Pooling(lambda output: output, "(n, features)", lambda s: len(s) == 2),
    "squeeze": Pooling(
        _squeeze,
        "(n, channels, 1, 1)",
        lambda s: len(s) == 4 and s[2:] == (1, 1),
    ),
    "cls": Pooling(_first_token, "(n, tokens, features)", lambda s: len(s) == 3),
    "mean": Pooling(_mean_over_tokens, "(n, tokens, features)", lambda s: len(s) == 3),
}


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
        pooling = self._pooling()
        found: list[Tensor] = []

        def keep(module: nn.Module, inputs: tuple, output: Tensor) -> None:
            self._check(pooling, output)
            found[:] = [pooling.pool(output).clone()]

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

    def _pooling(self) -> Pooling:
        if self.pooling not in POOLINGS:
            raise InputError(
                f"There is no pooling {self.pooling!r}. "
                f"Choose from {', '.join(POOLINGS)}."
            )
        return POOLINGS[self.pooling]

    def _submodule(self) -> nn.Module:
        try:
            return self.module.get_submodule(self.layer)
        except AttributeError as error:
            names = [name for name, _ in self.module.named_children()]
            raise InputError(
                f"The network has no layer {self.layer!r}. "
                f"Its parts are {', '.join(names)}."
            ) from error

    def _check(self, pooling: Pooling, output: object) -> None:
        shape = tuple(output.shape) if isinstance(output, Tensor) else type(output)
        if not isinstance(output, Tensor) or not pooling.fits(output.shape):
            raise InputError(
                f"The layer {self.layer!r} gives {shape}, but the pooling "
                f"{self.pooling!r} takes {pooling.takes}. Correct the model's row."
            )
