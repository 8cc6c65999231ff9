"""Figures of the learning tasks (Demircan et al. 2024), each from one tidy table.

The tables come from `trialwise.summary.figures.alignment_tables`, whose functions
describe them; every function here returns a `matplotlib.figure.Figure`.
"""

from functools import partial
from textwrap import fill

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import FancyBboxPatch, Patch
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from trialwise.summary.alignment_effects import FIG_7, FIG_11
from trialwise.summary.correlations import SIX
from trialwise.summary.figures.alignment_tables import (
    MEASURES,
    METHODS,
    OBJECTIVES,
    PEOPLE,
    panels_of,
    tabulate_alignment,
    tabulate_choice_accuracy,
    tabulate_correlates,
    tabulate_curves,
    tabulate_differences,
    tabulate_examples,
    tabulate_gain,
    tabulate_matrix,
    tabulate_objectives,
    tabulate_tests,
    tabulate_types,
)
from trialwise.summary.figures.style import (
    BLACK,
    BLUE,
    COLUMN_WIDTH,
    COMPUTED,
    FAINT,
    GREEN,
    GREY,
    LIGHT_GREY,
    MODEL_MARKERS,
    MODEL_TYPES,
    ORANGE,
    PUBLISHED,
    PURPLE,
    SKY,
    SMALL,
    TEXT_WIDTH,
    VERMILION,
    bare,
    in_style,
    letter_panels,
    new_figure,
)

CHANCE, SIGNIFICANT = 0.5, 0.05
# Rank correlations of fewer models are not worth a number.
MINIMUM_MODELS = 5
# Inches from one model to the next: lines of the smallest text just do not touch.
ROW = 0.11
TITLES = {
    "category": "category task",
    "reward": "reward task",
    PEOPLE: "people",
    "published": "learners, as published",
    "comparable": "learners, comparable",
}
LOGARITHMIC = ("parameters", "training_images", "intrinsic_dimensionality")
METHOD_COLOURS = dict(zip(METHODS, [BLUE, ORANGE, GREEN], strict=True))
OBJECTIVE_COLOURS = dict(
    zip(OBJECTIVES.values(), [VERMILION, SKY, PURPLE], strict=True)
)
SIZES = ("Small", "Base", "Large")
DASHES = ("-", "--", ":", "-.")


@in_style
def draw_curves(table):
    """People and learners from their first to their last trials (Fig. 2).

    One row of panels for people and for each protocol. Behind computed curves, the
    printed ones of the same models are broad and pale.
    """
    computed = table[table["source"] == COMPUTED]
    shown = table if computed.empty else computed
    behind = table.iloc[:0] if computed.empty else table[table["source"] == PUBLISHED]
    protocols, tasks = shown["protocol"].unique(), shown["task"].unique()
    figure, panels = new_figure(
        TEXT_WIDTH, 0.9 + 1.65 * len(protocols), len(protocols), len(tasks), sharey=True
    )
    for task, column in zip(tasks, panels.T, strict=True):
        own = shown[shown["task"] == task]
        styles = _styles_of_curves(own)
        for protocol, axes in zip(protocols, column, strict=True):
            axes.axhline(CHANCE, color=LIGHT_GREY, linewidth=0.6)
            printed = behind[
                (behind["task"] == task) & (behind["protocol"] == protocol)
            ]
            for model, curve in printed.groupby("model", sort=False):
                style = {**styles[model], "linewidth": 5, "alpha": 0.25}
                axes.plot(_middle(curve["trial"]), curve["accuracy"], **style)
            curves = own[own["protocol"] == protocol]
            for model, curve in curves.groupby("model", sort=False):
                trials, style = _middle(curve["trial"]), styles[model]
                if curve["ci_low"].notna().all():
                    limits = curve["ci_low"], curve["ci_high"]
                    band = {"color": style["color"], "alpha": 0.25, "linewidth": 0}
                    axes.fill_between(trials, *limits, **band)
                axes.plot(trials, curve["accuracy"], **style)
            axes.set_title(f"{TITLES[task]}: {TITLES.get(protocol, protocol)}")
        column[-1].set_xlabel("trial")
        _name_curves(column[-1], styles, task in set(behind["task"]))
    lowest = table[["accuracy", "ci_low"]].min(axis=None)
    panels[0, 0].set_ylim(min(0.4, lowest) - 0.02, 1.02)
    for axes in panels[:, 0]:
        axes.set_ylabel("share correct")
    letter_panels(panels)
    return figure


