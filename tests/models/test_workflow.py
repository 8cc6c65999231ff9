"""Features and decisions of a real network, as the workflow makes them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image
from sklearn.metrics import cohen_kappa_score
from timm.data import create_transform

from trialwise.models.loaders import load_module

ROOT = Path(__file__).parents[2]
FEATURES = "results/offline/features/edges/efficientnet-lite0.npy"
NETWORKS = "results/offline/consistency/edges/networks.csv"
WORDS = "results/offline/features/things/glove-6b-50d.npy"


@pytest.fixture(scope="module")
def study(tmp_path_factory, mirror):
    folder = tmp_path_factory.mktemp("offline")
    for name in ("config", "resources"):
        (folder / name).symlink_to(ROOT / name)
    command = [sys.executable, "-m", "snakemake", "--cores", "2", "--snakefile"]
    command += [ROOT / "Snakefile", "--directory", folder, "--configfile"]
    command += [ROOT / "config" / "offline.yaml", "--", FEATURES, NETWORKS, WORDS]
    run = subprocess.run(
        list(map(str, command)),
        env={**os.environ, "TRIALWISE_MIRROR": str(mirror), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    return folder


def test_features_are_those_of_plain_timm(study, mirror, models, lite0_weights):
    images = (study / "results/offline/stimuli/edges.txt").read_text().split()
    assert len(images) == 160
    features = np.load(study / FEATURES)
    network = load_module(models["efficientnet-lite0"], lite0_weights)
    network.reset_classifier(0)
    prepare = create_transform(
        input_size=224,
        crop_pct=0.875,
        interpolation="bicubic",
        mean=(0.5,) * 3,
        std=(0.5,) * 3,
    )
    root = mirror / "texture-vs-shape" / "stimuli" / "edges"
    for row in (0, 77, 159):
        image = prepare(Image.open(root / images[row]).convert("RGB"))
        with torch.inference_mode():
            expected = network(image[None])[0].numpy()
        assert np.allclose(features[row], expected, rtol=1e-4, atol=1e-5)
    sidecar = json.loads((study / FEATURES).with_suffix(".json").read_text())
    assert list(sidecar["weights"].values()) == [models["efficientnet-lite0"].sha256]


def test_decisions_stand_beside_people_and_the_sixteen_networks(study):
    networks = pd.read_csv(study / NETWORKS)
    lite = networks[networks["observer"].str.startswith("efficientnet")]
    assert len(lite) == 2
    trials = pd.read_csv(study / "results/offline/consistency/edges/trials.csv")
    correct = trials.pivot(index="image", columns="observer", values="correct")
    people = [name for name in correct if name.startswith("subject")]
    for row in lite.itertuples():
        own = [cohen_kappa_score(correct[row.observer], correct[p]) for p in people]
        assert row.mean == pytest.approx(np.mean(own), abs=1e-12)


def test_words_give_each_image_the_mean_of_its_words(study):
    images = (study / "results/offline/stimuli/things.txt").read_text().split()
    features = np.load(study / WORDS, mmap_mode="r")
    assert features.shape == (26107, 50)
    by_object = pd.Series(range(len(images)), index=[i.split("/")[1] for i in images])
    one, two = (features[by_object[name].iloc[0]] for name in ("ice_cream", "ice"))
    three = features[by_object["cream"].iloc[0]]
    assert np.allclose(one, (two + three) / 2, atol=1e-6)
