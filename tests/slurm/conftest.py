"""A SLURM cluster of one node, and the workflow on it with the shipped profile."""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
# What a cluster without accounting needs, and jobs of seconds.
SUBMITTED = [
    "--workflow-profile",
    ROOT / "workflow" / "profiles" / "slurm",
    "--slurm-status-command",
    "squeue",
    "--slurm-init-seconds-before-status-checks",
    8,
]


@dataclass
class Run:
    """The workflow in a folder of its own."""

    path: Path

    def __post_init__(self):
        self.path.mkdir()
        for name in ("config", "resources"):
            (self.path / name).symlink_to(ROOT / name)

    def submit(self, *arguments):
        """Snakemake that submits to SLURM, started and not waited for."""
        return self._start(*SUBMITTED, *arguments)

    def finish(self, *arguments):
        """Submit to SLURM until all is done."""
        _wait_for(self.submit(*arguments))

    def finish_locally(self, *arguments):
        """The same without SLURM."""
        _wait_for(self._start("--cores", 2, *arguments))

    def _start(self, *arguments):
        command = [sys.executable, "-m", "snakemake", *arguments]
        command += ["--snakefile", ROOT / "Snakefile", "--directory", self.path]
        return subprocess.Popen(
            [str(word) for word in command],
            cwd=self.path,
            env={k: v for k, v in os.environ.items() if k != "SNAKEMAKE_PROFILE"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def contents(self):
        """Bytes of each result by its name, without logs and benchmarks."""
        return {
            file.relative_to(self.path).as_posix(): file.read_bytes()
            for file in self.path.glob("results/*/**/*")
            if file.is_file()
            and file.relative_to(self.path).parts[2] not in ("logs", "benchmarks")
            and file.name != ".snakemake_timestamp"
        }

    def jobs(self):
        """What SLURM knows of the jobs of this run, in the order of submission."""
        shown = subprocess.run(
            ["scontrol", "--oneliner", "show", "job"],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        jobs = [dict(re.findall(r"(\S+?)=(\S*)", line)) for line in shown.splitlines()]
        jobs = [job for job in jobs if job.get("WorkDir") == str(self.path)]
        for job in jobs:
            job["rule"], _, _ = (
                job["Comment"].removeprefix("rule_").partition("_wildcards_")
            )
        return sorted(jobs, key=lambda job: int(job["JobId"]))


def _wait_for(process):
    shown, _ = process.communicate()
    assert process.returncode == 0, shown


@pytest.fixture(scope="session")
def slurm():
    """The programs of SLURM, or else the tests are skipped."""
    needed = ("munged", "slurmctld", "slurmd", "sbatch")
    if not all(shutil.which(program) for program in needed):
        pytest.skip("SLURM is not installed here: apt-get install slurm-wlm munge")
    if os.geteuid() != 0:
        pytest.skip("Only root can start a cluster of one node.")


@pytest.fixture(scope="session")
def cluster(slurm, tmp_path_factory):
    """A running cluster of one node."""
    state = tmp_path_factory.mktemp("cluster")
    # Daemons would hold a pipe of pytest open.
    subprocess.run([HERE / "up", state], check=True, stdout=subprocess.DEVNULL)
    yield
    subprocess.run([HERE / "down"], check=True)


@pytest.fixture(scope="session")
def make_run():
    """Make the folder of this path, in which nothing is done yet."""
    return Run


@pytest.fixture
def new_run(make_run, tmp_path):
    """Make such a folder by its name alone."""
    return lambda name: make_run(tmp_path / name)
