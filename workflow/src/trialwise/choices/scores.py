"""How well a learner's values predict people's choices, trial by trial and pooled."""

import re

import numpy as np
import pandas as pd
from scipy import special

from trialwise.choices.crossvalidation import (
    held_out_log_score,
    leave_one_participant_out,
    leave_one_trial_out,
)
from trialwise.choices.design import design, rescale
from trialwise.choices.glmm import fit

SCALING = {"standardised": "standardise", "signed": "divide"}
BIAS_MODEL = "choice ~ 1 + (1 | participant)"
TRUTH_MODEL = "choice ~ 1 + s + s:trial + (1 + s || participant)"
GAIN_MODEL = "choice ~ 1 + s + s:trial + x + (1 + s + x || participant)"
BASELINES = ("truth", "truth-trial")
N_BLOCKS = 12


def truth(trials, task):
    """The right answer as a predictor of choice 1.

    Parameters
    ----------
    trials : pandas.DataFrame
        ``true_category_binary``, or ``left_reward, right_reward``.
    task : {"category", "reward"}

    Returns
    -------
    pandas.Series
        +1 or -1; or the true difference in reward, right minus left.
    """
    if task == "category":
        return 2.0 * trials["true_category_binary"] - 1
    return (trials["right_reward"] - trials["left_reward"]).astype(float)


def predictor(values, task, kind):
    """What a learner's values say about choice 1.

    Parameters
    ----------
    values : pandas.DataFrame
        ``value_left, value_right``: P(0) and P(1), or predicted rewards.
    task : {"category", "reward"}
    kind : {"standardised", "signed"}
        For categories P(1), or 2 P(1) - 1, which is 0 where the learner is undecided.
        For rewards the difference right minus left either way.

    Returns
    -------
    pandas.Series
    """
    if task == "reward":
        return values["value_right"] - values["value_left"]
    return (
        values["value_right"]
        if kind == "standardised"
        else 2 * values["value_right"] - 1
    )


def join_values(trials, values):
    """A learner's values beside the choices; parameters as in `score_learner`.

    Returns
    -------
    pandas.DataFrame
        `trials` with ``value_left, value_right``, in the order of `trials`.
    """
    columns = ["participant", "trial", "value_left", "value_right"]
    return trials.merge(
        values[columns], on=["participant", "trial"], validate="one_to_one"
    )


def predict_choices(data, model, evaluation, scaled=None, scaling="none"):
    """Log-odds of every choice under a mixed model, in-sample or held out.

    Parameters
    ----------
    data : pandas.DataFrame
    model : str
        Formula, see `trialwise.choices.design.design`.
    evaluation : {"in-sample", "leave-trial-out", "leave-participant-out"}
    scaled, scaling : str
        The column to scale, and how; see `leave_one_trial_out`. Held-out rows are
        scaled without themselves.

    Returns
    -------
    log_odds : ndarray, shape (n,)
    full : Fit
        The fit to all rows.
    """
    unscaled = design(model, data)
    full = fit(rescale(unscaled, scaled, scaling))
    if evaluation == "in-sample":
        return full.log_odds, full
    leave_out = {
        "leave-trial-out": leave_one_trial_out,
        "leave-participant-out": leave_one_participant_out,
    }[evaluation]
    return leave_out(unscaled, scaled, scaling).log_odds, full


def predict_from_learner(trials, values, task, protocol):
    """Predict people's choices from a learner's values.

    Parameters
    ----------
    trials, values, task, protocol
        As in `score_learner`.

    Returns
    -------
    table : pandas.DataFrame
        `trials` and `values`, joined, with the predictor ``x``.
    log_odds : ndarray, shape (n,)
    full : Fit
        The fit to all rows.
    """
    table = join_values(trials, values)
    kind = protocol["predictor"]
    table = table.assign(x=predictor(table, task, kind))
    log_odds, full = predict_choices(
        table, protocol["choice_model"], protocol["evaluation"], "x", SCALING[kind]
    )
    return table, log_odds, full


