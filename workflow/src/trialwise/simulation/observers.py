"""Simulated observers of known error consistency."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from trialwise.errors import InputError
from trialwise.files import write_table
from trialwise.trials import CATEGORIES, COLUMNS


@dataclass(frozen=True)
class ObserverGroup:
    """Observers of one accuracy who agree with each other to a known degree.

    Attributes
    ----------
    name : str
        Observers are called ``name-01, name-02, ...``.
    observers : int
    accuracy : float in (0, 1)
    consistency : float in [0, 1)
        True kappa of any two observers of the group.
    """

    name: str
    observers: int
    accuracy: float
    consistency: float

    @property
    def copying(self) -> float:
        """Probability that an observer follows the pattern its group shares."""
        return float(np.sqrt(self.consistency))


def coupling(first, second, consistency):
    """Probability that two groups share one pattern, for a given kappa between them.

    Two observers both right with probability p p' + a a' r (min(p, p') - p p') have
    kappa 2 a a' r (min(p, p') - p p') / (p (1 - p') + p' (1 - p)), where a and a' are
    the probabilities of following the group's pattern and r the coupling.

    Parameters
    ----------
    first, second : ObserverGroup
    consistency : float
        Kappa of one observer of either group.

    Returns
    -------
    float
        In [0, 1].

    Raises
    ------
    InputError
        If the groups' accuracies and consistencies do not allow that much.
    """
    p, q = first.accuracy, second.accuracy
    shared = first.copying * second.copying * (min(p, q) - p * q)
    most = 2 * shared / (p * (1 - q) + q * (1 - p))
    if consistency > most:
        raise InputError(
            f"{first.name} and {second.name} cannot have a consistency of "
            f"{consistency}.\nTheir accuracies and consistencies allow at most "
            f"{most:.3f}."
        )
    return consistency / most if most > 0 else 0.0


def simulate_correctness(
    first: ObserverGroup, second: ObserverGroup, consistency: float, n: int, rng
):
    """Draw right and wrong of two groups of observers on the same images.

    Each group has a pattern of images it gets right. An observer follows the pattern
    with probability `copying` on each image and otherwise is right with probability
    `accuracy`. With probability `coupling` both groups' patterns come from one draw
    of the image's difficulty (a copy model after Klein et al. 2025, arXiv 2507.06645).

    Parameters
    ----------
    first, second : ObserverGroup
    consistency : float
        Kappa of one observer of either group.
    n : int
        Images.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of bool, shape (first.observers + second.observers, n)

    Raises
    ------
    InputError
        As `coupling`.
    """
    shared = rng.random(n) < coupling(first, second, consistency)
    difficulty = rng.random(n)
    own = np.where(shared, difficulty, rng.random(n))
    rows = []
    for group, pattern in ((first, difficulty), (second, own)):
        size = (group.observers, n)
        follows = rng.random(size) < group.copying
        alone = rng.random(size) < group.accuracy
        rows.append(np.where(follows, pattern < group.accuracy, alone))
    return np.concatenate(rows)


def simulate_trials(
    groups: Sequence[ObserverGroup], between: float, n: int, seed: int
) -> list[pd.DataFrame]:
    """Trial tables, one per observer, in the format of the error-consistency data.

    Wrong answers are drawn evenly from the other categories.

    Parameters
    ----------
    groups : sequence of two ObserverGroup
    between : float
        Kappa of one observer of either group.
    n : int
        Images.
    seed : int

    Returns
    -------
    list of pandas.DataFrame
        The columns of the published data, one table per observer.

    Raises
    ------
    InputError
        As `coupling`.
    """
    rng = np.random.default_rng(seed)
    first, second = groups
    correct = simulate_correctness(first, second, between, n, rng)
    names = [f"{g.name}-{i:02d}" for g in groups for i in range(1, g.observers + 1)]
    categories = np.array(CATEGORIES)
    truth = np.arange(n) % len(categories)
    tables = []
    for name, right in zip(names, correct, strict=True):
        shift = rng.integers(1, len(categories), size=n)
        answer = np.where(right, truth, (truth + shift) % len(categories))
        table = pd.DataFrame(
            {
                "subj": name,
                "session": 1,
                "trial": np.arange(1, n + 1),
                "rt": "NaN",
                "object_response": categories[answer],
                "category": categories[truth],
                "condition": 0,
                "imagename": [f"image{i:05d}.png" for i in range(1, n + 1)],
            }
        )
        tables.append(table[list(COLUMNS)])
    return tables


def write_trials(tables: Sequence[pd.DataFrame], folder: str | Path) -> None:
    """Write one CSV file per observer into a folder."""
    for table in tables:
        write_table(table, Path(folder) / f"{table['subj'].iloc[0]}.csv")


def recovery(group_means: pd.DataFrame, truth: dict[str, float]) -> pd.DataFrame:
    """Compare estimated mean kappas with those the observers were simulated from.

    Parameters
    ----------
    group_means : pandas.DataFrame
        ``comparison, mean, ci_low, ci_high``.
    truth : dict of str to float
        True kappa of each comparison.

    Returns
    -------
    pandas.DataFrame
        ``comparison, true, estimated, error, ci_low, ci_high, covered``.
    """
    table = group_means.set_index("comparison").loc[list(truth)].reset_index()
    true = table["comparison"].map(truth)
    return pd.DataFrame(
        {
            "comparison": table["comparison"],
            "true": true,
            "estimated": table["mean"],
            "error": table["mean"] - true,
            "ci_low": table["ci_low"],
            "ci_high": table["ci_high"],
            "covered": table["ci_low"].le(true) & table["ci_high"].ge(true),
        }
    )


def describe_recovery(table: pd.DataFrame) -> str:
    """The `recovery` table as lines to read."""
    lines = [
        f"{row.comparison}: true kappa {row.true:.3f}, estimated {row.estimated:.3f}, "
        f"95 % interval [{row.ci_low:.3f}, {row.ci_high:.3f}]"
        f"{'' if row.covered else ' (misses the truth)'}"
        for row in table.itertuples()
    ]
    largest = table["error"].abs().max()
    held = int(table["covered"].sum())
    lines.append(
        f"{held} of {len(table)} intervals hold the truth; "
        f"largest error of a mean kappa {largest:.3f}"
    )
    return "\n".join(lines)
