"""What Demircan et al. (2024) put on the Open Science Framework: features, trials.

Their code keeps the features of a model on all THINGS images in ``features/{name}.npy``
(slashes in the name become underscores), and all people's trials in
``human_behavioural/{task}/all.csv``.
"""

import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from trialwise import osf
from trialwise.errors import InputError
from trialwise.feature_matrices import expand_objects
from trialwise.files import whole_folder
from trialwise.models.precomputed import NAMES, match_rows, read_names
from trialwise.models.registry import Model

PROJECT = "h3t52"
FEATURES = "features"
PEOPLE = "human_behavioural"
# The layer of every model in the words of the authors' code.
LAYERS = "model_configs.json"
# Trials of the people the paper kept: single files, not projects.
TRIALS = {"category": "rsd46", "reward": "6exjm"}
INFERRED = "inferred"
COLUMNS = ["id", "file", "evidence"]


def read_file_names(path: str | Path, models: Mapping[str, Model]) -> pd.DataFrame:
    """Read which of the authors' files has the features of which registered model.

    Parameters
    ----------
    path : path
        Tab-separated: ``id``, ``file``, and ``evidence``: ``authors code`` where the
        name stands there, else ``inferred``.
    models : mapping of str to Model
        The registry.

    Returns
    -------
    pandas.DataFrame
        The table, indexed by id.

    Raises
    ------
    InputError
        If the table cannot be read, or has an unknown model, or one twice.
    """
    try:
        table = pd.read_csv(path, sep="\t", dtype=str, keep_default_na=False)
    except (OSError, ValueError) as error:
        raise InputError(
            f"{path} cannot be read as a table: {str(error).strip()}. Restore the file."
        ) from error
    if list(table) != COLUMNS:
        raise InputError(
            f"{path}, line 1: the columns are {', '.join(table)}. "
            f"Make them {', '.join(COLUMNS)}, separated by tabs."
        )
    repeated = table["id"].duplicated() | table["file"].duplicated()
    wrong = repeated | ~table["id"].isin(models)
    if wrong.any():
        index = wrong.idxmax()
        model, file, _ = table.loc[index]
        raise InputError(
            f"{path}, line {index + 2}: {model} is no registered model, or it or "
            f"{file} stands there already. Correct the line."
        )
    return table.set_index("id")


def fetch(
    files: pd.DataFrame,
    store: str | Path,
    mirror: str | Path | None = None,
    api: str = osf.API,
    **options: float,
) -> list[str]:
    """Fetch the authors' features and trials.

    Parameters
    ----------
    files : pandas.DataFrame
        As `read_file_names` returns it.
    store : path
        Folder that gets ``h3t52/features``, ``h3t52/human_behavioural`` and the two
        files of the paper's trials as ``rsd46/{name}`` and ``6exjm/{name}``.
    mirror : path, optional
        Folder that may hold them as ``osf/h3t52/features/...``, and so on. If OSF
        cannot be reached, what it holds is all there is.
    api : str
        Address of OSF's interface.
    **options
        `timeout` and `attempts` of the functions of `trialwise.osf`.

    Returns
    -------
    list of str
        Which files belong to no registered model, and what was listed without OSF.

    Raises
    ------
    InputError
        If a file cannot be had, or is another one than when it was first fetched.
    """
    listings = {
        PROJECT: partial(osf.list_project, PROJECT, [FEATURES, PEOPLE]),
        **{name: partial(osf.describe_file, name) for name in TRIALS.values()},
    }
    remarks = []
    for identifier, listing in listings.items():
        try:
            listed = listing(api=api, **options)
        except InputError as error:
            if not mirror or not Path(mirror, "osf").is_dir():
                raise
            remarks.append(f"only the mirror was searched: {error}")
            listed = pd.DataFrame(columns=osf.COLUMNS)
        listed = osf.add_mirror(listed, identifier, mirror)
        if identifier == PROJECT:
            listed, unknown = _choose(listed, files)
            if unknown:
                remarks.append(f"of no registered model: {', '.join(unknown)}")
        osf.get_files(identifier, listed, store, mirror, **options)
    return remarks


def thingsvision_order(images: Sequence[str]) -> list[str]:
    """Order in which thingsvision reads images: folders by name, then files by name.

    The list of all THINGS images that is commonly used sorts whole paths instead, where
    ``ice-cream_cone/`` comes before ``ice/``.

    Parameters
    ----------
    images : sequence of str
        Paths ``{folder}/{file}``.

    Returns
    -------
    list of str
    """
    return sorted(images, key=lambda image: image.split("/"))


