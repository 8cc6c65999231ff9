"""Reproduction tables as they are read: counted, sorted by reason, and by figure."""

import re
from dataclasses import dataclass

import pandas as pd

from trialwise.summary.figures.alignment_catalogue import LEARNING_TASKS
from trialwise.summary.grid import Grid
from trialwise.summary.numbers import NONE, beside, significant
from trialwise.summary.reproduction import DIFFERS, MATCH, NOT_AVAILABLE, RECOMPUTED

STATUSES = (MATCH, RECOMPUTED, DIFFERS, NOT_AVAILABLE)


@dataclass(frozen=True)
class Paper:
    """A paper, and the tables of published values that are taken from it."""

    authors: str
    reference: str
    tables: tuple[str, ...]


PAPERS = {
    "error-consistency": Paper(
        "Geirhos, Meding & Wichmann (2020)",
        "Geirhos, R., Meding, K., & Wichmann, F. A. (2020). Beyond accuracy: "
        "quantifying trial-by-trial behaviour of CNNs and humans by measuring error "
        "consistency. Advances in Neural Information Processing Systems, 33.",
        ("error-consistency",),
    ),
    "learning-tasks": Paper(
        "Demircan et al. (2024)",
        "Demircan, C., Saanum, T., Pettini, L., Binz, M., Baczkowski, B. M., Doeller, "
        "C. F., Garvert, M. M., & Schulz, E. (2024). Evaluating alignment between "
        "humans and neural network representations in image-based learning tasks. "
        "Advances in Neural Information Processing Systems, 37.",
        ("learning-tasks", "factors"),
    ),
}

# The first that a source begins with; `{}` is what the item begins with.
_FIGURES = {
    "figure of kappa against ImageNet accuracy, four": "overlap-and-kappa-edges",
    "figure of kappa against ImageNet accuracy": "kappa-against-imagenet-accuracy",
    "figure of kappa against expected overlap": "kappa-against-expected-overlap",
    "figure of CORnet-S": "kappa-of-cornet-s",
    "figure of controversial stimuli": "controversial-stimuli",
    "figure of shape bias": "shape-bias",
    "figure of accuracy against distortion": "accuracy-against-distortion",
    "figure of kappa against Brain-Score": "kappa-against-brain-score-{}",
    "figures of kappa against Brain-Score": "kappa-against-brain-score-{}",
    "the authors' 160_trials.csv": "bounds-and-percentiles",
    "the authors' 1280_trials.csv": "bounds-and-percentiles",
}
_BY_NUMBER = {
    int(entry.number.split()[1]): name
    for name, entry in LEARNING_TASKS.items()
    if entry.number.startswith("Figure")
}
TABLES, TEXT = "tables", "text"
_VERSIONS = {
    "all-trials": "all trials, slips mended",
    "published": "as printed, slips repeated",
    "people": "people's own data",
    "tables": "from the values in Tables 1 and 2",
    "figures": "from the values in the authors' final figures",
    "paper": "from the values that the text rests on",
    "text": "said in the text alone",
}


def join_sources(reproduction, published):
    """Reproduction tables of one paper as one, with where each value is published.

    Parameters
    ----------
    reproduction, published : list of pandas.DataFrame
        From `trialwise.summary.reproduction.compare` and the `read_published` that it
        was given, table by table.

    Returns
    -------
    pandas.DataFrame
        Columns of `compare`, `source`, and `place`: the name of a figure, ``tables`` or
        ``text``.
    """
    keys = ["item", "protocol"]
    joined = pd.concat(
        own.merge(printed[[*keys, "source"]], on=keys, validate="one_to_one")
        for own, printed in zip(reproduction, published, strict=True)
    )
    places = [
        _place(item, source)
        for item, source in zip(joined["item"], joined["source"], strict=True)
    ]
    return joined.assign(place=places).reset_index(drop=True)


def _place(item, source):
    for start, name in _FIGURES.items():
        if source.startswith(start):
            return name.format(item.partition(":")[0])
    if number := re.search(r"Fig\. (\d+)", source):
        return _BY_NUMBER.get(int(number[1]), TEXT)
    return TABLES if "Table" in source else TEXT


