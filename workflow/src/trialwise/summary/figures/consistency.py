"""Figures of error consistency (Geirhos et al. 2020), each with its tidy table.

Functions that tabulate take computed tables by their names in
`trialwise.summary.figures.catalogue`; functions that draw take such a tidy table and
nothing else. Its column `source` says where a row comes from: ``computed``, or
``published`` for values printed in the paper, which are drawn in grey, as rings, ticks
or broad lines behind what was computed.
"""

import numpy as np
import pandas as pd
from matplotlib.lines import Line2D

from trialwise.consistency import ALL_TRIALS, OTHER
from trialwise.consistency.bounds import kappa_bounds, overlap_bounds
from trialwise.consistency.kappa import expected_overlap, kappa, observed_overlap
from trialwise.consistency.percentiles import accuracy_grid
from trialwise.consistency.regression import regress_on_benchmark
from trialwise.summary.figures.catalogue import EXPERIMENTS
from trialwise.summary.figures.style import (
    BLACK,
    BLUE,
    COMPUTED,
    FAINT,
    GREEN,
    GREY,
    LIGHT_GREY,
    ORANGE,
    PUBLISHED,
    PURPLE,
    SKY,
    SMALL,
    TEXT_WIDTH,
    VERMILION,
    YELLOW,
    in_style,
    letter_panels,
    new_figure,
)
from trialwise.trials import is_human