def lay_out_features(
    files: pd.DataFrame,
    models: Mapping[str, Model],
    source: str | Path,
    images: Sequence[str],
    generative: np.ndarray,
    objects: Sequence[str],
    output: str | Path,
) -> list[str]:
    """Lay out the authors' features as the provider of precomputed features wants them.

    Rows are taken to be in the order of the authors' ``file_names.txt``; where that is
    missing or lists other images, in the order in which thingsvision reads them. The
    generative features, which the authors repeat for every image, show whether this is
    so, as far as the order of objects goes.

    Parameters
    ----------
    files : pandas.DataFrame
        As `read_file_names` returns it.
    models : mapping of str to Model
        The registry.
    source : path
        Folder with the authors' files.
    images : sequence of str
        All THINGS images.
    generative : ndarray, shape (n_objects, D)
        The generative features of the objects.
    objects : sequence of str, length n_objects
    output : path
        Folder to make, with links ``{model}.npy`` and the list ``file_names.txt``.

    Returns
    -------
    list of str
        Models that are left out and why, one line each, and what else to know.

    Raises
    ------
    InputError
        If no features can be used, or the generative ones are in another order.
    """
    source, output = Path(source).resolve(), Path(output).resolve()
    names, remarks = _row_names(source / NAMES, images)
    used = []
    for file in files.itertuples():
        fault = _fault(source / file.file, len(names), models[file.Index].dimension)
        if fault:
            guess = f"; {INFERRED} name" if file.evidence == INFERRED else ""
            remarks.append(f"left out: {file.Index} ({file.file}: {fault}{guess})")
        else:
            used.append(file)
    if not used:
        raise InputError(
            f"{source} has no features of a registered model. "
            f"Put them into osf/{PROJECT}/{FEATURES} in a folder and name that folder "
            "in TRIALWISE_MIRROR."
        )
    checked = [file for file in used if models[file.Index].provider == "spose"]
    for file in checked:
        expected = expand_objects(generative, objects, names)
        _check_order(source / file.file, expected, names)
    if not checked:
        remarks.append("order of rows: taken on trust, without the generative features")
    with whole_folder(output) as folder:
        for file in used:
            _link(source / file.file, folder / f"{file.Index}.npy")
        (folder / NAMES).write_text("".join(f"{name}\n" for name in names))
    return [*remarks, f"{len(used)} of {len(files)} models have features in {output}"]


def _choose(
    listed: pd.DataFrame, files: pd.DataFrame
) -> tuple[pd.DataFrame, list[str]]:
    """Files of the project that are wanted, and features that no model has."""
    wanted = {f"{FEATURES}/{name}" for name in [*files["file"], NAMES]} | {LAYERS}
    kept = listed["path"].isin(wanted) | listed["path"].str.startswith(f"{PEOPLE}/")
    features = listed["path"].str.fullmatch(f"{FEATURES}/[^/]+[.]npy")
    return listed[kept], listed["path"][features & ~kept].tolist()


def _row_names(path: Path, images: Sequence[str]) -> tuple[list[str], list[str]]:
    """The image of each row, and what to know about where that comes from."""
    if not path.is_file():
        return thingsvision_order(images), [
            f"order of rows: as thingsvision's, {path} is missing"
        ]
    try:
        names = read_names(path)
        match_rows(names, images, path)
    except InputError as error:
        return thingsvision_order(images), [
            f"order of rows: as thingsvision's; {error}"
        ]
    return names, []


def _fault(path: Path, n: int, dimension: int) -> str:
    """Why a file cannot hold n rows of one vector each; empty if it can."""
    if not path.is_file():
        return "not among the authors' files"
    try:
        shape = np.load(path, mmap_mode="r").shape
    except (OSError, ValueError, EOFError):
        return "cannot be read"
    width = [length for length in shape[1:] if length > 1]
    if shape[:1] != (n,) or width != [dimension]:
        return f"shape {shape}, not {n} rows of {dimension}"
    return ""


def _check_order(path: Path, expected: np.ndarray, names: Sequence[str]) -> None:
    rows = np.load(path, mmap_mode="r").reshape(expected.shape)
    wrong = ~np.isclose(rows, expected, rtol=1e-4, atol=1e-6).all(axis=1)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InputError(
            f"{path}: {wrong.sum()} rows, the first of them {row}, are not the "
            f"generative features of their images ({names[row]}), so the order of the "
            f"authors' rows is unknown. Put their {NAMES} into "
            f"osf/{PROJECT}/{FEATURES} in a folder and name that folder in "
            "TRIALWISE_MIRROR."
        )


def _link(source: Path, target: Path) -> None:
    """A hard link, or where the file system has none, a symbolic one."""
    try:
        os.link(source, target)
    except OSError:
        target.symlink_to(source)
