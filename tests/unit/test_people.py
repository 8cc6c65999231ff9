import numpy as np
import pandas as pd
import pytest
from scipy import stats

from trialwise.choices.people import accuracy_by_trial, read_choices
from trialwise.errors import InputError
from trialwise.simulation.tasks import (
    categories,
    rewards,
    sample_objects,
    sample_task,
)


@pytest.fixture
def category(tmp_path):
    rows = [
        {
            "participant": person,
            "dimension": 0,
            "trial": trial,
            "image": f"stimuli/a/{trial}.jpg",
            "true_category_binary": trial % 2,
            "choice": choice,
            "correct": int(choice == trial % 2),
        }
        for person, choices in {"one": [0, 1, 0, 0], "two": [1, 0, 1, 0]}.items()
        for trial, choice in enumerate(choices)
    ]
    path = tmp_path / "category.csv"
    pd.DataFrame(rows).to_csv(path, index=False)
    return path


def rewrite(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def test_people_at_chance_are_left_out_unless_all_are_wanted(category):
    assert set(read_choices(category, "category")["participant"]) == {"one"}
    everybody = read_choices(category, "category", participants="all")
    assert set(everybody["participant"]) == {"one", "two"}


def test_right_and_wrong_may_be_written_as_words(category, tmp_path):
    words = pd.read_csv(category).astype({"correct": bool})
    words.to_csv(tmp_path / "words.csv", index=False)
    assert ",True" in (tmp_path / "words.csv").read_text()
    spelled = read_choices(tmp_path / "words.csv", "category")
    pd.testing.assert_frame_equal(spelled, read_choices(category, "category"))


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("one,0,3,", "one,0,2,", "line 5: one has trial 2 again"),
        ("one,0,3,", "one,0,4,", "one does not have the trials 0 to 3"),
        ("1,1,1\n", "1,2,1\n", "line 3: choice is '2'. Allowed: 0 or 1"),
        ("1,1,1\n", "1,1,0\n", "line 3: correct is 0, but the choice 1"),
        ("true_category_binary", "true_category", "no column true_category_binary"),
        ("one,0,1,", "one,0,one,", "trial is 'one'. Allowed: a whole number"),
    ],
)
def test_faults_are_named_with_their_line(category, old, new, fault):
    rewrite(category, old, new)
    with pytest.raises(InputError) as error:
        read_choices(category, "category")
    assert str(category) in str(error.value)
    assert fault in str(error.value)


def test_accuracy_by_trial_equals_a_t_test():
    rng = np.random.default_rng(0)
    correct = rng.random((30, 5)) < 0.7
    trials = pd.DataFrame(
        [
            {"participant": p, "trial": t, "correct": int(correct[p, t])}
            for p in range(30)
            for t in range(5)
        ]
    )
    table = accuracy_by_trial(trials, n_resamples=4000, seed=1)
    assert table["n_correct"].tolist() == correct.sum(axis=0).tolist()
    test = stats.ttest_1samp(correct[:, 2].astype(float), 0.5)
    assert table.loc[2, ["t", "p"]].tolist() == pytest.approx([*test], rel=1e-12)
    half = table.loc[2, "ci_high"] - table.loc[2, "mean"]
    assert half == pytest.approx(1.96 * correct[:, 2].std() / np.sqrt(30), rel=0.2)


@pytest.mark.filterwarnings("error")
def test_unanimous_answers_are_infinitely_far_from_chance():
    trials = pd.DataFrame(
        {"trial": 0, "participant": range(5), "correct": [1, 1, 1, 1, 1]}
    )
    row = accuracy_by_trial(trials).iloc[0]
    assert (row["mean"], row["t"], row["p"]) == (1, np.inf, 0)


def test_sampled_objects_fill_the_bins():
    rng = np.random.default_rng(0)
    loadings = rng.uniform(-0.5, 2.5, 2000)
    drawn = sample_objects(loadings, rng)
    assert len(set(drawn)) == 120
    counts, _ = np.histogram(loadings[drawn], bins=[0, 0.4, 0.8, 1.2, 1.6, 2.0])
    assert counts.tolist() == [24] * 5


def test_too_few_objects_in_a_bin_are_refused():
    with pytest.raises(InputError, match="24"):
        sample_objects(np.linspace(0.01, 1.5, 500), np.random.default_rng(0))


def test_high_loadings_are_folty_and_rewarded():
    loadings = np.array([0.1, 1.9, 0.5, 1.0])
    assert categories(loadings).tolist() == [1, 0, 1, 0]
    assert rewards(loadings).tolist() == [0, 100, 22, 50]


@pytest.mark.parametrize(("task", "n"), [("category", 120), ("reward", 60)])
def test_sampled_tasks_are_valid_choices_once_answered(task, n, tmp_path):
    rng = np.random.default_rng(2)
    loadings = rng.uniform(0, 2, 600)
    images = [[f"stimuli/o{i}/o{i}_{j}.jpg" for j in range(3)] for i in range(600)]
    tables = [sample_task(task, loadings, images, f"p{i}", 0, rng) for i in range(2)]
    trials = pd.concat(tables)
    best = (
        trials["true_category_binary"]
        if task == "category"
        else (trials["right_reward"] > trials["left_reward"]).astype(int)
    )
    trials.assign(choice=best, correct=1).to_csv(tmp_path / "t.csv", index=False)
    read = read_choices(tmp_path / "t.csv", task)
    assert read.groupby("participant").size().tolist() == [n, n]