TITLES = {
    "cue-conflict": "cue conflict",
    "edges": "edges",
    "silhouettes": "silhouettes",
    "colour": "ImageNet images",
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
EXPECTED, OBSERVED = "expected error overlap", "observed error overlap"
KAPPA = "error consistency $\\kappa$"
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
STYLES = {
    PEOPLE: {"color": VERMILION, "marker": "D"},
    NETWORKS: {"color": BLUE, "marker": "x"},
    ONE_FAMILY: {"color": BLACK, "marker": "+"},
    TWO_FAMILIES: {"color": GREY, "marker": "x"},
    "AlexNet": {"color": ORANGE, "marker": "s"},
    "VGG": {"color": GREEN, "marker": "^"},
    "SqueezeNet": {"color": BLUE, "marker": "p"},
    "DenseNet": {"color": YELLOW, "marker": "h"},
    "Inception": {"color": PURPLE, "marker": "v"},
    "ResNet": {"color": SKY, "marker": "o"},
    "CORnet": {"color": BLACK, "marker": "*"},
}
KINDS = {
    PEOPLE: "two people",
    NETWORKS: "two networks",
    ONE_FAMILY: "networks of one family",
    TWO_FAMILIES: "networks of two families",
}
SIMULATED_PAIRS = 4000
# The paper's figures of kappa against a score reach from just below 0 to .69.
SCORE_RANGE = (-0.09, 0.72)


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
    wanted = [is_human(own[side]) | own[side].isin(networks) for side in _SIDES]
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


_SIDES = ("observer_i", "observer_j")
OVERLAP_COLUMNS = [
    *("experiment", "layer", "series", "observer_i", "observer_j"),
    *("expected", "observed", "kappa"),
    *("observed_low", "observed_high", "kappa_low", "kappa_high", "source"),
]


def _series(i, j, by_name):
    networks = [observer for observer in (i, j) if "subject" not in observer]
    if not networks:
        return PEOPLE
    if len(networks) == 1:
        return NAMES[networks[0]] if by_name else family_of(networks[0])
    if by_name:
        return NETWORKS
    return ONE_FAMILY if family_of(i) == family_of(j) else TWO_FAMILIES


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


SCORE_COLUMNS = [
    *("experiment", "benchmark", "layer", "series", "observer"),
    *("score", "kappa", "low", "high", "source"),
]


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


@in_style
def draw_steps(table):
    """Figure 1, from `tabulate_steps`."""
    figure, axes = new_figure(TEXT_WIDTH, 2.9, 1, 3)
    overlap, means, scores = axes[0]
    _draw_overlap(overlap, table, "observed")
    overlap.plot([0, 1], [0, 1], color=GREY, linewidth=0.8, linestyle="--", zorder=1)
    overlap.set_ylim(0, 1.02)
    _draw_overlap(means, table, "kappa")
    _draw_scores(scores, table[table["benchmark"].notna()], bands=False)
    series = [PEOPLE, NETWORKS, *sorted(NAMES[n] for n in NAMES if n != "cornet-s")]
    _legend(figure, series, ncols=4)
    letter_panels(axes)
    return figure


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


@in_style
def draw_overlap(table):
    """Kappa by expected overlap, a panel per experiment, from `tabulate_overlap`."""
    figure, axes = new_figure(TEXT_WIDTH, 3.3, 1, len(EXPERIMENTS), sharey=True)
    for panel, experiment in zip(axes[0], EXPERIMENTS, strict=True):
        own = table[table["experiment"] == experiment]
        _draw_overlap(panel, own, "kappa")
        panel.set_title(TITLES[experiment])
        panel.label_outer()
    pairs = table[table["layer"] == "overlap"]
    series = [name for name in STYLES if name in set(pairs["series"].map(_family))]
    named = dict(zip(pairs["series"].map(_family), pairs["series"], strict=True))
    printed = (table["source"] == PUBLISHED).any()
    columns = 5 if printed else 4
    _legend(figure, [named[name] for name in series], columns, published=printed)
    letter_panels(axes)
    return figure


def tabulate_scores(tables, settings):
    """Rows of Figure 3: kappa by top-5 accuracy of 16 networks, per experiment."""
    groups = settings["groups"]
    rows = [score_rows(e, "top5", groups, "cnn16", tables) for e in EXPERIMENTS]
    people = mean_rows("colour", "cnn16", tables).assign(benchmark="top5")
    return pd.concat([*rows, people], ignore_index=True)[SCORE_COLUMNS]


@in_style
def draw_scores(table):
    """Figure 3, from `tabulate_scores`."""
    experiments = list(dict.fromkeys(table["experiment"]))
    figure, axes = new_figure(TEXT_WIDTH, 5.6, 2, 2, sharex=True, sharey=True)
    for panel, experiment in zip(axes.flat, experiments, strict=True):
        own = table[table["experiment"] == experiment]
        _draw_scores(panel, own)
        panel.set_title(TITLES[experiment])
        panel.label_outer()
        if not (own["layer"] == "network").any():
            panel.annotate(
                "What networks answered to these images\nwas not published.",
                (0.5, 0.25),
                xycoords="axes fraction",
                ha="center",
                color=GREY,
                fontsize=SMALL,
            )
    _legend(figure, FAMILIES, ncols=4)
    letter_panels(axes)
    return figure


def tabulate_brain_score(tables, settings, experiment):
    """Rows of Figures SF.9 to SF.11: kappa by six metrics of Brain-Score."""
    groups = settings["groups"]
    rows = [
        score_rows(experiment, metric, groups, "cnn14", tables, ["cnn14", "cnn12"])
        for metric in BENCHMARKS
        if metric != "top5"
    ]
    return pd.concat(rows, ignore_index=True)


@in_style
def draw_brain_score(table):
    """Kappa by six metrics of Brain-Score, from `tabulate_brain_score`."""
    metrics = list(dict.fromkeys(table["benchmark"]))
    figure, axes = new_figure(TEXT_WIDTH, 5.2, 2, 3, sharey=True)
    for panel, metric in zip(axes.flat, metrics, strict=True):
        _draw_scores(panel, table[table["benchmark"] == metric])
    for panel in axes[:, 1:].flat:
        panel.set_ylabel("")
    dotted = Line2D(
        [], [], color=BLACK, linestyle=":", label="line without SqueezeNets"
    )
    _legend(figure, FAMILIES, ncols=4, more=[dotted])
    letter_panels(axes)
    return figure


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
        limits = dict(zip(_LIMITS["observed"], overlap_bounds(expected), strict=True))
        limits |= dict(zip(_LIMITS["kappa"], kappa_bounds(expected), strict=True))
        bounds = pd.DataFrame({"expected": expected, **limits})
        bounds.loc[bounds["expected"] == 1, _LIMITS["kappa"]] = np.nan
        band = tables[f"{experiment}/band"].dropna()
        percentiles = band[["expected", *_LIMITS["observed"], *_LIMITS["kappa"]]]
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
            ["expected", *_LIMITS["observed"], *_LIMITS["kappa"]],
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
            *_LIMITS["observed"],
            *_LIMITS["kappa"],
            "source",
        ]
    ]


