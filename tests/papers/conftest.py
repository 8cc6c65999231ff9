"""One run of the workflow on the real data, shared by the tests of this folder."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def mirror():
    """The folder of real data named by TRIALWISE_MIRROR; without it the tests fail."""
    folder = os.environ.get("TRIALWISE_MIRROR")
    if not folder or not Path(folder).is_dir():
        pytest.fail("Name the folder of the real data in TRIALWISE_MIRROR.")
    return Path(folder).resolve()


@pytest.fixture(scope="session")
def reference(mirror):
    """The folder of expected values, beside the mirror."""
    folder = mirror.parent / "reference"
    if not folder.is_dir():
        pytest.fail(f"There are no expected values in {folder}.")
    return folder


@pytest.fixture(scope="session")
def expected(reference):
    """Expected values of the error-consistency paper."""
    return json.loads((reference / "error-consistency" / "expected.json").read_text())


@pytest.fixture(scope="session")
def study(tmp_path_factory, mirror):
    """A folder in which the target `consistency` has been made from the raw trials."""
    folder = tmp_path_factory.mktemp("study")
    for name in ("config", "resources"):
        shutil.copytree(ROOT / name, folder / name)
    run = snakemake(folder, "consistency", mirror=mirror)
    assert run.returncode == 0, run.stdout
    return folder


@pytest.fixture(scope="session")
def consistency(study):
    """The folder of the error-consistency tables."""
    return study / "results" / "consistency"


def snakemake(folder, *arguments, mirror=None):
    """Run the workflow in a folder, with or without a mirror."""
    environment = {k: v for k, v in os.environ.items() if k != "TRIALWISE_MIRROR"}
    if mirror is not None:
        environment["TRIALWISE_MIRROR"] = str(mirror)
    command = [sys.executable, "-m", "snakemake", "--cores", "2"]
    command += ["--snakefile", str(ROOT / "Snakefile"), "--directory", str(folder)]
    return subprocess.run(
        [*command, *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


@pytest.fixture(scope="session")
def run_snakemake():
    """The function that runs the workflow."""
    return snakemake
