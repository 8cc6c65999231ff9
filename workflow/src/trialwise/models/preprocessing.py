"""From an image file to the numbers a network takes: decode, resize, normalise."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

from trialwise.errors import InputError
from trialwise.models.registry import Model

if TYPE_CHECKING:
    import torch

# What Pillow raises for damaged files of one format or another.
UNREADABLE = (OSError, SyntaxError, ValueError, Image.DecompressionBombError)

# Mean and standard deviation of each channel, for values between 0 and 1.
NORMALISATIONS = {
    "imagenet": ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
    "clip": (
        (0.48145466, 0.4578275, 0.40821073),
        (0.26862954, 0.26130258, 0.27577711),
    ),
    "half": ((0.5, 0.5, 0.5), (0.5, 0.5, 0.5)),
    "none": ((0.0, 0.0, 0.0), (1.0, 1.0, 1.0)),
}
INTERPOLATIONS = {
    "bilinear": Image.Resampling.BILINEAR,
    "bicubic": Image.Resampling.BICUBIC,
}
ROUNDING = 1e-4


def read_image(root: str | Path, image: str) -> Image.Image:
    """Decode an image as RGB.

    Parameters
    ----------
    root : path
        Folder of the images.
    image : str
        As the manifest has it.

    Returns
    -------
    PIL.Image.Image

    Raises
    ------
    InputError
        Naming the file, if it cannot be read.
    """
    path = Path(root) / image
    try:
        with Image.open(path) as file:
            return file.convert("RGB")
    except UNREADABLE as error:
        raise InputError(
            f"Image {path} cannot be read: {error}. "
            "Replace it and start again; what is done is kept."
        ) from error


class Preprocess:
    """Resize with Pillow, crop the centre, scale to 0..1 and normalise.

    Parameters
    ----------
    resize : int or (int, int)
        New length of the shorter side, or new height and width.
    crop : int or None
        Side of the square cut from the centre; None keeps the whole image.
    interpolation : {"bilinear", "bicubic"}
    normalisation : str
        A key of `NORMALISATIONS`.
    """

    def __init__(
        self,
        resize: int | tuple[int, int],
        crop: int | None,
        interpolation: str,
        normalisation: str,
    ) -> None:
        self.resize = resize
        self.crop = crop
        self.interpolation = INTERPOLATIONS[interpolation]
        self.mean, self.std = NORMALISATIONS[normalisation]

    def __call__(self, image: Image.Image) -> "torch.Tensor":
        """Prepare an RGB image for torch; values and shape as `prepare` gives them."""
        import torch

        return torch.from_numpy(self.prepare(image))

    def prepare(self, image: Image.Image) -> np.ndarray:
        """Resize, crop and normalise an image.

        Parameters
        ----------
        image : PIL.Image.Image
            RGB.

        Returns
        -------
        ndarray of float32, shape (3, height, width)
        """
        image = image.resize(self._new_size(*image.size), self.interpolation)
        if self.crop is not None:
            left, top = (round((side - self.crop) / 2) for side in image.size)
            image = image.crop((left, top, left + self.crop, top + self.crop))
        values = np.asarray(image).transpose(2, 0, 1).astype(np.float32, order="C")
        values /= 255
        values -= np.array(self.mean, dtype=np.float32)[:, None, None]
        values /= np.array(self.std, dtype=np.float32)[:, None, None]
        return values

    def _new_size(self, width: int, height: int) -> tuple[int, int]:
        if isinstance(self.resize, tuple):
            return self.resize[1], self.resize[0]
        if width <= height:
            return self.resize, self.resize * height // width
        return self.resize * width // height, self.resize


def build_preprocess(model: Model) -> Preprocess:
    """Build the preprocessing that a registry row describes.

    Parameters
    ----------
    model : Model
        Its `resize` is the shorter side (``"256"``) or height and width
        (``"224x224"``); where it is both, `crop` may be None.

    Returns
    -------
    Preprocess
        Takes an RGB image; its result is float32 of shape (3, H, W).

    Raises
    ------
    InputError
        If a field has no meaning, or images of several shapes would come out.
    """
    sides = model.resize.split("x")
    if len(sides) > 2 or not all(side.isdecimal() for side in sides):
        raise InputError(
            f"The model {model.id} has the resize {model.resize!r}. "
            "Give pixels: 256 for the shorter side, 224x224 for both."
        )
    if len(sides) == 1 and model.crop is None:
        raise InputError(
            f"The model {model.id} resizes the shorter side to {model.resize} and has "
            "no crop, so its images would differ in shape. Give it one."
        )
    _check_choice(model, "interpolation", INTERPOLATIONS)
    _check_choice(model, "normalisation", NORMALISATIONS)
    height, *width = map(int, sides)
    return Preprocess(
        (height, *width) if width else height,
        model.crop,
        model.interpolation,
        model.normalisation,
    )


def check_range(
    prepared: "np.ndarray | torch.Tensor", normalisation: str, image: str
) -> None:
    """Refuse a prepared image that no image normalised in this way could give.

    Parameters
    ----------
    prepared : ndarray or Tensor, shape (3, height, width)
    normalisation : str
        A key of `NORMALISATIONS`.
    image : str
        Its name.

    Raises
    ------
    InputError
        If a value is out of range or not a number.

    Notes
    -----
    This is the fault behind seven published rows of Demircan et al. (2024): images
    of values 0..255 were normalised as if they lay between 0 and 1.
    """
    mean, std = np.array(NORMALISATIONS[normalisation])
    low, high = (0 - mean) / std - ROUNDING, (1 - mean) / std + ROUNDING
    values = np.asarray(prepared)
    smallest, largest = values.min(axis=(1, 2)), values.max(axis=(1, 2))
    # Written so that NaN is out of range as well.
    if not ((smallest >= low) & (largest <= high)).all():
        raise InputError(
            f"Image {image}: its prepared values reach from {smallest.min():.4g} to "
            f"{largest.max():.4g}, but normalisation {normalisation!r} gives "
            f"{low.min():.3f} to {high.max():.3f}. Scale images to 0..1 before "
            "normalising."
        )


def _check_choice(model: Model, field: str, choices: dict) -> None:
    value = getattr(model, field)
    if value not in choices:
        raise InputError(
            f"The model {model.id} has the {field} {value!r}. "
            f"Choose from {', '.join(choices)}."
        )
