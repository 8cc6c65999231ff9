"""The tracked registry of models, and the faults that a registry can have."""

import shutil
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest

from trialwise.errors import InputError
from trialwise.models.registry import COLUMNS, read_models

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "config" / "models.tsv"
SCHEMA = ROOT / "workflow" / "schemas" / "models.schema.yaml"


@pytest.fixture(scope="module")
def models():
    return read_models(TABLE, SCHEMA)


@pytest.fixture
def tracked(tmp_path):
    return Path(shutil.copy(TABLE, tmp_path / "models.tsv"))


def members(models, name):
    return [model for model in models.values() if name in model.set]


def rewrite(file, line, **values):
    lines = [text.split("\t") for text in file.read_text().splitlines()]
    for column, value in values.items():
        lines[line - 1][COLUMNS.index(column)] = value
    file.write_text("".join("\t".join(fields) + "\n" for fields in lines))


def line_of(model):
    return 2 + list(read_models(TABLE)).index(model)


def message(file):
    with pytest.raises(InputError) as error:
        read_models(file, SCHEMA)
    text = str(error.value)
    assert "\n" not in text
    assert str(file) in text
    return text


def test_paper_of_2024_has_its_86_representations(models):
    paper = members(models, "paper-2024")
    assert Counter(model.type for model in paper) == {
        "Supervised": 35,
        "Self-Supervised": 23,
        "Multimodal": 21,
        "Language": 6,
        "Task": 1,
    }
    # 26,107 images of all 86 take 9.8 GB.
    assert sum(model.dimension for model in paper) == 93_405
    assert sum(bool(model.table_name) for model in paper) == 75
    assert len({model.figure_name for model in paper}) == 86


def test_paper_of_2024_has_its_aligned_models(models):
    assert Counter(model.aligned_by for model in members(models, "paper-2024")) == {
        "": 69,
        "Harmonization": 7,
        "gLocal": 7,
        "DreamSim": 3,
    }


def test_paper_of_2020_has_its_networks_with_first_weights(models):
    observers = pd.read_csv(ROOT / "resources" / "imagenet_accuracy.csv")["observer"]
    paper = {
        model.id if "paper-2024" in model.set else model.table_name: model
        for model in members(models, "paper-2020")
    }
    assert set(paper) == {
        *observers,
        "cornet-s",
        "resnet50-trained-on-SIN",
        "resnet50-trained-on-SIN-and-IN",
        "resnet50-trained-on-SIN-and-IN-then-finetuned-on-IN",
    }
    assert len(observers) == 16
    assert {paper[observer].weights for observer in observers} == {"IMAGENET1K_V1"}
    assert models["resnet50"].weights == "IMAGENET1K_V2"


def test_offline_models_come_from_packages_and_are_verified(models):
    offline = members(models, "offline")
    assert [model.id for model in offline] == [
        "efficientnet-lite0",
        "efficientnet-lite1",
        "all-minilm-l6-v2",
        "glove-6b-50d",
    ]
    for model in offline:
        assert all(url.startswith("package:") for url in model.files.values())
        assert set(model.checksums) == set(model.files)


def test_no_two_models_share_weights_unless_noted(models):
    owners = {}
    for model in models.values():
        for url in model.files.values():
            owners.setdefault(url, []).append(model)
    shared = {
        tuple(model.id for model in owner) for owner in owners.values() if owner[1:]
    }
    assert shared == {
        (
            "openclip-vit-b-32-laion400m-e32",
            "openclip-vit-b-32-quickgelu-laion400m-e32",
        ),
        ("dino-vit-base-p16", "dreamsim-dino-vitb16"),
    }
    for first, second in shared:
        assert first in models[second].note


def test_models_with_the_same_file_name_have_other_addresses(models):
    names = Counter(name for model in models.values() for name in model.files)
    # SimCLR, SwAV and PIRL; Barlow Twins and VICReg.
    assert names["model_final_checkpoint_phase799.torch"] == 3
    assert names["resnet50.pth"] == 2


