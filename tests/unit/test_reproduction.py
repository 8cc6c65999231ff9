"""Verdicts on small tables, and the tracked tables of published values."""

from pathlib import Path

import pandas as pd
import pytest

from trialwise.errors import InputError
from trialwise.summary.reproduction import compare, read_published

FOLDER = Path(__file__).parents[2] / "resources" / "published"
# Values and curves of each model are no claims.
DATA = {FOLDER / "models.csv", FOLDER / "learning-curves.csv"}
PUBLISHED = sorted({*FOLDER.glob("*")} - DATA)
HEADER = "item,protocol,published,tolerance,table,select,column,source,reason"


@pytest.fixture
def results(tmp_path):
    folder = tmp_path / "consistency" / "edges"
    folder.mkdir(parents=True)
    (folder / "groups.csv").write_text(
        "variant,comparison,mean,pair\n"
        "published,human-human,0.3203,subject-01 subject-02\n"
        "all-trials,human-human,0.3251,subject-01 subject-03\n"
        "all-trials,cnn4-human,-0.0151,NA\n"
    )
    return tmp_path


@pytest.fixture
def verdict(results):
    """Compare one published value with a cell of the group means."""

    def compare_one(
        published,
        tolerance,
        *,
        table="consistency/edges/groups.csv",
        select="variant=all-trials;comparison=human-human",
        column="mean",
        reason="",
    ):
        row = ["item", "all-trials", published, tolerance]
        row += [table, select, column, "figure 1", reason]
        published = pd.DataFrame([row], columns=HEADER.split(","))
        return compare(published, results).iloc[0]

    return compare_one


@pytest.mark.parametrize("published", ["0.3251", "0.33", "0.3205"])
def test_within_the_tolerance_is_a_match(verdict, published):
    row = verdict(published, "0.005")
    assert row["status"] == "match"
    assert row["reproduced"] == "0.3251"
    assert row["difference"] == pytest.approx(0.3251 - float(published))
    assert row["note"] == "figure 1"


@pytest.mark.parametrize("published", ["0.3302", "0.32", "-0.3251"])
def test_beyond_the_tolerance_differs_with_the_reason(verdict, published):
    row = verdict(published, "0.005", reason="the paper rounds twice")
    assert row["status"] == "differs"
    assert row["note"] == "the paper rounds twice"


@pytest.mark.parametrize(
    ("published", "status"), [("1", "recomputed"), ("2", "differs")]
)
def test_agreement_of_published_values_is_no_match(verdict, results, published, status):
    folder = results / "summary" / "published"
    folder.mkdir(parents=True)
    (folder / "statistics.csv").write_text("item,value\nrank,1.2\n")
    table = {"table": "summary/published/statistics.csv", "select": "item=rank"}
    assert verdict(published, "0.5", **table, column="value")["status"] == status


def test_difference_without_a_reason_says_so(verdict):
    assert verdict("0.4", "0.005")["note"] == "no reason is known"


def test_value_without_a_table_is_not_available(verdict):
    row = verdict("0.4", "", table="", select="", reason="never published")
    assert row["status"] == "not available"
    assert row["reproduced"] == ""
    assert row["note"] == "never published"


@pytest.mark.parametrize(
    ("published", "status"),
    [("subject-01 subject-03", "match"), ("subject-01 subject-02", "differs")],
)
def test_text_is_compared_as_text(verdict, published, status):
    row = verdict(published, "", column="pair")
    assert row["status"] == status
    assert row["difference"] == ""


def test_text_that_looks_like_a_missing_value(verdict):
    select = "comparison=cnn4-human"
    assert verdict("NA", "", select=select, column="pair")["status"] == "match"


@pytest.mark.parametrize(
    ("select", "n"), [("variant=all-trials", 2), ("variant=all-images", 0)]
)
def test_select_must_hit_one_row(verdict, select, n):
    with pytest.raises(InputError, match=f"selects {n} rows of consistency/edges"):
        verdict("0.33", "0.005", select=select)


def test_item_that_stands_twice(tmp_path):
    file = tmp_path / "paper.csv"
    file.write_text(f"{HEADER}\nkappa,published,,,,,,,\nkappa,published,,,,,,,\n")
    with pytest.raises(InputError, match=r"line 3: the item 'kappa' stands twice"):
        read_published(file)


def test_missing_column(tmp_path):
    file = tmp_path / "paper.csv"
    file.write_text("item,protocol,published,tolerance\n")
    with pytest.raises(InputError, match="line 1: no column table, select, column"):
        read_published(file)


@pytest.mark.parametrize("path", PUBLISHED, ids=lambda path: path.stem)
def test_tracked_tables(path):
    published = read_published(path)
    computed = published[published["table"] != ""]
    number = pd.to_numeric(computed["published"], errors="coerce").notna()
    assert (computed["tolerance"] != "").equals(number)
    assert (computed.loc[number, "tolerance"].astype(float) > 0).all()
    assert (computed[["select", "column", "source"]] != "").all(axis=None)
    assert (published.loc[published["table"] == "", "reason"] != "").all()
    assert not published.duplicated(["item", "protocol"]).any()
