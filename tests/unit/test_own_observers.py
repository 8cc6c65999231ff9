"""The commands for own trial tables, and what a model beside people is told."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import cohen_kappa_score

from trialwise.agreement.beside_people import compare_with_people
from trialwise.agreement.repeats import repeat_consistency
from trialwise.cli import main
from trialwise.errors import InputError

PEOPLE = ["subject-01", "subject-02", "subject-03"]


@pytest.fixture(scope="module")
def trials():
    rng = np.random.default_rng(0)
    images = [f"image-{i:03d}" for i in range(240)]
    hard = rng.random(240)
    rows = [
        pd.DataFrame(
            {
                "observer": observer,
                "stimulus": images,
                "response": np.where(rng.random(240) > share * hard, "cat", "dog"),
                "truth": "cat",
                "condition": np.where(np.arange(240) % 2, "dark", "bright"),
                "cluster": [f"object-{i // 8}" for i in range(240)],
            }
        )
        for observer, share in zip([*PEOPLE, "net"], (0.5, 0.4, 0.6, 1.2), strict=True)
    ]
    table = pd.concat(rows, ignore_index=True)
    return table.assign(
        image=table["stimulus"], correct=(table["response"] == "cat").astype(int)
    )


def answers(trials, observer, condition=None):
    own = trials[trials["observer"] == observer].sort_values("image")
    own = own if condition is None else own[own["condition"] == condition]
    return own["correct"].to_numpy()


@pytest.mark.parametrize("condition", ["all", "bright", "dark"])
def test_values_equal_those_of_scikit_learn(trials, condition):
    table = compare_with_people(trials, "net", n_resamples=20)
    row = table[table["condition"] == condition].set_index("measure")["value"]
    only = None if condition == "all" else condition
    net = answers(trials, "net", only)
    people = [answers(trials, person, only) for person in PEOPLE]
    kappas = [cohen_kappa_score(net, person) for person in people]
    assert row["kappa"] == pytest.approx(np.mean(kappas), abs=1e-12)
    overlap = [np.mean(net == person) for person in people]
    assert row["observed"] == pytest.approx(np.mean(overlap), abs=1e-12)
    difference = np.mean([net.mean() - person.mean() for person in people])
    assert row["accuracy_difference"] == pytest.approx(difference, abs=1e-12)
    pairs = [
        cohen_kappa_score(people[i], people[j]) for i, j in ((0, 1), (0, 2), (1, 2))
    ]
    assert row["kappa_people"] == pytest.approx(np.mean(pairs), abs=1e-12)
    assert row["kappa"] <= row["kappa_max"] <= 1


def test_intervals_are_wider_when_clusters_are_resampled(trials):
    pooled = {"n_resamples": 1000, "seed": 1}
    clustered = trials.assign(
        correct=trials.groupby(["observer", "cluster"])["correct"].transform("first")
    )
    by_cluster = compare_with_people(clustered, "net", **pooled)
    by_image = compare_with_people(clustered.drop(columns="cluster"), "net", **pooled)
    widths = [
        table.set_index(["condition", "measure"]).eval("ci_high - ci_low")
        for table in (by_cluster, by_image)
    ]
    key = ("all", "accuracy_difference")
    assert widths[0][key] > 1.2 * widths[1][key]


def test_a_person_alone_is_no_people(trials):
    few = trials[trials["observer"].isin(["subject-01", "net"])]
    with pytest.raises(InputError, match="1 of the observers is a person"):
        compare_with_people(few, "net")


def test_repeats_are_compared_with_first_answers(trials):
    again = trials.assign(correct=1 - trials["correct"]).query("observer == 'net'")
    table = repeat_consistency(pd.concat([trials, again]))
    assert table["observer"].tolist() == ["net"]
    assert table.loc[0, "observed"] == 0
    net = answers(trials, "net")
    expected = cohen_kappa_score(net, 1 - net)
    assert table.loc[0, "kappa"] == pytest.approx(expected, abs=1e-12)


@pytest.fixture
def written(trials, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    trials.drop(columns=["image", "correct"]).to_csv("mine.csv", index=False)
    return tmp_path


def test_consistency_writes_tables_figure_and_page(written, capsys):
    assert main(["consistency", "mine.csv", "--resamples", "100"]) == 0
    shown = capsys.readouterr().out
    assert "others-people" in shown
    own = written / "mine-consistency"
    names = {path.name for path in (own / "consistency" / "mine").iterdir()}
    assert names >= {"pairs.csv", "groups.csv", "kappa.png", "kappa.pdf"}
    page = (own / "report.html").read_text()
    assert "people-people" in page
    assert 'src="data:image/png' in page


def test_groups_may_be_given(written):
    words = ["consistency", "mine.csv", "--resamples", "100", "--output", "out"]
    words += ["--groups", "first=subject-01,subject-02", "second=net"]
    assert main(words) == 0
    means = pd.read_csv("out/consistency/mine/groups.csv")
    assert means["comparison"].tolist() == ["first-first", "first-second"]
    assert means["n_pairs"].tolist() == [1, 2]


def test_compare_needs_no_truth(written, trials, capsys):
    people = trials.rename(columns={"truth": "category"}).assign(row=1)
    people[people["observer"] != "net"].to_csv("people.csv", index=False)
    net = trials[trials["observer"] == "net"]
    net[["stimulus", "response"]].to_csv("net.csv", index=False)
    words = ["compare", "net.csv", "--experiment", "mine", "--people", "people.csv"]
    assert main([*words, "--resamples", "50", "--output", "net-people.csv"]) == 0
    assert "kappa_people" in capsys.readouterr().out
    table = pd.read_csv("net-people.csv")
    expected = compare_with_people(trials, "net", n_resamples=50)
    pooled = expected.query("condition == 'all'")["value"].to_numpy()
    assert table.query("condition == 'all'")["value"].to_numpy() == pytest.approx(
        pooled
    )


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (["compare", "mine.csv", "--experiment", "edges"], "no trials of people"),
        (
            ["compare", "mine.csv", "--experiment", "edges", "--people", "mine.csv"],
            "mine.csv, line 1: no column image, category, correct",
        ),
        (["consistency", "mine.csv", "--columns", "who"], "--columns who: a name, ="),
        (["consistency", "none.csv"], "none.csv: No such file"),
        (["consistency", "mine.csv", "--groups", "a=nobody"], "is called 'nobody'"),
    ],
)
def test_faults_end_in_one_message_and_write_nothing(written, capsys, words, fault):
    before = sorted(written.iterdir())
    assert main(words) == 1
    shown = capsys.readouterr()
    assert fault in shown.err
    assert "Traceback" not in shown.err
    assert sorted(written.iterdir()) == before


def test_the_example_of_the_readme_runs(tmp_path):
    readme = (Path(__file__).parents[2] / "README.md").read_text()
    example = readme.split("```text\nobserver,")[1].split("```")[0]
    (tmp_path / "mine.csv").write_text(f"observer,{example}")
    command = [sys.executable, "-m", "trialwise", "consistency", "mine.csv"]
    assert "python -m trialwise consistency mine.csv" in readme
    subprocess.run(command, cwd=tmp_path, check=True)
    assert (tmp_path / "mine-consistency" / "report.html").exists()
    shutil.rmtree(tmp_path / "mine-consistency")
