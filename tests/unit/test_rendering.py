"""Rendered images show their dimensions, and the same numbers give the same bytes."""

from itertools import pairwise

import numpy as np
import pytest
from PIL import Image
from scipy import ndimage, spatial, stats
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold, cross_val_score

from trialwise.simulation.rendering import (
    image_names,
    object_words,
    render_image,
    write_images,
)

GRID = np.linspace(0, 2, 11)
NUISANCE = [0.4, -0.7, 1, 0.5, -1]


def along(dimension, fixed):
    """Pixels, from 0 to 1, of images that differ in one dimension."""
    images = []
    for loading in GRID:
        loadings = np.full(3, float(fixed))
        loadings[dimension] = loading
        images.append(np.asarray(render_image(loadings, NUISANCE)) / 255)
    return images


def shape_of(pixels):
    """Where an image is not grey, without the blended pixels at the edge."""
    return ndimage.binary_erosion(np.ptp(pixels, axis=2) > 0.1)


def hue_of(pixels):
    hues = np.asarray(
        Image.fromarray(np.rint(255 * pixels).astype(np.uint8)).convert("HSV")
    )[..., 0][shape_of(pixels)]
    # Mean over the circle, as from 0 to 255 red lies at both ends.
    mean = np.angle(np.exp(2j * np.pi * hues / 256).mean())
    return mean % (2 * np.pi)


def filled_hull(pixels):
    """Area of a shape over that of its convex hull."""
    points = np.argwhere(shape_of(pixels))
    return len(points) / spatial.ConvexHull(points).volume


def farthest(pixels):
    """Greatest distance from the centre over the root of the area."""
    points = np.argwhere(shape_of(pixels))
    distances = np.linalg.norm(points - points.mean(axis=0), axis=1)
    return distances.max() / np.sqrt(len(points))


def energy(pixels):
    """Mean change of lightness from pixel to pixel within a shape."""
    lightness = pixels.mean(axis=2)
    change = np.hypot(
        ndimage.sobel(lightness, axis=0), ndimage.sobel(lightness, axis=1)
    )
    return change[ndimage.binary_erosion(shape_of(pixels), iterations=2)].mean()


@pytest.mark.parametrize("fixed", [0.2, 1, 1.8])
def test_hue_runs_from_blue_to_red(fixed):
    hues = [hue_of(pixels) for pixels in along(0, fixed)]
    assert stats.spearmanr(GRID, hues).statistic == pytest.approx(1)
    assert np.degrees(hues[0]) == pytest.approx(230, abs=10)
    assert np.degrees(hues[-1]) == pytest.approx(355, abs=10)


@pytest.mark.parametrize("fixed", [0.2, 1, 1.8])
def test_discs_become_stars(fixed):
    images = along(1, fixed)
    reach = [farthest(pixels) for pixels in images]
    assert stats.spearmanr(GRID, reach).statistic > 0.95
    assert reach[0] == pytest.approx(1 / np.sqrt(np.pi), rel=0.03)
    hull = [filled_hull(pixels) for pixels in images]
    # Up to the pentagon all shapes are convex.
    assert min(hull[:6]) > 0.97
    assert stats.spearmanr(GRID[5:], hull[5:]).statistic < -0.95
    assert hull[-1] < 0.6


@pytest.mark.parametrize("fixed", [0.2, 1, 1.8])
def test_stripes_become_stronger(fixed):
    energies = [energy(pixels) for pixels in along(2, fixed)]
    assert stats.spearmanr(GRID, energies).statistic == pytest.approx(1)
    assert energies[0] < 0.001 * energies[-1]


@pytest.mark.parametrize("fixed", [0, 2])
def test_the_outline_keeps_its_area(fixed):
    areas = [(np.ptp(pixels, axis=2) > 0.1).sum() for pixels in along(1, fixed)]
    assert np.ptp(areas) < 0.05 * np.mean(areas)


