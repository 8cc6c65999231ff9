"""Tables behind the figures of error consistency (Geirhos et al. 2020).

Functions that tabulate take computed tables by their names in
`trialwise.summary.figures.catalogue`, and settings with the names of networks by group
(``groups``). The column `source` of what they return says where a row comes from:
``computed``, or ``published`` for values printed in the paper.
"""

import numpy as np
import pandas as pd

from trialwise.consistency import ALL_TRIALS
from trialwise.consistency.bounds import kappa_bounds, overlap_bounds
from trialwise.consistency.kappa import expected_overlap, kappa, observed_overlap
from trialwise.consistency.percentiles import accuracy_grid
from trialwise.consistency.regression import regress_on_benchmark
from trialwise.summary.figures.catalogue import EXPERIMENTS
from trialwise.summary.figures.style import COMPUTED, PUBLISHED
from trialwise.trials import HUMAN, is_human

PEOPLE, NETWORKS = "people", "networks"
ONE_FAMILY, TWO_FAMILIES = "networks, one family", "networks, two families"
FAMILIES = ("AlexNet", "VGG", "SqueezeNet", "DenseNet", "Inception", "ResNet")
NAMES = {
    "alexnet": "AlexNet",
    "vgg16-bn": "VGG-16",
    "inception-v3": "Inception-v3",
    "resnet50": "ResNet-50",
    "cornet-s": "CORnet-S",
}
BENCHMARKS = {
    "top5": "ImageNet accuracy, top 5 (%)",
    "average": "Brain-Score, average",
    "V1": "Brain-Score, V1",
    "V2": "Brain-Score, V2",
    "V4": "Brain-Score, V4",
    "IT": "Brain-Score, IT",
    "behaviour": "Brain-Score, behaviour",
}
SIMULATED_PAIRS = 4000
OVERLAP_COLUMNS = [
    *("experiment", "layer", "series", "observer_i", "observer_j"),
    *("expected", "observed", "kappa"),
    *("observed_low", "observed_high", "kappa_low", "kappa_high", "source"),
]
SCORE_COLUMNS = [
    *("experiment", "benchmark", "layer", "series", "observer"),
    *("score", "kappa", "low", "high", "source"),
]
SIDES = ("observer_i", "observer_j")
LIMITS = {
    measure: [f"{measure}_low", f"{measure}_high"] for measure in ("observed", "kappa")
}


def tabulate_steps(tables, settings):
    """Rows of Figure 1: overlap and kappa of four networks, and kappa by accuracy."""
    groups = settings["groups"]
    overlap = overlap_rows(
        "edges", tables["edges/pairs"], tables["edges/band"], groups["cnn4"], True
    )
    scores = score_rows("edges", "top5", groups, "cnn4", tables)
    named = scores["observer"].map(NAMES)
    scores["series"] = named.where(named.notna(), scores["series"])
    return pd.concat([overlap, scores], ignore_index=True)


def tabulate_overlap(tables, settings, names, by_name=False):
    """Rows of Figures 4, SF.3 and SF.6: kappa by expected overlap, per experiment.

    Parameters
    ----------
    tables : dict of str to pandas.DataFrame
    settings : dict
        ``groups``: names of networks by group.
    names : sequence of str
        Groups of networks to draw.
    by_name : bool
        See `overlap_rows`.
    """
    networks = [network for name in names for network in settings["groups"][name]]
    rows = [
        overlap_rows(
            name, tables[f"{name}/pairs"], tables[f"{name}/band"], networks, by_name
        )
        for name in EXPERIMENTS
    ]
    if by_name:
        rows += [_printed_pair(name, tables, networks) for name in EXPERIMENTS]
    return pd.concat(rows, ignore_index=True)


def tabulate_scores(tables, settings):
    """Rows of Figure 3: kappa by top-5 accuracy of 16 networks, per experiment."""
    groups = settings["groups"]
    rows = [score_rows(e, "top5", groups, "cnn16", tables) for e in EXPERIMENTS]
    people = mean_rows("colour", "cnn16", tables).assign(benchmark="top5")
    return pd.concat([*rows, people], ignore_index=True)[SCORE_COLUMNS]


