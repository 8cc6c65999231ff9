"""The study of tests/workflow, cut down, as processes and disks that fail meet it."""

import shutil
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
import yaml

WORKFLOW_TESTS = Path(__file__).parents[1] / "workflow" / "conftest.py"


def _shared():
    spec = spec_from_file_location("workflow_tests", WORKFLOW_TESTS)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


shared = _shared()
STUDY = yaml.safe_load(shared.STUDY)
LESS = {
    "experiments": [
        {k: v for k, v in STUDY["experiments"][0].items() if k != "agreement"}
    ],
    "accuracy_table": {"experiments": ["easy"], "groups": ["human", "network"]},
}


class Folder(shared.Folder):
    """A folder in which the workflow can also be started, and left running."""

    def write_less(self):
        """Write the study without its second experiment and the learning tasks."""
        study = {k: v for k, v in STUDY.items() if k not in ("learning", "coverage")}
        (self.path / "study.yaml").write_text(yaml.safe_dump({**study, **LESS}))

    def start(self, *arguments):
        """Start Snakemake as the leader of a process group; it shows nothing."""
        return subprocess.Popen(
            **self.call(*arguments),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def verify(self):
        """Compare the results with their manifest; return the process."""
        command = [sys.executable, "-m", "trialwise", "verify"]
        command.append(f"{shared.RESULTS}/manifest.tsv")
        return subprocess.run(command, cwd=self.path, capture_output=True, text=True)

    def content(self):
        """Files of results with their bytes, but for what killed jobs leave behind."""
        manifest = self.path / shared.RESULTS / "manifest.tsv"
        files = self.results() | (
            {"manifest.tsv": manifest} if manifest.exists() else {}
        )
        return {
            name: file.read_bytes()
            for name, file in files.items()
            if not any(part.startswith(".") for part in Path(name).parts)
        }


@pytest.fixture
def folder(tmp_path):
    """A folder with the smaller study and nothing done."""
    folder = Folder(tmp_path / "new")
    folder.write_less()
    return folder


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory):
    """The smaller study, finished, not to be changed."""
    folder = Folder(tmp_path_factory.mktemp("undisturbed"))
    folder.write_less()
    folder.run("consistency")
    return folder


@pytest.fixture
def finished(undisturbed, tmp_path):
    """A copy of the finished smaller study, to be changed."""
    shutil.copytree(undisturbed.path, tmp_path / "finished", symlinks=True)
    return Folder(tmp_path / "finished")


@pytest.fixture
def disk(tmp_path):
    """A function that mounts a disk of its own at a folder, and mounts it anew."""
    mounted = []

    def mount(folder, options):
        folder.mkdir(parents=True, exist_ok=True)
        given = f"remount,{options}" if folder in mounted else options
        command = ["mount", "-t", "tmpfs", "-o", given, "tmpfs", folder]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"No disk can be mounted here: {done.stderr.strip()}")
        mounted.append(folder)

    yield mount
    for folder in set(mounted):
        subprocess.run(["umount", "--lazy", folder], check=True)
