"""Disks that are full or read-only, two runs in one folder, and a moved folder."""

import os
import re
import shutil
import subprocess
import sys
import time

import pytest

TARGET = "consistency"


def test_full_disk_is_named_and_what_was_done_counts(folder, undisturbed, disk):
    results = folder.path / "results"
    disk(results, "size=120k")
    done = folder.snakemake(TARGET, "--keep-going")
    assert done.returncode == 1
    message = r"error: \S+ cannot be written: No space left on device\. Free space"
    assert re.search(message, done.stdout), done.stdout
    assert "Traceback" not in done.stdout
    whole = undisturbed.content()
    made = folder.content()
    assert made
    assert all(made[name] == whole[name] for name in made if name in whole)
    times = folder.times()
    disk(results, "size=64m")
    folder.run(TARGET, "--rerun-incomplete")
    assert folder.content() == whole
    now = folder.times()
    assert {name: now[name] for name in made} == {name: times[name] for name in made}
    assert folder.verify().returncode == 0


def test_read_only_disk_is_named(folder, disk):
    results = folder.path / "results"
    disk(results, "size=64m")
    disk(results, "ro")
    done = folder.snakemake(TARGET)
    assert done.returncode == 1
    assert "Read-only file system: 'results/small" in done.stdout, done.stdout
    disk(results, "rw")
    assert folder.plan(TARGET)["total"] == 10


def test_results_that_became_read_only_stay(finished, undisturbed, disk):
    results = finished.path / "results"
    kept = finished.path / "kept"
    results.rename(kept)
    disk(results, "size=64m")
    subprocess.run(["cp", "-a", f"{kept}/.", results], check=True)
    disk(results, "ro")
    assert finished.plan(TARGET) == {}
    done = finished.snakemake(TARGET, "--forcerun", "compare_observers")
    assert done.returncode == 1
    assert "Write-protected output files for rule " in done.stdout
    assert finished.content() == undisturbed.content()
    assert finished.verify().returncode == 0


def test_second_run_in_the_same_folder_is_refused(folder, undisturbed):
    first = folder.start(TARGET)
    try:
        locks = folder.path / ".snakemake" / "locks"
        while first.poll() is None and not (locks.is_dir() and any(locks.iterdir())):
            time.sleep(0.05)
        # As it should be after a crash; here the other run is alive.
        second = folder.snakemake(TARGET, "--rerun-incomplete")
        assert second.returncode == 1
        assert "Error: Directory cannot be locked." in second.stdout
        assert "--unlock" in second.stdout
        assert "Traceback" not in second.stdout
    finally:
        assert first.wait() == 0
    assert folder.content() == undisturbed.content()
    assert folder.verify().returncode == 0


@pytest.mark.parametrize("how", ["moved", "copied"])
def test_study_that_is_elsewhere_now_is_still_done(finished, tmp_path, how):
    elsewhere = tmp_path / "another disk" / "study"
    elsewhere.parent.mkdir()
    if how == "moved":
        finished.path.rename(elsewhere)
    else:
        subprocess.run(["cp", "-r", finished.path, elsewhere], check=True)
    finished.path = elsewhere
    assert finished.verify().returncode == 0
    if how == "moved":
        assert finished.plan(TARGET) == {}


def test_checkout_that_was_moved_goes_on_or_says_what_to_install(finished, tmp_path):
    checkout, moved = tmp_path / "clone", tmp_path / "another disk" / "clone"
    for name in ("workflow", "config", "resources"):
        (finished.path / name).unlink(missing_ok=True)
        shutil.copytree(finished.root / name, finished.path / name)
    shutil.copy(finished.root / "Snakefile", finished.path)
    finished.path.rename(checkout)

    def plan(checkout, package):
        command = [sys.executable, "-m", "snakemake", TARGET, "--dry-run"]
        command += ["--cores", "1", "--configfile", "study.yaml"]
        return subprocess.run(
            command,
            cwd=checkout,
            env={**os.environ, "PYTHONPATH": str(package / "workflow" / "src")},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    assert "Nothing to be done" in plan(checkout, checkout).stdout
    moved.parent.mkdir()
    checkout.rename(moved)
    finished.path = moved
    assert finished.verify().returncode == 0
    assert "Nothing to be done" in plan(moved, moved).stdout
    # The package is still that of another place, as an editable installation leaves it.
    refused = plan(moved, finished.root)
    assert refused.returncode == 1
    assert f"is that of {finished.root}, another copy" in refused.stdout
    assert "pip install -e workflow" in refused.stdout
    assert "Traceback" not in refused.stdout


def test_change_to_a_result_is_found(finished):
    changed = finished.results()["consistency/easy/pairs.csv"]
    changed.write_text(changed.read_text().replace("0.5", "0.6", 1))
    (changed.parent / "networks.csv").unlink()
    (changed.parent / "mine.csv").write_text("a\n1\n")
    found = finished.verify()
    assert found.returncode == 1
    folder = "results/small/consistency/easy"
    assert found.stdout.splitlines() == [
        f"{folder}/mine.csv: made by no run that ended well",
        f"{folder}/networks.csv: missing since compare_observers made it",
        f"{folder}/pairs.csv: changed since compare_observers made it",
    ]
    assert found.stderr.startswith("error: 3 files ")


def test_run_of_one_part_does_not_bless_a_changed_result(finished, undisturbed):
    changed = finished.results()["consistency/easy/band.csv"]
    changed.write_text(changed.read_text().replace("0.0", "0.1", 1))
    finished.run(TARGET, "-R", "draw_kappa")
    assert finished.verify().stdout.splitlines() == [
        "results/small/consistency/easy/band.csv: changed since compute_band made it"
    ]
    changed.unlink()
    finished.run(TARGET)
    assert finished.verify().returncode == 0
    assert finished.content() == undisturbed.content()
