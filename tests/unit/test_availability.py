"""Models that cannot be used here say what they need."""

from dataclasses import replace
from pathlib import Path

import pytest

from trialwise.models.availability import describe_left_out, why_unavailable
from trialwise.models.registry import read_models

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def models():
    return read_models(ROOT / "config" / "models.tsv")


def test_generative_features_need_nothing(models):
    assert why_unavailable(models["spose-49"], "things", None) == ""


def test_other_environment_is_named(models):
    reason = why_unavailable(models["harmonization-vgg16"], "edges", None)
    assert reason == "needs the environment envs/harmonization.txt"
    assert (ROOT / "envs" / "harmonization.txt").is_file()


def test_missing_package_is_named_with_its_extra(models, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "timm", None)
    reason = why_unavailable(models["mae-vit-base-p16"], "edges", None)
    assert reason == "needs timm: pip install -e 'workflow[models]'"
    shipped = replace(models["spose-49"], url="package:no_such_package/weights.npy")
    reason = why_unavailable(shipped, "edges", None)
    assert reason == "needs no_such_package: pip install -e 'workflow[demo]'"


def test_things_images_need_a_folder(models):
    model = replace(models["resnet18"], provider="precomputed")
    assert "TRIALWISE_THINGS" in why_unavailable(model, "things", None)
    assert why_unavailable(model, "things", "/images") == ""
    assert why_unavailable(model, "edges", None) == ""


def test_models_are_gathered_by_reason():
    reasons = {"a": "needs x", "b": "needs y", "c": "needs x"}
    assert describe_left_out(reasons).splitlines() == [
        "left out: a, c (needs x)",
        "left out: b (needs y)",
    ]
