"""Scores of people left out, and what refitting to resampled people changes."""

import numpy as np
import pandas as pd
import pytest
from scipy import special

from trialwise.agreement.new_people import (
    refit_beside_truth,
    refit_spread,
    score_new_people,
)
from trialwise.choices.crossvalidation import leave_one_participant_out
from trialwise.choices.design import design
from trialwise.choices.glmm import fit
from trialwise.choices.scores import score_learner, score_table
from trialwise.errors import InputError

SLOPE = "choice ~ -1 + {0} + (-1 + {0} | participant)"

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


def people(seed, n_people=16, n_trials=12):
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(n_people), n_trials)
    signal = rng.normal(size=person.size)
    x, z = (signal + spread * rng.normal(size=person.size) for spread in (0.5, 1.5))
    slope = 1 + 0.5 * rng.normal(size=n_people)
    choice = rng.random(person.size) < special.expit(slope[person] * signal)
    return pd.DataFrame(
        {
            "participant": [f"p{code:02d}" for code in person],
            "trial": np.tile(np.arange(n_trials), n_people),
            "choice": choice.astype(int),
            "x": x,
            "z": z,
        }
    )


def score_difference(data):
    scores = []
    for column in "xz":
        model = fit(design(SLOPE.format(column), data))
        signed = np.where(model.design.y == 1, model.log_odds, -model.log_odds)
        scores.append(special.log_expit(signed).mean())
    return scores[0] - scores[1]


def test_refits_spread_as_new_experiments_do():
    experiments = [score_difference(people(seed)) for seed in range(120)]
    spread = []
    for seed in range(300, 304):
        data = people(seed)
        first, second = (design(SLOPE.format(column), data) for column in "xz")
        row = refit_spread(first, second, "in-sample", n_resamples=50)
        assert row["difference"] == pytest.approx(score_difference(data))
        assert row["n_failed"] == 0
        spread.append(row["sd_refit"])
    # 120 experiments tell a standard deviation to 7 %, four resampled ones to 10 %.
    assert np.mean(spread) == pytest.approx(np.std(experiments), rel=0.3)


def test_refits_of_different_choices_are_refused():
    data = people(2, n_people=8)
    one = design(SLOPE.format("x"), data)
    other = design(SLOPE.format("x"), data.assign(choice=1 - data["choice"]))
    with pytest.raises(InputError, match="different choices"):
        refit_spread(one, other)
    with pytest.raises(InputError, match="in-sample or leave-trial-out"):
        refit_spread(one, one, "leave-participant-out")


def test_scores_of_left_out_people_give_mcfadden_r2():
    data = people(3, n_people=6)
    trials = data.assign(true_category_binary=data["choice"], correct=1)
    p = special.expit(data["x"])
    values = data[["participant", "trial"]].assign(value_left=1 - p, value_right=p)
    protocol = {
        "choice_model": SLOPE.format("x"),
        "predictor": "signed",
        "evaluation": "leave-trial-out",
    }
    held_out = score_new_people(trials, values, "category", protocol)
    # The right answer would separate the choices: let some trials contradict it.
    trials["true_category_binary"] ^= (trials["trial"] % 3 == 0).astype(int)
    scored, _ = score_learner(
        trials,
        values,
        "category",
        {**protocol, "evaluation": "leave-participant-out"},
    )
    _, participants = score_table(scored, "category")
    r2 = 1 + held_out["log_score_new_people"] / np.log(2)
    assert r2.to_numpy() == pytest.approx(participants["mcfadden_r2"].to_numpy())
    assert held_out["participant"].tolist() == participants["participant"].tolist()
