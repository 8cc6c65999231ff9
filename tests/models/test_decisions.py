"""Decisions between 16 categories, in the form and order of the published networks'."""

import shutil

import numpy as np
import pandas as pd
import pytest

from trialwise.consistency.comparisons import Comparison, compare_observers
from trialwise.errors import InputError
from trialwise.files import write_table
from trialwise.models.decisions import (
    choose_categories,
    decide,
    decision_table,
    read_categories,
)
from trialwise.stimuli import list_images
from trialwise.trials import CATEGORIES, read_trials

# Folders of the image sets in the stimuli of Geirhos et al. (2019).
EXPERIMENTS = {"edges": "edges", "silhouettes": "filled-silhouettes"}


@pytest.fixture(scope="module")
def classes(mirror):
    return read_categories(
        mirror / "texture-vs-shape" / "imagenet_to_16_categories.csv"
    )


@pytest.fixture(scope="module")
def decisions(mirror, models, lite0_weights, classes):
    """Trial tables of EfficientNet-Lite0, by experiment."""
    tables = {}
    for experiment, name in EXPERIMENTS.items():
        root = mirror / "texture-vs-shape" / "stimuli" / name
        tables[experiment] = decide(
            models["efficientnet-lite0"],
            lite0_weights,
            root,
            list_images(root),
            classes,
            device="cpu",
        )
    return tables


def people_and_networks(mirror, experiment):
    folder = mirror / "error-consistency" / "raw-data" / f"texture-shape_{experiment}"
    return sorted(folder.glob("*.csv"))


def test_mapping_has_the_classes_of_the_published_one(classes):
    assert sorted(classes) == sorted(CATEGORIES)
    assert {name: len(classes[name]) for name in ("airplane", "bird", "dog")} == {
        "airplane": 1,
        "bird": 49,
        "dog": 109,
    }
    # Tabby cat, German shepherd and airliner in the order of ILSVRC-2012.
    assert 281 in classes["cat"]
    assert 235 in classes["dog"]
    assert 404 in classes["airplane"]


def test_mean_and_not_sum_of_probabilities_decides(classes):
    logits = np.full((2, 1000), -5.0)
    # All dogs together are more probable than the one airliner.
    logits[0, classes["dog"]] = 0.0
    logits[0, classes["airplane"]] = 3.0
    logits[1, classes["bird"]] = 0.0
    assert choose_categories(logits, classes) == ["airplane", "bird"]


def test_decision_does_not_change_with_a_shift_of_all_logits(classes):
    logits = np.random.default_rng(0).normal(0, 3, size=(50, 1000)).astype(np.float32)
    assert choose_categories(logits + 500, classes) == choose_categories(
        logits, classes
    )


def test_other_number_of_logits_is_refused(classes):
    with pytest.raises(InputError, match=r"shape \(2, 565\), not \(n, 1000\)"):
        choose_categories(np.zeros((2, 565)), classes)


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_table_has_the_form_and_order_of_the_published_networks(
    mirror, decisions, experiment
):
    folder = mirror / "error-consistency" / "raw-data" / f"texture-shape_{experiment}"
    path = folder / f"texture-shape_{experiment}_resnet50_session-1.csv"
    published = pd.read_csv(path, dtype=str, keep_default_na=False)
    made = decisions[experiment].astype(str)
    assert list(made.columns) == list(published.columns)
    same = [c for c in made.columns if c not in ("subj", "object_response")]
    pd.testing.assert_frame_equal(made[same], published[same])
    assert set(made["subj"]) == {"efficientnet-lite0"}


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_table_joins_those_of_the_people_on_all_images(
    mirror, decisions, experiment, tmp_path
):
    for file in people_and_networks(mirror, experiment):
        if "subject" in file.name:
            shutil.copy(file, tmp_path)
    write_table(decisions[experiment], tmp_path / "efficientnet-lite0.csv")
    trials = read_trials(tmp_path)
    pairs, means, networks = compare_observers(
        trials,
        {"human": ["subject-*"], "net": ["efficientnet-lite0"]},
        [Comparison("human", "human"), Comparison("net", "human")],
        n_resamples=10,
    )
    joined = pairs[(pairs["variant"] == "all-trials") & (pairs["group"] == "net-human")]
    assert len(joined) == 10
    assert set(joined["n"]) == {160}
    assert list(networks["observer"]) == ["efficientnet-lite0"]
    assert "net-human" in set(means["comparison"])


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_accuracy_lies_within_that_of_the_published_networks(
    mirror, decisions, experiment
):
    accuracy = {}
    for file in people_and_networks(mirror, experiment):
        table = pd.read_csv(file, dtype=str, keep_default_na=False)
        if "subject" not in file.name:
            right = table["object_response"] == table["category"]
            accuracy[table["subj"][0]] = right.mean()
    made = decisions[experiment]
    own = (made["object_response"] == made["category"]).mean()
    assert min(accuracy.values()) <= own <= max(accuracy.values())
    assert own > 2 / 16


def test_image_in_the_folder_of_no_category_is_refused():
    with pytest.raises(InputError, match=r"fish/fish1\.png: its folder is none"):
        decision_table("net", ["bird/bird1.png", "fish/fish1.png"], ["bird", "bird"])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("404,n02690373,airplane", "1404,n02690373,airplane", "'1404' is no class"),
        ("404,n02690373,airplane", "281,n02690373,airplane", "'281'.*twice"),
        ("404,n02690373,airplane", "404,n02690373,plane", "'plane' is none"),
        ("404,n02690373,airplane\n", "", "no class of airplane"),
    ],
)
def test_faulty_mapping_is_refused(mirror, tmp_path, old, new, message):
    path = mirror / "texture-vs-shape" / "imagenet_to_16_categories.csv"
    text = path.read_text()
    assert old in text
    copy = tmp_path / "classes.csv"
    copy.write_text(text.replace(old, new))
    with pytest.raises(InputError, match=message):
        read_categories(copy)