_LIMITS = {
    measure: [f"{measure}_low", f"{measure}_high"] for measure in ("observed", "kappa")
}


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


@in_style
def draw_bounds(table):
    """Figures 2 (upper row) and SF.1, from `tabulate_bounds`."""
    lines = {
        "bounds": {"color": BLUE, "linestyle": "-"},
        "percentiles": {"color": VERMILION, "linestyle": "-"},
        "textbook": {"color": ORANGE, "linestyle": "--"},
    }
    figure, axes = new_figure(TEXT_WIDTH, 5.8, 2, 2, sharex=True)
    for row, (n, of_n) in zip(axes, table.groupby("n"), strict=True):
        for panel, (measure, label) in zip(
            row, {"observed": OBSERVED, "kappa": KAPPA}.items(), strict=True
        ):
            for layer, style in lines.items():
                own = of_n[(of_n["layer"] == layer) & (of_n["source"] == COMPUTED)]
                for limit in _LIMITS[measure]:
                    panel.plot(own["expected"], own[limit], gid=layer, **style)
            dots = of_n[of_n["layer"] == "simulated"]
            panel.scatter(
                *(dots["expected"], dots[measure]),
                s=1,
                color=LIGHT_GREY,
                linewidth=0,
                gid="simulated",
                zorder=1,
            )
            printed = of_n[of_n["source"] == PUBLISHED]
            for limit in _LIMITS[measure]:
                _rings(panel, printed["expected"], printed[limit])
            panel.set_ylabel(label)
            panel.set_title(f"{n:,} trials")
        row[0].set_ylim(-0.02, 1.02)
        row[1].set_ylim(-1.05, 1.05)
    for panel in axes[-1]:
        panel.set_xlabel(EXPECTED)
    names = {
        "bounds": "bounds",
        "percentiles": "95 % of independent observers",
        "textbook": "textbook interval",
    }
    handles = [Line2D([], [], label=names[layer], **lines[layer]) for layer in lines]
    dot = {"marker": ".", "linestyle": "", "color": LIGHT_GREY}
    handles.append(Line2D([], [], label="simulated pair", **dot))
    figure.legend(
        handles=[*handles, printed_handle()], loc="outside lower center", ncols=5
    )
    letter_panels(axes)
    return figure


def tabulate_expected(tables, settings):
    """Rows of Figure SF.2: ``accuracy_i, accuracy_j, expected, source``."""
    accuracy = np.linspace(0, 1, 101)
    i, j = (axis.ravel() for axis in np.meshgrid(accuracy, accuracy, indexing="ij"))
    expected = expected_overlap(1, i, j)
    columns = {"accuracy_i": i, "accuracy_j": j, "expected": expected}
    return pd.DataFrame(columns).assign(source=COMPUTED)


@in_style
def draw_expected(table):
    """Figure SF.2, from `tabulate_expected`."""
    wide = table.pivot(index="accuracy_j", columns="accuracy_i", values="expected")
    figure, axes = new_figure(3.6, 2.9)
    panel = axes[0, 0]
    image = panel.pcolormesh(
        *(wide.columns, wide.index, wide.to_numpy()),
        cmap="cividis",
        vmin=0,
        vmax=1,
        shading="nearest",
        rasterized=True,
    )
    white = {"colors": "white", "linewidths": 1}
    contours = panel.contour(
        *(wide.columns, wide.index, wide.to_numpy()), levels=[0.3, 0.7], **white
    )
    panel.clabel(contours, fontsize=SMALL, fmt="%.1f")
    # One half is a saddle, which no contour passes cleanly.
    panel.vlines(0.5, 0, 1, **white)
    panel.hlines(0.5, 0, 1, **white)
    panel.text(0.52, 0.9, "0.5", color="white", fontsize=SMALL)
    panel.set_xlabel("accuracy of one observer")
    panel.set_ylabel("accuracy of the other")
    figure.colorbar(image, ax=panel, label=EXPECTED, shrink=0.9)
    return figure


