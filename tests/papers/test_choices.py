"""The Task row of Demircan et al. (2024), from the authors' own learner values."""

import numpy as np
import pandas as pd
import pytest
import yaml

from trialwise.choices.people import read_choices
from trialwise.choices.scores import (
    learning_curve,
    score_baseline,
    score_learner,
    score_table,
)


@pytest.fixture(scope="module")
def protocols(pytestconfig):
    path = pytestconfig.rootpath.parent / "config" / "protocols.yaml"
    return yaml.safe_load(path.read_text())


@pytest.fixture(scope="module")
def people(mirror):
    return {
        task: read_choices(mirror / "learning-tasks" / f"{task}_learning.csv", task)
        for task in ("category", "reward")
    }


@pytest.fixture(scope="module")
def authors_values(reference):
    def values(task, learner):
        name = {"main": "l2_original", "pca": "l2_pca", "sparse": "l1_original"}[
            learner
        ]
        path = reference / "learning-tasks" / f"authors_code_task_{task}_{name}.csv.gz"
        columns = {"left_value": "value_left", "right_value": "value_right"}
        return pd.read_csv(path).rename(columns=columns)

    return values


@pytest.mark.parametrize(
    ("task", "learner", "nll", "log_likelihood"),
    [
        ("category", "main", 6976.132, -7083.3364),
        ("category", "pca", 6876.384, -6990.1593),
        ("reward", "main", 3025.528, -3151.6109),
        ("reward", "pca", 2968.437, -3087.5595),
    ],
)
def test_published_scores_of_the_authors_values(
    task, learner, nll, log_likelihood, people, authors_values, protocols
):
    scored, fitted = score_learner(
        people[task], authors_values(task, learner), task, protocols["published"]
    )
    pooled, participants = score_table(scored, task)
    assert pooled["nll"] == pytest.approx(nll, abs=2e-3)
    assert fitted["log_likelihood"].iloc[0] >= log_likelihood - 1e-3
    assert participants["nll"].sum() == pytest.approx(pooled["nll"])
    if (task, learner) == ("category", "main"):
        assert pooled["task_accuracy"] == 7245 / 10920
        assert pooled["learner_accuracy"] == 7266 / 10920
        assert pooled["mcfadden_r2"] == pytest.approx(0.0783, abs=5e-5)
    if (task, learner) == ("reward", "main"):
        assert pooled["learner_accuracy"] == pytest.approx(0.8907, abs=5e-5)
        assert pooled["mcfadden_r2"] == pytest.approx(0.1128, abs=5e-5)


@pytest.mark.parametrize(("task", "nll"), [("category", 6174.7), ("reward", 3032.6)])
def test_knowing_the_right_answer_beats_the_published_learners(
    task, nll, people, protocols
):
    scored, _ = score_baseline(people[task], task, protocols["seen-scaled"], "truth")
    pooled, _ = score_table(scored, task)
    assert pooled["nll"] == pytest.approx(nll, abs=0.05)
    assert pooled["gain_over_truth"] == 0


@pytest.mark.parametrize("task", ["category", "reward"])
def test_learning_curves_of_figure_2(task, people, authors_values, reference):
    published = pd.read_csv(reference / "learning-tasks" / "fig2cd_curves.csv")
    published = published[(published["task"] == task) & (published["model"] == "Task")]
    curve = learning_curve(people[task], authors_values(task, "main"), task)
    assert curve["block_start"].tolist() == published["block_start_trial"].tolist()
    assert np.allclose(curve["accuracy"], published["p_correct"], atol=1e-6)