def tabulate_brain_score(tables, settings, experiment):
    """Rows of Figures SF.9 to SF.11: kappa by six metrics of Brain-Score."""
    groups = settings["groups"]
    rows = [
        score_rows(experiment, metric, groups, "cnn14", tables, ["cnn14", "cnn12"])
        for metric in BENCHMARKS
        if metric != "top5"
    ]
    return pd.concat(rows, ignore_index=True)


def tabulate_bounds(tables, settings):
    """Rows of Figures 2 and SF.1: bounds, percentiles, and simulated pairs.

    Simulated are `SIMULATED_PAIRS` pairs of independent observers, whose accuracies
    are drawn from the grid of the percentiles (supplement, S.3), seeded.
    """
    rng = np.random.default_rng(0)
    # Dense at one half, where the bounds are steep.
    steps = np.linspace(-1, 1, 201)
    expected = 0.5 + 0.5 * np.sign(steps) * steps**2
    rows = []
    # The authors' two percentile tables come from two grids.
    for experiment, break_point in (("edges", 0.15), ("cue-conflict", 0.05)):
        n = int(tables[f"{experiment}/accuracy"]["n"].iloc[0])
        simulated = simulate_independent(n, break_point, SIMULATED_PAIRS, rng)
        limits = dict(zip(LIMITS["observed"], overlap_bounds(expected), strict=True))
        limits |= dict(zip(LIMITS["kappa"], kappa_bounds(expected), strict=True))
        bounds = pd.DataFrame({"expected": expected, **limits})
        bounds.loc[bounds["expected"] == 1, LIMITS["kappa"]] = np.nan
        band = tables[f"{experiment}/band"].dropna()
        percentiles = band[["expected", *LIMITS["observed"], *LIMITS["kappa"]]]
        textbook = pd.DataFrame(
            {
                "expected": band["expected"],
                "observed_low": band["clopper_pearson_low"],
                "observed_high": band["clopper_pearson_high"],
                "kappa_low": band["textbook_kappa_low"],
                "kappa_high": band["textbook_kappa_high"],
            }
        )
        printed = published_cells(
            tables["published"],
            f"{experiment}/band",
            ["expected", *LIMITS["observed"], *LIMITS["kappa"]],
        ).drop(columns="bin")
        layers = {
            "simulated": simulated,
            "bounds": bounds,
            "percentiles": percentiles,
            "textbook": textbook,
        }
        own = [t.assign(layer=layer, source=COMPUTED) for layer, t in layers.items()]
        own.append(printed.assign(layer="percentiles", source=PUBLISHED))
        rows.append(pd.concat(own).assign(n=n))
    return pd.concat(rows, ignore_index=True)[
        [
            *("n", "layer", "expected", "observed", "kappa"),
            *LIMITS["observed"],
            *LIMITS["kappa"],
            "source",
        ]
    ]


def tabulate_expected(tables, settings):
    """Rows of Figure SF.2: ``accuracy_i, accuracy_j, expected, source``."""
    accuracy = np.linspace(0, 1, 101)
    i, j = (axis.ravel() for axis in np.meshgrid(accuracy, accuracy, indexing="ij"))
    expected = expected_overlap(1, i, j)
    columns = {"accuracy_i": i, "accuracy_j": j, "expected": expected}
    return pd.DataFrame(columns).assign(source=COMPUTED)


def overlap_rows(experiment, pairs, band, networks, by_name=False):
    """Pairs of people, of networks, and of both, and the band of independent observers.

    Parameters
    ----------
    experiment : str
    pairs : pandas.DataFrame
        From `trialwise.consistency.comparisons.compare_observers`.
    band : pandas.DataFrame
        From `trialwise.consistency.percentiles.independence_band`.
    networks : sequence of str
    by_name : bool
        Name networks by themselves, not by their families, and pairs of networks not by
        whether they are of one family.

    Returns
    -------
    pandas.DataFrame
        ``experiment, layer, series, observer_i, observer_j, expected, observed, kappa,
        observed_low, observed_high, kappa_low, kappa_high, source``; `layer` is
        ``overlap`` (a pair, which `series` names the kind of) or ``independent``.
    """
    own = pairs[pairs["variant"] == ALL_TRIALS]
    wanted = [is_human(own[side]) | own[side].isin(networks) for side in SIDES]
    own = own[wanted[0] & wanted[1]]
    series = [
        _series(row.observer_i, row.observer_j, by_name) for row in own.itertuples()
    ]
    columns = ["observer_i", "observer_j", "expected", "observed", "kappa"]
    rows = own[columns].assign(layer="overlap", series=series)
    columns = ["expected", "observed_low", "observed_high", "kappa_low", "kappa_high"]
    limits = band.dropna()[columns].assign(layer="independent")
    rows = pd.concat([rows, limits], ignore_index=True)
    return rows.assign(experiment=experiment, source=COMPUTED)[OVERLAP_COLUMNS]


