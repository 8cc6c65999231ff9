"""Speed and memory of feature extraction; numbers are printed, never asserted."""

import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from trialwise.models.features import PartialFeatures, describe_features

N = 192
BATCH = 32
ROUNDS = 3


@pytest.fixture(scope="module")
def stimuli(photos, tmp_path_factory):
    """JPEG files of 800 x 800, about the size of those of THINGS."""
    folder, names = photos
    root = tmp_path_factory.mktemp("stimuli")
    images = []
    for number in range(N):
        picture = Image.open(folder / names[number % len(names)]).convert("RGB")
        cut = picture.crop((number % 50, number % 40, 290 + number % 7, 290))
        images.append(f"cut{number}.jpg")
        cut.resize((800, 800)).save(root / images[-1])
    return root, images


def run_own(model, network, stimuli, output, n_workers):
    from trialwise.models.extraction import extract_features

    options = {"device": "cpu", "batch_size": BATCH, "n_workers": n_workers}
    extract_features(model, network, *stimuli, output, weights={}, **options)


def run_plain(model, stimuli, output, n_workers):
    """The loop of timm's documentation, with its own reading of images."""
    import timm
    import torch

    network, transform = model
    root, _ = stimuli
    dataset = timm.data.ImageDataset(str(root), transform=transform)
    loader = torch.utils.data.DataLoader(
        dataset, batch_size=BATCH, num_workers=n_workers
    )
    with torch.inference_mode():
        features = [network(batch) for batch, _ in loader]
    np.save(output, torch.cat(features).numpy())


@pytest.mark.parametrize("n_workers", [0, 1])
def test_against_a_plain_loop(
    models, lite0, lite0_weights, stimuli, tmp_path, n_workers
):
    import timm
    import torch

    state = torch.load(next(lite0_weights.iterdir()), weights_only=True)
    network = timm.create_model("tf_efficientnet_lite0").eval()
    named = zip(network.state_dict(), state.values(), strict=True)
    network.load_state_dict(dict(named))
    network.reset_classifier(0)
    config = timm.data.resolve_model_data_config(network)
    plain = network, timm.data.create_transform(**config)
    own = models["efficientnet-lite0"], lite0
    seconds = {"own": [], "plain": []}
    for number in range(ROUNDS):
        # In turn, so that other work on the machine falls on both.
        start = time.perf_counter()
        run_own(*own, stimuli, tmp_path / f"own{number}.npy", n_workers)
        middle = time.perf_counter()
        run_plain(plain, stimuli, tmp_path / "plain.npy", n_workers)
        seconds["own"].append(middle - start)
        seconds["plain"].append(time.perf_counter() - middle)
    own, plain = (1000 * min(seconds[name]) / N for name in ("own", "plain"))
    print(
        f"\n{n_workers} workers: {own:.2f} ms an image, plain loop {plain:.2f} ms "
        f"({100 * (own / plain - 1):+.1f} %)"
    )


def test_everything_but_the_network(models, lite0, stimuli, tmp_path):
    import torch

    from trialwise.models.extraction import _Images

    root, images = stimuli
    torch.set_num_threads(1)
    dataset = _Images(root, images, lite0, "half")
    start = time.perf_counter()
    prepared = [dataset[index] for index in range(len(images))]
    read = time.perf_counter() - start
    assert all(isinstance(image, torch.Tensor) for image in prepared)
    rows = np.ones((BATCH, 1280), dtype=np.float32)
    facts = describe_features(models["efficientnet-lite0"], images, {})
    start = time.perf_counter()
    with PartialFeatures(tmp_path / "rows.npy", facts) as partial:
        for _ in range(N // BATCH):
            partial.append(rows)
        partial.finish()
    written = time.perf_counter() - start
    print(
        f"\n{1000 * read / N:.2f} ms an image to decode, resize and check, "
        f"{1000 * written / N:.3f} ms to write"
    )


def test_memory_of_writing_things(models, tmp_path):
    images = [f"stimuli/object/object_{number}.jpg" for number in range(26107)]
    facts = describe_features(models["resnet50"], images, {})
    rows = np.random.default_rng(0).normal(size=(BATCH, 2048)).astype(np.float32)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    output = tmp_path / "resnet50.npy"
    with PartialFeatures(output, facts) as partial:
        for start in range(0, len(images), BATCH):
            partial.append(rows[: len(images) - start])
        partial.finish()
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert np.load(output, mmap_mode="r").shape == (26107, 2048)
    print(f"\n26,107 x 2,048 written with {(after - before) / 1024:.1f} MB more memory")


RESNET50 = """
import resource, sys
from pathlib import Path
from trialwise.models.extraction import extract_features
from trialwise.models.loaders import load
from trialwise.models.registry import read_models
registry, root, output, copies = sys.argv[1:]
model = read_models(registry)["resnet50"]
images = sorted(path.name for path in Path(root).iterdir()) * int(copies)
extract_features(
    model, load(model, None), root, images, output, weights={}, device="cpu"
)
peaks = [
    resource.getrusage(who).ru_maxrss / 1024**2
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
]
print(f"{peaks[0]:.2f} GB, its worker {peaks[1]:.2f} GB")
"""


@pytest.mark.parametrize("copies", [1, 3])
def test_memory_of_resnet50(request, stimuli, tmp_path, copies):
    registry = request.config.rootpath.parent / "config" / "models.tsv"
    arguments = [registry, stimuli[0], tmp_path / "resnet50.npy", copies]
    run = subprocess.run(
        [sys.executable, "-c", RESNET50, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=True,
    )
    print(f"\n{copies * N} images through ResNet-50: {run.stdout.strip()}")
    assert Path(tmp_path / "resnet50.npy").is_file()