def test_transformed_models_have_the_size_of_their_base(models):
    for model in models.values():
        if model.base:
            base = models[model.base]
            assert model.dimension == base.dimension
            assert model.parameters == base.parameters


def test_sizes_are_the_published_ones(models):
    other = {
        model.id
        for model in models.values()
        if model.parameters
        and model.parameters_published
        and abs(model.parameters / 1e6 - model.parameters_published) >= 0.01
    }
    # Published: the base network for DreamSim, an impossible size for the sentence
    # encoder, and the number of dimensions that the task embedding started from.
    assert other == {
        "dreamsim-clip-vitb32",
        "dreamsim-open-clip-vitb32",
        "dreamsim-dino-vitb16",
        "universal-sentence-encoder",
        "spose-49",
    }


def test_openai_names_its_weights_by_their_checksum(models):
    clip = [m for m in models.values() if m.weights == "openai"]
    assert len(clip) == 6
    for model in clip:
        assert f"/{model.sha256}/" in model.url
        assert model.name.endswith("-quickgelu")


@pytest.mark.parametrize(
    ("model", "column", "value"),
    [
        ("resnet18", "id", "ResNet 18"),
        ("resnet18", "set", "paper-2023"),
        ("resnet18", "set", "paper-2024, other"),
        ("resnet18", "provider", "keras"),
        ("resnet18", "weights", "DEFAULT"),
        ("resnet18", "weights", ""),
        ("resnet18", "url", "ftp://127.0.0.1/a.pth"),
        ("resnet18", "sha256", "0" * 63),
        ("resnet18", "resize", "224x"),
        ("resnet18", "resize", ""),
        ("resnet18", "crop", "224.5"),
        ("resnet18", "interpolation", "nearest"),
        ("resnet18", "normalisation", ""),
        ("resnet18", "input", "object name"),
        ("resnet18", "pooling", "max"),
        ("resnet18", "dimension", "0"),
        ("resnet18", "parameters", "11.69"),
        ("resnet18", "environment", "base"),
        ("glocal-resnet18", "base", ""),
        ("harmonization-vgg16", "environment", "main"),
    ],
)
def test_wrong_value_is_refused_with_its_line(tracked, model, column, value):
    rewrite(tracked, line_of(model), **{column: value})
    text = message(tracked)
    assert f"line {line_of(model)}: {column} is {value!r}. It must be " in text


def test_repeated_id(tracked):
    rewrite(tracked, 9, id="resnet18")
    assert "line 9: resnet18 stands there twice" in message(tracked)


def test_base_that_is_no_model(tracked):
    line = line_of("glocal-resnet18")
    rewrite(tracked, line, base="resnet81")
    assert f"line {line}: base is 'resnet81'" in message(tracked)


def test_checksums_that_do_not_match_the_addresses(tracked):
    rewrite(tracked, 2, sha256="0" * 64 + " " + "1" * 64)
    assert "line 2: 2 checksums for 1 addresses" in message(tracked)


def test_addresses_with_the_same_file_name(tracked):
    rewrite(tracked, 2, url="https://a.org/x/model.bin https://a.org/y/model.bin")
    assert "line 2: two addresses end in the same file name" in message(tracked)


def test_missing_column(tracked):
    rewrite(tracked, 1, sha256="md5")
    assert "line 1: the columns are" in message(tracked)


def test_surplus_field(tracked):
    rewrite(tracked, 5, note="with a\ttab")
    assert "line 5: 26 values under 25 columns" in message(tracked)


@pytest.mark.parametrize("content", [None, b"", b"\xff\xfe"])
def test_missing_empty_or_binary_table(tmp_path, content):
    file = tmp_path / "models.tsv"
    if content is not None:
        file.write_bytes(content)
    assert "models.tsv" in message(file)