def test_nuisances_move_enlarge_turn_and_lighten():
    def render(*other):
        return np.asarray(render_image([1, 2, 0], other)) / 255

    plain = render()
    centre, moved = (
        np.argwhere(shape_of(pixels)).mean(axis=0) for pixels in (plain, render(2, -2))
    )
    assert moved[1] > centre[1] + 4
    assert moved[0] < centre[0] - 4
    assert shape_of(render(0, 0, 2)).sum() > 1.2 * shape_of(plain).sum()
    assert (shape_of(render(0, 0, 0, 2)) != shape_of(plain)).mean() > 0.01
    assert render(0, 0, 0, 0, 2)[0, 0] == pytest.approx(plain[0, 0] + 0.19, abs=0.01)
    assert np.array_equal(render(*NUISANCE), render(*NUISANCE, 3, -3))


def test_extreme_objects_stay_within_a_central_crop():
    for x, y, turn in np.stack(np.meshgrid([-9, 9], [-9, 9], [-9, 0, 9]), -1).reshape(
        -1, 3
    ):
        pixels = np.asarray(render_image([1, 2, 1], [x, y, 9, turn, 0])) / 255
        outside = np.ptp(pixels, axis=2) > 0.1
        outside[14:-14, 14:-14] = False
        assert not outside.any()


def test_images_have_the_size_asked_for():
    image = render_image([1, 1, 1], [], size=64)
    assert (image.mode, image.size) == ("RGB", (64, 64))


def test_words_follow_the_levels():
    corners = [[0, 0, 0], [2, 2, 2], [0.5, 1, 1.5], [2, 1.7, 1.9], [1.3, 0.1, 0.9]]
    assert object_words(corners) == [
        "blue_disc_plain",
        "red_star_striped",
        "violet_pentagon_ribbed",
        "red_star_striped",
        "pink_disc_lined",
    ]
    grid = np.repeat(np.linspace(0, 2, 201)[:, None], 3, axis=1)
    names = [name.split("_") for name in object_words(grid)]
    for words in zip(*names, strict=True):
        # Each word names one stretch of its dimension.
        changes = sum(a != b for a, b in pairwise(words))
        assert changes == len(set(words)) - 1 == 4


def test_other_than_three_loadings_are_refused():
    with pytest.raises(ValueError, match="3 per object"):
        object_words(np.ones((4, 2)))


def test_names_are_unique_and_in_the_folder_of_their_object():
    loadings = np.random.default_rng(0).uniform(0, 2, (300, 3))
    names = image_names(loadings)
    assert len(set(names)) == 300
    for name, words in zip(names, object_words(loadings), strict=True):
        assert name.startswith(f"stimuli/{words}/{words}_")
    assert names[6].endswith("_0007.png")


def test_files_are_the_same_on_each_run(tmp_path):
    rng = np.random.default_rng(1)
    latent = np.hstack([rng.uniform(0, 2, (4, 3)), rng.normal(size=(4, 6))])
    names = image_names(latent[:, :3])
    for run in ("first", "second"):
        write_images(tmp_path / run, names, latent)
    for name, row in zip(names, latent, strict=True):
        first, second = (tmp_path / run / name for run in ("first", "second"))
        assert first.read_bytes() == second.read_bytes()
        with Image.open(first) as image:
            expected = np.asarray(render_image(row[:3], row[3:]))
            assert np.array_equal(np.asarray(image), expected)


def test_every_row_needs_a_name(tmp_path):
    with pytest.raises(ValueError, match="zip"):
        write_images(tmp_path, ["a.png"], np.ones((2, 5)))


def test_pixels_tell_each_dimension():
    rng = np.random.default_rng(2)
    latent = np.hstack([rng.uniform(0, 2, (300, 3)), rng.normal(size=(300, 5))])
    images = [render_image(row[:3], row[3:]) for row in latent]
    pixels = np.stack([np.asarray(image.reduce(8)).ravel() / 255 for image in images])
    folds = KFold(5, shuffle=True, random_state=0)
    ridge = Ridge(alpha=10)
    for loadings in latent[:, :3].T:
        r2 = cross_val_score(ridge, pixels, loadings, cv=folds, scoring="r2")
        assert r2.mean() > 0.3
