"""Figures of what observers answered (Geirhos et al. 2020), each with its tidy table.

Functions that tabulate are as in `trialwise.summary.figures.consistency_tables`, those
that draw as in `trialwise.summary.figures.consistency`.
"""

import re
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from PIL import Image

from trialwise.consistency import ALL_TRIALS
from trialwise.consistency.accuracy import HUMANS
from trialwise.consistency.shape_bias import ALL
from trialwise.summary.figures.catalogue import NOISE
from trialwise.summary.figures.consistency import TITLES, printed_handle
from trialwise.summary.figures.consistency_tables import published_cells
from trialwise.summary.figures.style import (
    BLACK,
    COMPUTED,
    FAINT,
    GREY,
    LIGHT_GREY,
    PUBLISHED,
    SKY,
    SMALL,
    TEXT_WIDTH,
    VERMILION,
    bare,
    in_style,
    letter_panels,
    new_figure,
)
from trialwise.trials import CATEGORIES, NO_RESPONSE

OBSERVERS = {
    HUMANS: {"label": "people", "color": VERMILION, "marker": "D"},
    "resnet50": {"label": "ResNet-50", "color": SKY, "marker": "o"},
    "cornet-s": {"label": "CORnet-S", "color": BLACK, "marker": "*"},
}
# Title, axis, scale and marked levels, the least distorted first.
DISTORTIONS = {
    "uniform-noise": (
        "uniform noise",
        "noise width",
        "linear",
        (0, 0.2, 0.35, 0.6, 0.9),
    ),
    "contrast": ("contrast", "contrast (%)", "log", (100, 30, 10, 3, 1)),
    "high-pass": ("high-pass", "filter SD", "log", (3, 1.5, 0.7, 0.4)),
    "low-pass": ("low-pass", "filter SD", "log", (1, 3, 7, 15, 40)),
    "eidolon-1": ("eidolon I", "reach", "log", (1, 4, 16, 64)),
    "eidolon-2": ("eidolon II", "reach", "log", (1, 4, 16, 64)),
    "eidolon-3": ("eidolon III", "reach", "log", (1, 4, 16, 64)),
    "phase-scrambling": ("phase noise", "noise width (°)", "linear", (0, 60, 120, 180)),
}
EXAMPLES = 8
EXTREMES = {
    "human-easy": "easiest for people,\nhardest for networks",
    "network-easy": "easiest for networks,\nhardest for people",
}
EACH = 5


def tabulate_examples(tables, settings):
    """Rows of the stimulus examples: the first image of every second category."""
    images = pd.Series(sorted(tables["edges/controversial"]["image"]))
    category = images.str.extract(r"^([a-z]+)", expand=False)
    first = images[~category.duplicated()].iloc[::2].head(EXAMPLES)
    return pd.concat(
        [
            pd.DataFrame({"experiment": name, "image": first, "source": COMPUTED})
            for name in ("edges", "silhouettes")
        ],
        ignore_index=True,
    )


@in_style
def draw_examples(table, folders):
    """Stimuli as in Figure 3, from `tabulate_examples` and the folders of images."""
    rows = list(table.groupby("experiment", sort=False))
    figure, axes = new_figure(TEXT_WIDTH, 1.75, len(rows), EXAMPLES)
    for panels, (experiment, own) in zip(axes, rows, strict=True):
        for panel, image in zip(panels, own["image"], strict=True):
            _show(panel, folders, experiment, image)
        panels[0].set_ylabel(TITLES[experiment])
    return figure


def tabulate_controversial(tables, settings):
    """Rows of Figure SF.4: the five images of each kind, and those the paper shows."""
    rows = []
    for experiment in ("edges", "silhouettes"):
        images = tables[f"{experiment}/controversial"]
        for kind in EXTREMES:
            rank = images[kind.replace("-", "_") + "_rank"]
            own = images.assign(rank=rank)[rank <= EACH].sort_values("rank")
            columns = ["image", "rank", "humans_correct", "networks_correct"]
            rows.append(
                own[columns].assign(experiment=experiment, kind=kind, source=COMPUTED)
            )
            printed = _printed_images(tables["published"], experiment, kind)
            rows.append(
                pd.DataFrame({"image": printed}).assign(
                    experiment=experiment, kind=kind, source=PUBLISHED
                )
            )
    order = ["experiment", "kind", "rank", "image"]
    counts = ["humans_correct", "networks_correct"]
    return pd.concat(rows, ignore_index=True)[[*order, *counts, "source"]]


def _printed_images(published, experiment, kind):
    own = published[
        (published["table"] == f"consistency/{experiment}/controversial-five.csv")
        & (published["select"] == f"kind={kind}")
    ]
    return own["published"].iloc[0].split() if len(own) else []


