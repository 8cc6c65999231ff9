"""The manifest of results, and every kind of change since it was written."""

import hashlib
import os

import pytest

from trialwise import __version__
from trialwise.cli import main
from trialwise.errors import InputError
from trialwise.manifest import COLUMNS, Output, find_changes, update_manifest

EARLY, LATE = 1_000_000_000.0, 9_000_000_000.0
TEXTS = {"tables/a.csv": "a\n1\n", "tables/b.csv": "b\n2\n", "figure.png": "picture"}


@pytest.fixture
def results(tmp_path):
    """Results of two rules, and all that lies beside results and is none."""
    folder = tmp_path / "results"
    others = ["logs/a.log", "benchmarks/a.tsv", "sources/raw.csv", "tables/.a-x.csv"]
    others += ["other/logs/b.log", "other/b.csv", "features/.net.npy.part/finished"]
    for name, text in {**TEXTS, **dict.fromkeys(others, "beside")}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def outputs(results, ended=EARLY, **rules):
    """What the rules made; the table's is a folder."""
    made = {"tables": "tabulate", "figure.png": "draw", "sources/raw.csv": "get"}
    return {
        str(results / name): Output(rules.get(rule, rule), "c0de", ended)
        for name, rule in made.items()
    }


@pytest.fixture
def manifest(results):
    update_manifest(results, outputs(results))
    return results / "manifest.tsv"


def lines(manifest):
    return [line.split("\t") for line in manifest.read_text().splitlines()]


def test_each_result_has_its_line_in_order(manifest):
    header, *rows = lines(manifest)
    assert header == list(COLUMNS)
    assert [row[:5] for row in rows] == [
        [
            name,
            hashlib.sha256(TEXTS[name].encode()).hexdigest(),
            str(len(TEXTS[name])),
            "draw" if name == "figure.png" else "tabulate",
            "c0de",
        ]
        for name in sorted(TEXTS)
    ]
    assert all(row[5].startswith(f"trialwise {__version__}, python ") for row in rows)


def test_same_results_give_the_same_bytes(results, manifest):
    first = manifest.read_bytes()
    manifest.unlink()
    shuffled = dict(reversed(outputs(results, ended=LATE).items()))
    update_manifest(results, shuffled)
    assert manifest.read_bytes() == first


def test_later_run_renews_what_it_made_and_no_other_line(results, manifest):
    before = lines(manifest)
    (results / "figure.png").write_text("another picture")
    (results / "tables" / "a.csv").write_text("tampered")
    made = outputs(results, tabulate="anew")
    made[str(results / "figure.png")] = Output("redraw", "", LATE)
    made[str(results / "new.csv")] = Output("absent", "", LATE)
    update_manifest(results, made)
    after = lines(manifest)
    assert after[2:] == before[2:]
    assert after[1][2:5] == ["15", "redraw", ""]
    assert find_changes(manifest)[0] == [
        f"{results}/tables/a.csv: changed since tabulate made it"
    ]


@pytest.mark.parametrize("text", ["a\n2\n", "a\n1\n\n", ""])
def test_changed_file_is_found_also_with_its_old_size_and_time(results, manifest, text):
    file = results / "tables" / "a.csv"
    times = file.stat().st_atime_ns, file.stat().st_mtime_ns
    file.write_text(text)
    os.utime(file, ns=times)
    assert find_changes(manifest) == (
        [f"{file}: changed since tabulate made it"],
        len(TEXTS),
    )


def test_missing_and_strange_files_are_found(results, manifest):
    (results / "figure.png").unlink()
    (results / "figure.png").mkdir()
    (results / "tables" / "mine.csv").write_text("mine")
    (results / "by-hand").mkdir()
    (results / "by-hand" / "c.csv").write_text("mine")
    assert find_changes(manifest)[0] == [
        f"{results}/by-hand/c.csv: made by no run that ended well",
        f"{results}/figure.png: missing since draw made it",
        f"{results}/tables/mine.csv: made by no run that ended well",
    ]


def test_moved_results_are_still_the_same(results, manifest, tmp_path):
    results.rename(tmp_path / "elsewhere")
    assert find_changes(tmp_path / "elsewhere" / "manifest.tsv") == ([], len(TEXTS))


def test_command_says_it_in_one_line_per_file(results, manifest, capfd):
    assert main(["verify", str(manifest)]) == 0
    shown = capfd.readouterr()
    assert shown.out == f"{manifest}: all 3 files are as they were made.\n"
    assert shown.err == ""
    (results / "figure.png").unlink()
    (results / "mine.csv").touch()
    assert main(["verify", str(manifest)]) == 1
    shown = capfd.readouterr()
    assert shown.out.count("\n") == 2
    assert shown.err.startswith("error: 2 files ")
    assert shown.err.count("\n") == 1


def test_command_without_manifest(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    assert main(["verify"]) == 1
    assert capfd.readouterr().err.startswith(
        "error: results/manifest.tsv: there is no manifest. Name that of a study"
    )


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("path\t", "file\t", "line 1: the columns are not path, sha256"),
        ("\tdraw\t", "\t", "line 2: not 6 values"),
        ("\tdraw\t", "\tdraw\t\t", "line 2: not 6 values"),
        ("tables/a.csv", "../a.csv", "line 3: '../a.csv' leaves the folder"),
        ("tables/a.csv", "/etc/passwd", "line 3: '/etc/passwd' leaves the folder"),
        ("tables/a.csv", "tables/b.csv", "line 4: tables/b.csv is there twice"),
        ("tables/b.csv", "tables/\nb.csv", "line 4: not 6 values"),
    ],
)
def test_damaged_manifest_is_refused_and_stays(results, manifest, old, new, fault):
    text = manifest.read_text()
    assert old in text
    manifest.write_text(text.replace(old, new, 1))
    for use in (
        lambda: find_changes(manifest),
        lambda: update_manifest(results, outputs(results, ended=LATE)),
    ):
        with pytest.raises(InputError) as error:
            use()
        assert fault in str(error.value)
        assert "\n" not in str(error.value)
    assert manifest.read_text() == text.replace(old, new, 1)


@pytest.mark.parametrize("data", [b"", b"\xff\xfe", b"\0"])
def test_file_that_is_no_manifest(manifest, data):
    manifest.write_bytes(data)
    with pytest.raises(InputError, match="is no manifest of results"):
        find_changes(manifest)


def test_manifest_that_cannot_be_written_leaves_the_old_one(
    results, manifest, monkeypatch
):
    before = manifest.read_bytes()
    monkeypatch.setattr("pathlib.Path.replace", _refuse)
    with pytest.raises(InputError, match=r"cannot be written: Read-only file system\."):
        update_manifest(results, outputs(results, ended=LATE))
    assert manifest.read_bytes() == before
    assert not list(results.glob(".manifest*"))


def _refuse(*paths):
    raise OSError(30, "Read-only file system")
