"""Feature files: one row per image, and beside it a sidecar that says what they are."""

import json
import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from tokenize import TokenError
from typing import Any, Self

import numpy as np

from trialwise import __version__
from trialwise.errors import InputError
from trialwise.files import whole
from trialwise.models.registry import Model
from trialwise.stimuli import manifest_sha256

# What the sidecar of features that were made elsewhere has besides.
WARNINGS = "warnings"
REAL = "fiub"
# A damaged header is parsed as Python, and fails as such.
UNREADABLE = (OSError, ValueError, TypeError, OverflowError, SyntaxError, TokenError)
# Two models may share weights where one of these differs, such as the activation.
RECIPE = ("name", "weights", "layer", "pooling", "preprocessing")
LIBRARIES = (
    *("numpy", "pillow", "torch", "torchvision", "timm", "open_clip_torch"),
    *("transformers", "dreamsim", "fasttext-community", "tensorflow"),
    *("harmonization", "tensorflow-hub", "thingsvision"),
)


def describe_features(
    model: Model,
    images: Sequence[str],
    weights: Mapping[str, str],
    **more: Any,
) -> dict[str, Any]:
    """Facts about the features of an image set, as their sidecar holds them.

    Parameters
    ----------
    model : Model
    images : sequence of str
        The manifest.
    weights : mapping of str to str
        The sha256 of each file the features were made from, by name.
    **more
        Further facts.

    Returns
    -------
    dict
        Values as JSON gives them back.
    """
    preparation = ("resize", "crop", "interpolation", "normalisation")
    facts = {
        "model": model.id,
        "provider": model.provider,
        "name": model.name,
        "weights": dict(weights),
        "preprocessing": {field: getattr(model, field) for field in preparation},
        "layer": model.layer,
        "pooling": model.pooling,
        "dimension": model.dimension,
        "images": len(images),
        "manifest_sha256": manifest_sha256(images),
        "versions": _versions(),
        **more,
    }
    return json.loads(json.dumps(facts))


def write_features(
    blocks: Iterable[np.ndarray],
    facts: Mapping[str, Any],
    images: Sequence[str],
    output: str | Path,
) -> None:
    """Write features that need no resuming, block by block, with their sidecar.

    Parameters
    ----------
    blocks : iterable of ndarray, shape (n, dimension)
        Rows in the order of `images`.
    facts : mapping
        As `describe_features` returns it.
    images : sequence of str
    output : path
        The ``.npy`` file; the sidecar bears its name with ``.json``.

    Raises
    ------
    InputError
        If the rows are not those of the facts, or hold values that are not finite.
    """
    shape = (facts["images"], facts["dimension"])
    row = 0
    with whole(output) as temporary:
        with temporary.open("wb") as file:
            _write_header(file, shape)
            for block in blocks:
                check_rows(block, facts["dimension"], images[row : row + len(block)])
                file.write(_bytes(block))
                row += len(block)
        if row != len(images):
            raise InputError(
                f"There are features of {row} images, but {len(images)} in the list. "
                "Supply one row per image."
            )
        _write_sidecar(facts, output)


