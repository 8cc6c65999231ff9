"""Figures, each drawn from a tidy table."""

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from trialwise.consistency import ALL_TRIALS, OTHER
from trialwise.files import whole
from trialwise.summary.protocols import label_step
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


def protocol_steps(scores, steps):
    """The generative features' fit to people's choices, one change of protocol a row.

    Parameters
    ----------
    scores : pandas.DataFrame
        All scores; see `trialwise.summary.protocols.describe`.
    steps : list of pandas.DataFrame
        From `trialwise.summary.protocols.measure_steps`, one per task.

    Returns
    -------
    matplotlib.figure.Figure
    """
    figure = Figure(figsize=(10, 7), layout="constrained")
    FigureCanvasAgg(figure)
    for axes, own in zip(figure.subplots(len(steps)), steps, strict=True):
        task = own["task"].iloc[0]
        rows = np.arange(len(own))
        named = ~own.duplicated("end", keep="last")
        axes.plot(own["nll"], rows, color="0.7", linewidth=1, zorder=1)
        axes.scatter(own["nll"], rows, s=16, color="0.4", zorder=2)
        axes.scatter(own["nll"][named], rows[named], s=50, color="#0072B2", zorder=3)
        truth = scores[(scores["task"] == task) & (scores["model"] == "truth")]
        truth = truth.set_index("protocol")["nll"][own["end"][named]]
        axes.scatter(truth, rows[named], s=40, marker="|", color="#D55E00", zorder=2)
        n_trials = scores.loc[scores["task"] == task, "n_trials"].iloc[0]
        axes.axvline(n_trials * np.log(2), color="0.6", linestyle=":", linewidth=1)
        labels = [
            label_step(step) + f" = {step.end}" * bool(last and step.part)
            for step, last in zip(own.itertuples(), named, strict=True)
        ]
        axes.set_yticks(rows, labels)
        axes.invert_yaxis()
        axes.margins(x=0.15)
        axes.set_title(task, loc="left", fontsize=10)
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(labelsize=8)
    axes.set_xlabel(
        "negative log-likelihood of people's choices (nats; dotted: chance, "
        "orange: knowing the right answer)"
    )
    return figure


def save(figure, path):
    """Write a figure whole, in the format of the suffix, without date or version."""
    unstamped = {
        ".pdf": {"CreationDate": None, "Producer": None, "Creator": None},
        ".png": {"Software": None},
    }
    with whole(path) as temporary:
        figure.savefig(temporary, dpi=200, metadata=unstamped[temporary.suffix])
