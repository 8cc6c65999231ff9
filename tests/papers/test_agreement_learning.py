"""Agreement with people in the learning tasks, and ranks of networks, on real data."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import cohen_kappa_score

from trialwise.agreement.learning import kappa_row, learner_kappa
from trialwise.agreement.ranks import rank_observers
from trialwise.choices.people import read_choices
from trialwise.choices.scores import learner_correct
from trialwise.trials import HUMAN, read_trials

N_TIES = 45


@pytest.fixture(scope="module", params=["category", "reward"])
def scored(request, mirror, reference):
    """People's trials beside the authors' own learner on the generative features."""
    task = request.param
    trials = read_choices(mirror / "learning-tasks" / f"{task}_learning.csv", task)
    folder = reference / "learning-tasks"
    values = pd.read_csv(folder / f"authors_code_task_{task}_l2_original.csv.gz")
    columns = {"left_value": "value_left", "right_value": "value_right"}
    values = values.rename(columns=columns)[["participant", "trial", *columns.values()]]
    table = trials.merge(values, on=["participant", "trial"], validate="one_to_one")
    return task, table.assign(learner_correct=learner_correct(table, task))


def test_kappa_of_every_participant_equals_scikit_learns(scored):
    task, table = scored
    kappas = learner_kappa(table, task)
    if task == "reward":
        tied = table["left_reward"] == table["right_reward"]
        assert tied.sum() == N_TIES
        table = table[~tied]
    assert kappas["n_trials"].sum() == len(table)
    by_person = table.groupby("participant")
    theirs = by_person[["learner_correct", "correct"]].apply(
        lambda own: cohen_kappa_score(own["learner_correct"], own["correct"])
    )
    assert kappas["kappa"].to_numpy() == pytest.approx(theirs.to_numpy(), abs=1e-12)
    row = kappa_row(kappas, {"task": task})
    assert row["n_undefined"] == 0
    assert row["kappa_other"] < row["kappa"] < row["kappa_max"]


def test_the_right_answer_agrees_with_nobody_beyond_chance(scored):
    task, table = scored
    row = kappa_row(learner_kappa(table.assign(learner_correct=1), task), {})
    assert row["kappa"] == row["kappa_max"] == 0
    assert row["n_fixed"] == row["n_participants"]


@pytest.mark.parametrize("experiment", ["cue-conflict", "edges", "silhouettes"])
def test_networks_are_ranked_by_the_reference_kappas(experiment, mirror, expected):
    folder = mirror / f"error-consistency/raw-data/texture-shape_{experiment}"
    trials = read_trials(folder)
    reference = pd.Series(expected[experiment]["kappa_human_mean"])
    people = [o for o in trials["observer"].unique() if HUMAN in o]
    ranks, pairs = rank_observers(trials, list(reference.index), people)
    means = ranks.set_index("model")["mean"]
    assert means[reference.index].to_numpy() == pytest.approx(reference.to_numpy())
    assert ranks["model"].iloc[0] == reference.idxmax()
    assert (ranks["rank_low"] <= ranks["rank"]).all()
    assert (ranks["rank"] <= ranks["rank_high"]).all()
    assert np.isfinite(pairs["t"]).all()