@in_style
def kappa_scatter(pairs, band, title):
    """Kappa against expected overlap, over the band of independent observers.

    Parameters
    ----------
    pairs : pandas.DataFrame
        From `trialwise.consistency.comparisons.compare_observers`; the pairs of its
        comparisons are drawn, on all trials.
    band : pandas.DataFrame
        From `trialwise.consistency.percentiles.independence_band`.
    title : str

    Returns
    -------
    matplotlib.figure.Figure
    """
    own = pairs[(pairs["variant"] == ALL_TRIALS) & (pairs["group"] != OTHER)]
    human = sum(is_human(own[side]).astype(int) for side in _SIDES)
    series = np.take(["two networks", "a network and a person", "two people"], human)
    styles = {
        "a network and a person": {"color": GREEN, "marker": "o"},
        "two networks": STYLES[NETWORKS],
        "two people": STYLES[PEOPLE],
    }
    figure, axes = new_figure(4.6, 3.6)
    panel = axes[0, 0]
    _draw_band(panel, band.dropna(), "kappa")
    for name, style in styles.items():
        points = own[series == name]
        if len(points):
            _points(panel, points["expected"], points["kappa"], style, label=name)
    panel.set_ylim(min(-0.2, own["kappa"].min() - 0.05), 1.02)
    panel.set_title(title)
    panel.legend(loc="upper left")
    return figure


def _family(series):
    known = {name: family_of(observer) for observer, name in NAMES.items()}
    return known.get(series, series)


def _style(series):
    return STYLES[_family(series)]


def _points(panel, x, y, style, size=12, zorder=3, **more):
    filled = style["marker"] not in "x+"
    edge = {"edgecolor": BLACK, "linewidth": 0.25} if filled else {"linewidth": 0.8}
    panel.scatter(x, y, s=size, zorder=zorder, **style, **edge, **more)


def _rings(panel, x, y, size=44):
    panel.scatter(
        *(x, y),
        s=size,
        facecolor="none",
        edgecolor=GREY,
        linewidth=0.6,
        gid=PUBLISHED,
        zorder=4,
    )


def printed_handle():
    ring = {"marker": "o", "markersize": 7, "markerfacecolor": "none"}
    edge = {"markeredgecolor": GREY, "markeredgewidth": 0.7}
    return Line2D([], [], linestyle="", label="printed in the paper", **ring, **edge)


def _draw_band(panel, band, measure):
    panel.fill_between(
        band["expected"],
        band[f"{measure}_low"],
        band[f"{measure}_high"],
        color=FAINT,
        linewidth=0,
        label="95 % of independent observers",
        zorder=0,
    )
    if measure == "kappa":
        panel.axhline(0, color=LIGHT_GREY, linewidth=0.6, zorder=1)
    panel.set_xlim(0, 1)
    panel.set_xlabel(EXPECTED)
    panel.set_ylabel(KAPPA if measure == "kappa" else OBSERVED)


def _draw_overlap(panel, rows, measure):
    _draw_band(panel, rows[rows["layer"] == "independent"], measure)
    pairs = rows[rows["layer"] == "overlap"]
    computed = pairs[pairs["source"] == COMPUTED]
    for series, points in computed.groupby("series"):
        given = points["expected"], points[measure], _style(series)
        order = 3 if series in KINDS else 2.5 if series == NAMES["cornet-s"] else 2
        _points(panel, *given, 8 if len(pairs) > 120 else 12, order, gid=series)
    printed = pairs[pairs["source"] == PUBLISHED]
    _rings(panel, printed["expected"], printed[measure])
    panel.set_ylim(-0.2, 1.02)


