"""Models of other environments, as the workflow extracts them from the main one."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import astuple, replace
from pathlib import Path

import numpy as np
import pytest
import yaml

from trialwise.models.registry import COLUMNS

ROOT = Path(__file__).parents[2]
N_THREADS = 1
RESNET50 = """
import sys
import keras
keras.utils.set_random_seed(0)
network = keras.applications.ResNet50V2(weights=None)
network.save(sys.argv[1], save_format="h5")
"""
THINGSVISION = """
import sys, time
from thingsvision import get_extractor
from thingsvision.utils.data import DataLoader, ImageDataset
root, output, state = sys.argv[1:]
extractor = get_extractor(
    model_name="tf_efficientnet_lite0", source="timm", device="cpu",
    pretrained=False, model_path=state,
)
start = time.perf_counter()
images = ImageDataset(
    root=root, out_path=output, backend=extractor.get_backend(),
    transforms=extractor.get_transformations(),
)
batches = DataLoader(dataset=images, batch_size=32, backend=extractor.get_backend())
extractor.extract_features(
    batches=batches, module_name="global_pool", flatten_acts=True,
    output_type="ndarray", output_dir=output,
)
print("seconds", time.perf_counter() - start)
"""
OWN = """
import sys, time
from trialwise.models.extraction import extract_features
from trialwise.models.loaders import load
from trialwise.models.registry import read_models
from trialwise.stimuli import list_images
registry, weights, root, output = sys.argv[1:]
model = read_models(registry)["efficientnet-lite0"]
network = load(model, weights)
start = time.perf_counter()
extract_features(
    model, network, root, list_images(root), output,
    weights={}, device="cpu", n_workers=0,
)
print("seconds", time.perf_counter() - start)
"""


@pytest.fixture
def folder(tmp_path):
    """A folder in which the workflow runs, with a registry of its own."""
    folder = tmp_path / "study"
    shutil.copytree(ROOT / "config", folder / "config")
    (folder / "resources").symlink_to(ROOT / "resources")
    (tmp_path / "mirror" / "weights").mkdir(parents=True)
    return folder


def snakemake(folder, *targets, options=(), **study):
    (folder / "study.yaml").write_text(yaml.safe_dump({"results": "made", **study}))
    command = [sys.executable, "-m", "snakemake", "--cores", N_THREADS]
    command += ["--snakefile", ROOT / "Snakefile", "--directory", folder]
    command += ["--configfile", folder / "study.yaml", *options, "--", *targets]
    variables = {"TRIALWISE_MIRROR": str(folder.parent / "mirror")}
    return subprocess.run(
        list(map(str, command)),
        env={**os.environ, **variables, "OMP_NUM_THREADS": str(N_THREADS)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def run_python(python, script, *arguments):
    done = subprocess.run(
        [python, "-c", script, *map(str, arguments)],
        env={**os.environ, "OMP_NUM_THREADS": str(N_THREADS)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_way_to_the_environment_is_told_before_anything_is_fetched(folder):
    target = "made/features/edges/harmonization-vgg16.npy"
    done = snakemake(folder, target)
    assert done.returncode != 0
    (line,) = (line for line in done.stdout.splitlines() if "envs/" in line)
    assert "harmonization-vgg16: needs another environment: python3.11 -m venv" in line
    assert "environments: {harmonization: .venv-harmonization/bin/python}" in line
    assert not (folder / "made").exists()


def test_harmonization_from_its_environment(
    harmonization_python, folder, mirror, models
):
    model = models["harmonization-resnet50"]
    weights = folder.parent / "mirror" / "weights" / model.id
    weights.mkdir()
    (name,) = model.files
    run_python(harmonization_python, RESNET50, weights / name)
    stimuli = folder.parent / "mirror" / "texture-vs-shape" / "stimuli"
    stimuli.parent.mkdir()
    stimuli.symlink_to(mirror / "texture-vs-shape" / "stimuli")
    target = f"made/features/edges/{model.id}.npy"
    environments = {"harmonization": harmonization_python}
    done = snakemake(folder, target, environments=environments)
    assert done.returncode == 0, done.stdout
    features = np.load(folder / target)
    assert features.shape == (160, 2048)
    assert len(np.unique(features, axis=0)) == 160
    facts = json.loads((folder / target).with_suffix(".json").read_text())
    assert facts["versions"]["trialwise"]
    assert list(facts["weights"]) == [name]
    again = snakemake(folder, target, options=["--dry-run"], environments=environments)
    assert "Nothing to be done" in again.stdout


@pytest.fixture
def two_hundred(mirror, tmp_path):
    """The edges and forty silhouettes, in one folder for each category."""
    root = tmp_path / "two-hundred"
    for kind, n in (("edges", 160), ("filled-silhouettes", 40)):
        source = mirror / "texture-vs-shape" / "stimuli" / kind
        for image in sorted(source.rglob("*.png"))[:n]:
            copy = root / image.parent.name / f"{kind}-{image.name}"
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(image, copy)
    return root


@pytest.fixture
def theirs(models, folder, lite0_weights):
    """The registry's EfficientNet-Lite0 as a row of thingsvision, with its weights."""
    import torch

    from trialwise.models.loaders import load_module

    own = models["efficientnet-lite0"]
    model = replace(
        own,
        id="lite0-by-thingsvision",
        provider="thingsvision",
        environment="thingsvision",
        weights="timm",
        url="https://example.org/lite0.pth",
        sha256="",
        layer="global_pool",
    )
    values = [",".join(v) if isinstance(v, tuple) else v for v in astuple(model)]
    row = "\t".join("" if value is None else str(value) for value in values)
    assert len(values) == len(COLUMNS)
    with (folder / "config" / "models.tsv").open("a") as table:
        table.write(f"{row}\n")
    weights = folder.parent / "mirror" / "weights" / model.id / "lite0.pth"
    weights.parent.mkdir()
    network = load_module(replace(own, layer="classifier"), lite0_weights)
    torch.save(network.state_dict(), weights)
    return model, weights