def _styles_of_curves(curves):
    """Colour by type, and another line for each further model of a type."""
    styles, n_of_type = {PEOPLE: {"color": BLUE}}, {}
    learners = curves[curves["model"] != PEOPLE].drop_duplicates("model")
    for model, kind in zip(learners["model"], learners["type"], strict=True):
        number = n_of_type.get(kind, 0)
        n_of_type[kind] = number + 1
        styles[model] = {
            "color": _colour(kind),
            "linestyle": DASHES[number % len(DASHES)],
        }
    return styles


def _name_curves(axes, styles, printed):
    handles = [
        Line2D([], [], **style, label=model)
        for model, style in styles.items()
        if model != PEOPLE
    ]
    if printed:
        broad = {"color": LIGHT_GREY, "linewidth": 5}
        handles.append(Line2D([], [], **broad, label="printed in the paper"))
    axes.legend(
        handles=handles,
        loc="upper center",
        bbox_to_anchor=(0.5, -0.28),
        ncols=2,
        columnspacing=1.0,
        labelspacing=0.3,
    )


def _middle(starts):
    """Middle of each block of trials; the first trial of all is number 1."""
    size = starts.iloc[1] - starts.iloc[0]
    return starts + (size + 1) / 2


@in_style
def draw_by_model(table, reference=0.0):
    """One value per model and task, sorted (Figs. 3 and 10).

    The first protocol of the table is drawn as bars from `reference`, a second one as
    diamonds.
    """
    tasks, protocols = table["task"].unique(), table["protocol"].unique()
    figure, panels = _panels_of_models(table, tasks)
    for task, axes in zip(tasks, panels[0], strict=True):
        own = table[table["task"] == task]
        bars = own[own["protocol"] == protocols[0]]
        bars = bars.sort_values("value", ascending=False, kind="stable")
        rows = np.arange(len(bars))
        colours = bars["type"].map(_colour)
        length = bars["value"] - reference
        axes.barh(rows, length, 0.72, left=reference, color=colours)
        if len(protocols) > 1:
            other = own[own["protocol"] == protocols[1]].set_index("model")["value"]
            axes.scatter(other.reindex(bars["model"]), rows, **_DIAMOND, zorder=3)
        axes.axvline(reference, color=BLACK, linewidth=0.6)
        axes.spines["left"].set_visible(False)
        _name_rows(axes, bars["model"])
        axes.set_title(TITLES[task])
        label = MEASURES[own["measure"].iloc[0]]
        if "rho" in own:
            label += f"\nwith R²: {_in_words(own)}"
        axes.set_xlabel(label)
    handles = _patches_of_types(table)
    if len(protocols) > 1:
        handles.append(Patch(color=LIGHT_GREY, label=f"bar: {protocols[0]}"))
        marker = Line2D([], [], **_DIAMOND_LINE, label=protocols[1])
        handles.append(marker)
    _legend_below(figure, handles)
    letter_panels(panels)
    return figure


_DIAMOND = {
    "s": 14,
    "marker": "D",
    "facecolor": "white",
    "edgecolor": BLACK,
    "linewidth": 0.7,
}
_DIAMOND_LINE = {
    "linestyle": "",
    "marker": "D",
    "markersize": 3.7,
    "markerfacecolor": "white",
    "markeredgecolor": BLACK,
    "markeredgewidth": 0.7,
}


