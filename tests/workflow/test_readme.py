"""The lines of README.md for a part of a study, or more of it, do what it says."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
TABLES = "demo/choices"
ONE_MODEL = "comparable/reward/scores/source.csv"


def results(root):
    """Tables and pictures by name, with the time at which they were written."""
    folder = root / "results"
    return {
        file.relative_to(folder).as_posix(): file.stat().st_mtime_ns
        for file in folder.rglob("*")
        if file.suffix in (".csv", ".png")
    }


def under(folder, names):
    return {Path(name).name for name in names if str(Path(name).parent) == folder}


@pytest.fixture(scope="module")
def line(readme_lines):
    """A function that finds the line with the given words."""

    def find(words):
        (found,) = [line for line in readme_lines if words in line]
        return found

    return find


@pytest.fixture(scope="module")
def parts(small_checkout, line):
    """A checkout; the results after one model, one experiment and one rule again."""
    words = [ONE_MODEL, "{groups.csv,kappa.png}", "-R compare_observers"]
    return small_checkout, [results(small_checkout(line(each))) for each in words]


@pytest.fixture(scope="module")
def finished(parts):
    return parts[0]


def test_one_model(parts):
    made = parts[1][0]
    assert under(f"{TABLES}/comparable/reward/scores", made) == {"source.csv"}
    assert [name for name in made if "decoy" in name or "consistency" in name] == []


def test_one_experiment(parts):
    before, after, _ = parts[1]
    new = after.keys() - before
    assert under("demo/consistency/simulated", new) >= {"groups.csv", "kappa.png"}
    assert {name.split("/")[1] for name in new} == {"consistency"}
    assert [name for name in before if after[name] != before[name]] == []


def test_one_rule_again(parts):
    _, before, after = parts[1]
    again = {name for name in before if after[name] != before[name]}
    made = {"pairs.csv", "groups.csv", "networks.csv", "kappa.png"}
    assert again == {f"demo/consistency/simulated/{name}" for name in made}
    new = after.keys() - before
    assert under("demo/consistency/simulated", new) > {"outside-band.csv"}


def test_file_again(finished, line):
    before = results(finished("true"))
    after = results(finished(f"{line(ONE_MODEL)} -f"))
    again = {name for name in after if after[name] != before[name]}
    assert {Path(name).name for name in again} == {"source.csv"}
    assert {name.split("/")[1] for name in again} == {"choices"}


def test_new_protocol(finished, line):
    root = finished(line("config/protocols.yaml")) / "results" / TABLES
    scores = pd.read_csv(root / "new-people/reward/scores/source.csv")
    assert scores["protocol"].tolist() == ["new-people"]
    assert scores["evaluation"].tolist() == ["leave-participant-out"]
    by_trial = pd.read_csv(root / "comparable/reward/scores/source.csv")
    assert scores.loc[0, "n_trials"] == by_trial.loc[0, "n_trials"]
    assert scores.loc[0, "nll"] != by_trial.loc[0, "nll"]


def test_model_of_own_features_scores_as_the_same_features_do(finished, line):
    root = finished("mkdir -p my-features")
    source = np.load(root / "results/demo/features/simulated/source.npy")
    names = (root / "results/demo/stimuli/simulated.txt").read_text().split()
    order = np.random.default_rng(0).permutation(len(names))
    np.save(root / "my-features" / "mine.npy", source[order])
    listed = "\n".join(names[row] for row in order)
    (root / "my-features" / "file_names.txt").write_text(listed)
    own = line("provider=precomputed")
    finished(re.sub(r"dimension=\d+", f"dimension={source.shape[1]}", own))
    folder = root / "results" / TABLES / "comparable/reward/scores"
    text = (folder / "mine.csv").read_text()
    assert text.replace(",mine,", ",source,") == (folder / "source.csv").read_text()


def test_own_trials(small_checkout, line):
    example = re.search(r"```text\n(observer,.*?)```", README, re.DOTALL)
    root = small_checkout("true")
    (root / "mine.csv").write_text(example[1])
    small_checkout(line("[mine.csv]"))
    groups = pd.read_csv(root / "results/consistency/mine/groups.csv")
    means = groups.set_index("comparison")["mean"]
    # Right are 110, 101 and 100: c_obs and c_exp are 1/3 and 5/9, and 2/3 and 4/9.
    expected = {"human-human": -0.5, "mine-human": 0.4}
    assert means.to_dict() == pytest.approx(expected, abs=1e-12)
