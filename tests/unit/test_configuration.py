"""The shipped studies pass; each slip in one ends in two readable lines."""

from pathlib import Path

import pytest
import yaml
from snakemake.utils import update_config

from trialwise.configuration import check_schema, check_study
from trialwise.errors import InputError
from trialwise.models.registry import read_models
from trialwise.sources import read_sources

ROOT = Path(__file__).parents[2]
SCHEMA = ROOT / "workflow" / "schemas" / "config.schema.yaml"
PROTOCOLS = yaml.safe_load((ROOT / "config" / "protocols.yaml").read_text())
MODELS = read_models(ROOT / "config" / "models.tsv")
REMOVED = object()


def shipped(name):
    """A study as Snakemake sees it: merged over the default configuration."""
    study = yaml.safe_load((ROOT / "config" / "config.yaml").read_text())
    update_config(study, yaml.safe_load((ROOT / "config" / name).read_text()))
    return study


def check(study, sources):
    check_schema(study, SCHEMA, "configuration")
    check_study(study, sources, PROTOCOLS, MODELS)


@pytest.fixture(scope="module")
def sources():
    return read_sources(ROOT / "resources" / "sources.tsv")["group"].unique()


@pytest.fixture
def study():
    return shipped("config.yaml")


@pytest.fixture
def refusal(study, sources):
    """The message about the study after one value in it is put or removed."""

    def refuse(*path, value=REMOVED):
        *parents, last = path
        place = study
        for key in parents:
            place = place[key]
        if value is REMOVED:
            del place[last]
        else:
            place[last] = value
        with pytest.raises(InputError) as error:
            check(study, sources)
        text = str(error.value)
        assert text.startswith("configuration: ")
        first, second = text.splitlines()
        assert "additionalProperties" not in text
        return first.removeprefix("configuration: "), second

    return refuse


@pytest.mark.parametrize("name", ["config.yaml", "demo.yaml", "offline.yaml"])
def test_shipped_studies_pass(name, sources):
    check(shipped(name), sources)


@pytest.mark.parametrize(
    ("key", "value", "fault", "allowed"),
    [
        ("protocols", ["fair"], "learning: no protocol 'fair'", "comparable."),
        ("models", ["spose-66"], "learning: no model 'spose-66'", "resnet18, "),
        ("images", "simulated", "learning: simulated people are shown", "both"),
    ],
)
def test_slip_in_the_learning_tasks(refusal, key, value, fault, allowed):
    learning = {
        "protocols": ["comparable"],
        "tasks": ["reward"],
        "learners": ["main"],
        "models": ["spose-49"],
    }
    first, second = refusal("learning", value={**learning, key: value})
    assert first.startswith(fault)
    assert allowed in second


def test_what_is_left_out_gets_its_default(sources):
    study = {
        "groups": {"human": ["subject-*"]},
        "comparisons": [{"first": "human", "second": "human"}],
        "experiments": [{"name": "own", "folder": "trials"}],
    }
    check(study, sources)
    assert study["results"] == "results"
    assert study["noise_experiments"] == study["regressions"] == []
    assert study["experiments"][0]["break_point"] == 0.05


@pytest.mark.parametrize(
    ("path", "value", "fault", "allowed"),
    [
        (
            ("n_resample",),
            500,
            "unknown key 'n_resample' (did you mean 'n_resamples'?).",
            "results, sources, seed, n_resamples,",
        ),
        (
            ("experiments", 1, "tiebreaker"),
            "subject-02",
            "unknown key 'tiebreaker' in experiments[1] (did you mean 'tie_breaker'?).",
            "name, trials, folder, simulate,",
        ),
        (
            ("comparisons", 0, "third"),
            "human",
            "unknown key 'third' in comparisons[0]",
            "first, second, published_rows.",
        ),
        (
            ("experiments", 0, "folder"),
            "trials",
            "choose one source of trials in experiments[0].",
            "trials, folder, simulate, shapes.",
        ),
    ],
)
def test_key_that_does_not_belong(refusal, path, value, fault, allowed):
    first, second = refusal(*path, value=value)
    assert first.startswith(fault)
    assert second.startswith(f"Allowed: {allowed}")


