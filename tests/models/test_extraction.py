"""Extraction with real weights: same numbers however it runs, and every fault named."""

import os
import re
import shutil
import signal
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import timm
import torch
from PIL import Image
from torch import nn

from trialwise.errors import InputError
from trialwise.models.extraction import extract_features, run_network
from trialwise.models.features import read_sidecar
from trialwise.models.network import Network
from trialwise.stimuli import list_images, manifest_sha256

N = 40
WEIGHTS = {"efficientnet-lite0-57934424.pth": "57934424"}


@pytest.fixture(scope="module")
def stimuli(photos, tmp_path_factory):
    """Forty different cuts from photographs, as JPEG and PNG, in two folders."""
    folder, names = photos
    root = tmp_path_factory.mktemp("stimuli")
    for number in range(N):
        picture = Image.open(folder / names[number % len(names)]).convert("RGB")
        cut = picture.crop((2 * number, number, 2 * number + 200, number + 180))
        suffix = "jpg" if number % 3 else "png"
        path = root / f"part{number % 2}" / f"cut{number}.{suffix}"
        path.parent.mkdir(exist_ok=True)
        cut.save(path)
    return root, list_images(root)


@pytest.fixture(scope="module")
def model(models):
    return models["efficientnet-lite0"]


@pytest.fixture(scope="module")
def reference(stimuli, model, lite0, tmp_path_factory):
    """Features from batches of 32 and one worker."""
    output = tmp_path_factory.mktemp("features") / "efficientnet-lite0.npy"
    extract(model, lite0, stimuli, output)
    return output


@pytest.fixture
def output(tmp_path):
    return tmp_path / "features.npy"


def extract(model, network, stimuli, output, **options):
    root, images = stimuli
    given = {"weights": WEIGHTS, "device": "cpu", **options}
    extract_features(model, network, root, images, output, **given)
    return np.load(output)


class Colour(nn.Module):
    """Mean of each channel: a network whose features are plain to see."""

    def __init__(self, most=None, bad=None):
        super().__init__()
        self.most, self.bad = most, bad
        self.sizes = []

    def forward(self, batch):
        self.sizes.append(len(batch))
        if self.most is not None and len(batch) > self.most:
            raise torch.OutOfMemoryError("CUDA out of memory")
        features = batch.mean(dim=(2, 3))
        if self.bad is not None and sum(self.sizes) > self.bad:
            features[self.bad - sum(self.sizes[:-1]), 1] = torch.nan
        return features


@pytest.fixture
def colour(model, lite0):
    """A registry row and a network with three features."""

    def build(**faults):
        row = replace(model, id="colour", dimension=3)
        return row, Network(Colour(**faults).eval(), lite0.preprocess)

    return build