@in_style
def draw_gain(table):
    """What a model's learner adds to the right answer, with standard errors.

    Models are sorted by their mean over tasks.
    """
    order = table.groupby("model", sort=False)["value"].mean()
    order = order.sort_values(ascending=False, kind="stable").index
    tasks = table["task"].unique()
    figure, panels = _panels_of_models(table, tasks, sharey=True)
    rows = {model: row for row, model in enumerate(order)}
    for task, axes in zip(tasks, panels[0], strict=True):
        own = table[table["task"] == task]
        for model in own.itertuples():
            axes.errorbar(
                model.value,
                rows[model.model],
                xerr=model.standard_error,
                fmt=MODEL_MARKERS.get(model.type, "o"),
                color=_colour(model.type),
            )
        axes.axvline(0, color=BLACK, linewidth=0.6)
        axes.locator_params(axis="x", nbins=5)
        axes.spines["left"].set_visible(False)
        axes.set_title(TITLES[task])
        axes.set_xlabel("gain over truth (nats per trial)")
    _name_rows(panels[0, 0], order)
    _legend_below(figure, _markers_of_types(table))
    letter_panels(panels)
    return figure


@in_style
def draw_correlates(table, figure):
    """Alignment against one property of the models in each panel (Figs. 4 and 8)."""
    measures = {item: predictor for item, _, predictor, _ in panels_of(figure)}
    n_rows = -(-len(measures) // 3)
    drawn, panels = new_figure(TEXT_WIDTH, 0.35 + 2.1 * n_rows, n_rows, 3, sharey=True)
    for (item, measure), axes in zip(measures.items(), panels.flat, strict=False):
        own = table[table["item"] == item]
        axes.set_xlabel(MEASURES[measure])
        if own.empty:
            axes.set_xticks([])
            style = {"transform": axes.transAxes, "ha": "center", "color": GREY}
            axes.text(0.5, 0.5, f"{_TOO_SMALL} (0)", fontsize=SMALL, **style)
            continue
        for kind, points in own.groupby("type", sort=False):
            marker = MODEL_MARKERS.get(kind, "o")
            size = 50 if marker == "*" else 14
            style = {"s": size, "alpha": 0.8, "linewidth": 0, "marker": marker}
            axes.scatter(points["value"], points["r2"], color=_colour(kind), **style)
        if measure in LOGARITHMIC:
            _scale_logarithmically(axes)
        axes.axhline(0, color=LIGHT_GREY, linewidth=0.6, zorder=0)
        axes.set_title(_in_words(own))
    for axes in panels.flat[len(measures) :]:
        axes.set_axis_off()
    for axes in panels[:, 0]:
        axes.set_ylabel(MEASURES["r2"])
    if table.empty:
        panels[0, 0].set_yticks([])
    _legend_below(drawn, _markers_of_types(table))
    letter_panels(panels.flat[: len(measures)])
    return drawn


@in_style
def draw_types(table):
    """Rank correlation of dimensionality and alignment within types (Fig. 5)."""
    figure, panels = new_figure(COLUMN_WIDTH, 0.6 + 0.42 * len(table))
    axes = panels[0, 0]
    axes.axvline(0, color=LIGHT_GREY, linewidth=0.6)
    for row, own in enumerate(table.itertuples()):
        colour, marker = _colour(own.type), MODEL_MARKERS.get(own.type, "o")
        if own.n < MINIMUM_MODELS:
            axes.text(0.04, row, _TOO_SMALL, color=GREY, fontsize=SMALL, va="center")
        else:
            axes.plot([own.ci_low, own.ci_high], [row, row], color=colour)
            axes.scatter(own.rho, row, s=24, color=colour, marker=marker, zorder=3)
            label = _number(own.rho)
            axes.annotate(
                label, (own.rho, row), (0, 5), textcoords="offset points", ha="center"
            )
    labels = [f"{own.type}\n(n = {own.n:.0f})" for own in table.itertuples()]
    axes.set_yticks(range(len(table)), labels)
    axes.set_ylim(len(table) - 0.5, -0.6)
    axes.set_xlim(-1, 1)
    axes.set_xticks([-1, -0.5, 0, 0.5, 1])
    axes.set_xlabel("rank correlation with R², 95 % interval")
    return figure


_TOO_SMALL = "n too small"


@in_style
def draw_objectives(table):
    """Networks that differ in their objective alone (Fig. 6)."""
    measures = ("r2", "task_accuracy")
    figure, panels = new_figure(TEXT_WIDTH, 2.4, 1, 2)
    for measure, axes in zip(measures, panels[0], strict=True):
        own = table[table["measure"] == measure]
        floor = CHANCE if measure == "task_accuracy" else 0.0
        label = MEASURES[measure].removesuffix(" (mean of tasks)")
        statistic = "".join(own["statistic"].unique()[:1])
        axes.set_ylabel(f"{label}\n({statistic})" if statistic else label)
        if own.empty:
            _say(axes, f"{_TOO_SMALL} (0)")
            continue
        for number, (objective, colour) in enumerate(OBJECTIVE_COLOURS.items()):
            bars = own[own["objective"] == objective]
            at = bars["size"].map(SIZES.index) + (number - 1) * 0.27
            axes.bar(at, bars["value"] - floor, 0.25, floor, color=colour)
            axes.vlines(at, bars["ci_low"], bars["ci_high"], color=BLACK, lw=0.8)
        axes.set_xticks(range(len(SIZES)), SIZES)
        axes.set_xlabel("size of the vision transformer")
    if not table.empty:
        colours = OBJECTIVE_COLOURS.items()
        _legend_below(figure, [Patch(color=c, label=name) for name, c in colours])
    letter_panels(panels)
    return figure


@in_style
def draw_differences(table, figure):
    """Aligned networks against those they come from (Figs. 7 and 11)."""
    measures = {"Fig. 7": FIG_7, "Fig. 11": FIG_11}[figure]
    models = list(table["model"].unique())
    rows = {model: row for row, model in enumerate(models)}
    drawn, panels = new_figure(
        TEXT_WIDTH, 0.95 + 0.15 * max(len(models), 4), 1, len(measures), sharey=True
    )
    for measure, axes in zip(measures, panels[0], strict=True):
        own = table[table["measure"] == measure]
        axes.set_xlabel(_in_two_lines(measure))
        if own.empty:
            _say(axes, f"{_TOO_SMALL} (0)")
            continue
        at, colours = own["model"].map(rows), own["method"].map(METHOD_COLOURS)
        axes.barh(at, own["difference"], 0.7, color=colours)
        axes.axvline(0, color=BLACK, linewidth=0.6)
        axes.margins(x=0.08)
        axes.tick_params(axis="y", length=0, pad=1)
        axes.spines["left"].set_visible(False)
        axes.locator_params(axis="x", nbins=4)
    if models:
        _name_rows(panels[0, 0], models)
    present = table["method"].unique()
    _legend_below(
        drawn, [Patch(color=METHOD_COLOURS[name], label=name) for name in present]
    )
    letter_panels(panels)
    return drawn


@in_style
def draw_tests(table):
    """In which trials people are right more often than by chance (Fig. 12)."""
    tasks = table["task"].unique()
    figure, panels = new_figure(TEXT_WIDTH, 2.3, 1, len(tasks), sharey=True)
    for task, axes in zip(tasks, panels[0], strict=True):
        own = table[table["task"] == task]
        below = own["p"] < SIGNIFICANT
        axes.axhline(SIGNIFICANT, color=GREY, linewidth=0.6)
        for rows, face in ((own[below], BLUE), (own[~below], "white")):
            style = {"s": 9, "facecolor": face, "edgecolor": BLUE, "linewidth": 0.6}
            axes.scatter(rows["trial"] + 1, rows["p"], **style)
        axes.set_yscale("log")
        title = f"{task}: {below.sum()} of {len(own)} below .05"
        if below.any():
            title += f", first is trial {own.loc[below, 'trial'].min() + 1}"
        axes.set_title(title)
        axes.set_xlabel("trial")
    panels[0, 0].set_ylabel("p of a t-test against chance")
    letter_panels(panels)
    return figure


@in_style
def draw_examples(table):
    """A participant's first trials, with names instead of images (Fig. 13)."""
    tasks = table["task"].unique()
    figure, panels = new_figure(TEXT_WIDTH, 1.55 * len(tasks), len(tasks))
    for task, axes in zip(tasks, panels[:, 0], strict=True):
        own = table[table["task"] == task]
        bare(axes)
        axes.set_xlim(0, len(own))
        axes.set_ylim(0, 1)
        axes.set_title(f"{TITLES[task]}, participant {own['participant'].iloc[0]}")
        for left, trial in enumerate(own.itertuples()):
            _write(axes, left, 0.93, f"trial {trial.trial + 1}", GREY)
            verdict, colour = (
                ("correct", BLUE) if trial.correct else ("wrong", VERMILION)
            )
            if task == "category":
                _draw_card(axes, left, 0.5, fill(trial.left_object, _WIDEST))
                said = f"answer: {trial.choice}"
                _write(axes, left, 0.34, said, BLACK)
                _write(axes, left, 0.19, f"owner: {trial.owner}", BLACK)
            else:
                for side, bottom in (("left", 0.5), ("right", 0.13)):
                    name = getattr(trial, f"{side}_object")
                    points = getattr(trial, f"{side}_reward")
                    text = f"{fill(name, _WIDEST)}\n{points:.0f} points"
                    _draw_card(axes, left, bottom, text, trial.choice == side)
            _write(axes, left, 0.04, verdict, colour)
    letter_panels(panels)
    return figure


# Letters that fit on a card.
_WIDEST = 17


def _write(axes, left, at, text, colour):
    style = {"ha": "center", "va": "center", "fontsize": SMALL, "color": colour}
    axes.text(left + 0.5, at, text, **style)


def _draw_card(axes, left, bottom, text, chosen=False):
    height = 0.34
    axes.add_patch(
        FancyBboxPatch(
            (left + 0.04, bottom),
            0.92,
            height,
            boxstyle="round,pad=0,rounding_size=0.05",
            facecolor=FAINT if chosen else "white",
            edgecolor=BLACK if chosen else LIGHT_GREY,
            linewidth=1.4 if chosen else 0.7,
        )
    )
    _write(axes, left, bottom + height / 2, text, BLACK)


@in_style
def draw_matrix(table):
    """Rank correlations between properties of the models (Fig. 14)."""
    places = {name: place for place, name in enumerate(SIX)}
    columns, rows = table["first"].map(places), table["second"].map(places) - 1
    shown = table["rho"].where(table["n"] >= MINIMUM_MODELS)
    grid = np.full((len(SIX) - 1, len(SIX) - 1), np.nan)
    grid[rows, columns] = shown
    figure, panels = new_figure(5.6, 4.2)
    axes = panels[0, 0]
    image = axes.imshow(grid, cmap="PuOr", vmin=-1, vmax=1)
    for row, column, rho, n in zip(rows, columns, shown, table["n"], strict=True):
        text = "n too\nsmall" if np.isnan(rho) else f"{_number(rho)}\nn = {n:.0f}"
        style = {"ha": "center", "va": "center", "fontsize": SMALL}
        colour = "white" if abs(rho) > 0.7 else BLACK
        axes.text(column, row, text, color=colour, **style)
    labels = [_in_two_lines(name) for name in SIX]
    axes.set_xticks(range(len(SIX) - 1), labels[:-1], rotation=30, ha="right")
    axes.set_yticks(range(len(SIX) - 1), labels[1:])
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    figure.colorbar(
        image,
        shrink=0.6,
        label="Spearman's rank correlation",
        ticks=[-1, -0.5, 0, 0.5, 1],
    )
    return figure


def _in_two_lines(measure):
    label = MEASURES[measure]
    if len(label) < 18:
        return label
    halfway = label.find(" (") if " (" in label else label.find(" ", len(label) // 3)
    return f"{label[:halfway]}\n{label[halfway + 1 :]}"


def _number(value, digits=2):
    """A correlation as it is printed: without leading zero, with a true minus."""
    text = f"{abs(value):.{digits}f}".removeprefix("0")
    return "\u2212" + text if round(value, digits) < 0 else text


def _in_words(rows):
    n = 0 if rows.empty else int(rows["n"].iloc[0])
    if n < MINIMUM_MODELS:
        return f"{_TOO_SMALL} ({n})"
    rho, p = rows["rho"].iloc[0], rows["p"].iloc[0]
    words = "p < .001" if p < 0.001 else f"p = {_number(p, 3)}"
    return f"$\\rho$ = {_number(rho)}, {words}, n = {n}"


def _colour(kind):
    return MODEL_TYPES.get(kind, GREY)


def _panels_of_models(table, tasks, **options):
    n = table["model"].nunique()
    height = 0.9 + max(ROW * n, 0.2 * min(n, 8))
    figure, panels = new_figure(TEXT_WIDTH, height, 1, len(tasks), **options)
    for axes in panels[0]:
        axes.tick_params(axis="y", length=0, pad=1)
    return figure, panels


def _name_rows(axes, names):
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)


def _scale_logarithmically(axes):
    axes.set_xscale("log")
    low, high = axes.get_xlim()
    steps = (1, 2, 5) if high / low < 100 else (1,)
    axes.xaxis.set_major_locator(LogLocator(subs=steps))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())