def score_rows(experiment, benchmark, groups, first, tables, lines=()):
    """Kappa of networks with people against a benchmark score.

    Parameters
    ----------
    experiment, benchmark : str
    groups : dict of str to sequence of str
        Names of networks.
    first : str
        The group that is drawn.
    tables : dict of str to pandas.DataFrame
    lines : sequence of str
        Groups to fit a line to, over their pairs with people; default `first`.

    Returns
    -------
    pandas.DataFrame
        ``experiment, benchmark, layer, series, observer, score, kappa, low, high,
        source``; `layer` is ``pair`` (a network and a person), ``network`` (mean over
        people and the papers' half width), ``line`` (two points of the line of the
        group in `series`) or ``mean`` (of the pairs of people, or of networks).
    """
    pairs, published = tables[f"{experiment}/pairs"], tables["published"]
    scores = tables["benchmark-scores"].set_index("observer")[benchmark]
    networks = list(groups[first])
    with_people = _network_human_pairs(pairs)
    own = with_people[with_people["observer"].isin(networks)]
    points = own.assign(layer="pair", score=scores.reindex(own["observer"]).to_numpy())

    means = tables[f"{experiment}/networks"].assign(source=COMPUTED)
    printed = published_cells(published, f"{experiment}/networks", ["mean"])
    means = pd.concat([means, printed.assign(source=PUBLISHED)])
    means = means[means["observer"].isin(networks)]
    means = _limits(means).assign(
        layer="network", score=scores.reindex(means["observer"]).to_numpy()
    )
    rows = [points.assign(source=COMPUTED), means]
    rows += [
        _line_rows(experiment, benchmark, group, groups[group], own, scores, published)
        for group in lines or [first]
    ]
    table = pd.concat([*rows, mean_rows(experiment, first, tables)], ignore_index=True)
    table["series"] = table["series"].fillna(table["observer"].map(family_of, "ignore"))
    return table.assign(experiment=experiment, benchmark=benchmark)[SCORE_COLUMNS]


def mean_rows(experiment, group, tables):
    """Mean kappa of pairs of people, and of pairs of networks where there are any."""
    wanted = {"human-human": PEOPLE, f"{group}-{group}": NETWORKS}
    printed = published_cells(
        tables["published"], f"{experiment}/groups", ["mean", "half_width"]
    )
    means = pd.concat(
        [
            tables[f"{experiment}/groups"].assign(source=COMPUTED),
            printed.assign(source=PUBLISHED),
        ]
    )
    means = means[means["comparison"].isin(wanted) & (means["variant"] == ALL_TRIALS)]
    means = means.assign(series=means["comparison"].map(wanted), layer="mean")
    return _limits(means).assign(experiment=experiment)


def published_cells(published, table, columns):
    """Printed values of cells of a computed table, laid out like that table.

    Parameters
    ----------
    published : pandas.DataFrame
        From `trialwise.summary.reproduction.read_published`.
    table : str
        Below ``consistency``, such as ``edges/groups``.
    columns : sequence of str
        Columns of `table`.

    Returns
    -------
    pandas.DataFrame
        The columns that select a row, as text, and `columns`, NaN where not printed. Of
        a cell printed twice, the more precise value.
    """
    own = published[
        (published["table"] == f"consistency/{table}.csv")
        & (published["protocol"] == ALL_TRIALS)
        & published["column"].isin(columns)
    ]
    if own.empty:
        return pd.DataFrame(columns=columns)
    own = own.assign(tolerance=own["tolerance"].astype(float))
    own = own.sort_values("tolerance", kind="stable")
    own = own.drop_duplicates(["select", "column"])
    keys = pd.DataFrame(
        [
            dict(part.split("=", 1) for part in select.split(";"))
            for select in own["select"]
        ],
        index=own.index,
    )
    cells = pd.concat([keys, own["column"], own["published"].astype(float)], axis=1)
    wide = cells.pivot(index=list(keys.columns), columns="column", values="published")
    return wide.reindex(columns=columns).rename_axis(columns=None).reset_index()


