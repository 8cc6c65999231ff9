"""Image sets: which images, in which order, and what they show."""

import hashlib
import re
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath

from trialwise.errors import InputError
from trialwise.files import whole

SUFFIXES = frozenset({".bmp", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp"})
THINGS_TERMS = "https://osf.io/jum2f"


def list_images(root: str | Path) -> list[str]:
    """List the images of a folder and its subfolders in natural order.

    Parameters
    ----------
    root : path

    Returns
    -------
    list of str
        Paths relative to `root`, with ``/`` between their parts; ``bird2.png`` comes
        before ``bird10.png``. Hidden files and folders are left out.

    Raises
    ------
    InputError
        If there is no such folder, or no image in it.
    """
    root = Path(root)
    if not root.is_dir():
        raise InputError(f"{root} is not a folder. Name the folder of the images.")
    paths = (path.relative_to(root) for path in root.rglob("*") if path.is_file())
    images = [
        path.as_posix()
        for path in paths
        if path.suffix.lower() in SUFFIXES
        and not any(part.startswith(".") for part in path.parts)
    ]
    if not images:
        raise InputError(
            f"{root} holds no image. Put files there whose names end in "
            f"{', '.join(sorted(SUFFIXES))}."
        )
    return sorted(images, key=natural_order)


def natural_order(path: str) -> tuple:
    """Key that sorts paths folder by folder, and numbers in them by their value."""
    parts = [re.split(r"(\d+)", part) for part in path.split("/")]
    return [
        [int(piece) if odd % 2 else piece for odd, piece in enumerate(part)]
        for part in parts
    ], path


def write_manifest(images: Iterable[str], path: str | Path) -> None:
    """Write the list of the images of a set, one path a line."""
    with whole(path) as temporary:
        temporary.write_bytes(_manifest(images))


def read_manifest(path: str | Path) -> list[str]:
    """Read the list of the images of a set.

    Parameters
    ----------
    path : path
        One image a line, relative to the folder of the images; the order of the lines
        is the order of the rows of all features.

    Returns
    -------
    list of str

    Raises
    ------
    InputError
        If the file cannot be read or is empty, or a line is empty, no relative path,
        or there twice.
    """
    try:
        images = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path} cannot be read: {error}. Supply a list of images in UTF-8."
        ) from error
    if not images:
        raise InputError(f"{path} lists no image. Write one path a line.")
    first: dict[str, int] = {}
    for line, image in enumerate(images, start=1):
        parts = PurePosixPath(image).parts
        if not parts or parts[0] == "/" or ".." in parts or "\0" in image:
            raise InputError(
                f"{path}, line {line}: {image!r} is no path within the folder of "
                "images. Write it relative to that folder."
            )
        if image in first:
            raise InputError(
                f"{path}, line {line}: {image} stands already in line {first[image]}. "
                "Remove one of the two lines."
            )
        first[image] = line
    return images


def manifest_sha256(images: Iterable[str]) -> str:
    """The sha256 of the manifest file that lists these images."""
    return hashlib.sha256(_manifest(images)).hexdigest()


def check_present(root: str | Path, images: Sequence[str]) -> None:
    """Refuse a folder that lacks images of the set.

    Parameters
    ----------
    root : path
    images : sequence of str

    Raises
    ------
    InputError
        Naming the first image that is missing.
    """
    missing = missing_images(root, images)
    if missing:
        raise InputError(
            f"{root} lacks {len(missing)} of {len(images)} images, the first of them "
            f"{missing[0]}. Supply them, or name the folder that holds them (in "
            "TRIALWISE_THINGS, or under image_sets in the configuration)."
        )


def missing_images(root: str | Path, images: Iterable[str]) -> list[str]:
    """Those of the images that are not in the folder."""
    return [image for image in images if not (Path(root) / image).is_file()]


def explain_missing_things(
    root: str | Path | None, missing: Sequence[str], waiting: Iterable[str]
) -> str:
    """Say in three lines why work that needs THINGS images waits, and how to go on.

    Parameters
    ----------
    root : path or None
        The folder that was searched; None if the user has named none.
    missing : sequence of str
        Images that are not there.
    waiting : iterable of str
        What cannot be made without them, in words.
    """
    place = f"in {root}" if root else "because no folder of them is named"
    return (
        f"{len(missing)} THINGS images are missing {place}, the first {missing[0]}.\n"
        f"Their terms ({THINGS_TERMS}) want your consent: accept them there, and name "
        "the folder that holds stimuli/ in TRIALWISE_THINGS.\n"
        f"Until then these wait: {', '.join(waiting)}."
    )


def object_name(image: str) -> str:
    """Name of the object an image shows: its folder without digits and underscores.

    Parameters
    ----------
    image : str
        A path such as ``stimuli/air_conditioner/air_conditioner_01b.jpg``.

    Returns
    -------
    str
        Such as ``air conditioner``; ``bat1`` and ``bat2`` of THINGS are both ``bat``.

    Raises
    ------
    InputError
        If the image lies in no folder, or nothing is left of the folder's name.

    References
    ----------
    Demircan et al. (2024), who make the sentences for language models in this way.
    """
    folder = PurePosixPath(image).parent.name
    name = re.sub(r"\d", "", folder).replace("_", " ").strip()
    if not name:
        raise InputError(
            f"Image {image} does not say what it shows. Put it into a folder that "
            "bears the object's name."
        )
    return name


def _manifest(images: Iterable[str]) -> bytes:
    return "".join(f"{image}\n" for image in images).encode()
