"""Preprocessing equals that of the libraries the networks come from, on photographs."""

from dataclasses import replace

import open_clip
import pytest
import timm
import torch
import torchvision
from PIL import Image
from torchvision.transforms import InterpolationMode

from trialwise.errors import InputError
from trialwise.models.preprocessing import (
    NORMALISATIONS,
    build_preprocess,
    check_range,
)

TORCHVISION = (
    *("resnet18", "resnet50", "convnext-large", "swin-t", "swin-b"),
    *("vit-b-16", "vit-h-14", "inception-v3"),
)


@pytest.fixture(scope="module")
def pictures(photos):
    folder, names = photos
    found = [Image.open(folder / name).convert("RGB") for name in names]
    # Narrow, small and odd ones as well.
    return [*found, found[0].crop((7, 3, 100, 500)), found[1].resize((61, 45))]


def assert_equal(model, other, pictures):
    preprocess = build_preprocess(model)
    for picture in pictures:
        prepared = preprocess(picture)
        assert prepared.dtype == torch.float32
        torch.testing.assert_close(prepared, other(picture), rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", TORCHVISION)
def test_same_as_torchvision(models, pictures, name):
    model = models[name]
    weights = torchvision.models.get_model_weights(model.name)[model.weights]
    assert_equal(model, weights.transforms(), pictures)


@pytest.mark.parametrize("name", ["efficientnet-lite0", "efficientnet-lite1", "maxvit"])
def test_same_as_timm(models, pictures, name):
    model = models[name]
    side = model.crop or int(model.resize.split("x")[0])
    mean, std = NORMALISATIONS[model.normalisation]
    transform = timm.data.create_transform(
        input_size=(3, side, side),
        interpolation=model.interpolation,
        mean=mean,
        std=std,
        crop_pct=side / int(model.resize),
    )
    assert_equal(model, transform, pictures)


def test_efficientnet_lite_is_prepared_by_timms_own_settings(models, pictures):
    config = timm.data.resolve_model_data_config(
        timm.create_model("tf_efficientnet_lite0")
    )
    transform = timm.data.create_transform(**config)
    assert_equal(models["efficientnet-lite0"], transform, pictures)


@pytest.mark.parametrize("name", ["clip-vit-b-32", "clip-rn50x4"])
def test_same_as_open_clip(models, pictures, name):
    model = models[name]
    transform = open_clip.image_transform(model.crop, is_train=False)
    assert_equal(model, transform, pictures)


def test_both_sides_are_resized_without_a_crop(models, pictures):
    model = replace(models["dreamsim-clip-vitb32"], normalisation="none")
    assert (model.resize, model.crop) == ("224x224", None)
    transform = torchvision.transforms.Compose(
        [
            torchvision.transforms.Resize((224, 224), InterpolationMode.BICUBIC),
            torchvision.transforms.ToTensor(),
        ]
    )
    assert_equal(model, transform, pictures)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"resize": "256px"}, "resize '256px'"),
        ({"resize": "1x2x3"}, "resize '1x2x3'"),
        ({"crop": None}, "differ in shape"),
        ({"interpolation": "nearest"}, "interpolation 'nearest'.*bicubic"),
        ({"normalisation": "caffe"}, "normalisation 'caffe'.*imagenet"),
    ],
)
def test_row_without_meaning_is_refused(models, changed, message):
    with pytest.raises(InputError, match=message):
        build_preprocess(replace(models["resnet18"], **changed))


@pytest.mark.parametrize("normalisation", NORMALISATIONS)
@pytest.mark.parametrize("colour", ["black", "white", "red"])
def test_extreme_images_are_in_range(models, normalisation, colour):
    model = replace(models["resnet18"], normalisation=normalisation)
    picture = Image.new("RGB", (300, 300), colour)
    check_range(build_preprocess(model)(picture), normalisation, "a.png")


def test_white_normalised_as_if_it_lay_between_0_and_1_is_refused(models):
    # The red that Harmonization models got for a white pixel, 1111 and not 2.25.
    mean, std = map(torch.tensor, NORMALISATIONS["imagenet"])
    white = ((255 - mean) / std)[:, None, None].expand(3, 4, 4)
    assert white[0].max() == pytest.approx(1111, abs=1)
    with pytest.raises(InputError, match=r"a\.png: .*1136.*'imagenet'.*2\.64"):
        check_range(white, "imagenet", "a.png")


@pytest.mark.parametrize("value", [-2.2, 2.7, float("nan"), float("inf")])
def test_one_value_out_of_range_is_enough(value):
    prepared = torch.zeros(3, 8, 8)
    prepared[1, 4, 4] = value
    with pytest.raises(InputError, match="its prepared values"):
        check_range(prepared, "imagenet", "a.png")