def family_of(observer):
    """Architecture family of a network (supplement: by substring of its name)."""
    found = [f for f in (*FAMILIES, "CORnet") if f.lower() in observer]
    return found[0] if found else observer


def simulate_independent(n, break_point, size, rng):
    """Pairs of independent observers whose accuracies are drawn from the grid of S.3.

    Parameters
    ----------
    n : int
        Trials of each.
    break_point : float
        See `trialwise.consistency.percentiles.accuracy_grid`.
    size : int
        Pairs.
    rng : numpy.random.Generator

    Returns
    -------
    pandas.DataFrame
        ``expected, observed, kappa``, from the counts, not from the accuracies; kappa
        is NaN where both observers have everything right or everything wrong.
    """
    grid = accuracy_grid(break_point)
    k_i, k_j = rng.binomial(n, rng.choice(grid, (2, size)))
    n11 = rng.hypergeometric(k_i, n - k_i, k_j)
    expected = expected_overlap(n, k_i, k_j)
    return pd.DataFrame(
        {
            "expected": expected,
            "observed": observed_overlap(n, k_i, k_j, n11),
            "kappa": np.where(expected < 1, kappa(n, k_i, k_j, n11), np.nan),
        }
    )


def _printed_pair(experiment, tables, networks):
    """The one pair of networks whose kappa the paper prints, at its computed place."""
    printed = published_cells(tables["published"], f"{experiment}/groups", ["mean"])
    printed = printed[printed["comparison"] == "cornet-resnet50"]
    pairs = tables[f"{experiment}/pairs"]
    own = pairs[
        (pairs["variant"] == ALL_TRIALS)
        & pairs["observer_i"].isin(networks)
        & pairs["observer_j"].isin(networks)
    ]
    row = own[["observer_i", "observer_j", "expected"]].assign(
        kappa=printed["mean"].to_numpy()
    )
    return row.assign(
        experiment=experiment, layer="overlap", series=NETWORKS, source=PUBLISHED
    ).reindex(columns=OVERLAP_COLUMNS)


def _series(i, j, by_name):
    networks = [observer for observer in (i, j) if HUMAN not in observer]
    if not networks:
        return PEOPLE
    if len(networks) == 1:
        return NAMES[networks[0]] if by_name else family_of(networks[0])
    if by_name:
        return NETWORKS
    return ONE_FAMILY if family_of(i) == family_of(j) else TWO_FAMILIES


def _limits(means):
    half = means["half_width"]
    low, high = means["mean"] - half, means["mean"] + half
    return means.assign(kappa=means["mean"], low=low, high=high)


def _network_human_pairs(pairs):
    own = pairs[pairs["variant"] == ALL_TRIALS]
    human_i, human_j = is_human(own["observer_i"]), is_human(own["observer_j"])
    own = own[human_i != human_j]
    network = own["observer_i"].where(~human_i, own["observer_j"])
    return own[["observer_i", "observer_j", "kappa"]].assign(observer=network)


def _line_rows(experiment, benchmark, group, networks, pairs, scores, published):
    over_pairs, _ = regress_on_benchmark(
        pairs.drop(columns="observer"), networks, scores
    )
    printed = published_cells(
        published, f"{experiment}/regression", ["slope", "intercept"]
    )
    if len(printed):
        asked = (printed["benchmark"] == benchmark) & (printed["networks"] == group)
        printed = printed[asked].assign(source=PUBLISHED)
    lines = pd.concat([pd.DataFrame([{**over_pairs, "source": COMPUTED}]), printed])
    ends = scores[list(networks)].agg(["min", "max"]).to_numpy()
    return pd.concat(
        [
            lines.assign(score=end, kappa=lines["intercept"] + lines["slope"] * end)
            for end in ends
        ]
    ).assign(layer="line", series=group)
