"""Outputs that appear whole or not at all, with the failure inside."""

import signal
import subprocess
import sys

import pandas as pd
import pytest

from trialwise.files import whole, whole_folder, write_table

# Writes half of an output, says so, and waits.
HALF = """
import sys, time
from trialwise import files
with getattr(files, sys.argv[1])(sys.argv[2]) as temporary:
    (temporary / "half" if sys.argv[1] == "whole_folder" else temporary).write_text("1")
    print("half", flush=True)
    time.sleep(600)
"""


class Unprintable:
    def __str__(self):
        raise ValueError("cannot be written")


def names(folder):
    return [entry.name for entry in folder.iterdir()]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_error_inside_leaves_the_old_file(tmp_path, error):
    path = tmp_path / "table.csv"
    path.write_text("old")

    def write_half():
        with whole(path) as temporary:
            temporary.write_text("half")
            raise error

    with pytest.raises(error):
        write_half()
    assert path.read_text() == "old"
    assert names(tmp_path) == ["table.csv"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_error_inside_leaves_the_old_folder(tmp_path, error):
    path = tmp_path / "trials"
    path.mkdir()
    (path / "old.csv").touch()

    def write_half():
        with whole_folder(path) as temporary:
            (temporary / "half.csv").touch()
            raise error

    with pytest.raises(error):
        write_half()
    assert names(path) == ["old.csv"]
    assert names(tmp_path) == ["trials"]


def test_error_inside_leaves_nothing_where_nothing_was(tmp_path):
    with pytest.raises(ValueError, match="half"), whole(tmp_path / "table.csv"):
        raise ValueError("half")
    with pytest.raises(ValueError, match="half"), whole_folder(tmp_path / "trials"):
        raise ValueError("half")
    assert names(tmp_path) == []


def test_file_is_replaced(tmp_path):
    path = tmp_path / "new" / "figure.png"
    for text in ["old", "new"]:
        with whole(path) as temporary:
            assert temporary.suffix == ".png"
            temporary.write_text(text)
    assert path.read_text() == "new"
    assert names(path.parent) == ["figure.png"]


def test_folder_is_replaced(tmp_path):
    path = tmp_path / "new" / "trials"
    for name in ["old.csv", "new.csv"]:
        with whole_folder(path) as temporary:
            (temporary / name).touch()
    assert names(path) == ["new.csv"]
    assert names(path.parent) == ["trials"]


def test_permissions_are_the_usual_ones(tmp_path):
    (tmp_path / "usual").touch()
    (tmp_path / "usual-folder").mkdir()
    write_table(pd.DataFrame({"a": [1]}), tmp_path / "table.csv")
    with whole_folder(tmp_path / "folder"):
        pass
    modes = {entry.name: entry.stat().st_mode for entry in tmp_path.iterdir()}
    assert modes["table.csv"] == modes["usual"]
    assert modes["folder"] == modes["usual-folder"]


def test_table_that_cannot_be_written(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("old")
    with pytest.raises(ValueError, match="cannot be written"):
        write_table(pd.DataFrame({"a": ["b" * 100_000, Unprintable()]}), path)
    assert path.read_text() == "old"
    assert names(tmp_path) == ["table.csv"]


def test_table_keeps_every_digit(tmp_path):
    table = pd.DataFrame({"kappa": [0.1, 1 / 3, 0.1 + 0.2, 1e-300]})
    write_table(table, tmp_path / "table.csv")
    assert (tmp_path / "table.csv").read_bytes() == (
        b"kappa\n0.1\n0.3333333333333333\n0.30000000000000004\n1e-300\n"
    )


@pytest.mark.parametrize("writer", [whole, whole_folder])
def test_leftovers_of_killed_writers_are_removed_by_the_next(tmp_path, writer):
    path = tmp_path / "table.csv"
    command = [sys.executable, "-c", HALF, writer.__name__, path]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(2)]
    for process in processes:
        assert process.stdout.readline() == b"half\n"
    killed, other = processes
    before = set(names(tmp_path))
    killed.kill()
    assert killed.wait() == -signal.SIGKILL
    (tmp_path / ".table-of-another.csv").touch()
    with writer(path):
        # What the other process still writes stays.
        assert len(before & set(names(tmp_path))) == 1
    other.kill()
    other.wait()
    with writer(path):
        pass
    assert sorted(names(tmp_path)) == [".table-of-another.csv", "table.csv"]
    for process in processes:
        process.stdout.close()