def test_features_are_those_of_timms_own_network_and_transform(
    stimuli, reference, lite0_weights
):
    root, images = stimuli
    state = torch.load(next(lite0_weights.iterdir()), weights_only=True)
    network = timm.create_model("tf_efficientnet_lite0").eval()
    named = zip(network.state_dict(), state.values(), strict=True)
    network.load_state_dict(dict(named))
    network.reset_classifier(0)
    config = timm.data.resolve_model_data_config(network)
    transform = timm.data.create_transform(**config)
    features = np.load(reference)
    assert features.shape == (N, 1280)
    assert features.dtype == np.float32
    for row in (0, 1, 17, N - 1):
        picture = transform(Image.open(root / images[row]).convert("RGB"))
        with torch.inference_mode():
            expected = network(picture[None])[0].numpy()
        np.testing.assert_allclose(features[row], expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("options", [{"batch_size": 1}, {"batch_size": 7}])
def test_batches_do_not_matter(model, lite0, stimuli, reference, output, options):
    features = extract(model, lite0, stimuli, output, **options)
    np.testing.assert_allclose(features, np.load(reference), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("n_workers", [0, 2])
def test_workers_do_not_matter(model, lite0, stimuli, reference, output, n_workers):
    extract(model, lite0, stimuli, output, n_workers=n_workers)
    np.testing.assert_allclose(
        np.load(output), np.load(reference), rtol=1e-5, atol=1e-5
    )


def test_rows_follow_the_manifest(colour, stimuli, output):
    row, network = colour()
    root, images = stimuli
    features = extract(row, network, (root, images[::-1]), output, batch_size=6)
    again = extract(row, network, stimuli, output.with_name("again.npy"))
    np.testing.assert_allclose(features, again[::-1], rtol=1e-6)
    assert len(np.unique(again, axis=0)) == N


def test_sidecar_says_what_the_features_are(stimuli, reference):
    facts = read_sidecar(reference)
    assert facts["model"] == "efficientnet-lite0"
    assert facts["weights"] == WEIGHTS
    assert (facts["images"], facts["dimension"]) == (N, 1280)
    assert facts["manifest_sha256"] == manifest_sha256(stimuli[1])
    assert facts["preprocessing"]["normalisation"] == "half"
    assert facts["versions"]["torch"] == torch.__version__.split("+")[0]


KILLED = """
import os, signal, sys
from pathlib import Path
from trialwise.models.extraction import extract_features
from trialwise.models.loaders import load
from trialwise.models.registry import read_models
from trialwise.stimuli import list_images
registry, weights, root, output, checksum = sys.argv[1:]
model = read_models(registry)["efficientnet-lite0"]
network = load(model, Path(weights))
calls = []
def kill(module, inputs):
    calls.append(1)
    if len(calls) == 6:
        os.kill(os.getpid(), signal.SIGKILL)
network.module.register_forward_pre_hook(kill)
extract_features(
    model, network, root, list_images(root), output, device="cpu", batch_size=4,
    weights={"efficientnet-lite0-57934424.pth": checksum}, save_every=0,
)
"""


def test_killed_run_goes_on_to_the_identical_file(
    request, model, lite0, lite0_weights, stimuli, output
):
    registry = request.config.rootpath.parent / "config" / "models.tsv"
    arguments = [registry, lite0_weights, stimuli[0], output, *WEIGHTS.values()]
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, *map(str, arguments)],
        env={**os.environ, "OMP_NUM_THREADS": str(torch.get_num_threads())},
        stderr=subprocess.PIPE,
        text=True,
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert not output.exists()
    seen = []
    hook = lite0.module.register_forward_pre_hook(lambda _, x: seen.append(len(x[0])))
    extract(model, lite0, stimuli, output, batch_size=4)
    hook.remove()
    assert sum(seen) == N - 20
    whole = output.with_name("whole.npy")
    extract(model, lite0, stimuli, whole, batch_size=4)
    assert output.read_bytes() == whole.read_bytes()
    assert [file.name for file in output.parent.iterdir() if file.is_dir()] == []


@pytest.mark.parametrize("changed", ["images", "weights"])
def test_interrupted_run_does_not_go_on_with_others(colour, stimuli, output, changed):
    row, network = colour(bad=20)
    root, images = stimuli
    with pytest.raises(InputError):
        extract(row, network, stimuli, output, batch_size=8)
    weights = WEIGHTS
    if changed == "images":
        images = [*images[:-1], images[0]]
    else:
        weights = dict.fromkeys(WEIGHTS, "another")
    row, network = colour()
    with pytest.raises(InputError, match=r"\.part holds unfinished features of colour"):
        extract(row, network, (root, images), output, weights=weights, batch_size=8)
    assert network.module.sizes == []
    extract(row, network, stimuli, output, batch_size=8)
    assert sum(network.module.sizes) == N - 16


def test_out_of_memory_halves_the_batch(colour, stimuli, output, capsys):
    row, network = colour(most=5)
    features = extract(row, network, stimuli, output, batch_size=32)
    assert network.module.sizes == [32, 16, 8, *[4] * 10]
    row, plain = colour()
    expected = extract(row, plain, stimuli, output.with_name("plain.npy"), batch_size=4)
    np.testing.assert_array_equal(features, expected)
    assert "going on with 4 images at a time" in capsys.readouterr().err


def test_image_too_large_for_the_memory_is_told(colour, stimuli, output):
    row, network = colour(most=0)
    with pytest.raises(InputError, match="One image at a time does not fit"):
        extract(row, network, stimuli, output, batch_size=4)
    assert network.module.sizes == [4, 2, 1]


@pytest.mark.parametrize("n_workers", [0, 2])
@pytest.mark.parametrize("fault", ["cut off", "text", "missing", "empty"])
def test_unreadable_image_is_named_and_the_rest_kept(
    colour, stimuli, output, tmp_path, fault, n_workers
):
    root = tmp_path / "stimuli"
    shutil.copytree(stimuli[0], root)
    images = stimuli[1]
    path = root / images[21]
    content = path.read_bytes()
    if fault == "missing":
        path.unlink()
    else:
        damaged = {"cut off": content[: len(content) // 2], "text": b"no image"}
        path.write_bytes(damaged.get(fault, b""))
    options = {"batch_size": 8, "n_workers": n_workers}
    row, network = colour()
    message = f"{re.escape(str(path))} cannot be read"
    with pytest.raises(InputError, match=message) as error:
        extract(row, network, (root, images), output, **options)
    assert "Traceback" not in str(error.value)
    path.write_bytes(content)
    extract(row, network, (root, images), output, **options)
    assert sum(network.module.sizes) == N


def test_values_out_of_range_are_refused(colour, stimuli, output):
    row, network = colour()
    # The fault of the published Harmonization models: 0..255 taken for 0..1.
    scaled = replace(
        network, preprocess=lambda image: 255 * network.preprocess(image) + 254
    )
    with pytest.raises(InputError, match=f"{stimuli[1][0]}: its prepared values"):
        extract(row, scaled, stimuli, output)
    assert network.module.sizes == []


def test_value_that_is_no_number_names_the_image(colour, stimuli, output):
    row, network = colour(bad=21)
    with pytest.raises(InputError, match=f"{stimuli[1][21]}: feature 1 is nan"):
        extract(row, network, stimuli, output, batch_size=8)
    assert not output.exists()


def test_other_dimension_than_registered_is_refused(colour, stimuli, output):
    row, network = colour()
    with pytest.raises(InputError, match=r"shape \(3,\), but 4 are registered"):
        extract(replace(row, dimension=4), network, stimuli, output)
    assert not output.exists()


def test_network_in_training_mode_is_refused(colour, stimuli, output):
    row, network = colour()
    network.module.train()
    with pytest.raises(InputError, match="training mode"):
        extract(row, network, stimuli, output)
    assert list(output.parent.iterdir()) == []


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_lack_of_the_gpu_asked_for_is_told(colour, stimuli, output):
    row, network = colour()
    with pytest.raises(InputError, match="finds no GPU"):
        extract(row, network, stimuli, output, device="cuda")


def test_gray_and_transparent_images_are_read(lite0, tmp_path):
    picture = Image.linear_gradient("L")
    picture.save(tmp_path / "gray.png")
    picture.convert("RGBA").save(tmp_path / "transparent.png")
    picture.convert("RGB").save(tmp_path / "rgb.png")
    rows = np.concatenate(
        list(run_network(lite0, tmp_path, list_images(tmp_path), "half", device="cpu"))
    )
    np.testing.assert_allclose(rows[0], rows[1], atol=1e-5)
    np.testing.assert_allclose(rows[0], rows[2], atol=1e-5)
