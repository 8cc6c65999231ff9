"""What users read says all there is."""

import re
from argparse import ArgumentParser
from pathlib import Path

import pytest
import yaml

from trialwise.cli import main
from trialwise.stage_options import EXPLAINED, explain

ROOT = Path(__file__).parents[2]


def keys(schema):
    """Names of all keys that a schema allows, at any depth."""
    if isinstance(schema, dict):
        yield from schema.get("properties", {})
        for part in schema.values():
            yield from keys(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from keys(part)


@pytest.mark.parametrize("name", ["config", "protocols", "models"])
def test_every_key_is_explained(name):
    path = ROOT / "workflow" / "schemas" / f"{name}.schema.yaml"
    schema = yaml.safe_load(path.read_text())
    text = (ROOT / "config" / "README.md").read_text()
    if name == "models":
        header = (ROOT / "config" / "models.tsv").read_text().partition("\n")[0]
        assert set(header.split("\t")) == set(keys(schema))
        return
    blocks = re.findall(r"```.*?```", text, re.S)
    code = re.findall(r"`([^`]+)`", re.sub(r"```.*?```", "", text, flags=re.S))
    explained = set(re.findall(r"[\w-]+", " ".join([*code, *blocks])))
    assert set(keys(schema)) - explained == set()


def test_every_stage_says_what_it_does(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    shown = capsys.readouterr().out
    stages = re.findall(r"^    ([a-z][a-z-]+)(.*(?:\n {20,}.*)*)", shown, re.M)
    assert len(stages) > 40
    assert [name for name, text in stages if not text.strip()] == []


def test_every_argument_of_every_stage_is_explained(monkeypatch):
    explained, add_argument = {}, ArgumentParser.add_argument

    def recorded(parser, *names, **keywords):
        action = add_argument(parser, *names, **keywords)
        explained[parser.prog, action.dest] = action.help
        return action

    monkeypatch.setattr(ArgumentParser, "add_argument", recorded)
    with pytest.raises(SystemExit):
        main(["--help"])
    assert len(explained) > 250
    assert [argument for argument, text in explained.items() if not text] == []


def test_no_argument_is_explained_that_is_not_there(monkeypatch):
    asked = set()

    def recorded(stage, option):
        asked.update({f"{stage} {option}", option})
        return explain(stage, option)

    monkeypatch.setattr("trialwise.cli.explain", recorded)
    with pytest.raises(SystemExit):
        main(["--help"])
    assert set(EXPLAINED) <= asked


@pytest.mark.parametrize("file", ["README.md", "config/README.md"])
def test_named_files_exist(file):
    text = (ROOT / file).read_text()
    named = re.findall(r"`((?:workflow|resources|envs|tests|config)/[\w./-]+)`", text)
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_picture_of_the_rules_has_every_rule_in_its_file():
    text = (ROOT / "README.md").read_text()
    boxes = dict(re.findall(r'^  (\w+)\["<b>\1</b><br>(.*)"\]$', text, re.MULTILINE))
    for file in (ROOT / "workflow" / "rules").glob("*.smk"):
        rules = re.split(r"^rule (\w+):$", file.read_text(), flags=re.MULTILINE)[1:]
        made = [
            name
            for name, body in zip(rules[::2], rules[1::2], strict=True)
            if "    output:" in body and name != "rule_graph"
        ]
        drawn = boxes.pop(file.stem, "")
        assert drawn == "<br>".join(made), "snakemake --cores 1 rule_graph draws it"
    assert boxes == {}