def count_verdicts(values):
    """How many values have which verdict, by protocol and altogether.

    Parameters
    ----------
    values : pandas.DataFrame
        ``protocol, status``.

    Returns
    -------
    pandas.DataFrame
        Indexed by protocol, in order of appearance, and ``all``; columns `STATUSES`.
    """
    counts = pd.crosstab(values["protocol"], values["status"])
    counts = counts.reindex(
        index=values["protocol"].unique(), columns=list(STATUSES), fill_value=0
    )
    counts.loc["all"] = counts.sum()
    return counts


def by_reason(values):
    """Values that do not agree with print, by verdict and reason, the commonest first.

    Returns
    -------
    list of (str, str, pandas.DataFrame)
        Status, reason and rows.
    """
    apart = values[~values["status"].isin([MATCH, RECOMPUTED])]
    groups = apart.groupby(["status", "note"], sort=False)
    listed = [(status, reason, rows) for (status, reason), rows in groups]
    return sorted(listed, key=lambda group: (group[0], -len(group[2])))


def summarise(values, protocols):
    """Counts of verdicts as a table, and per paper the values that do not agree.

    Parameters
    ----------
    values : dict of str to pandas.DataFrame
        From `join_sources`, by the keys of `PAPERS`.
    protocols : dict of str to dict
        `purpose` by name. Values under any but ``published`` are expected to differ.

    Returns
    -------
    dict or None
        `grid`; `papers`: `title`, counts of the values as printed (`count_agreeing`),
        `n_other` values under other protocols, `n_unexplained` without a known reason,
        and `reasons`, each with `status`, `reason` and `grid`.
    """
    if not values:
        return None
    bodies, papers = [], []
    for key, table in values.items():
        by_version = tuple(
            (
                _describe_version(name, protocols),
                *(str(n) if n else NONE for n in counts),
                str(counts.sum()),
            )
            for name, counts in count_verdicts(table).iterrows()
        )
        bodies.append((PAPERS[key].authors, by_version))
        printed = as_printed(table, protocols)
        reasons = []
        for status, reason, rows in by_reason(table):
            grid = value_grid(rows, "Values", with_verdict=False)
            reasons.append({"status": status, "reason": reason, "grid": grid})
        papers.append(
            {
                "title": PAPERS[key].authors,
                **count_agreeing(printed),
                "n_other": len(table) - len(printed),
                "n_unexplained": int((table["note"] == "no reason is known").sum()),
                "reasons": reasons,
            }
        )
    head = ("Protocol or version", *STATUSES, "values")
    return {"grid": Grid("Verdicts", head, tuple(bodies)), "papers": papers}


def as_printed(values, protocols):
    """Values less those under a protocol that is not the paper's.

    Parameters
    ----------
    values : pandas.DataFrame
    protocols : dict of str to dict
        See `summarise`.

    Returns
    -------
    pandas.DataFrame
    """
    return values[~values["protocol"].isin(set(protocols) - {"published"})]


def count_agreeing(values):
    """Numbers of values: all, matching, recomputed, and both of these (`n_agree`)."""
    n_match, n_recomputed = (
        int((values["status"] == status).sum()) for status in (MATCH, RECOMPUTED)
    )
    return {
        "n": len(values),
        "n_match": n_match,
        "n_recomputed": n_recomputed,
        "n_agree": n_match + n_recomputed,
    }


def _describe_version(name, protocols):
    if name in protocols and name != "published":
        return f"{name}: {protocols[name]['purpose']}"
    return f"{name}: {_VERSIONS[name]}" if name in _VERSIONS else name


def value_grid(values, caption, with_verdict=True):
    """Published values beside reproduced ones.

    Parameters
    ----------
    values : pandas.DataFrame
        From `join_sources`.
    caption : str
    with_verdict : bool

    Returns
    -------
    Grid
    """
    several = values["protocol"].nunique() > 1
    head = ("Value", *(["protocol"] if several else []))
    head += ("published", "reproduced", "difference")
    rows = []
    for row in values.itertuples():
        difference = float(row.difference) if row.difference else float("nan")
        rows.append(
            (
                *([row.item, row.protocol] if several else [row.item]),
                beside(row.published, row.published),
                beside(row.published, row.reproduced) or NONE,
                significant(difference, 2),
                *([row.status] if with_verdict else []),
            )
        )
    head += ("verdict",) if with_verdict else ()
    return Grid(caption, head, (("", tuple(rows)),))
