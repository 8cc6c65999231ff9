"""Figures, each drawn from a tidy table."""

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from trialwise.consistency import ALL_TRIALS, OTHER
from trialwise.files import whole
from trialwise.trials import is_human

KINDS = {
    "two people": {"color": "#D55E00", "marker": "D", "zorder": 4},
    "two networks": {"color": "#0072B2", "marker": "x", "zorder": 3},
    "a network and a person": {"color": "#009E73", "marker": "o", "zorder": 2},
}
STYLE = {"s": 14, "linewidth": 0.8, "alpha": 0.8}


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
    pairs = pairs[(pairs["variant"] == ALL_TRIALS) & (pairs["group"] != OTHER)]
    figure = Figure(figsize=(5, 4), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    known = band.dropna()
    axes.fill_between(
        known["expected"],
        known["kappa_low"],
        known["kappa_high"],
        color="0.88",
        linewidth=0,
        label="95 % of independent observers",
    )
    axes.axhline(0, color="0.6", linewidth=0.6, zorder=1)
    people = is_human(pairs["observer_i"]).astype(int)
    people += is_human(pairs["observer_j"]).astype(int)
    kind = np.take(["two networks", "a network and a person", "two people"], people)
    for name, style in KINDS.items():
        points = pairs[kind == name]
        if len(points):
            axes.scatter(
                points["expected"], points["kappa"], label=name, **style, **STYLE
            )
    axes.set_xlim(0, 1)
    axes.set_ylim(min(-0.2, pairs["kappa"].min() - 0.05), 1.02)
    axes.set_xlabel("expected error overlap $c_{exp}$")
    axes.set_ylabel("error consistency $\\kappa$")
    axes.set_title(title, fontsize=10, loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(fontsize=7, frameon=False, loc="upper left")
    return figure


def save(figure, path):
    """Write a figure whole, in the format of the suffix, without date or version."""
    unstamped = {
        ".pdf": {"CreationDate": None, "Producer": None, "Creator": None},
        ".png": {"Software": None},
    }
    with whole(path) as temporary:
        figure.savefig(temporary, dpi=200, metadata=unstamped[temporary.suffix])
