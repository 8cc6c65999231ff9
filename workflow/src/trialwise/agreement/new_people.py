"""How a model's score holds for people whose choices it was not fitted to."""

import pandas as pd

from trialwise.agreement.ranks import held_out_participants, refit_spread
from trialwise.choices.crossvalidation import rescale
from trialwise.choices.glmm import design
from trialwise.choices.scores import SCALING, predictor, truth

COLUMNS = ["participant", "log_score_new_people"]


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
    scores = held_out_participants(trials, values, task, protocol)
    return pd.DataFrame(list(scores.items()), columns=COLUMNS)


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
        See `trialwise.agreement.ranks.refit_spread`; in-sample, the first of both
        models being the learner, the second somebody always right.
    """
    joined = trials.merge(values, on=["participant", "trial"], validate="one_to_one")
    kind = protocol["predictor"]
    designs = [
        rescale(
            design(protocol["choice_model"], joined.assign(x=x)), "x", SCALING[kind]
        )
        for x in (predictor(joined, task, kind), truth(joined, task))
    ]
    return refit_spread(*designs, "in-sample", n_resamples, seed)
