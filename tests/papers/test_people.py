"""People in the learning tasks of Demircan et al. (2024), from their real choices."""

import numpy as np
import pandas as pd
import pytest

from trialwise.choices.people import accuracy_by_trial, read_choices
from trialwise.simulation.tasks import BIN_EDGES, categories, rewards

per_task = pytest.mark.parametrize(
    ("task", "figure", "people", "significant"),
    [("category", "fig2a", 91, 108), ("reward", "fig2b", 82, 47)],
)


@pytest.fixture(scope="module")
def read(mirror):
    def choices(task, **options):
        path = mirror / "learning-tasks" / f"{task}_learning.csv"
        return read_choices(path, task, **options)

    return choices


@pytest.fixture(scope="module")
def loadings(mirror):
    """Loading of an image's object on a dimension."""
    folder = mirror / "learning-tasks"
    embedding = np.loadtxt(folder / "spose_embedding_49d_sorted.txt")
    objects = pd.read_csv(folder / "unique_id.csv")["id"].tolist()
    table = pd.DataFrame(embedding, index=objects)
    return lambda images, dimension: table.loc[
        [image.split("/")[1] for image in images], dimension
    ].to_numpy()


@per_task
def test_counts_and_t_tests_of_every_trial(
    task, figure, people, significant, read, reference
):
    folder = reference / "learning-tasks"
    by_trial = accuracy_by_trial(read(task))
    counts = pd.read_csv(folder / f"{figure}_counts.csv").iloc[:, 1]
    assert by_trial["n"].unique().tolist() == [people]
    assert by_trial["n_correct"].tolist() == counts.tolist()
    expected = pd.read_csv(folder / "fig12_expected.csv").query(f"task == '{task}'")
    assert by_trial["t"].to_numpy() == pytest.approx(expected["t"].to_numpy(), abs=1e-9)
    assert by_trial["p"].to_numpy() == pytest.approx(expected["p"].to_numpy(), rel=1e-9)
    assert (by_trial["p"] < 0.05).sum() == significant
    assert (by_trial["ci_low"] < by_trial["mean"]).all()


def test_rules_of_the_category_task(read, loadings):
    for _, own in read("category").groupby("participant"):
        shown = loadings(own["image"], own["dimension"].iloc[0])
        assert own["image"].str.split("/").str[1].nunique() == 120
        assert categories(shown).tolist() == own["true_category_binary"].tolist()
        bins = np.digitize(shown, BIN_EDGES, right=True)
        assert np.bincount(bins, minlength=7).tolist() == [0, 24, 24, 24, 24, 24, 0]


def test_rules_of_the_reward_task(read, loadings):
    for _, own in read("reward").groupby("participant"):
        images = own[["left_image", "right_image"]].to_numpy().ravel()
        shown = loadings(images, own["dimension"].iloc[0])
        given = own[["left_reward", "right_reward"]].to_numpy().ravel()
        assert rewards(shown).tolist() == given.tolist()
        bins = np.digitize(shown, BIN_EDGES, right=True)
        assert np.bincount(bins, minlength=7).tolist() == [0, 24, 24, 24, 24, 24, 0]


@per_task
def test_columns_of_the_authors_files(
    task, figure, people, significant, read, mirror, tmp_path
):
    table = pd.read_csv(mirror / "learning-tasks" / f"{task}_learning.csv")
    first, second = table["participant"].unique()[:2]
    table["include"] = (table["participant"] != first).astype(int)
    table["bonus_payment"] = 1.5
    guessing = table["participant"] == second
    if task == "category":
        table.loc[guessing, "choice"] = 1 - table["true_category_binary"]
        table.loc[guessing, "correct"] = 0
    path = tmp_path / "authors.csv"
    table.to_csv(path, index=False)
    left_out = {first} | ({second} if task == "category" else set())
    kept = read_choices(path, task)
    assert set(table["participant"]) - set(kept["participant"]) == left_out
    everybody = read_choices(path, task, participants="all")
    assert everybody["participant"].nunique() == people
