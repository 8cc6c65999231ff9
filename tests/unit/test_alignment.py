"""gLocal transforms: the three public ones and faults in them."""

import shutil
from dataclasses import replace

import numpy as np
import pytest
from pooch import file_hash

from trialwise.errors import InputError
from trialwise.models.alignment import (
    align_features,
    read_transform,
)
from trialwise.models.features import (
    describe_features,
    read_sidecar,
    write_features,
)
from trialwise.models.twins import find_twins

IMAGES = [f"object{i}/image.jpg" for i in range(7)]


@pytest.fixture(scope="module")
def transforms(mirror):
    found = (mirror / "glocal" / "transforms").glob("*/*/transform.npz")
    return {path.parts[-3]: path for path in found}


@pytest.fixture
def features():
    return np.random.default_rng(0).gamma(1, size=(7, 512)).astype(np.float32)


@pytest.fixture
def base(tmp_path, models, features):
    path = tmp_path / "resnet18.npy"
    facts = describe_features(models["resnet18"], IMAGES, {"resnet18.pth": "ab"})
    write_features([features], facts, IMAGES, path)
    return path


def align(models, base, transform, output, images=IMAGES):
    model = models["glocal-resnet18"]
    align_features(model, base, images, transform, output, weights={"t.npz": "cd"})
    return np.load(output)


def test_real_transform_gives_the_published_formula(
    tmp_path, models, base, transforms, features
):
    aligned = align(models, base, transforms["resnet18"], tmp_path / "out.npy")
    parts = np.load(transforms["resnet18"])
    standard = (features - parts["mean"]) / parts["std"]
    expected = np.einsum("nd,de->ne", standard, parts["weights"]) + parts["bias"]
    assert aligned.dtype == np.float32
    np.testing.assert_allclose(aligned, expected, rtol=1e-4, atol=1e-4)


def test_sidecar_holds_that_of_the_base(tmp_path, models, base, transforms):
    align(models, base, transforms["resnet18"], tmp_path / "out.npy")
    facts = read_sidecar(tmp_path / "out.npy")
    assert facts["model"] == "glocal-resnet18"
    assert facts["weights"] == {"t.npz": "cd"}
    assert facts["base"] == read_sidecar(base)


def test_transform_without_bias_adds_nothing(tmp_path, models, base, features):
    path = tmp_path / "t.npz"
    np.savez(path, weights=np.eye(512), mean=0.0, std=2.0)
    aligned = align(models, base, path, tmp_path / "out.npy")
    np.testing.assert_array_equal(aligned, features / 2)


def test_the_public_transforms_that_are_the_same_are_noticed(
    tmp_path, models, transforms
):
    assert len(transforms) == 3
    row = models["glocal-dinov2-vit-base-p14"]
    files = {}
    for name, path in transforms.items():
        model = replace(row, id=name, name=f"{name}/norm")
        facts = describe_features(model, IMAGES, {path.name: file_hash(path)})
        rows = np.random.default_rng(len(files)).normal(size=(7, 768))
        files[name] = tmp_path / f"{name}.npy"
        write_features([rows.astype(np.float32)], facts, IMAGES, files[name])
    dino, dinov2 = files["dino-vit-base-p16"], files["dinov2-vit-base-p14"]
    with pytest.raises(InputError, match="have the same weights"):
        find_twins([dino, dinov2])
    assert find_twins([files["resnet18"], dinov2]).empty


def test_transform_of_another_network_is_refused(tmp_path, models, base, transforms):
    with pytest.raises(InputError, match="takes 768 features, but resnet18 has 512"):
        align(models, base, transforms["dinov2-vit-base-p14"], tmp_path / "out.npy")
    assert not (tmp_path / "out.npy").exists()


def test_features_of_another_base_are_refused(tmp_path, models, base, transforms):
    other = tmp_path / "other.npy"
    shutil.copy(base, other)
    text = base.with_suffix(".json").read_text()
    other.with_suffix(".json").write_text(text.replace('"resnet18"', '"resnet34"'))
    with pytest.raises(InputError, match="features of resnet34, but glocal-resnet18"):
        align(models, other, transforms["resnet18"], tmp_path / "out.npy")


def test_features_of_other_images_are_refused(tmp_path, models, base, transforms):
    with pytest.raises(InputError, match="features of other images"):
        align(models, base, transforms["resnet18"], tmp_path / "out.npy", IMAGES[::-1])


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"weights": np.eye(3), "mean": 0.0}, "no gLocal transform.*std"),
        ({"weights": np.ones((3, 2)), "mean": 0.0, "std": 1.0}, r"shape \(3, 2\)"),
        ({"weights": np.eye(3), "mean": 0.0, "std": 0.0}, "deviation 0"),
        (
            {"weights": np.eye(3), "mean": 0.0, "std": 1.0, "bias": np.ones(2)},
            r"bias of shape \(2,\)",
        ),
    ],
)
def test_faulty_transform_is_refused(tmp_path, parts, message):
    path = tmp_path / "t.npz"
    np.savez(path, **parts)
    with pytest.raises(InputError, match=message):
        read_transform(path)


def test_file_that_is_no_transform_is_named(tmp_path):
    path = tmp_path / "t.npz"
    path.write_bytes(b"<html>not found</html>")
    with pytest.raises(InputError, match=r"t\.npz is no gLocal transform"):
        read_transform(path)
