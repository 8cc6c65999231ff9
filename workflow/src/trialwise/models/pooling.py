"""How a layer's output becomes one vector per image, for torch and NumPy alike."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from trialwise.errors import InputError


@dataclass(frozen=True)
class Pooling:
    """How a layer's output becomes one vector per image.

    Attributes
    ----------
    pool : callable
        From a tensor or array to one of shape (n, features).
    takes : str
        The shape it takes, in words; "1" stands for an axis of that length.
    fits : callable
        Whether a shape is such a one.
    """

    pool: Callable[[Any], Any]
    takes: str
    fits: Callable[[tuple[int, ...]], bool]


POOLINGS = {
    "none": Pooling(lambda output: output, "(n, features)", lambda s: len(s) == 2),
    "squeeze": Pooling(
        lambda output: output.reshape(len(output), -1),
        "(n, channels, 1, 1)",
        lambda s: len(s) == 4 and s[2:] == (1, 1),
    ),
    "cls": Pooling(
        lambda output: output[:, 0],
        "(n, tokens, features)",
        lambda s: len(s) == 3,
    ),
    "mean": Pooling(
        lambda output: output.mean(1),
        "(n, tokens, features)",
        lambda s: len(s) == 3,
    ),
}


def check_pooling(name: str) -> None:
    """Refuse a name that is no key of `POOLINGS`.

    Raises
    ------
    InputError
    """
    if name not in POOLINGS:
        raise InputError(
            f"There is no pooling {name!r}. Choose from {', '.join(POOLINGS)}."
        )


def pool(output: Any, name: str, layer: str) -> Any:
    """Pool the output of a layer.

    Parameters
    ----------
    output : torch.Tensor or ndarray
    name : str
        A key of `POOLINGS`.
    layer : str
        For the message.

    Returns
    -------
    torch.Tensor or ndarray, shape (n, features)

    Raises
    ------
    InputError
        If the output does not have the shape that the pooling takes.
    """
    check_pooling(name)
    pooling = POOLINGS[name]
    shape = tuple(output.shape) if hasattr(output, "shape") else None
    if shape is None or not pooling.fits(shape):
        raise InputError(
            f"The layer {layer!r} gives {shape or type(output)}, but the pooling "
            f"{name!r} takes {pooling.takes}. Correct the model's row."
        )
    return pooling.pool(output)
