"""Pictures and names of simulated objects, which show what the tasks are about."""

import colorsys
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from trialwise.files import whole

# One row per dimension, each from loading 0 to loading 2 in bins of equal width.
WORDS = (
    ("blue", "violet", "purple", "pink", "red"),
    ("disc", "pebble", "pentagon", "starfish", "star"),
    ("plain", "grained", "lined", "ribbed", "striped"),
)
SHAPE = 1
MAX_LOADING = 2
NUISANCES = ("x", "y", "size", "rotation", "background")

POINTS = 5
HUES = (230 / 360, 355 / 360)
SATURATION, BRIGHTNESS = 0.75, 0.85
RADIUS = 0.21
STRIPES = 16
STRIPE_CONTRAST = 0.5
SUPERSAMPLING = 2


def object_words(loadings):
    """Name objects by the levels of their loadings.

    Parameters
    ----------
    loadings : array_like, shape (n, 3)
        Colour, shape and texture, from 0 to 2; beyond is named as the nearest level.

    Returns
    -------
    list of str, length n
        Such as ``red_star_striped``.

    Raises
    ------
    ValueError
        If there are not three loadings per object.
    """
    loadings = np.asarray(loadings, dtype=float)
    if loadings.ndim != 2 or loadings.shape[1] != len(WORDS):
        raise ValueError(
            f"Loadings of shape {loadings.shape}; {len(WORDS)} per object are needed."
        )
    n_levels = np.array([len(words) for words in WORDS])
    levels = np.floor(loadings / MAX_LOADING * n_levels).astype(int)
    levels = np.clip(levels, 0, n_levels - 1)
    return [
        "_".join(words[level] for words, level in zip(WORDS, row, strict=True))
        for row in levels
    ]


def image_names(loadings):
    """Name one image of each object, in the way of the THINGS images.

    Parameters
    ----------
    loadings : array_like, shape (n, 3)

    Returns
    -------
    list of str, length n
        ``stimuli/{words}/{words}_{number}.png``; the number runs through all images.

    Raises
    ------
    ValueError
        As `object_words`.
    """
    return [
        f"stimuli/{words}/{words}_{number:04d}.png"
        for number, words in enumerate(object_words(loadings), start=1)
    ]


def render_image(loadings_row, other_row, size=224):
    """Draw one object on a grey ground; the same numbers give the same picture.

    Parameters
    ----------
    loadings_row : array_like, shape (3,)
        From 0 to 2: hue from blue to red, outline from a disc to a star of the same
        area, and contrast of stripes from none on.
    other_row : array_like, shape (k,)
        Standard normal values that move the object sideways and down, enlarge it,
        turn it and lighten the ground. Where there are fewer than five, the others
        are 0; more are not shown.
    size : int, default=224
        Width and height in pixels.

    Returns
    -------
    PIL.Image.Image
        In mode RGB.
    """
    hue, pointedness, texture = np.clip(
        np.asarray(loadings_row, dtype=float) / MAX_LOADING, 0, 1
    )
    place = _nuisances(other_row)
    fine = size * SUPERSAMPLING
    mask = _mask(pointedness, place, fine)
    pixels = np.full((fine, fine, 3), _to_byte(0.75 + 0.2 * place["background"]))
    pixels[mask] = _to_byte(_striped(hue, texture, place, mask))
    return Image.fromarray(pixels).reduce(SUPERSAMPLING)


def write_images(folder, names, latent):
    """Write a PNG of every object; the same numbers give the same files.

    Parameters
    ----------
    folder : path
    names : sequence of str, length n
        Paths within `folder`, as from `image_names`.
    latent : array_like, shape (n, D)
        The three loadings, then what else the images differ in (see `render_image`).

    Raises
    ------
    ValueError
        If there are not as many names as rows.
    """
    for name, row in zip(names, np.asarray(latent, dtype=float), strict=True):
        image = render_image(row[: len(WORDS)], row[len(WORDS) :])
        with whole(Path(folder) / name) as temporary:
            image.save(temporary)


def _nuisances(other_row):
    # Bounded, so that even an extreme object stays within a central crop.
    values = np.zeros(len(NUISANCES))
    given = np.tanh(np.asarray(other_row, dtype=float)[: len(NUISANCES)])
    values[: len(given)] = given
    return dict(zip(NUISANCES, values, strict=True))


def _frame(place, fine):
    """Centre, radius and angle of the object, in pixels and radians."""
    centre = fine * (0.5 + 0.03 * np.array([place["x"], place["y"]]))
    radius = fine * RADIUS * (1 + 0.15 * place["size"])
    return centre, radius, place["rotation"] * np.pi / 8


def _outline(pointedness, n=720):
    """Angles and radii of a disc that becomes a pentagon, then a star, of area pi."""
    angles = np.linspace(0, 2 * np.pi, n, endpoint=False)
    half = np.pi / POINTS
    pentagon, star = np.cos(half), 0.38
    inner = pentagon + (star - pentagon) * max(0, 2 * pointedness - 1)
    from_tip = np.abs((angles + half) % (2 * half) - half)
    # A straight edge from the tip, at radius 1, to the notch, at radius `inner`.
    edge = (inner * np.sin(half)) / (
        np.sin(from_tip) * (1 - inner * np.cos(half))
        + np.cos(from_tip) * inner * np.sin(half)
    )
    straight = min(1, 2 * pointedness)
    radii = 1 + straight * (edge - 1)
    return angles, radii / np.sqrt(np.mean(radii**2))


def _mask(pointedness, place, fine):
    centre, radius, turn = _frame(place, fine)
    angles, radii = _outline(pointedness)
    directions = np.column_stack([np.sin(angles + turn), -np.cos(angles + turn)])
    corners = centre + radius * radii[:, None] * directions
    mask = Image.new("L", (fine, fine))
    ImageDraw.Draw(mask).polygon([tuple(corner) for corner in corners], fill=255)
    return np.asarray(mask) > 0


def _striped(hue, texture, place, mask):
    """Colours of the pixels of a mask, shape (pixels, 3), from 0 to 1."""
    fine = len(mask)
    centre, _, turn = _frame(place, fine)
    y, x = np.nonzero(mask)
    across = (x - centre[0]) * np.cos(turn) + (y - centre[1]) * np.sin(turn)
    wave = np.tanh(3 * np.sin(2 * np.pi * STRIPES * across / fine))
    strength = STRIPE_CONTRAST * texture * np.abs(wave)[:, None]
    colour = colorsys.hsv_to_rgb(
        HUES[0] + (HUES[1] - HUES[0]) * hue, SATURATION, BRIGHTNESS
    )
    # White and black leave the hue as it is.
    towards = (wave > 0)[:, None]
    return (1 - strength) * np.array(colour) + strength * towards


def _to_byte(values):
    return np.rint(255 * np.asarray(values)).astype(np.uint8)
