"""Trial tables: who saw what and answered what, validated and in one form."""

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np
import pandas as pd

from trialwise.errors import InputError
from trialwise.tables import check_table, place, read_table

CATEGORIES = (
    *("airplane", "bear", "bicycle", "bird", "boat", "bottle", "car", "cat"),
    *("chair", "clock", "dog", "elephant", "keyboard", "knife", "oven", "truck"),
)
NO_RESPONSE = "na"
HUMAN = "subject"
COLUMNS = (
    *("subj", "session", "trial", "rt"),
    *("object_response", "category", "condition", "imagename"),
)
IMAGE_ID = r"(?:^|_)((?:n0[^_]*_)?[^_]*)$"


def read_trials(
    folder: str | Path,
    *,
    categories: Sequence[str] = CATEGORIES,
    image_id: str = IMAGE_ID,
    conditions: Iterable[str] | None = None,
    exclude: Iterable[str] = (),
    paired: bool = True,
    further: Sequence[str | Path] = (),
) -> pd.DataFrame:
    """Read and validate the trial tables of one experiment.

    Parameters
    ----------
    folder : path
        Holds one or more CSV files with the columns of the error-consistency data
        (``subj,session,trial,rt,object_response,category,condition,imagename``).
    categories : sequence of str
        Allowed values of `category`; responses may also be ``na`` (no response),
        which stays in the table and counts as wrong.
    image_id : str
        Regular expression whose first group, searched in `imagename`, identifies the
        image. The default follows Geirhos et al. (2020): the part behind the last
        underscore, with the ImageNet synset in front of it where there is one.
    conditions : iterable of str, optional
        Keep only trials of these conditions.
    exclude : iterable of str
        Observers to leave out.
    paired : bool
        Require that all observers saw the same images, each once.
    further : sequence of path
        CSV files of further observers.

    Returns
    -------
    pandas.DataFrame
        One row per trial, ordered by observer and image: ``observer, session, trial,
        response, category, condition, image, correct, row``; `row` counts from 1 in
        the observer's file and `correct` is 0 or 1.

    Raises
    ------
    InputError
        Naming file, line and remedy, if a file is missing, empty, not UTF-8, has
        missing columns or values, unknown categories, or images that cannot be paired.
    """
    files = sorted(Path(folder).glob("*.csv"))
    if not files:
        raise InputError(f"{folder}: no CSV file. Put one trial table or more there.")
    tables = [read_table(file, COLUMNS) for file in [*files, *further]]
    table = pd.concat(tables, ignore_index=True)
    _check_values(table, categories)
    if conditions is not None:
        wanted = set(conditions)
        _check_known(folder, "condition", wanted, table["condition"])
        table = table[table["condition"].isin(wanted)]
    _check_known(folder, "observer", set(exclude), table["subj"])
    table = table[~table["subj"].isin(set(exclude))]
    if table.empty:
        raise InputError(
            f"{folder}: no trial is left. Keep a condition and an observer at least."
        )
    image = table["imagename"].str.extract(image_id, expand=False)
    if image.isna().any():
        bad = table[image.isna()].iloc[0]
        raise InputError(
            f"{place(bad)}: the image name {bad.imagename!r} does not match "
            f"{image_id}. Correct the name or the experiment's `image_id`."
        )
    table = table.assign(image=image)
    check_unique(table)
    if paired:
        check_paired(table)
    return pd.DataFrame(
        {
            "observer": table["subj"],
            "session": table["session"],
            "trial": table["trial"],
            "response": table["object_response"],
            "category": table["category"],
            "condition": table["condition"],
            "image": table["image"],
            "correct": (table["object_response"] == table["category"]).astype(int),
            "row": table["line"] - 1,
        }
    ).sort_values(["observer", "image"], ignore_index=True, kind="stable")


def load_trials(path: str | Path) -> pd.DataFrame:
    """Load a table written from `read_trials`, every label as text.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    pandas.DataFrame
        As `read_trials` returns it.
    """
    numbers = {"correct": int, "row": int}
    text = dict.fromkeys(
        [
            *("observer", "session", "trial", "response", "category", "condition"),
            *("image", "cluster", "group"),
        ],
        str,
    )
    return pd.read_csv(path, dtype={**text, **numbers}, keep_default_na=False)


def is_human(observer: pd.Series) -> pd.Series:
    """Say which observers are people: their names contain ``subject`` (`HUMAN`)."""
    return observer.str.contains(HUMAN, regex=False)


def correctness(
    trials: pd.DataFrame, observers: Sequence[str] | None = None
) -> tuple[list[str], list[str], np.ndarray]:
    """Arrange trials as a matrix of right and wrong.

    Parameters
    ----------
    trials : pandas.DataFrame
        Columns ``observer, image, correct``; each observer saw each image once.
    observers : sequence of str, optional
        Observers to take, in this order; default all, sorted.

    Returns
    -------
    observers : list of str, length m
    images : list of str, length n, sorted
    correct : ndarray of bool, shape (m, n)

    Raises
    ------
    InputError
        If an observer is unknown or lacks an image that another one has.
    """
    known = sorted(trials["observer"].unique())
    observers = known if observers is None else list(observers)
    for name in observers:
        if name not in known:
            raise InputError(
                f"There is no observer {name!r} among the trials.\n"
                f"Observers: {', '.join(known)}."
            )
    kept = trials[trials["observer"].isin(observers)]
    matrix = kept.pivot(index="observer", columns="image", values="correct")
    if matrix.isna().any(axis=None):
        observer, image = matrix.isna().stack().idxmax()
        raise InputError(
            f"Observer {observer} has no trial for image {image}, which others have. "
            "Pairs of observers are compared on the same images."
        )
    matrix = matrix.loc[observers]
    return observers, list(matrix.columns), matrix.to_numpy(dtype=bool)