def score_learner(trials, values, task, protocol):
    """Predict choices from a learner's values, and score every prediction.

    Parameters
    ----------
    trials : pandas.DataFrame
        From `trialwise.choices.people.read_choices`.
    values : pandas.DataFrame
        ``participant, trial, value_left, value_right``.
    task : {"category", "reward"}
    protocol : dict
        ``choice_model, predictor, evaluation`` and perhaps ``certain``, an entry of the
        configured protocols.

    Returns
    -------
    table : pandas.DataFrame
        `trials` with ``predictor, probability, log_score`` of the choice,
        ``learner_correct``, and log scores under the same evaluation of the response
        bias alone (``log_score_bias``) and, always leave-trial-out, of the right answer
        without and with the learner (``log_score_truth, log_score_truth_and_x``).
    fitted : pandas.DataFrame
        The choice model fitted to all rows: ``term, estimate, standard_error, z, p``
        and, in every row, ``log_likelihood, converged, singular``.
    """
    table, log_odds, full = predict_from_learner(trials, values, task, protocol)
    table = table.assign(s=truth(table, task))
    gain = {"x": predictor(table, task, "signed")}
    truth_and_x, _ = predict_choices(
        table.assign(**gain), GAIN_MODEL, "leave-trial-out", "x", "divide"
    )
    scored = _scored(table, log_odds, task, protocol)
    scored["learner_correct"] = learner_correct(table, task)
    scored["log_score_truth"] = _truth_scores(table)
    scored["log_score_truth_and_x"] = held_out_log_score(table["choice"], truth_and_x)
    return scored.drop(columns=["x", "s", "value_left", "value_right"]), fit_table(full)


def score_baseline(trials, task, protocol, baseline):
    """Predict choices from the right answer alone.

    Parameters
    ----------
    trials, task, protocol
        As in `score_learner`.
    baseline : {"truth", "truth-trial"}
        The protocol's choice model with the right answer for x, or with a fixed
        interaction of the right answer with the trial besides.

    Returns
    -------
    table, fitted : pandas.DataFrame
        As `score_learner` returns them.
    """
    table = trials.assign(s=truth(trials, task))
    model = _with_truth(protocol["choice_model"], baseline)
    log_odds, full = predict_choices(table, model, protocol["evaluation"])
    scored = _scored(table.assign(x=table["s"]), log_odds, task, protocol)
    scored["learner_correct"] = (table["s"] != 0).astype(int)
    scored["log_score_truth"] = _truth_scores(table)
    scored["log_score_truth_and_x"] = scored["log_score_truth"]
    return scored.drop(columns=["x", "s"]), fit_table(full)


def learner_correct(table, task, equal_rewards="left"):
    """Where the learner itself is right; undecided learners answer 0, or left.

    Of two equal rewards the left one is the right answer, as in the paper's tables; its
    Fig. 2D has the right one.

    Parameters
    ----------
    table : pandas.DataFrame
        ``value_left, value_right`` and the truth, as in `truth`.
    task : {"category", "reward"}
    equal_rewards : {"left", "right"}
        Which of two equal rewards is the right answer.

    Returns
    -------
    pandas.Series of int
        0 or 1.
    """
    if task == "category":
        answer = table["value_right"] > 0.5
        return (answer == table["true_category_binary"].astype(bool)).astype(int)
    answer = table["value_right"] > table["value_left"]
    difference = table["right_reward"] - table["left_reward"]
    best = difference > 0 if equal_rewards == "left" else difference >= 0
    return (answer == best).astype(int)


def learning_curve(trials, values, task):
    """The learner's own accuracy in twelve successive blocks (Figs. 2C and 2D).

    Parameters
    ----------
    trials, values, task
        As in `score_learner`.

    Returns
    -------
    pandas.DataFrame
        ``block_start, accuracy``, over participants: blocks of 10 trials of the
        category task, of 5 of the reward task.
    """
    table = join_values(trials, values)
    correct = learner_correct(table, task, equal_rewards="right")
    size = table["trial"].nunique() // N_BLOCKS
    start = table["trial"] // size * size
    return (
        correct.groupby(start)
        .mean()
        .rename_axis("block_start")
        .reset_index(name="accuracy")
    )


