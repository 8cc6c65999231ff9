"""Demircan et al. (NeurIPS 2024): learners of the generative features."""

import numpy as np
import pandas as pd
import pytest

from trialwise.feature_matrices import expand_objects
from trialwise.learners.protocol import fixed_penalty_values, learner_values

FILES = {"main": "l2_original", "sparse": "l1_original", "pca": "l2_pca"}
TASKS = ["category", "reward"]
# Those whose values depend most on when a solver stops, among others.
SOME = {
    "category": ["cat01", "cat11", "cat49", "cat60", "cat62"],
    "reward": ["rew01", "rew13", "rew29", "rew46", "rew53"],
}

each_task = pytest.mark.parametrize("task", TASKS)
everyone = pytest.mark.parametrize(
    "everyone", [False, pytest.param(True, marks=pytest.mark.full)]
)


@pytest.fixture(scope="module")
def spose(mirror):
    """Features of all images, and the names of their rows."""
    folder = mirror / "learning-tasks"
    images = (folder / "things_images_26107.txt").read_text().split()
    objects = pd.read_csv(folder / "unique_id.csv")["id"].tolist()
    features = np.loadtxt(folder / "spose_embedding_49d_sorted.txt")
    return expand_objects(features, objects, images), images


@pytest.fixture(scope="module")
def trials(mirror):
    folder = mirror / "learning-tasks"
    return {task: pd.read_csv(folder / f"{task}_learning.csv") for task in TASKS}


@pytest.fixture(scope="module")
def run(trials, spose):
    done = {}

    def values(task, scaling, learner, everyone):
        key = task, scaling, learner, everyone
        if key not in done:
            table = trials[task]
            if not everyone:
                table = table[table["participant"].isin(SOME[task])]
            done[key] = learner_values(table, *spose, scaling, [learner])[learner]
        return done[key]

    return values


@pytest.fixture(scope="module")
def authors(reference):
    def values(task, learner, everyone):
        name = f"authors_code_task_{task}_{FILES[learner]}.csv.gz"
        table = pd.read_csv(reference / "learning-tasks" / name)
        if not everyone:
            table = table[table["participant"].isin(SOME[task])]
        return table.sort_values(["participant", "trial"], ignore_index=True)

    return values


def accuracy(values, trials, equal="left"):
    """Share of trials whose better side the learner expects; a tie of values is left.

    `equal` is the better side where both rewards are equal.
    """
    both = values.merge(trials, on=["participant", "trial"], validate="one_to_one")
    right = both["value_right"] > both["value_left"]
    if "true_category_binary" in both:
        return np.mean(right == (both["true_category_binary"] == 1))
    gain = both["right_reward"] - both["left_reward"]
    return np.mean(right == (gain > 0 if equal == "left" else gain >= 0))


@everyone
@pytest.mark.parametrize("learner", ["main", "pca"])
@each_task
def test_published_equals_the_authors_values(task, learner, everyone, run, authors):
    ours, theirs = (
        run(task, "in-place", learner, everyone),
        authors(task, learner, everyone),
    )
    assert ours["participant"].equals(theirs["participant"])
    assert ours["trial"].equals(theirs["trial"])
    for side in ("left", "right"):
        assert np.allclose(
            ours[f"value_{side}"], theirs[f"{side}_value"], rtol=1e-6, atol=1e-10
        )
    if task == "category":
        assert np.array_equal(ours["C"], theirs["C"])


@everyone
def test_published_l1_is_the_authors_but_for_its_random_order(everyone, run, authors):
    ours = run("category", "in-place", "sparse", everyone)
    theirs = authors("category", "sparse", everyone)
    assert np.array_equal(ours["C"], theirs["C"])
    difference = np.abs(ours["value_right"] - theirs["right_value"])
    assert difference.median() < 1e-3
    assert difference.quantile(0.95) < 0.05
    assert np.corrcoef(ours["value_right"], theirs["right_value"])[0, 1] > 0.99


@everyone
def test_published_ard_is_the_authors_but_for_rounding(everyone, run, authors):
    ours = run("reward", "in-place", "sparse", everyone)
    theirs = authors("reward", "sparse", everyone)
    gap = ours["value_right"] - ours["value_left"]
    expected = theirs["right_value"] - theirs["left_value"]
    assert np.mean((gap > 0) == (expected > 0)) > 0.99
    # From here on there are more rows than the 49 features, and ARD is sound.
    sound = ours["trial"] >= 25
    assert np.allclose(gap[sound], expected[sound], rtol=1e-6, atol=1e-6)
    assert np.median(np.abs(gap - expected)[~sound]) < 0.1


@pytest.mark.full
@pytest.mark.parametrize(
    ("scaling", "task", "expected", "digits"),
    [
        ("in-place", "category", 0.6654, 4),
        ("in-place", "reward", 0.8907, 4),
        ("seen-scaled", "category", 0.815, 3),
        ("seen-scaled", "reward", 0.891, 3),
        ("raw", "category", 0.885, 3),
        ("raw", "reward", 0.957, 3),
    ],
)
def test_accuracy_of_the_learners(scaling, task, expected, digits, run, trials):
    values = run(task, scaling, "main", True)
    assert round(accuracy(values, trials[task]), digits) == expected


@pytest.mark.full
@pytest.mark.parametrize(("task", "block"), [("category", 10), ("reward", 5)])
def test_learning_curves_equal_figure_2(task, block, run, trials, reference):
    table = pd.read_csv(reference / "learning-tasks" / "fig2cd_curves.csv")
    table = table[(table["task"] == task) & (table["model"] == "Task")]
    assert len(table) == 12
    values = run(task, "in-place", "main", True)
    for row in table.itertuples():
        first = row.block_start_trial
        own = values[values["trial"].between(first, first + block - 1)]
        # The figure's code takes the right side for the better of two equal ones.
        share = accuracy(own, trials[task], equal="right")
        assert share == pytest.approx(row.p_correct, abs=1e-6)


@each_task
def test_comparable_ignores_the_axes_of_49_components(task, run):
    main, pca = (run(task, "global", learner, False) for learner in ("main", "pca"))
    for side in ("value_left", "value_right"):
        assert np.allclose(main[side], pca[side], rtol=1e-6, atol=1e-6)


def test_comparable_chooses_among_the_fixed_penalties(trials, spose, run):
    table = trials["category"].query("participant == 'cat01'")
    fixed = fixed_penalty_values(table, *spose)["main"]
    chosen = run("category", "global", "main", False).query("participant == 'cat01'")
    both = chosen.merge(fixed, on=["participant", "trial", "C"], suffixes=("", "_same"))
    assert len(both) == 120
    assert np.allclose(both["value_right"], both["value_right_same"], rtol=0, atol=0)
