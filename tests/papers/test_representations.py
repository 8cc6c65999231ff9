"""Demircan et al. (NeurIPS 2024): measures of the generative features."""

import numpy as np
import pandas as pd
import pytest

from trialwise.feature_matrices import expand_objects
from trialwise.representations.cka import linear_cka
from trialwise.representations.class_separation import classes_of_task, with_pairs_once
from trialwise.representations.odd_one_out import read_triplets, zero_shot
from trialwise.representations.rows import numbers_of_objects, vary_within


@pytest.fixture(scope="module")
def things(mirror):
    folder = mirror / "learning-tasks"
    images = (folder / "things_images_26107.txt").read_text().split()
    objects = pd.read_csv(folder / "unique_id.csv")["id"].tolist()
    embedding = np.loadtxt(folder / "spose_embedding_49d_sorted.txt")
    return embedding, objects, images


@pytest.fixture(scope="module")
def expanded(things):
    return expand_objects(*things).astype(np.float32)


def test_classes_of_the_paper_are_the_objects(things, expanded):
    _, objects, images = things
    numbers = classes_of_task(expanded), numbers_of_objects(images, objects)
    assert [len(set(side)) for side in numbers] == [1854, 1854]
    assert len(set(zip(*numbers, strict=True))) == 1854


def test_class_separation_does_not_apply_to_the_generative_features(things, expanded):
    _, objects, images = things
    assert not vary_within(expanded, numbers_of_objects(images, objects))


def test_published_class_separations_are_not_those_of_the_committed_code(reference):
    table = pd.read_csv(reference / "learning-tasks" / "figures_vector_86.csv")
    published = table["class_separation"].dropna()
    assert len(published) == 79
    assert (published < with_pairs_once(0)).sum() == 37


def test_cka_of_the_generative_features_with_themselves(expanded, reference):
    table = pd.read_csv(reference / "learning-tasks" / "figures_vector_86.csv")
    published = table.set_index("model").loc["Task", "cka"]
    assert linear_cka(expanded, expanded) == pytest.approx(published, abs=1e-12)


def test_odd_one_out_accuracy_of_the_generative_features(things, mirror):
    embedding, objects, _ = things
    path = mirror / "things-odd-one-out" / "behavior_triplets_test10.txt"
    triplets = read_triplets(path, len(objects))
    assert len(triplets) == 146_168
    assert round(zero_shot(embedding, triplets).dot, 3) == 0.659
