"""Scores of people left out, and what refitting to resampled people changes."""

import numpy as np
import pandas as pd
import pytest

from trialwise.agreement.new_people import refit_beside_truth, score_new_people
from trialwise.choices.crossvalidation import leave_one_participant_out
from trialwise.choices.glmm import design

PROTOCOL = {"choice_model": "choice ~ 1 + x + (1 + x || participant)"}
PROTOCOL |= {"predictor": "signed", "evaluation": "leave-trial-out"}


@pytest.fixture(scope="module")
def task():
    """People who choose by what the learner says, which is half of the truth."""
    rng = np.random.default_rng(0)
    people, n_trials = 12, 40
    trials = pd.DataFrame(
        {
            "participant": np.repeat([f"p{i:02d}" for i in range(people)], n_trials),
            "trial": np.tile(np.arange(n_trials), people),
            "left_reward": rng.integers(0, 100, people * n_trials),
            "right_reward": rng.integers(0, 100, people * n_trials),
        }
    )
    learned = 0.02 * (trials["right_reward"] - trials["left_reward"])
    learned += 2 * rng.standard_normal(len(trials))
    slope = np.repeat(rng.normal(1.5, 0.4, people), n_trials)
    chosen = rng.random(len(trials)) < 1 / (1 + np.exp(-slope * learned))
    trials["choice"] = chosen.astype(int)
    values = trials[["participant", "trial"]].assign(
        value_left=0.0, value_right=learned
    )
    return trials, values


def test_scores_are_those_of_fits_to_the_others(task):
    trials, values = task
    scores = score_new_people(trials, values, "reward", PROTOCOL)
    learned = values["value_right"]
    held_out = leave_one_participant_out(
        design(PROTOCOL["choice_model"], trials.assign(x=learned / learned.std()))
    )
    side = 2 * trials["choice"] - 1
    expected = -np.logaddexp(0, -side * held_out.log_odds)
    by_person = expected.groupby(trials["participant"]).mean()
    scores = scores.set_index("participant")["log_score_new_people"]
    assert scores.to_dict() == pytest.approx(by_person.to_dict(), abs=2e-3)


def test_refitting_changes_little_and_the_learner_leads(task):
    spread = refit_beside_truth(*task, "reward", PROTOCOL, n_resamples=40, seed=1)
    assert spread["n_failed"] == 0
    assert spread["difference"] > 3 * spread["sd_fixed"]
    assert 0.7 < spread["ratio"] < 1.4
