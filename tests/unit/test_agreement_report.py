"""What the report tells of agreement stands in the tables that the stages write."""

import json

import numpy as np
import pandas as pd
import pytest

from trialwise.cli import main
from trialwise.simulation.observers import ObserverGroup, simulate_trials
from trialwise.summary.agreement import describe_agreement
from trialwise.trials import read_trials

PEOPLE, MACHINES = "human", "network"


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """All tables of the stages, of simulated observers."""
    folder = tmp_path_factory.mktemp("agreement")
    groups = ObserverGroup("subject", 4, 0.7, 0.4), ObserverGroup("net", 3, 0.4, 0.6)
    for table in simulate_trials(groups, 0.1, 320, seed=0):
        name = table["subj"].iloc[0]
        (folder / "raw").mkdir(exist_ok=True)
        table.to_csv(folder / "raw" / f"{name}.csv", index=False)
    read_trials(folder / "raw").to_csv(folder / "trials.csv", index=False)
    settings = {
        "people": PEOPLE,
        "machines": MACHINES,
        "groups": {PEOPLE: ["subject-*"], MACHINES: ["net-*"]},
        "comparisons": [[PEOPLE] * 2, [MACHINES] * 2, [MACHINES, PEOPLE]],
        "cluster": None,
        "n_matrices": 200,
        "n_resamples": 200,
        "seed": 1,
    }
    stages = {
        "test-difficulty": {
            "overall": "difficulty",
            "pairs": "difficulty-pairs",
            "correlation": "difficulty-correlation",
        },
        "individuate": {
            "output": "individuation",
            "power": "individuation-power",
            "replicas": "replicas",
        },
        "compare-wrong-answers": {
            "pooled": "wrong-answers",
            "pairs": "wrong-answer-pairs",
        },
        "rank-observers": {"ranks": "ranks", "pairs": "rank-pairs"},
    }
    found = {}
    for stage, outputs in stages.items():
        words = [stage, "--trials", folder / "trials.csv"]
        words += ["--settings", json.dumps(settings)]
        for option, name in outputs.items():
            words += [f"--{option}", folder / f"{name}.csv"]
        assert main([str(word) for word in words]) == 0
        for name in outputs.values():
            found[f"agreement/own/{name}"] = pd.read_csv(folder / f"{name}.csv")
    planned = json.dumps({"accuracies": [[0.7, 0.4]]})
    output = str(folder / "planning.csv")
    assert main(["plan-trials", "--settings", planned, "--output", output]) == 0
    return {**found, "agreement/planning": pd.read_csv(output)}


@pytest.fixture(scope="module")
def described(tables):
    return describe_agreement(tables, ["own"])


def test_no_table_no_section():
    assert describe_agreement({}, ["own"]) is None


def test_every_method_is_told_of(described):
    missing = {name for name, grid in described.items() if grid is None}
    assert missing == {"learning", "learning_ranks", "refits", "rankings"}
    for grid in described.values():
        for _, rows in grid.bodies if grid else ():
            assert {len(row) for row in rows} == {len(grid.head)}
            assert "nan" not in str(rows)


def test_groups_that_agree_find_the_same_images_hard(tables, described):
    row = tables["agreement/own/difficulty-correlation"].iloc[0]
    assert row["ci_low"] < row["correlation"] < row["ci_high"]
    assert 0 < row["correlation"] < 1
    told = dict(described["correlation"].bodies)["own"][0]
    assert told[:2] == (f"people with {MACHINES}", f"{row['correlation']:.2f}")


def test_replicas_that_copy_everything_are_told_apart(described):
    rows = dict(described["replicas"].bodies)["own"]
    shares = {row[0]: float(row[3]) for row in rows}
    assert shares["1.00"] == 1
    assert shares["0.00"] < 0.15


def test_wrong_answers_drawn_at_random_do_not_agree(tables):
    table = tables["agreement/own/wrong-answers"].set_index("comparison")
    assert (table["ci_low"] < 0.02).all()
    assert (table["ci_high"] > -0.02).all()
    assert np.abs(table["kappa_w_corrected"]).max() < 0.1


def test_networks_alike_are_not_ranked(tables, described):
    ranks = tables["agreement/own/ranks"]
    assert sorted(ranks["rank"]) == [1, 2, 3]
    told = dict(described["ranks"].bodies)["own"]
    assert [row[3] for row in told] == [
        f"{low} to {high}"
        for low, high in zip(ranks["rank_low"], ranks["rank_high"], strict=True)
    ]


def test_learning_tasks_are_told_of_under_the_protocol_to_compare_with():
    row = {"task": "category", "learner": "main", "model": "net", "kappa_se": 0.01}
    row |= {"kappa_max": 0.5, "h": 0.4, "kappa_other": 0.03, "excess_se": 0.01}
    table = pd.DataFrame(
        [
            {**row, "protocol": "published", "kappa": 0.1, "excess": 0.07},
            {**row, "protocol": "comparable", "kappa": 0.2, "excess": 0.17},
        ]
    )
    grid = describe_agreement({"agreement/learning/kappa": table}, [])["learning"]
    assert grid.caption.endswith("protocol comparable")
    assert grid.bodies == (
        (
            "category",
            (
                (
                    "net, main",
                    *("0.200 ± 0.010", "0.500", "0.40", "0.030", "0.170 ± 0.010"),
                ),
            ),
        ),
    )
