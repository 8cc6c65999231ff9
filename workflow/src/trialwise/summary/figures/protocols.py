"""How far the protocols move the generative features, drawn."""

import numpy as np

from trialwise.summary.figures.style import (
    BLUE,
    GREY,
    LIGHT_GREY,
    TEXT_WIDTH,
    VERMILION,
    in_style,
    new_figure,
)
from trialwise.summary.protocols import label_step


@in_style
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
    figure, panels = new_figure(TEXT_WIDTH, 5.4, len(steps))
    for axes, own in zip(panels[:, 0], steps, strict=True):
        task = own["task"].iloc[0]
        rows = np.arange(len(own))
        named = ~own.duplicated("end", keep="last")
        axes.plot(own["nll"], rows, color=LIGHT_GREY, zorder=1)
        axes.scatter(own["nll"], rows, s=10, color=GREY, zorder=2)
        axes.scatter(own["nll"][named], rows[named], s=32, color=BLUE, zorder=3)
        truth = scores[(scores["task"] == task) & (scores["model"] == "truth")]
        truth = truth.set_index("protocol")["nll"][own["end"][named]]
        axes.scatter(truth, rows[named], s=40, marker="|", color=VERMILION, zorder=2)
        n_trials = scores.loc[scores["task"] == task, "n_trials"].iloc[0]
        axes.axvline(n_trials * np.log(2), color=GREY, linestyle=":")
        labels = [
            label_step(step) + f" = {step.end}" * bool(last and step.part)
            for step, last in zip(own.itertuples(), named, strict=True)
        ]
        axes.set_yticks(rows, labels)
        axes.invert_yaxis()
        axes.margins(x=0.15)
        axes.set_title(task)
    axes.set_xlabel(
        "negative log-likelihood of people's choices (nats)\n"
        "dotted: chance, orange: knowing the right answer"
    )
    return figure
