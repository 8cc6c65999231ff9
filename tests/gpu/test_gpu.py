"""What only a machine with a CUDA GPU can show; skipped on any other."""

import time

import numpy as np
import pytest
from PIL import Image

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    reason = "There is no CUDA GPU here: nothing of this file is tested."
    pytest.skip(reason, allow_module_level=True)

from trialwise.models.extraction import extract_features  # noqa: E402
from trialwise.models.loaders import load  # noqa: E402

N = 64
AGREEING = ("efficientnet-lite0", "resnet50", "vit-b-16", "clip-vit-b-32")
TIMED = (*AGREEING, "resnet18", "convnext-large", "dinov2-vit-large-p14")


@pytest.fixture(scope="module")
def stimuli(photos, tmp_path_factory):
    folder, names = photos
    root = tmp_path_factory.mktemp("stimuli")
    images = []
    for number in range(N):
        picture = Image.open(folder / names[number % len(names)]).convert("RGB")
        images.append(f"cut{number}.jpg")
        picture.crop((number, 0, number + 290, 290)).save(root / images[-1])
    return root, images


@pytest.fixture
def network(models, request):
    """Real weights where a package brings them, else random ones."""

    def build(name):
        real = name == "efficientnet-lite0"
        folder = request.getfixturevalue("lite0_weights") if real else None
        torch.manual_seed(0)
        return load(models[name], folder)

    return build


def extract(model, network, stimuli, output, **options):
    extract_features(model, network, *stimuli, output, weights={}, **options)
    return np.load(output)


@pytest.mark.parametrize("name", AGREEING)
def test_gpu_gives_the_features_of_the_cpu(models, network, stimuli, tmp_path, name):
    options = {"n_workers": 4, "batch_size": 16}
    cpu, gpu = (
        extract(
            models[name],
            network(name),
            stimuli,
            tmp_path / f"{device}.npy",
            device=device,
            **options,
        )
        for device in ("cpu", "cuda")
    )
    scale = np.linalg.norm(cpu, axis=1)
    assert (np.linalg.norm(gpu - cpu, axis=1) <= 1e-4 * scale).all()


def test_gpu_without_room_for_the_batch_gives_the_same_features(
    models, network, stimuli, tmp_path, capfd
):
    name = "efficientnet-lite0"
    alone = extract(
        models[name], network(name), stimuli, tmp_path / "alone.npy", batch_size=4
    )
    total = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.empty_cache()
    # Room for the network and a few images, not for all of them.
    torch.cuda.set_per_process_memory_fraction(300e6 / total)
    try:
        features = extract(
            models[name], network(name), stimuli, tmp_path / "all.npy", batch_size=N
        )
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    assert "Out of memory on cuda" in capfd.readouterr().err
    np.testing.assert_allclose(features, alone, rtol=1e-4, atol=1e-4)


def test_stopped_run_goes_on_to_the_identical_file(models, network, stimuli, tmp_path):
    name = "efficientnet-lite0"
    row, module = models[name], network(name)
    options = {"batch_size": 8}
    extract(row, module, stimuli, tmp_path / "whole.npy", **options)

    def stop(part, inputs):
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt

    calls = []
    hook = module.module.register_forward_pre_hook(stop)
    with pytest.raises(KeyboardInterrupt):
        extract(row, module, stimuli, tmp_path / "parts.npy", **options)
    hook.remove()
    extract(row, module, stimuli, tmp_path / "parts.npy", **options)
    whole, parts = (tmp_path / f"{file}.npy" for file in ("whole", "parts"))
    assert parts.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize("name", TIMED)
def test_images_per_second(models, network, stimuli, tmp_path, name):
    root, images = stimuli
    # Each image often, under a name of its own, so that starting up counts little.
    many = [f"{root.name}/{copy}/../{image}" for copy in range(16) for image in images]
    for copy in range(16):
        (root / str(copy)).mkdir(exist_ok=True)
    row, module = models[name], network(name)
    extract(row, module, stimuli, tmp_path / "warm.npy")
    start = time.perf_counter()
    features = extract(
        row,
        module,
        (root.parent, many),
        tmp_path / "timed.npy",
        batch_size=64,
        n_workers=8,
    )
    seconds = time.perf_counter() - start
    print(f"\n{name}: {len(many) / seconds:.0f} images/s")
    assert len(features) == len(many)
