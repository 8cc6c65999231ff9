"""Image sets, their order and their names, on the real list and folders."""

import hashlib
import re

import pytest

from trialwise.errors import InputError
from trialwise.stimuli import (
    check_present,
    explain_missing_things,
    list_images,
    manifest_sha256,
    missing_images,
    object_name,
    read_manifest,
    write_manifest,
)


@pytest.fixture
def folder(tmp_path):
    names = ["bird/bird10.png", "bird/bird2.PNG", "bird/bird1.jpeg", "cat2/cat1.png"]
    for name in [*names, "cat10/cat1.png", "bird/notes.txt", ".trash/bird3.png"]:
        path = tmp_path / "set" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return tmp_path / "set"


def test_images_are_listed_by_the_value_of_their_numbers(folder):
    assert list_images(folder) == [
        "bird/bird1.jpeg",
        "bird/bird2.PNG",
        "bird/bird10.png",
        "cat2/cat1.png",
        "cat10/cat1.png",
    ]


@pytest.mark.parametrize("name", ["edges", "filled-silhouettes"])
def test_real_sets_have_ten_images_of_each_category(mirror, name):
    images = list_images(mirror / "texture-vs-shape" / "stimuli" / name)
    assert images[:2] == ["airplane/airplane1.png", "airplane/airplane2.png"]
    assert images[9] == "airplane/airplane10.png"
    assert len(images) == 160


def test_manifest_comes_back_and_has_the_checksum_of_its_file(folder, tmp_path):
    images = list_images(folder)
    path = tmp_path / "images.txt"
    write_manifest(images, path)
    assert read_manifest(path) == images
    assert manifest_sha256(images) == hashlib.sha256(path.read_bytes()).hexdigest()


def test_real_list_keeps_its_order_and_checksum(mirror):
    path = mirror / "learning-tasks" / "things_images_26107.txt"
    images = read_manifest(path)
    assert len(images) == 26107
    assert manifest_sha256(images) == hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("change", ["order", "name"])
def test_checksum_changes_with(folder, change):
    images = list_images(folder)
    other = images[::-1] if change == "order" else [*images[:-1], "cat10/cat2.png"]
    assert manifest_sha256(other) != manifest_sha256(images)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "lists no image"),
        ("a/b.png\n\n", "line 2: '' is no path within"),
        ("/a/b.png\n", "line 1: '/a/b.png' is no path within"),
        ("a/../../b.png\n", "line 1: .* is no path within"),
        ("a.png\nb.png\na.png\n", "line 3: a.png stands already in line 1"),
    ],
)
def test_faulty_list_is_refused(tmp_path, text, message):
    path = tmp_path / "images.txt"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        read_manifest(path)


def test_missing_list_is_named(tmp_path):
    with pytest.raises(InputError, match=r"none\.txt cannot be read"):
        read_manifest(tmp_path / "none.txt")


def test_folder_without_images_is_refused(tmp_path):
    with pytest.raises(InputError, match="holds no image"):
        list_images(tmp_path)
    with pytest.raises(InputError, match="is not a folder"):
        list_images(tmp_path / "none")


def test_missing_image_is_named(folder):
    images = list_images(folder)
    check_present(folder, images)
    (folder / images[2]).unlink()
    with pytest.raises(InputError, match=f"lacks 1 of 5 images.*{images[2]}"):
        check_present(folder, images)
    assert missing_images(folder, images) == [images[2]]


@pytest.mark.parametrize("root", [None, "photos"])
def test_missing_things_are_explained_in_three_lines(root):
    missing = ["stimuli/aardvark/aardvark_01b.jpg", "stimuli/bat1/bat1_02s.jpg"]
    lines = explain_missing_things(root, missing, ["features of resnet50"]).split("\n")
    assert len(lines) == 3
    assert "2 THINGS images" in lines[0]
    assert missing[0] in lines[0]
    assert "consent" in lines[1]
    assert "features of resnet50" in lines[2]


@pytest.mark.parametrize(
    ("image", "name"),
    [
        ("stimuli/air_conditioner/air_conditioner_01b.jpg", "air conditioner"),
        ("stimuli/bat2/bat2_01b.jpg", "bat"),
        ("stimuli/hot-air_balloon/hot-air_balloon_03s.jpg", "hot-air balloon"),
        ("bird/bird10.png", "bird"),
    ],
)
def test_object_is_named_after_its_folder(image, name):
    assert object_name(image) == name


@pytest.mark.parametrize("image", ["bird.png", "12/bird.png"])
def test_image_that_shows_nothing_named_is_refused(image):
    with pytest.raises(InputError, match=re.escape(image)):
        object_name(image)


def test_every_real_object_has_a_name_without_digits_and_underscores(mirror):
    images = read_manifest(mirror / "learning-tasks" / "things_images_26107.txt")
    names = {object_name(image) for image in images}
    assert all(re.fullmatch(r"[^\d_]*\w", name) for name in names)
    # Objects whose names differ by a number alone, such as bat1 and bat2, share one.
    objects = {image.split("/")[1] for image in images}
    numbered = {o for o in objects if re.search(r"\d", o)}
    assert len(objects) == 1854
    assert len(numbered) == 58
    assert len(names) < len(objects)