@in_style
def draw_controversial(table, folders):
    """Figure SF.4, from `tabulate_controversial` and the folders of images."""
    rows = list(table.groupby(["experiment", "kind"], sort=False))
    figure, axes = new_figure(TEXT_WIDTH - 1.2, 6.4, len(rows), EACH)
    for panels, ((experiment, kind), own) in zip(axes, rows, strict=True):
        printed = set(own["image"][own["source"] == PUBLISHED])
        computed = own[own["source"] == COMPUTED]
        for panel, row in zip(panels, computed.itertuples(), strict=True):
            _show(panel, folders, experiment, row.image)
            right = row.humans_correct, row.networks_correct
            panel.set_xlabel("people: {:.0f}\nnetworks: {:.0f}".format(*right))
            panel.xaxis.label.set_size(SMALL)
            if row.image in printed:
                panel.spines[:].set(visible=True, color=GREY, linewidth=2)
        panels[0].set_ylabel(f"{TITLES[experiment]}:\n{EXTREMES[kind]}")
    frame = Patch(
        facecolor="none",
        edgecolor=GREY,
        linewidth=2,
        label="shown in the paper (known for this row only)",
    )
    figure.legend(handles=[frame], loc="outside lower center")
    return figure


def _show(panel, folders, experiment, image):
    category = re.match("[a-z]+", image)[0]
    path = Path(folders[f"stimuli-{experiment}"], category, image)
    with Image.open(path) as opened:
        panel.imshow(np.asarray(opened.convert("L")), cmap="gray", vmin=0, vmax=255)
    bare(panel)
    panel.spines[:].set(visible=True, color=FAINT)
    panel.set_gid(image)


def tabulate_shape_bias(tables, settings):
    """Rows of Figure SF.5: ``observer, category, shape_bias, answered, source``.

    `answered` is the share of answers that are the shape or the texture.
    """
    own = tables["cue-conflict/shape-bias"]
    own = own[own["observer"].isin(OBSERVERS)]
    own = own.assign(answered=(own["n_shape"] + own["n_texture"]) / own["n"])
    printed = published_cells(
        tables["published"], "cue-conflict/shape-bias", ["shape_bias"]
    )
    percent = published_cells(
        tables["published"], "cue-conflict/texture-trained", ["shape_bias_percent"]
    )
    percent = percent.assign(
        category=ALL, shape_bias=percent["shape_bias_percent"] / 100
    )
    printed = pd.concat([printed, percent])
    printed = printed[printed["observer"].isin(OBSERVERS)]
    table = pd.concat(
        [own.assign(source=COMPUTED), printed.assign(source=PUBLISHED)],
        ignore_index=True,
    )
    return table[["observer", "category", "shape_bias", "answered", "source"]]


@in_style
def draw_shape_bias(table):
    """Figure SF.5, from `tabulate_shape_bias`; categories by people's shape bias."""
    by_category = table[(table["category"] != ALL) & (table["source"] == COMPUTED)]
    people = by_category[by_category["observer"] == HUMANS]
    order = people.sort_values("shape_bias")["category"].tolist()
    figure, axes = new_figure(
        5.2, 4.6, 1, 2, sharey=True, width_ratios=[3, 1], gridspec_kw={"wspace": 0.03}
    )
    points, bars = axes[0]
    height = 0.8 / len(OBSERVERS)
    for place, (observer, style) in enumerate(OBSERVERS.items()):
        own = by_category[by_category["observer"] == observer].set_index("category")
        own = own.loc[order]
        look = {"color": style["color"], "marker": style["marker"], "zorder": 3}
        points.scatter(
            *(own["shape_bias"], range(len(order))),
            s=26,
            edgecolor=BLACK,
            linewidth=0.25,
            gid=observer,
            **look,
        )
        average = table[(table["category"] == ALL) & (table["observer"] == observer)]
        for row in average.itertuples():
            if row.source == COMPUTED:
                points.axvline(row.shape_bias, color=style["color"], alpha=0.5)
            else:
                points.plot(
                    *(row.shape_bias, len(order) - 0.2),
                    marker="o",
                    markersize=6,
                    markerfacecolor="none",
                    color=GREY,
                    gid=PUBLISHED,
                )
        bars.barh(
            np.arange(len(order)) + 0.4 - height * (place + 0.5),
            own["answered"],
            height,
            color=style["color"],
            gid=observer,
        )
    points.set_yticks(range(len(order)), order)
    points.set_ylim(-0.6, len(order) + 0.3)
    points.set_xlim(-0.02, 1.02)
    points.grid(axis="y", color=FAINT, linewidth=0.6)
    points.set_xlabel("shape bias (0: all texture, 1: all shape)")
    bars.set_xlim(0, 1)
    bars.set_xlabel("answers that are\nshape or texture")
    bars.tick_params(left=False)
    figure.legend(handles=_observer_handles(), loc="outside lower center", ncols=4)
    letter_panels(axes)
    return figure


