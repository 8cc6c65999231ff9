"""Scores of the category learners against a fixed strength of regularisation."""

import pandas as pd

from trialwise.choices.crossvalidation import held_out_log_score
from trialwise.choices.scores import learner_correct, predict_from_learner


def penalty_curve(trials, fixed, chosen, protocol):
    """How human a learner looks with each C held fixed, and where the chosen C ends.

    Parameters
    ----------
    trials : pandas.DataFrame
        The category task, from `trialwise.choices.people.read_choices`.
    fixed : pandas.DataFrame
        From `trialwise.learners.protocol.fixed_penalty_values`, one learner.
    chosen : pandas.DataFrame
        Of the same learner under the scaling `global`, which chooses C anew each trial.
    protocol : dict
        See `trialwise.choices.scores.score_learner`.

    Returns
    -------
    pandas.DataFrame
        ``C, nll, learner_accuracy, share_ending``, a row per C of the grid. The last is
        the share of participants who end with this C; in the first and last row that is
        an edge of the grid.
    """
    last = chosen.sort_values("trial").groupby("participant")["C"].last()
    rows = []
    for c, values in fixed.groupby("C"):
        table, log_odds, _ = predict_from_learner(trials, values, "category", protocol)
        rows.append(
            {
                "C": c,
                "nll": -held_out_log_score(table["choice"], log_odds).sum(),
                "learner_accuracy": learner_correct(table, "category").mean(),
                "share_ending": (last == c).mean(),
            }
        )
    return pd.DataFrame(rows)