def _say(axes, text):
    bare(axes)
    style = {"ha": "center", "va": "center", "fontsize": SMALL, "color": GREY}
    axes.text(0.5, 0.5, text, transform=axes.transAxes, **style)


def _label(kind):
    return kind if kind == "Task" else kind.lower()


def _patches_of_types(table):
    present = set(table["type"])
    return [
        Patch(color=colour, label=_label(kind))
        for kind, colour in MODEL_TYPES.items()
        if kind in present
    ]


def _markers_of_types(table):
    present = set(table["type"])
    return [
        Line2D(
            [],
            [],
            linestyle="",
            marker=MODEL_MARKERS[kind],
            color=c,
            label=_label(kind),
        )
        for kind, c in MODEL_TYPES.items()
        if kind in present
    ]


def _legend_below(figure, handles):
    if handles:
        figure.legend(
            handles=handles,
            loc="outside lower center",
            ncols=min(len(handles), 5),
            columnspacing=1.2,
        )


DRAWINGS = {
    "gain-over-truth": (tabulate_gain, draw_gain),
    "learning-curves": (tabulate_curves, draw_curves),
    "alignment-by-model": (tabulate_alignment, draw_by_model),
    "alignment-and-model-properties": (
        partial(tabulate_correlates, figure="Fig. 4"),
        partial(draw_correlates, figure="Fig. 4"),
    ),
    "alignment-and-dimensionality-by-type": (tabulate_types, draw_types),
    "alignment-by-training-objective": (tabulate_objectives, draw_objectives),
    "aligned-models-against-base": (
        partial(tabulate_differences, figure="Fig. 7"),
        partial(draw_differences, figure="Fig. 7"),
    ),
    "alignment-and-other-measures": (
        partial(tabulate_correlates, figure="Fig. 8"),
        partial(draw_correlates, figure="Fig. 8"),
    ),
    "predicted-choices-by-model": (
        tabulate_choice_accuracy,
        partial(draw_by_model, reference=CHANCE),
    ),
    "aligned-models-against-base-other-measures": (
        partial(tabulate_differences, figure="Fig. 11"),
        partial(draw_differences, figure="Fig. 11"),
    ),
    "people-above-chance-by-trial": (tabulate_tests, draw_tests),
    "example-trials": (tabulate_examples, draw_examples),
    "correlations-of-model-properties": (tabulate_matrix, draw_matrix),
}