def _draw_scores(panel, rows, bands=True):
    """Pairs, means with their intervals, lines, and means of pairs of one kind."""
    benchmark = rows["benchmark"].iloc[0]
    _draw_means(panel, rows[rows["layer"] == "mean"], bands)
    for (group, source), line in rows[rows["layer"] == "line"].groupby(
        ["series", "source"], sort=False
    ):
        look = {"color": BLACK, "linestyle": ":" if group == "cnn12" else "--"}
        if source == PUBLISHED:
            look = {"color": LIGHT_GREY, "linewidth": 3.5, "zorder": 1}
        panel.plot(line["score"], line["kappa"], gid=f"{group} {source}", **look)
    pairs = rows[rows["layer"] == "pair"]
    for series, points in pairs.groupby("series"):
        style = {**_style(series), "marker": "."}
        panel.scatter(
            points["score"],
            points["kappa"],
            s=9,
            linewidth=0,
            alpha=0.55,
            gid=f"{series} pair",
            zorder=2,
            **style,
        )
    networks = rows[rows["layer"] == "network"]
    computed = networks[networks["source"] == COMPUTED]
    for series, points in computed.groupby("series"):
        panel.errorbar(
            points["score"],
            points["kappa"],
            points["high"] - points["kappa"],
            fmt="none",
            ecolor=GREY,
            elinewidth=0.7,
            capsize=1.5,
            capthick=0.7,
            zorder=2.5,
        )
        _points(panel, points["score"], points["kappa"], _style(series), 20, gid=series)
    printed = networks[networks["source"] == PUBLISHED]
    _rings(panel, printed["score"], printed["kappa"])
    panel.set_ylim(*SCORE_RANGE)
    panel.set_xlabel(BENCHMARKS[benchmark])
    panel.set_ylabel(KAPPA)


def _draw_means(panel, means, bands):
    colours = {PEOPLE: VERMILION, NETWORKS: BLUE}
    for row in means[means["source"] == COMPUTED].itertuples():
        colour = colours[row.series]
        line = {"color": colour, "linewidth": 1, "gid": f"mean {row.series}"}
        panel.axhline(row.kappa, **line, zorder=1)
        if bands and row.low < row.high:
            panel.axhspan(
                row.low, row.high, color=colour, alpha=0.15, linewidth=0, zorder=0
            )
        width = f" ± {row.high - row.kappa:.2f}" if row.low < row.high else ""
        panel.annotate(
            f"two {row.series}: {row.kappa:.2f}{width}",
            (0.03, row.kappa),
            xycoords=("axes fraction", "data"),
            xytext=(0, 3),
            textcoords="offset points",
            color=colour,
            fontsize=SMALL,
            bbox={"facecolor": "white", "alpha": 0.7, "linewidth": 0, "pad": 0.5},
            zorder=5,
        )
    for row in means[means["source"] == PUBLISHED].itertuples():
        panel.errorbar(
            1.03,
            row.kappa,
            row.high - row.kappa,
            fmt="o",
            markersize=6,
            markerfacecolor="none",
            color=GREY,
            markeredgewidth=0.7,
            elinewidth=0.7,
            capsize=2,
            capthick=0.7,
            transform=panel.get_yaxis_transform(),
            gid=f"mean {row.series} {PUBLISHED}",
            clip_on=False,
            zorder=4,
        )


def _legend(figure, series, ncols, published=True, more=()):
    handles = []
    for name in series:
        style = _style(name)
        label = KINDS.get(name, f"{name} with a person")
        edge = {} if style["marker"] in "x+" else {"markeredgewidth": 0.25}
        edge = edge and {**edge, "markeredgecolor": BLACK}
        handles.append(Line2D([], [], linestyle="", label=label, **style, **edge))
    handles += [*more, *([printed_handle()] if published else [])]
    figure.legend(handles=handles, loc="outside lower center", ncols=ncols)
