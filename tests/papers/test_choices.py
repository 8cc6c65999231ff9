"""The Task row of Demircan et al. (2024), from the authors' own learner values."""

from pathlib import Path

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


OFFLINE = """
results: results/cell
published: []
experiments: []
noise_experiments: []
regressions: []
accuracy_table: {experiments: []}
learning:
  participants: paper
  protocols: [seen-scaled, unscaled]
  tasks: [reward]
  learners: [main]
  models: [spose-49]
"""


def test_one_cell_again_touches_nothing_else(tmp_path, mirror, run_snakemake):
    root = Path(__file__).parents[2]
    for name in ("config", "resources"):
        (tmp_path / name).symlink_to(root / name)
    (tmp_path / "cell.yaml").write_text(OFFLINE)
    study = ["--configfile", str(tmp_path / "cell.yaml")]
    run = run_snakemake(tmp_path, "learning", *study, mirror=mirror)
    assert run.returncode == 0, run.stdout
    results = tmp_path / "results" / "cell"
    scores = pd.read_csv(results / "choices" / "scores.csv")
    nll = scores[scores["model"] == "spose-49"].set_index("protocol")["nll"]
    assert nll["seen-scaled"] == pytest.approx(3238.6, abs=0.5)
    assert nll["unscaled"] == pytest.approx(3010.4, abs=0.5)

    def times():
        tables = results.rglob("*.csv")
        return {str(t.relative_to(results)): t.stat().st_mtime_ns for t in tables}

    before = times()
    cell = "results/cell/choices/unscaled/reward/scores/spose-49.csv"
    again = ["--forcerun", "fit_choices", "--", cell]
    run = run_snakemake(tmp_path, *study, *again, mirror=mirror)
    assert run.returncode == 0, run.stdout
    after = times()
    assert {name for name in after if after[name] != before.get(name)} == {
        f"choices/unscaled/reward/{kind}/spose-49.csv"
        for kind in ("main", "scores", "participants", "fits")
    }
