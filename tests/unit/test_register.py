"""Rows appended to the registry of models by the command line."""

import shutil
from pathlib import Path

import pytest

from trialwise.cli import main
from trialwise.models.registry import COLUMNS, read_models

ROOT = Path(__file__).parents[2]
SCHEMA = ROOT / "workflow" / "schemas" / "models.schema.yaml"


@pytest.fixture
def table(tmp_path):
    return Path(shutil.copy(ROOT / "config" / "models.tsv", tmp_path))


def add(table, *words):
    return main(["add-model", "--models", str(table), *words])


def test_row_like_another_has_all_its_values_but_those_given(table, capsys):
    before = table.read_text()
    assert add(table, "wide", "like=resnet50", "dimension=1000", "layer=fc") == 0
    assert table.read_text().startswith(before)
    models = read_models(table, SCHEMA)
    assert list(models)[-1] == "wide"
    new, old = models["wide"], models["resnet50"]
    assert (new.dimension, new.layer, new.set) == (1000, "fc", ("other",))
    differ = {name for name in COLUMNS if getattr(new, name) != getattr(old, name)}
    own = {"parameters_published", "table_name", "figure_name", "note"}
    assert differ == {"id", "set", "dimension", "layer", *own}
    line = len(table.read_text().splitlines())
    assert capsys.readouterr().out == f"{table}, line {line}: wide\n"


def test_row_of_own_features_needs_three_values(table):
    given = ("provider=precomputed", "type=Language", "dimension=7")
    assert add(table, "mine", *given) == 0
    new = read_models(table, SCHEMA)["mine"]
    assert (new.provider, new.type, new.dimension) == ("precomputed", "Language", 7)
    assert (new.name, new.url, new.environment) == ("mine", "", "main")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["new", "like=resnet5"], "no model 'resnet5' (did you mean 'resnet50'?)"),
        (["new", "layr=fc"], "no column 'layr' (did you mean 'layer'?)"),
        (["resnet18", "like=resnet50"], "resnet18 stands there twice"),
        (["new", "like=resnet50", "dimension=many"], "It must be a whole number"),
        (["new", "like=resnet50", "note=a\tb"], "Separate them by single tabs"),
        (["new", "like=resnet50", "note=a\nb"], "Separate them by single tabs"),
        (["../new", "like=resnet50"], "It must be lower-case letters"),
        (["new", "dimension=3"], "It must be a library or kind of source"),
    ],
)
def test_row_that_cannot_be_is_refused_in_one_line(table, capsys, words, said):
    before = table.read_bytes()
    assert add(table, *words) == 1
    shown = capsys.readouterr().err
    assert said in shown
    assert shown.startswith(f"error: {table}")
    assert shown.count("\n") == 1
    assert table.read_bytes() == before
    assert list(table.parent.iterdir()) == [table]
