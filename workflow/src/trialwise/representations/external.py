"""Alignment with judgements of images that are not those of the learning tasks.

Scores of models are supplied as a table ``model,measure,value``, whoever computed them.
From features of the images, `pairwise_similarity` gives ``peterson`` and
`two_alternative_accuracy` of `nights_triplets` gives ``nights``; ``clickme`` is the
agreement of a classifier's gradients with what people find diagnostic (Fel, Rodriguez,
Linsley & Serre 2022).
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from trialwise.errors import InputError
from trialwise.representations.rows import unit_rows
from trialwise.tables import place, read_table

# The measures that a table may hold, and the range of each.
MEASURES = {
    "peterson": (-1.0, 1.0),
    "nights": (0.0, 1.0),
    "clickme": (-1.0, 1.0),
}
NIGHTS_VOTES = 6


def read_external(path: str | Path, models: Sequence[str]) -> pd.DataFrame:
    """Read scores of models that were computed elsewhere.

    Parameters
    ----------
    path : path
        CSV file ``model,measure,value``, one score a row; see `MEASURES`.
    models : sequence of str
        Registered models.

    Returns
    -------
    pandas.DataFrame
        ``model`` and one column per measure, NaN where there is no score.

    Raises
    ------
    InputError
        If the table is malformed, a model or measure is unknown, a score is outside the
        range of its measure, or stands there twice.
    """
    table = read_table(path, ["model", "measure", "value"])
    table["number"] = pd.to_numeric(table["value"], errors="coerce")
    for row in table.itertuples():
        _check_score(row, models)
    repeated = table[table.duplicated(["model", "measure"])]
    if len(repeated):
        row = repeated.iloc[0]
        raise InputError(
            f"{place(row)}: {row['measure']} of {row['model']} stands in the table "
            "twice. Remove one of the two rows."
        )
    wide = table.pivot(index="model", columns="measure", values="number")
    wide = wide.reindex(columns=list(MEASURES)).rename_axis(columns=None)
    return wide.reset_index()


def pairwise_similarity(
    features: Mapping[str, np.ndarray], human: Mapping[str, np.ndarray]
) -> float:
    """Agreement of cosines with human similarity of pairs of images.

    Parameters
    ----------
    features : mapping of str to ndarray, shape (n, D)
        For each set of images the features of its images.
    human : mapping of str to ndarray, shape (n, n)
        For the same sets the mean judgements, images in the same order.

    Returns
    -------
    float
        Mean over sets of Spearman's rank correlation over the pairs of a set. In the
        paper the sets are fruits, vegetables and animals, of 120 images each.

    Raises
    ------
    InputError
        If the sets differ, or the numbers of images.

    References
    ----------
    Peterson, Abbott & Griffiths (2018), Evaluating (and improving) the correspondence
    between deep neural networks and human representations, Cognitive Science 42, 2648.
    """
    if set(features) != set(human):
        raise InputError(
            f"There are features of {', '.join(features)}, but judgements of "
            f"{', '.join(human)}. Supply both for the same sets."
        )
    correlations = []
    for name, rows in features.items():
        n = len(rows)
        if np.shape(human[name]) != (n, n):
            raise InputError(
                f"{name}: features of {n} images, but judgements of the shape "
                f"{np.shape(human[name])}. Supply one row and column per image."
            )
        units = unit_rows(np.asarray(rows, dtype=np.float64))
        lower = np.tril_indices(n, -1)
        similar = (units @ units.T)[lower]
        correlations.append(stats.spearmanr(similar, human[name][lower]).statistic)
    return float(np.mean(correlations))


def nights_triplets(table: pd.DataFrame) -> pd.DataFrame:
    """The triplets of NIGHTS that the paper uses.

    Parameters
    ----------
    table : pandas.DataFrame
        The data set's own table, with ``split, votes, is_imagenet`` among its columns.

    Returns
    -------
    pandas.DataFrame
        Rows of the test split with at least six votes whose images are not from
        ImageNet; 783 in the data set.

    References
    ----------
    Fu et al. (2023), DreamSim, NeurIPS.
    """
    chosen = (table["split"] == "test") & (table["votes"] >= NIGHTS_VOTES)
    return table[chosen & ~table["is_imagenet"].astype(bool)]


def two_alternative_accuracy(
    reference: np.ndarray,
    left: np.ndarray,
    right: np.ndarray,
    chose_left: np.ndarray,
) -> float:
    """How often people chose the image whose cosine with the reference is larger.

    Parameters
    ----------
    reference, left, right : ndarray, shape (n, D)
        Features of the images of each triplet.
    chose_left : ndarray of bool, shape (n,)
        Whether people found the left image more similar.

    Returns
    -------
    float
        Share of triplets; with equal cosines the model chooses right, as in the code
        of Demircan et al. (2024).
    """
    centre, *sides = (
        unit_rows(np.asarray(rows, dtype=np.float64))
        for rows in (reference, left, right)
    )
    similar_left, similar_right = (np.sum(centre * side, axis=1) for side in sides)
    return float(np.mean((similar_left > similar_right) == np.asarray(chose_left)))


def _check_score(row, models):
    where = f"{row.file}, line {row.line}"
    if row.model not in models:
        raise InputError(
            f"{where}: no model {row.model!r} is registered. Use an id of the registry."
        )
    if row.measure not in MEASURES:
        raise InputError(
            f"{where}: the measure is {row.measure!r}. Allowed: {', '.join(MEASURES)}."
        )
    low, high = MEASURES[row.measure]
    if not low <= row.number <= high:
        raise InputError(
            f"{where}: {row.measure} is {row.value!r}. Allowed: numbers from {low:g} "
            f"to {high:g}."
        )
