"""Time and memory of a study's jobs, from the tables that `benchmark:` leaves."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from trialwise.errors import InputError
from trialwise.models.registry import Model

MEASURED = {"s": "seconds", "cpu_time": "cpu_seconds", "max_rss": "memory_mb"}


def read_benchmarks(folder: str | Path) -> pd.DataFrame:
    """Read what every job has taken.

    Parameters
    ----------
    folder : path
        ``benchmarks`` of a study's results: ``{rule}.tsv`` or ``{rule}/{job}.tsv``.

    Returns
    -------
    pandas.DataFrame
        ``rule, job, seconds, cpu_seconds, memory_mb``, one row per job; ``job`` is
        empty for the only one of a rule. NaN where a job was too short to be measured.

    Raises
    ------
    InputError
        If there are no such tables, or one lacks a column.
    """
    jobs = []
    for path in sorted(Path(folder).rglob("*.tsv")):
        rule, *rest = path.relative_to(folder).with_suffix("").parts
        table = pd.read_csv(path, sep="\t")
        if missing := MEASURED.keys() - set(table.columns):
            raise InputError(
                f"{path} has no column {', '.join(sorted(missing))}. Delete it."
            )
        measured = table[[*MEASURED]].apply(pd.to_numeric, errors="coerce").max()
        jobs.append({"rule": rule, "job": "-".join(rest), **measured.rename(MEASURED)})
    if not jobs:
        raise InputError(
            f"{folder} holds no benchmark tables. Name the folder `benchmarks` of a "
            "study that has been run."
        )
    return pd.DataFrame(jobs)


def costs_by_rule(jobs: pd.DataFrame) -> pd.DataFrame:
    """Sum what the jobs of each rule have taken, the costliest rule first.

    Parameters
    ----------
    jobs : pandas.DataFrame
        From `read_benchmarks`.

    Returns
    -------
    pandas.DataFrame
        ``rule, jobs, cpu_seconds`` (of all jobs), ``longest_seconds`` and ``memory_mb``
        (of the largest job).
    """
    return (
        jobs.groupby("rule")
        .agg(
            jobs=("job", "size"),
            cpu_seconds=("cpu_seconds", "sum"),
            longest_seconds=("seconds", "max"),
            memory_mb=("memory_mb", "max"),
        )
        .sort_values("cpu_seconds", ascending=False)
        .reset_index()
    )


def costs_by_dimension(jobs: pd.DataFrame, models: Mapping[str, Model]) -> pd.DataFrame:
    """Sum per rule what the jobs about one model have taken, by its dimension.

    Parameters
    ----------
    jobs : pandas.DataFrame
        From `read_benchmarks`.
    models : mapping of str to Model
        The registry.

    Returns
    -------
    pandas.DataFrame
        ``rule, dimension, cpu_seconds`` (mean over models of that dimension) and
        ``memory_mb`` (largest), for the rules all of whose jobs are about a model.
    """
    jobs = jobs.assign(model=[_model_of(job, models) for job in jobs["job"]])
    jobs = jobs.groupby("rule").filter(lambda own: (own["model"] != "").all())
    per_model = (
        jobs.groupby(["rule", "model"])
        .agg(cpu_seconds=("cpu_seconds", "sum"), memory_mb=("memory_mb", "max"))
        .reset_index()
    )
    per_model["dimension"] = [models[name].dimension for name in per_model["model"]]
    return (
        per_model.groupby(["rule", "dimension"])
        .agg(cpu_seconds=("cpu_seconds", "mean"), memory_mb=("memory_mb", "max"))
        .reset_index()
    )


def extrapolate_costs(costs: pd.DataFrame, dimensions: Iterable[int]) -> pd.DataFrame:
    """Estimate what each rule takes for models of other dimensions.

    Parameters
    ----------
    costs : pandas.DataFrame
        From `costs_by_dimension`.
    dimensions : iterable of int
        One per model.

    Returns
    -------
    pandas.DataFrame
        ``rule, cpu_hours`` (of all models) and ``memory_mb`` (of the largest),
        interpolated linearly between the measured dimensions; beyond them the value of
        the nearest one counts.
    """
    dimensions = list(dimensions)
    rows = []
    for rule, own in costs.groupby("rule"):
        own = own.sort_values("dimension")
        seconds, memory = (
            np.interp(dimensions, own["dimension"], own[column])
            for column in ("cpu_seconds", "memory_mb")
        )
        rows.append(
            {
                "rule": rule,
                "cpu_hours": seconds.sum() / 3600,
                "memory_mb": memory.max(),
            }
        )
    table = pd.DataFrame(rows).sort_values("cpu_hours", ascending=False)
    return table.reset_index(drop=True)


def _model_of(job: str, models: Iterable[str]) -> str:
    """The model that a job's name ends with; the longest where several do."""
    found = [name for name in models if f"-{job}".endswith(f"-{name}")]
    return max(found, key=len, default="")