def score_table(scored, task):
    """Scores of one learner, per participant and pooled.

    Parameters
    ----------
    scored : pandas.DataFrame
        From `score_learner` or `score_baseline`.
    task : {"category", "reward"}

    Returns
    -------
    pooled : dict
        ``n_participants, n_trials, nll, mcfadden_r2`` (against n ln 2),
        ``r2_bias_null`` (against the response bias), ``gain_over_truth`` (nats per
        trial, mean over participants) and its ``gain_se``, ``choice_accuracy``,
        ``task_accuracy`` (the paper's), ``learner_accuracy``.
    participants : pandas.DataFrame
        The same for each participant, without `n_participants` and `gain_se`.
    """
    choice = (scored["probability"].round() == scored["choice"]).astype(float)
    if task == "category":
        predicted = scored["probability"].round() == scored["true_category_binary"]
        task_correct = predicted.astype(float)
    else:
        task_correct = scored["learner_correct"]
    by_trial = pd.DataFrame(
        {
            "participant": scored["participant"],
            "nll": -scored["log_score"],
            "bias": -scored["log_score_bias"],
            "gain": scored["log_score_truth_and_x"] - scored["log_score_truth"],
            "choice_accuracy": choice,
            "task_accuracy": task_correct,
            "learner_accuracy": scored["learner_correct"],
        }
    )
    grouped = by_trial.groupby("participant")
    sums, means = grouped[["nll", "bias"]].sum(), grouped.mean()
    sizes = grouped.size()
    accuracies = ["choice_accuracy", "task_accuracy", "learner_accuracy"]
    participants = pd.DataFrame(
        {
            "n_trials": sizes,
            "nll": sums["nll"],
            "mcfadden_r2": 1 - sums["nll"] / (sizes * np.log(2)),
            "r2_bias_null": 1 - sums["nll"] / sums["bias"],
            "gain_over_truth": means["gain"],
            **{name: means[name] for name in accuracies},
        }
    ).reset_index()
    n, nll = len(scored), by_trial["nll"].sum()
    pooled = {
        "n_participants": len(participants),
        "n_trials": n,
        "nll": nll,
        "mcfadden_r2": 1 - nll / (n * np.log(2)),
        "r2_bias_null": 1 - nll / by_trial["bias"].sum(),
        "gain_over_truth": means["gain"].mean(),
        "gain_se": means["gain"].sem(),
        **{name: by_trial[name].mean() for name in accuracies},
    }
    return pooled, participants


def fit_table(full):
    """A fitted choice model as a tidy table, with ``sd(...)`` of its random effects.

    Standard deviations that the data do not identify are left out.

    Parameters
    ----------
    full : trialwise.choices.glmm.Fit

    Returns
    -------
    pandas.DataFrame
        ``term, estimate, standard_error, z, p`` and, in every row, ``log_likelihood,
        converged, singular``.
    """
    random = full.random_effects()
    own = random["identified"] & (random["first"] == random["second"])
    deviations = pd.DataFrame(
        {
            "term": "sd(" + random.loc[own, "first"] + ")",
            "estimate": np.sqrt(random.loc[own, "covariance"]),
        }
    )
    table = pd.concat([full.summary().reset_index(), deviations], ignore_index=True)
    return table.assign(
        log_likelihood=full.log_likelihood,
        converged=full.converged,
        singular=full.singular,
    )


def _scored(table, log_odds, task, protocol):
    certain = protocol.get("certain", {}).get(task)
    bias, _ = predict_choices(table, BIAS_MODEL, protocol["evaluation"])
    return table.assign(
        predictor=table["x"],
        probability=special.expit(log_odds),
        log_score=held_out_log_score(table["choice"], log_odds, certain),
        log_score_bias=held_out_log_score(table["choice"], bias),
    )


def _truth_scores(table):
    log_odds, _ = predict_choices(table, TRUTH_MODEL, "leave-trial-out")
    return held_out_log_score(table["choice"], log_odds)


def _with_truth(model, baseline):
    fixed, _, random = re.sub(r"\bx\b", "s", model).partition("(")
    interaction = "s:trial + " if baseline == "truth-trial" else ""
    return f"{fixed}{interaction}({random}"
