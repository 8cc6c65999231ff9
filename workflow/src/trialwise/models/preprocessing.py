"""From a decoded image to the numbers a network takes: resize, crop, normalise."""

import torch
from PIL import Image
from torchvision.transforms import InterpolationMode
from torchvision.transforms import functional as F

from trialwise.errors import InputError
from trialwise.models.registry import Model

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
    "bilinear": InterpolationMode.BILINEAR,
    "bicubic": InterpolationMode.BICUBIC,
}
ROUNDING = 1e-4


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
        self.size = [resize] if isinstance(resize, int) else list(resize)
        self.crop = crop
        self.interpolation = INTERPOLATIONS[interpolation]
        self.mean, self.std = NORMALISATIONS[normalisation]

    def __call__(self, image: Image.Image) -> torch.Tensor:
        """Prepare an RGB image: float32, shape (3, height, width)."""
        image = F.resize(image, self.size, self.interpolation)
        if self.crop is not None:
            image = F.center_crop(image, [self.crop])
        return F.normalize(F.to_tensor(image), self.mean, self.std, inplace=True)


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
        Takes an RGB image and returns a float32 tensor of shape (3, H, W).

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


def check_range(prepared: torch.Tensor, normalisation: str, image: str) -> None:
    """Refuse a prepared image that no image normalised in this way could give.

    Parameters
    ----------
    prepared : Tensor, shape (3, height, width)
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
    mean, std = torch.tensor(NORMALISATIONS[normalisation])
    low, high = (0 - mean) / std - ROUNDING, (1 - mean) / std + ROUNDING
    smallest, largest = prepared.amin(dim=(1, 2)), prepared.amax(dim=(1, 2))
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