class PartialFeatures:
    """Features on their way to a file, kept if the process ends before they are whole.

    They lie in the folder ``.{name}.part`` beside the output. Rows are written to it
    in order; `save` makes those written so far survive a crash, and the next process
    with the same facts goes on after them.

    Parameters
    ----------
    output : path
    facts : mapping
        As `describe_features` returns it.

    Attributes
    ----------
    finished : int
        Number of rows that are there.

    Raises
    ------
    InputError
        If rows are there that were made from other images or weights, or in another
        way, or the disk lacks the space for all.
    """

    def __init__(self, output: str | Path, facts: Mapping[str, Any]) -> None:
        self.output = Path(output)
        self.facts = facts
        self.folder = self.output.with_name(f".{self.output.name}.part")
        self._record = self.folder / "finished"
        if not self._record.is_file():
            self._begin()
        self._refuse_others()
        self.finished = self._saved = int(self._record.read_text())
        self._file = (self.folder / "features.npy").open("r+b")
        np.lib.format.read_magic(self._file)
        np.lib.format.read_array_header_1_0(self._file)
        row_size = 4 * facts["dimension"]
        self._file.seek(self._file.tell() + self.finished * row_size)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if not self._file.closed:
            self.save()
            self._file.close()

    def append(self, rows: np.ndarray) -> None:
        """Add the features of the next images.

        Parameters
        ----------
        rows : ndarray, shape (n, dimension)
        """
        self._file.write(_bytes(rows))
        self.finished += len(rows)

    def save(self) -> None:
        """Record the rows as finished once they are on the disk."""
        if self.finished > self._saved:
            self._file.flush()
            os.fsync(self._file.fileno())
            self._write_record()

    def finish(self) -> None:
        """Move the features, now whole, to the output, and write the sidecar."""
        self.save()
        self._file.close()
        _write_sidecar(self.facts, self.output)
        (self.folder / "features.npy").replace(self.output)
        shutil.rmtree(self.folder)

    def _begin(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        shape = (self.facts["images"], self.facts["dimension"])
        try:
            with (self.folder / "features.npy").open("wb") as file:
                _write_header(file, shape)
                _reserve(file.fileno(), file.tell() + 4 * shape[0] * shape[1])
        except OSError as error:
            raise InputError(
                f"{self.output} needs {4e-9 * shape[0] * shape[1]:.2g} GB of space "
                f"({error.strerror}). Free it, or put the results elsewhere."
            ) from error
        _write_durably(self.folder / "facts.json", json.dumps(self.facts))
        self.finished = 0
        self._write_record()

    def _write_record(self) -> None:
        _write_durably(self._record, str(self.finished))
        self._saved = self.finished

    def _refuse_others(self) -> None:
        facts = json.loads((self.folder / "facts.json").read_text())
        for key, value in self.facts.items():
            if facts.get(key) != value:
                raise InputError(
                    f"{self.folder} holds unfinished features of "
                    f"{facts['model']} with {key} {facts.get(key)!r}, not {value!r}. "
                    "Restore what was changed to go on with them, or delete that "
                    "folder to begin anew."
                )


def open_features(path: str | Path) -> np.ndarray:
    """Open a ``.npy`` file of real numbers without loading it; never unpickle.

    Parameters
    ----------
    path : path

    Returns
    -------
    ndarray
        Mapped from the file.

    Raises
    ------
    InputError
        If it cannot be read, or holds anything but real numbers.
    """
    try:
        array = np.lib.format.open_memmap(path, mode="r")
    except UNREADABLE as error:
        raise InputError(
            f"{path} cannot be read: {error}. Supply a .npy file of numbers."
        ) from error
    if array.dtype.kind not in REAL:
        raise InputError(
            f"{path} holds values of the type {array.dtype}. "
            "Supply a .npy file of real numbers."
        )
    return array


def check_rows(rows: np.ndarray, dimension: int, images: Sequence[str]) -> None:
    """Refuse features of another length than registered, and such as are not finite.

    Parameters
    ----------
    rows : ndarray, shape (n, D)
    dimension : int
        Registered number of features.
    images : sequence of str
        Of the rows.

    Raises
    ------
    InputError
        Naming the first image in question.
    """
    if rows.ndim != 2 or rows.shape[1] != dimension:
        raise InputError(
            f"Image {images[0]}: the features have the shape {rows.shape[1:]}, "
            f"but {dimension} are registered. Correct layer, pooling or dimension "
            "in the model's row."
        )
    with np.errstate(over="ignore"):
        written = rows.astype("<f4")
    finite = np.isfinite(written).all(axis=1)
    if not finite.all():
        row = int(np.argmin(finite))
        column = int(np.argmin(np.isfinite(written[row])))
        raise InputError(
            f"Image {images[row]}: feature {column} is {rows[row, column]}. "
            "Check the weights and the image; no such features are written."
        )


def read_sidecar(path: str | Path) -> dict[str, Any]:
    """Read the facts about a feature file.

    Parameters
    ----------
    path : path
        The ``.npy`` file.

    Returns
    -------
    dict
        As `describe_features` returns it.

    Raises
    ------
    InputError
        If there is no sidecar beside it, it cannot be read, or lacks a fact.
    """
    sidecar = Path(path).with_suffix(".json")
    try:
        facts = json.loads(sidecar.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(
            f"{sidecar} cannot be read: {error}. Extract the features again."
        ) from error
    named = isinstance(facts, dict) and {*RECIPE, "provider"} <= facts.keys()
    weights = facts["weights"] if named else None
    if not isinstance(weights, dict) or not all(
        isinstance(checksum, str) for checksum in weights.values()
    ):
        raise InputError(
            f"{sidecar} does not say what the features were made from. "
            "Extract the features again."
        )
    return facts


def _versions() -> dict[str, str]:
    # Other environments import this package without its being installed there.
    found = {"trialwise": __version__}
    for library in LIBRARIES:
        try:
            found[library] = version(library)
        except PackageNotFoundError:
            continue
    return found


def _write_header(file: Any, shape: tuple[int, int]) -> None:
    np.lib.format.write_array_header_1_0(
        file, {"descr": "<f4", "fortran_order": False, "shape": shape}
    )


def _bytes(rows: np.ndarray) -> memoryview:
    return memoryview(np.ascontiguousarray(rows, dtype="<f4")).cast("B")


def _reserve(descriptor: int, size: int) -> None:
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, 0, size)
    else:
        os.ftruncate(descriptor, size)


def _write_durably(path: Path, text: str) -> None:
    new = path.with_suffix(".new")
    with new.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)


def _write_sidecar(facts: Mapping[str, Any], output: str | Path) -> None:
    with whole(Path(output).with_suffix(".json")) as temporary:
        temporary.write_text(json.dumps(facts, indent=2) + "\n")