def tabulate_distortion(tables, settings):
    """Rows of Figure SF.7: ``experiment, observer, level, accuracy, low, high``."""
    rows = []
    for name in NOISE:
        own = tables[f"{name}/levels"]
        own = own[(own["variant"] == ALL_TRIALS) & own["observer"].isin(OBSERVERS)]
        printed = published_cells(tables["published"], f"{name}/levels", ["accuracy"])
        printed = printed.astype({"level": float})
        rows += [
            own.assign(experiment=name, source=COMPUTED),
            printed.assign(experiment=name, source=PUBLISHED),
        ]
    columns = ["experiment", "observer", "level", "accuracy", "low", "high", "source"]
    return pd.concat(rows, ignore_index=True)[columns]


@in_style
def draw_distortion(table):
    """Figure SF.7, from `tabulate_distortion`."""
    figure, axes = new_figure(TEXT_WIDTH, 4.2, 2, 4, sharey=True)
    for panel, name in zip(axes.flat, NOISE, strict=True):
        own = table[table["experiment"] == name]
        title, label, scale, marked = DISTORTIONS[name]
        panel.set_xscale(scale)
        for observer, style in OBSERVERS.items():
            rows = own[(own["observer"] == observer) & (own["source"] == COMPUTED)]
            rows = rows.sort_values("level")
            around = [rows["accuracy"] - rows["low"], rows["high"] - rows["accuracy"]]
            panel.errorbar(
                *(rows["level"], rows["accuracy"], around),
                color=style["color"],
                marker=style["marker"],
                markersize=3.5,
                linewidth=0.9,
                elinewidth=0.6,
                capsize=1.5,
                gid=f"{name} {observer}",
            )
        printed = own[own["source"] == PUBLISHED]
        panel.scatter(
            *(printed["level"], printed["accuracy"]),
            s=30,
            facecolor="none",
            edgecolor=GREY,
            linewidth=0.4,
            gid=PUBLISHED,
            zorder=4,
        )
        panel.axhline(1 / len(CATEGORIES), color=LIGHT_GREY, linestyle="--", zorder=0)
        panel.set_xticks(marked, [f"{level:g}" for level in marked])
        panel.minorticks_off()
        panel.xaxis.set_inverted(marked[0] > marked[-1])
        panel.set_ylim(0, 1)
        panel.set_title(title)
        panel.set_xlabel(label)
    for panel in axes[:, 0]:
        panel.set_ylabel("accuracy")
    figure.legend(handles=_observer_handles(), loc="outside lower center", ncols=4)
    letter_panels(axes)
    return figure


def _observer_handles():
    marks = [
        Line2D([], [], linestyle="", markersize=5, **style)
        for style in OBSERVERS.values()
    ]
    return [*marks, printed_handle()]


def tabulate_confusion(tables, settings, experiment):
    """Rows of Figure SF.8: ``observer, category, response, percent, source``."""
    own = tables[f"{experiment}/confusion"]
    own = own[own["observer"].isin(OBSERVERS)]
    columns = ["observer", "category", "response", "percent"]
    return own[columns].assign(source=COMPUTED)


@in_style
def draw_confusion(table):
    """Figure SF.8 of one experiment, from `tabulate_confusion`."""
    observers = [name for name in OBSERVERS if name in set(table["observer"])]
    width = 1.9 * len(observers) + 1.3
    figure, axes = new_figure(width, 2.9, 1, len(observers), sharey=True)
    for panel, observer in zip(axes[0], observers, strict=True):
        own = table[table["observer"] == observer]
        wide = own.pivot(index="response", columns="category", values="percent")
        # Answers never given have no row; the grid stays the same for all.
        wide = wide.reindex(index=[*CATEGORIES, NO_RESPONSE], columns=CATEGORIES)
        image = panel.pcolormesh(
            wide.fillna(0),
            cmap="Blues",
            vmin=0,
            vmax=100,
            edgecolor=FAINT,
            linewidth=0.2,
            gid=observer,
        )
        centres = np.arange(len(CATEGORIES)) + 0.5
        panel.set_xticks(centres, CATEGORIES, rotation=90)
        panel.set_yticks([*centres, centres[-1] + 1], [*CATEGORIES, "none"])
        panel.tick_params(length=0)
        panel.spines[:].set_visible(False)
        panel.invert_yaxis()
        panel.set_title(OBSERVERS[observer]["label"])
        panel.set_xlabel("presented")
    axes[0, 0].set_ylabel("answered")
    figure.colorbar(
        image, ax=axes, label="% of the trials of a category", shrink=0.7, aspect=25
    )
    return figure
