"""The authors' features on the real list of 26,107 THINGS images."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from trialwise.models import authors
from trialwise.models.precomputed import import_features
from trialwise.models.providers import make_features
from trialwise.models.registry import read_models
from trialwise.stimuli import read_manifest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def models():
    return read_models(ROOT / "config" / "models.tsv")


def test_names_are_those_of_the_reference(reference, models):
    files = authors.read_file_names(ROOT / "resources/authors-features.tsv", models)
    known = pd.read_csv(reference / "learning-tasks" / "models_86.csv", index_col="id")
    names = known["feature_name"].str.replace("/", "_") + ".npy"
    assert files["file"].to_dict() == names.to_dict()
    assert files["evidence"].to_dict() == known["feature_name_evidence"].to_dict()


def test_generative_features_in_the_authors_order_fill_their_row(
    mirror, models, tmp_path
):
    shared = mirror / "learning-tasks"
    images = read_manifest(shared / "things_images_26107.txt")
    generative = np.loadtxt(shared / "spose_embedding_49d_sorted.txt")
    objects = pd.read_csv(shared / "unique_id.csv")["id"].tolist()
    order = authors.thingsvision_order(images)
    assert order != images
    source = tmp_path / "features"
    source.mkdir()
    rows = [objects.index(image.split("/")[1]) for image in order]
    np.save(source / "task.npy", generative[rows])
    output = tmp_path / "authors-features"
    files = authors.read_file_names(ROOT / "resources/authors-features.tsv", models)
    remarks = authors.lay_out_features(
        files, models, source, images, generative, objects, output
    )
    assert remarks[-1].startswith("1 of 86 models have features")
    model = models["spose-49"]
    theirs, ours = tmp_path / "theirs.npy", tmp_path / "ours.npy"
    names = output / "file_names.txt"
    import_features(model, output / "spose-49.npy", names, images, theirs)
    make_features(model, images, ours, {"generative": str(shared)})
    np.testing.assert_array_equal(np.load(theirs), np.load(ours))