def test_thingsvision_gives_the_same_features(
    thingsvision_python, folder, two_hundred, theirs, models, lite0_weights, capsys
):
    from trialwise.models.precomputed import import_features
    from trialwise.stimuli import read_manifest

    model, state = theirs
    own = "made/features/two-hundred/efficientnet-lite0.npy"
    provided = f"made/features/two-hundred/{model.id}.npy"
    done = snakemake(
        folder,
        own,
        provided,
        environments={"thingsvision": thingsvision_python},
        image_sets={"two-hundred": str(two_hundred)},
    )
    assert done.returncode == 0, done.stdout
    output = folder / "thingsvision"
    theirs_shown = run_python(
        thingsvision_python, THINGSVISION, two_hundred, output, state
    )
    registry, timed = ROOT / "config" / "models.tsv", folder / "timed.npy"
    own_shown = run_python(
        sys.executable, OWN, registry, lite0_weights, two_hundred, timed
    )
    images = read_manifest(folder / "made/stimuli/two-hundred.txt")
    imported = folder / "imported.npy"
    import_features(
        models["efficientnet-lite0"],
        output / "global_pool",
        output / "file_names.txt",
        images,
        imported,
    )
    features = np.load(folder / own)
    assert features.shape == (200, 1280)
    differences = {
        "by the provider thingsvision": np.abs(features - np.load(folder / provided)),
        "by thingsvision alone": np.abs(features - np.load(imported)),
    }
    with capsys.disabled():
        for how, difference in differences.items():
            print(f"\nlargest difference to features {how}: {difference.max():.2g}")
        for whose, shown in {"thingsvision": theirs_shown, "own": own_shown}.items():
            duration = 5 * float(shown.rpartition("seconds ")[2])
            print(f"{whose}: {duration:.1f} ms an image, {N_THREADS} core")
    assert all(difference.max() <= 1e-5 for difference in differences.values())
