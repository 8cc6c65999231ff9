"""How a model's score holds for people whose choices it was not fitted to."""

from dataclasses import replace

import numpy as np

from trialwise.choices.crossvalidation import (
    held_out_log_score,
    leave_one_trial_out,
)
from trialwise.choices.design import design, rescale
from trialwise.choices.glmm import fit
from trialwise.choices.scores import (
    SCALING,
    join_values,
    predict_from_learner,
    predictor,
    truth,
)
from trialwise.errors import InputError


def score_new_people(trials, values, task, protocol):
    """Mean log score per trial of each participant, from a fit to all the others.

    Parameters
    ----------
    trials, values, task, protocol
        As in `trialwise.choices.scores.score_learner`; the protocol's evaluation does
        not matter.

    Returns
    -------
    pandas.DataFrame
        ``participant, log_score_new_people``, in nats.
    """
    protocol = {**protocol, "evaluation": "leave-participant-out"}
    table, log_odds, _ = predict_from_learner(trials, values, task, protocol)
    certain = protocol.get("certain", {}).get(task)
    scores = held_out_log_score(table["choice"], log_odds, certain)
    by_person = table.assign(log_score_new_people=scores).groupby("participant")
    return by_person["log_score_new_people"].mean().reset_index()


def refit_beside_truth(trials, values, task, protocol, n_resamples=200, seed=0):
    """Spread over people of a model's lead over the right answer, refitted or not.

    Parameters
    ----------
    trials, values, task, protocol
        As in `trialwise.choices.scores.score_learner`.
    n_resamples, seed : int

    Returns
    -------
    dict
        See `refit_spread`; in-sample, the first of both
        models being the learner, the second somebody always right.
    """
    joined = join_values(trials, values)
    kind = protocol["predictor"]
    designs = [
        rescale(
            design(protocol["choice_model"], joined.assign(x=x)), "x", SCALING[kind]
        )
        for x in (predictor(joined, task, kind), truth(joined, task))
    ]
    return refit_spread(*designs, "in-sample", n_resamples, seed)


def refit_spread(first, second, evaluation="leave-trial-out", n_resamples=200, seed=0):
    """What a bootstrap of people with fixed fits leaves out of a difference of models.

    The scores of all people rest on one fit. Here participants are drawn with
    replacement and both choice models are fitted anew to every sample, a participant
    drawn twice being two; beside it stands the bootstrap, with the same draws, of the
    scores under the fits to everybody.

    Parameters
    ----------
    first, second : trialwise.choices.design.Design
        Two models of the same choices, row by row. Predictors are taken as they are:
        to divide one by another standard deviation would change nothing, and a mean
        that was subtracted stays that of everybody.
    evaluation : {"in-sample", "leave-trial-out"}
    n_resamples, seed : int

    Returns
    -------
    dict
        ``evaluation, n_resamples, difference, sd_fixed, sd_refit, ratio, correlation,
        n_failed``: log score per trial of `first` minus that of `second`, in nats, the
        standard deviation of it over resamples without and with refitting, their ratio
        and the correlation of both. Resamples in which a fit did not converge are left
        out and counted.

    Raises
    ------
    InputError
        If the two designs do not hold the same choices, or the evaluation is unknown.

    Notes
    -----
    One fit per resample and model, and as many predictions as the evaluation needs.
    """
    if not (
        np.array_equal(first.y, second.y)
        and np.array_equal(first.groups, second.groups)
    ):
        raise InputError("The designs hold different choices. Build both of one table.")
    if evaluation not in ("in-sample", "leave-trial-out"):
        raise InputError("Evaluation must be in-sample or leave-trial-out.")
    full = [fit(design) for design in (first, second)]
    fixed = np.subtract(*(_scores(whole, evaluation) for whole in full))
    n_groups = len(first.levels)
    draws = np.random.default_rng(seed).integers(n_groups, size=(n_resamples, n_groups))
    rows = [np.flatnonzero(first.codes == code) for code in range(n_groups)]
    refitted = np.empty(n_resamples)
    for b, draw in enumerate(draws):
        resampled = [_resampled(whole.design, rows, draw) for whole in full]
        refitted[b] = _refitted_difference(resampled, full, evaluation)
    kept = np.isfinite(refitted)
    in_resamples = np.array(
        [fixed[np.concatenate([rows[code] for code in draw])].mean() for draw in draws]
    )
    sd_fixed, sd_refit = (x[kept].std(ddof=1) for x in (in_resamples, refitted))
    return {
        "evaluation": evaluation,
        "n_resamples": n_resamples,
        "difference": fixed.mean(),
        "sd_fixed": sd_fixed,
        "sd_refit": sd_refit,
        "ratio": sd_refit / sd_fixed,
        "correlation": np.corrcoef(in_resamples[kept], refitted[kept])[0, 1],
        "n_failed": int((~kept).sum()),
    }


def _scores(fitted, evaluation):
    """Log score of every choice under a fit, or held out."""
    log_odds = fitted.log_odds
    if evaluation == "leave-trial-out":
        log_odds = leave_one_trial_out(fitted.design).log_odds
    return held_out_log_score(fitted.design.y, log_odds)


def _resampled(design, rows, draw):
    """The design of the drawn participants, each draw a participant of its own."""
    chosen = np.concatenate([rows[code] for code in draw])
    return replace(
        design,
        y=design.y[chosen],
        X=design.X[chosen],
        Z=design.Z[chosen],
        groups=np.repeat(np.arange(len(draw)), [len(rows[code]) for code in draw]),
    )


def _refitted_difference(designs, full, evaluation):
    """Difference in mean log score after fitting both designs; NaN without a fit."""
    fits = [fit(design, start) for design, start in zip(designs, full, strict=True)]
    if not all(fitted.converged for fitted in fits):
        return np.nan
    first, second = (_scores(fitted, evaluation).mean() for fitted in fits)
    return first - second