def label_in_name(pattern: str, images: Sequence[str]) -> np.ndarray:
    """Read a label out of image names: the texture of an image, or its cluster.

    Parameters
    ----------
    pattern : str
        Regular expression whose first group, searched in each name, is the label.
    images : sequence of str, length n

    Returns
    -------
    ndarray of str, shape (n,)

    Raises
    ------
    InputError
        If an image name does not match `pattern`.
    """
    names = pd.Series(images)
    labels = names.str.extract(pattern, expand=False)
    if labels.isna().any():
        name = names[labels.isna()].iloc[0]
        raise InputError(
            f"The image name {name!r} does not match {pattern}. Correct the name, "
            "or the pattern."
        )
    return labels.to_numpy()


def clusters_of(
    trials: pd.DataFrame, images: Sequence[str], pattern: str | None = None
) -> np.ndarray:
    """Label images that are to be resampled together.

    Parameters
    ----------
    trials : pandas.DataFrame
        Column ``image`` and perhaps ``cluster``.
    images : sequence of str, length n
    pattern : str, optional
        Read the labels out of the image names, see `label_in_name`. Default: the column
        ``cluster``, or each image its own label.

    Returns
    -------
    ndarray of str, shape (n,)
    """
    if pattern is not None:
        return label_in_name(pattern, images)
    if "cluster" not in trials:
        return np.asarray(images)
    labels = trials.drop_duplicates("image").set_index("image")["cluster"]
    return labels.loc[list(images)].to_numpy()


def members(patterns, observers):
    """Observers that match one of the patterns, in the order of the patterns.

    Parameters
    ----------
    patterns : sequence of str
        Names in which ``*`` stands for anything.
    observers : sequence of str

    Returns
    -------
    list of str

    Raises
    ------
    InputError
        If a pattern matches no observer.
    """
    found = []
    for pattern in patterns:
        matching = [o for o in observers if fnmatchcase(o, pattern) and o not in found]
        if not matching and not any(fnmatchcase(o, pattern) for o in observers):
            raise InputError(
                f"No observer is called {pattern!r}.\n"
                f"Observers of this experiment: {', '.join(observers)}."
            )
        found += matching
    return found


def _check_values(table: pd.DataFrame, categories: Sequence[str]) -> None:
    import pandera.pandas as pa

    filled = pa.Check.str_length(min_value=1)
    responses = [*categories, NO_RESPONSE]
    schema = pa.DataFrameSchema(
        {
            "subj": pa.Column(str, filled),
            "imagename": pa.Column(str, filled),
            "category": pa.Column(str, pa.Check.isin(categories)),
            "object_response": pa.Column(str, pa.Check.isin(responses)),
        }
    )
    allowed = {
        "subj": "text that is not empty",
        "imagename": "text that is not empty",
        "category": ", ".join(categories),
        "object_response": ", ".join(responses),
    }
    check_table(table, schema, allowed)


def _check_known(
    folder: str | Path, what: str, wanted: set[str], values: pd.Series
) -> None:
    unknown = sorted(wanted - set(values))
    if unknown:
        raise InputError(
            f"{folder}: no trial has {what} {', '.join(unknown)}.\n"
            f"Those in the files: {', '.join(sorted(set(values)))}."
        )


def pairs_between(
    observers: Sequence[str], first: Sequence[str], second: Sequence[str]
) -> np.ndarray:
    """Pairs of observers between two lists of names, each pair once.

    Parameters
    ----------
    observers : sequence of str
    first, second : sequence of str
        Names; nobody is paired with himself.

    Returns
    -------
    ndarray of int, shape (2, pairs)
        Places i < j in `observers`.

    Raises
    ------
    InputError
        If there is no pair.
    """
    place = {name: at for at, name in enumerate(observers)}
    pairs = {
        tuple(sorted((place[a], place[b]))) for a in first for b in second if a != b
    }
    if not pairs:
        raise InputError(
            f"There is no pair of observers between {', '.join(first)} and "
            f"{', '.join(second)}. A comparison needs two observers or more."
        )
    return np.array(sorted(pairs)).T


def check_unique(table: pd.DataFrame) -> None:
    """Check that nobody answers an image twice.

    Parameters
    ----------
    table : pandas.DataFrame
        ``subj, image, file, line``.

    Raises
    ------
    InputError
        Naming both lines.
    """
    repeated = table.duplicated(["subj", "image"])
    if repeated.any():
        second = table[repeated].iloc[0]
        same = (table["subj"] == second.subj) & (table["image"] == second.image)
        first = table[same].iloc[0]
        raise InputError(
            f"{place(second)}: {second.subj} answers image {second.image} again, "
            f"after {place(first)}. Keep one of the two trials."
        )


def check_paired(table: pd.DataFrame) -> None:
    """Check that all saw the same images.

    Parameters
    ----------
    table : pandas.DataFrame
        ``subj, image, file, line``.

    Raises
    ------
    InputError
        Naming an image that one observer lacks.
    """
    images = table.groupby("subj")["image"].agg(set)
    reference = images.index[0]
    for observer, seen in images.items():
        if seen == images[reference]:
            continue
        lacking, having = observer, reference
        if not images[reference] - seen:
            lacking, having = reference, observer
        image = min(images[having] - images[lacking])
        same = (table["subj"] == having) & (table["image"] == image)
        present = place(table[same].iloc[0])
        file = table.loc[table["subj"] == lacking, "file"].iloc[0]
        raise InputError(
            f"{file}: {lacking} has no trial for image {image}, which {having} has "
            f"({present}). Add the trial, or leave one of the two observers out."
        )
