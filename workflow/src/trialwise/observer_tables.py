"""Trial tables of other layouts: one answer a row, or one column per observer."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pandas as pd

from trialwise.errors import InputError
from trialwise.tables import place, read_table
from trialwise.trials import IMAGE_ID, NO_RESPONSE, check_paired, check_unique

# What columns are called: here, in model-vs-human and Geirhos et al. (2020), and in
# Brain-Score's behavioural assemblies. The first that a table has is taken.
NAMES = {
    "observer": ("observer", "subj", "subject"),
    "stimulus": ("stimulus", "imagename", "stimulus_id", "image_id"),
    "response": ("response", "object_response", "choice"),
    "truth": ("truth", "category"),
    "session": ("session",),
    "trial": ("trial",),
    "condition": ("condition",),
    "cluster": ("cluster",),
    "group": ("group",),
}
NEEDED = ("observer", "stimulus", "response", "truth")
BY_STIMULUS = ("truth", "cluster")


def read_observers(
    paths: Sequence[str | Path],
    columns: Mapping[str, str] | None = None,
    *,
    observers: Sequence[str] = (),
    image_id: str | None = None,
    conditions: Iterable[str] | None = None,
    exclude: Iterable[str] = (),
    common: bool = False,
    truths: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """Read and validate trial tables whose layout is not that of the paper.

    Parameters
    ----------
    paths : sequence of path
        CSV files. Long: one answer a row, with an observer, a stimulus, a response and
        the truth. Wide: one stimulus a row, with its truth and one column of responses
        per observer. Optional columns: session, trial, condition, cluster, group.
    columns : mapping of str to str, optional
        What columns are called in the files, by the keys of `NAMES`, where they have
        none of the names given there.
    observers : sequence of str
        Columns of a wide table that are observers; default all that are nothing else.
    image_id : str, optional
        Regular expression whose first group, searched in the stimulus, identifies the
        image. Default: the stimulus itself, or that of `read_trials` where the column
        is ``imagename``.
    conditions : iterable of str, optional
        Keep only trials of these conditions.
    exclude : iterable of str
        Observers to leave out.
    common : bool
        Keep the images that all observers saw, instead of refusing others.
    truths : mapping of str to str, optional
        Truth by image, where the files have none.

    Returns
    -------
    pandas.DataFrame
        As from `trialwise.trials.read_trials`, ordered by observer, image and session,
        with ``cluster`` and ``group`` where the files have them. A stimulus is another
        image in every condition, if some observer was in more than one. An observer
        may answer an image once in every session; see `first_answers`.

    Raises
    ------
    InputError
        Naming file, line and remedy, for missing columns or values, an image answered
        twice or of two truths, labels that never meet the truths, and observers of
        different images.
    """
    tables = [_read(path, columns or {}, observers, image_id, truths) for path in paths]
    if not tables:
        raise InputError("No file of trials was named. Name one CSV file or more.")
    table = pd.concat(tables, ignore_index=True)
    if table.groupby("subj")["condition"].nunique().max() > 1:
        table["image"] = table["condition"] + ", " + table["image"]
    if truths is not None and "truth" not in table:
        table["truth"] = _known_truths(table, truths)
    table = _select(table, conditions, set(exclude))
    _check_labels(table)
    for column in table.columns.intersection(BY_STIMULUS):
        _check_one_value(table, column)
    for _, session in table.groupby("session", sort=False):
        check_unique(session)
    if common:
        seen = table.groupby("image")["subj"].nunique()
        everywhere = seen.index[seen == table["subj"].nunique()]
        table = table[table["image"].isin(everywhere)]
        if table.empty:
            raise InputError(
                f"{paths[0]}: no image was seen by all observers. Leave observers out."
            )
    check_paired(table)
    kept = [name for name in ("cluster", "group") if name in table]
    return pd.DataFrame(
        {
            "observer": table["subj"],
            "session": table["session"],
            "trial": table["trial"],
            "response": table["response"],
            "category": table["truth"],
            "condition": table["condition"],
            "image": table["image"],
            "correct": (table["response"] == table["truth"]).astype(int),
            "row": table["line"] - 1,
            **{name: table[name] for name in kept},
        }
    ).sort_values(["observer", "image", "row"], ignore_index=True, kind="stable")


def first_answers(trials: pd.DataFrame) -> pd.DataFrame:
    """The first answer of every observer to every image, in the order of the files.

    Parameters
    ----------
    trials : pandas.DataFrame
        From `read_observers`.

    Returns
    -------
    pandas.DataFrame
    """
    first = trials.drop_duplicates(["observer", "image"])
    return first.reset_index(drop=True)


def _read(path, columns, observers, image_id, truths):
    table = read_table(path, None)
    header = [name for name in table.columns if name not in ("file", "line")]
    for key, name in columns.items():
        if name not in header:
            raise InputError(
                f"{path}, line 1: no column {name!r} for the {key}. "
                f"The columns are {', '.join(header)}."
            )
    names = {key: columns.get(key) or _named(header, key) for key in NAMES}
    names = {key: name for key, name in names.items() if name}
    wide = bool(observers) or not {"observer", "response"} & set(names)
    names = {k: n for k, n in names.items() if not wide or k not in NEEDED[::2]}
    needed = [key for key in NEEDED if not wide or key not in ("observer", "response")]
    optional = set() if truths is None else {"truth", "observer"}
    lacking = [key for key in needed if key not in names and key not in optional]
    if lacking:
        raise InputError(
            f"{path}, line 1: no column for the {' and the '.join(lacking)}. "
            f"Name it (the columns are {', '.join(header)}), or rename it to "
            f"{', '.join(lacking)}."
        )
    if wide:
        answering = list(observers) or [n for n in header if n not in names.values()]
        _check_answering(path, answering, header)
        table = table.melt(
            id_vars=[*names.values(), "file", "line"],
            value_vars=answering,
            var_name="observer",
            value_name="response",
        )
        names |= {"observer": "observer", "response": "response"}
    found = pd.DataFrame({key: table[name] for key, name in names.items()})
    found = found.apply(lambda column: column.str.strip())
    found = found.assign(file=table["file"], line=table["line"])
    if "observer" not in found:
        found["observer"] = Path(path).stem
    for key in names.keys() - {"session", "trial", "condition"}:
        _check_filled(found, key, names[key])
    defaults = {"session": "1", "trial": "", "condition": ""}
    found = found.assign(**{k: v for k, v in defaults.items() if k not in found})
    usual = IMAGE_ID if names["stimulus"] == "imagename" else "^(.*)$"
    found["image"] = _images(found, image_id or usual)
    return found.rename(columns={"observer": "subj"})


def _named(header, key):
    return next((name for name in NAMES[key] if name in header), None)


def _check_answering(path, answering, header):
    unknown = [name for name in answering if name not in header]
    if unknown or not answering:
        raise InputError(
            f"{path}, line 1: no column {', '.join(unknown) or 'of responses'}. "
            f"The columns are {', '.join(header)}."
        )


def _check_filled(table, key, column):
    empty = table[key] == ""
    if empty.any():
        bad = table[empty].iloc[0]
        remedy = "Fill it in, or drop the line."
        if key == "response":
            column = f"{column} of {bad.observer}"
            remedy = f"Write {NO_RESPONSE} for a missed answer, or fill it in."
        raise InputError(f"{place(bad)}: {column} is empty. {remedy}")


def _images(table, pattern):
    image = table["stimulus"].str.extract(pattern, expand=False)
    if image.isna().any():
        bad = table[image.isna()].iloc[0]
        raise InputError(
            f"{place(bad)}: the stimulus {bad.stimulus!r} does not match {pattern}. "
            "Correct the name or `image_id`."
        )
    return image


def _known_truths(table, truths):
    truth = table["image"].map(truths)
    if truth.isna().any():
        bad = table[truth.isna()].iloc[0]
        raise InputError(
            f"{place(bad)}: the image {bad.image!r} is not one of the experiment's "
            f"{len(truths)}, such as {min(truths)!r}. Correct the name or `image_id`."
        )
    return truth


def _select(table, conditions, exclude):
    where = table["file"].iloc[0]
    for what, column, wanted in (
        ("condition", "condition", set(conditions or ())),
        ("observer", "subj", exclude),
    ):
        unknown = sorted(wanted - set(table[column]))
        if unknown:
            raise InputError(
                f"{where}: no trial has {what} {', '.join(unknown)}.\n"
                f"Those in the files: {', '.join(sorted(set(table[column])))}."
            )
    kept = ~table["subj"].isin(exclude)
    if conditions is not None:
        kept &= table["condition"].isin(set(conditions))
    if not kept.any():
        raise InputError(
            f"{where}: no trial is left. Keep a condition and an observer at least."
        )
    return table[kept].reset_index(drop=True)


def _check_labels(table):
    truths = set(table["truth"])
    known = table["response"].isin(truths | {NO_RESPONSE})
    strange = ~known.groupby(table["subj"]).transform("any")
    if strange.any():
        bad = table[strange].iloc[0]
        raise InputError(
            f"{place(bad)}: {bad.subj} answers {bad.response!r}, and no answer of "
            f"{bad.subj} is a truth of the table, such as {bad.truth!r}. "
            "Write responses and truths in the same words."
        )


def _check_one_value(table, column):
    first = table.groupby("image")[column].transform("first")
    differs = table[column] != first
    if differs.any():
        bad = table[differs].iloc[0]
        other = table[table["image"] == bad.image].iloc[0]
        raise InputError(
            f"{place(bad)}: the {column} of image {bad.image} is {bad[column]!r}, but "
            f"{other[column]!r} before ({place(other)}). Correct one of them."
        )
