"""The real Snakemake on a small simulated study, in folders of the tests' own."""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
RESULTS = "results/small"
STUDY = """
results: results/small
published: []
n_resamples: 200
n_matrices: 200
groups:
  human: ["subject-*"]
  network: ["network-*"]
comparisons:
  - {first: human, second: human}
  - {first: network, second: network}
  - {first: network, second: human}
experiments:
  - name: easy
    networks: network
    agreement: {people: human, machines: network}
    simulate:
      images: 160
      groups:
        - {name: subject, observers: 3, accuracy: 0.75, consistency: 0.33}
        - {name: network, observers: 4, accuracy: 0.25, consistency: 0.60}
      between: 0.07
  - name: hard
    networks: network
    simulate:
      images: 160
      groups:
        - {name: subject, observers: 3, accuracy: 0.55, consistency: 0.40}
        - {name: network, observers: 3, accuracy: 0.35, consistency: 0.60}
      between: 0.10
noise_experiments: []
regressions: []
accuracy_table:
  experiments: [easy, hard]
  groups: [human, network]
coverage: {worlds: 5, observers: 4, images: 40}
learning:
  images: simulated
  simulate: {images: 250, features: 6, decoys: 1, participants: 8, beta: 2, sigma: 0.3}
  participants: all
  protocols: [comparable]
  tasks: [reward]
  learners: [main]
  models: [source, decoy-1]
"""


@dataclass
class Folder:
    """A folder in which the workflow of `root` runs, by default its `study.yaml`."""

    path: Path
    root: Path = ROOT
    variables: dict = field(default_factory=dict)

    def __post_init__(self):
        self.path.mkdir(exist_ok=True)
        for name in ("config", "resources"):
            link = self.path / name
            link.unlink(missing_ok=True)
            link.symlink_to(self.root / name)

    def write_study(self, **changes):
        study = {**yaml.safe_load(STUDY), **changes}
        (self.path / "study.yaml").write_text(yaml.safe_dump(study, sort_keys=False))

    def write_shipped(self, name, **changes):
        """A shipped study with other learning tasks."""
        study = yaml.safe_load((self.root / "config" / name).read_text())
        study["learning"] |= changes
        for experiment in study["experiments"]:
            if shapes := experiment.get("shapes"):
                kept = set(study["learning"]["models"])
                shapes["models"] = sorted(kept & set(shapes["models"]))
        (self.path / "study.yaml").write_text(yaml.safe_dump(study, sort_keys=False))

    def snakemake(self, *arguments, study="study.yaml", cores=2):
        """Run Snakemake; return the process, with all that it showed in `stdout`."""
        return subprocess.run(
            **self.call(*arguments, study=study, cores=cores),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def call(self, *arguments, study="study.yaml", cores=2):
        """What to call Snakemake with: command, folder and environment."""
        command = [sys.executable, "-m", "snakemake", *arguments]
        command += ["--snakefile", self.root / "Snakefile", "--directory", self.path]
        command += ["--cores", cores] if cores else []
        command += ["--configfile", study] if study else []
        unset = {"TRIALWISE_MIRROR", "SNAKEMAKE_PROFILE"}
        inherited = {k: v for k, v in os.environ.items() if k not in unset}
        return {
            "args": [str(word) for word in command],
            "cwd": self.path,
            "env": {**inherited, **self.variables},
        }

    def run(self, *arguments, **options):
        """Run Snakemake to a good end; return what it showed."""
        done = self.snakemake(*arguments, **options)
        assert done.returncode == 0, done.stdout
        return done.stdout

    def plan(self, *arguments, **options):
        """Number of planned jobs by rule; empty if there is nothing to be done."""
        shown = self.run("--dry-run", *arguments, **options)
        table = shown.partition("Job stats:")[2].partition("\n\n")[0]
        jobs = re.findall(r"^(\w+) +(\d+)$", table, re.MULTILINE)
        assert jobs or "Nothing to be done" in shown
        return {rule: int(count) for rule, count in jobs}

    def results(self):
        """Files of results by name, without logs, benchmarks and the manifest."""
        folder = self.path / RESULTS
        return {
            file.relative_to(folder).as_posix(): file
            for file in folder.rglob("*")
            if file.is_file()
            and file.relative_to(folder).parts[0] not in ("logs", "benchmarks")
            and file.name not in (".snakemake_timestamp", "manifest.tsv")
        }

    def times(self):
        return {name: file.stat().st_mtime_ns for name, file in self.results().items()}


@pytest.fixture
def folder(tmp_path):
    """A folder with the small study and nothing done."""
    folder = Folder(tmp_path / "new")
    folder.write_study()
    return folder


@pytest.fixture(scope="session")
def first_run(tmp_path_factory):
    """The small study, finished, not to be changed, and what Snakemake showed."""
    folder = Folder(tmp_path_factory.mktemp("small"))
    folder.write_study()
    return folder, folder.run("all", "demo")


@pytest.fixture
def finished(first_run, tmp_path):
    """A copy of the finished small study, to be changed."""
    shutil.copytree(first_run[0].path, tmp_path / "finished", symlinks=True)
    return Folder(tmp_path / "finished")


@pytest.fixture
def changeable(finished, tmp_path):
    """The finished small study under a copy of the workflow, to be changed."""
    root = tmp_path / "copy"
    ignore = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for name in ("workflow", "config", "resources"):
        shutil.copytree(ROOT / name, root / name, ignore=ignore)
    shutil.copy(ROOT / "Snakefile", root)
    return Folder(finished.path, root, {"PYTHONPATH": str(root / "workflow" / "src")})


@pytest.fixture
def tables(first_run, folder):
    """Trial tables of two people, which the study of `folder` consists of."""
    folder.write_study(
        comparisons=[{"first": "human", "second": "human"}],
        experiments=[{"name": "own", "folder": "tables"}],
        accuracy_table={"experiments": ["own"], "groups": ["human"]},
    )
    tables = folder.path / "tables"
    tables.mkdir()
    for name in ("subject-01.csv", "subject-02.csv"):
        shutil.copy(
            first_run[0].results()[f"consistency/easy/simulated/{name}"], tables
        )
    return tables