@pytest.mark.parametrize(
    ("path", "needed"),
    [
        (("groups",), "Needed: groups, comparisons, experiments."),
        (("comparisons", 0, "second"), "Needed: first, second."),
        (("experiments", 0, "name"), "Needed: name."),
        (("experiments", 0, "trials"), "Allowed: trials, folder, simulate, shapes."),
        (("noise_experiments", 0, "level"), "Needed: name, trials, level."),
    ],
)
def test_key_that_is_missing(refusal, path, needed):
    assert refusal(*path)[1] == needed


@pytest.mark.parametrize(
    ("path", "value", "allowed"),
    [
        (("seed",), "2020", "a whole number, 0 or more"),
        (("n_resamples",), 99, "a whole number, 100 or more"),
        (("experiments",), None, "a list of experiments"),
        (("groups", "human"), "subject-*", "a list of observer names, * allowed"),
        (("experiments", 3, "conditions"), [1], "a condition as text (quote numbers)"),
        (("experiments", 0, "break_point"), 0.5, "a number between 0 and 0.5"),
        (("experiments", 0, "name"), "Cue", "lower-case letters, digits and -"),
        (("comparisons", 1, "published_rows"), [4], "a whole number from 0 to 3"),
        (("published",), ["learning"], "error-consistency, learning-tasks or factors"),
    ],
)
def test_wrong_value(refusal, path, value, allowed):
    assert refusal(*path, value=value)[1] == f"Allowed: {allowed}."


@pytest.mark.parametrize(
    ("path", "pattern"),
    [
        (("experiments", 0, "texture"), "-[a-z]+[0-9]+"),
        (("experiments", 0, "texture"), "-(?:[a-z]+)"),
        (("experiments", 0, "cluster"), r"\(cat"),
        (("experiments", 0, "image_id"), "-([a-z]+"),
        (("noise_experiments", 0, "level"), "([a-z]+)([0-9]+)"),
    ],
)
def test_pattern_must_have_one_group(refusal, path, pattern):
    second = refusal(*path, value=pattern)[1]
    assert second == "Allowed: a regular expression with one group in parentheses."


@pytest.mark.parametrize(
    ("path", "value", "fault", "allowed"),
    [
        (("comparisons", 0, "first"), "humans", "no group 'humans'", "human, cnn16,"),
        (
            ("experiments", 3, "comparisons", 0, "second"),
            "cnn15",
            "no group 'cnn15'",
            "human, cnn16,",
        ),
        (("regressions", 0, "networks"), "cnn1", "no group 'cnn1'", "human, cnn16,"),
        (("experiments", 1, "networks"), "cnn", "no group 'cnn'", "human, cnn16,"),
        (
            ("experiments", 1, "trials"),
            "edge",
            "no external files 'edge' (did you mean 'edges'?)",
            "",
        ),
        (
            ("noise_experiments", 0, "trials"),
            "highpass",
            "no external files 'highpass' (did you mean 'high-pass'?)",
            "",
        ),
        (
            ("accuracy_table", "experiments"),
            ["high-pass"],
            "no experiment 'high-pass'",
            "cue-conflict, edges, silhouettes, colour.",
        ),
        (
            ("accuracy_table", "groups"),
            ["people"],
            "no group 'people'",
            "human, cnn16,",
        ),
    ],
)
def test_name_that_refers_to_nothing(refusal, path, value, fault, allowed):
    first, second = refusal(*path, value=value)
    assert fault in first
    assert second.startswith(f"Allowed: {allowed}")


def test_texture_trained_networks_need_a_texture(refusal):
    first, second = refusal("experiments", 0, "texture")
    assert "cue-conflict" in first
    assert "texture" in second


def test_compared_groups_of_a_simulation_are_simulated(sources):
    study = shipped("demo.yaml")
    study["experiments"][0]["simulate"]["groups"][0]["name"] = "person"
    with pytest.raises(InputError, match="human"):
        check(study, sources)


@pytest.mark.parametrize("place", ["experiments", "noise_experiments"])
def test_two_experiments_of_one_name(refusal, place):
    assert refusal(place, 1, "name", value="cue-conflict") == (
        "two experiments are called 'cue-conflict'.",
        "Each experiment needs a name of its own.",
    )
