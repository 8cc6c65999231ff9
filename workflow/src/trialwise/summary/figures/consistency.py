"""Figures of error consistency (Geirhos et al. 2020).

Drawn from the tables of `trialwise.summary.figures.consistency_tables` and nothing
else. Values printed in the paper are drawn in grey, as rings, ticks or broad lines
behind what was computed.
"""

import numpy as np
from matplotlib.lines import Line2D

from trialwise.consistency import ALL_TRIALS, OTHER
from trialwise.summary.figures.catalogue import EXPERIMENTS
from trialwise.summary.figures.consistency_tables import (
    BENCHMARKS,
    FAMILIES,
    LIMITS,
    NAMES,
    NETWORKS,
    ONE_FAMILY,
    PEOPLE,
    SIDES,
    TWO_FAMILIES,
    family_of,
)
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
EXPECTED, OBSERVED = "expected error overlap", "observed error overlap"
KAPPA = "error consistency $\\kappa$"
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
# The paper's figures of kappa against a score reach from just below 0 to .69.
SCORE_RANGE = (-0.09, 0.72)


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
                for limit in LIMITS[measure]:
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
            for limit in LIMITS[measure]:
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
    human = sum(is_human(own[side]).astype(int) for side in SIDES)
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
    """The entry of a legend for values printed in the paper."""
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
