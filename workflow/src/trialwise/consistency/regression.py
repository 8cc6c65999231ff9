"""Does a network's benchmark score predict its error consistency with people?"""

import pandas as pd
from scipy import stats

from trialwise.consistency import ALL_TRIALS
from trialwise.errors import InputError
from trialwise.trials import is_human, members


def regress_on_benchmark(pairs, networks, scores):
    """Least-squares lines of kappa with people on a benchmark score (Figs. 3, SF.9-12).

    Parameters
    ----------
    pairs : pandas.DataFrame
        ``observer_i, observer_j, kappa`` of the network-human pairs.
    networks : sequence of str
    scores : pandas.Series
        Benchmark score by network.

    Returns
    -------
    list of dict
        ``over, n, r2, slope, intercept, f, p``, once over individual pairs as in the
        paper (each network's score repeated for every person, so that the points are
        not independent) and once over the networks' means.
    """
    long = pd.concat(
        [
            pairs.rename(columns={"observer_i": "network"}),
            pairs.rename(columns={"observer_j": "network"}),
        ]
    )
    long = long[long["network"].isin(networks)]
    points = {
        "pairs": long.set_index("network")["kappa"],
        "networks": long.groupby("network")["kappa"].mean(),
    }
    return [
        {"over": over, **_line(scores.loc[kappa.index], kappa)}
        for over, kappa in points.items()
    ]


def regress_all(pairs, benchmarks, groups, regressions):
    """Regress on several benchmarks, each over its own networks.

    Parameters
    ----------
    pairs : pandas.DataFrame
        From `trialwise.consistency.comparisons.compare_observers`.
    benchmarks : pandas.DataFrame
        Scores, one column per benchmark, by network.
    groups : dict of str to sequence of str
        Patterns of observer names.
    regressions : sequence of dict
        Each a ``benchmark`` and a group of ``networks``.

    Returns
    -------
    pandas.DataFrame
        ``benchmark, networks`` and the columns of `regress_on_benchmark`.

    Raises
    ------
    InputError
        If a benchmark is unknown or lacks a network's score.
    """
    all_trials = pairs[pairs["variant"] == ALL_TRIALS]
    human_i = is_human(all_trials["observer_i"])
    with_people = all_trials[human_i != is_human(all_trials["observer_j"])]
    observers = sorted({*with_people["observer_i"], *with_people["observer_j"]})
    rows = []
    for regression in regressions:
        benchmark = regression["benchmark"]
        networks = members(groups[regression["networks"]], observers)
        scores = _scores(benchmarks, benchmark, networks)
        rows += [
            {"benchmark": benchmark, "networks": regression["networks"], **line}
            for line in regress_on_benchmark(with_people, networks, scores)
        ]
    return pd.DataFrame(rows)


def _scores(benchmarks, benchmark, networks):
    if benchmark not in benchmarks.columns:
        raise InputError(
            f"There is no benchmark {benchmark!r}.\n"
            f"Benchmarks: {', '.join(benchmarks.columns)}."
        )
    scores = benchmarks[benchmark].reindex(networks)
    if scores.isna().any():
        raise InputError(
            f"The benchmark {benchmark} has no score of "
            f"{', '.join(scores.index[scores.isna()])}. Choose other networks."
        )
    return scores


def _line(x, y):
    fit = stats.linregress(x.to_numpy(dtype=float), y.to_numpy(dtype=float))
    r2, n = fit.rvalue**2, len(x)
    return {
        "n": n,
        "r2": r2,
        "slope": fit.slope,
        "intercept": fit.intercept,
        "f": r2 / (1 - r2) * (n - 2),
        "p": fit.pvalue,
    }


def benchmark_scores(imagenet, brain_score, names):
    """Join ImageNet accuracies and Brain-Score, and correlate two of its columns.

    Parameters
    ----------
    imagenet : pandas.DataFrame
        Accuracies by observer.
    brain_score : pandas.DataFrame
        The authors' copy, columns ``# name, avg., V1, V2, V4, IT, ITTemp, Behavior,
        Imagenet``.
    names : dict of str to str
        Brain-Score's names to the names of the same architectures in the trial tables.

    Returns
    -------
    scores : pandas.DataFrame
        `observer`, the columns of `imagenet`, and ``average, V1, V2, V4, IT, behaviour,
        imagenet`` of Brain-Score, for all models of either.
    correlation : pandas.DataFrame
        ``first, second, n, r`` of behaviour and ImageNet accuracy in Brain-Score.
    """
    renamed = brain_score.rename(
        columns={
            "# name": "observer",
            "avg.": "average",
            "Behavior": "behaviour",
            "Imagenet": "imagenet",
        }
    )
    renamed["observer"] = renamed["observer"].replace(names)
    columns = ["average", "V1", "V2", "V4", "IT", "behaviour", "imagenet"]
    brain = renamed.set_index("observer")[columns]
    scores = imagenet.join(brain, how="outer").rename_axis("observer").reset_index()
    r, n = correlation(brain, "behaviour", "imagenet")
    row = {"first": "behaviour", "second": "imagenet", "n": n, "r": r}
    return scores, pd.DataFrame([row])


def correlation(table, first, second):
    """Pearson correlation of two columns, and the rows where both are known.

    Parameters
    ----------
    table : pandas.DataFrame
    first, second : str
        Columns.

    Returns
    -------
    r : float
    n : int
    """
    complete = table[[first, second]].dropna()
    r = stats.pearsonr(complete[first], complete[second]).statistic
    return float(r), len(complete)
