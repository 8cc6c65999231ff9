"""One set of versions: the conda file, the pip lock and the package's metadata."""

import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
NOT_FROM_PYPI = {"python", "pip"}
NAMES_ON_PYPI = {"matplotlib-base": "matplotlib"}


@pytest.fixture(scope="module")
def conda():
    text = (ROOT / "envs" / "main.yaml").read_text()
    pins = [line.partition("=") for line in yaml.safe_load(text)["dependencies"]]
    return {
        NAMES_ON_PYPI.get(name, name): version
        for name, _, version in pins
        if name not in NOT_FROM_PYPI
    }


@pytest.fixture(scope="module")
def lock():
    lines = (ROOT / "envs" / "requirements.txt").read_text().splitlines()
    pins = [line.partition("==") for line in lines]
    return {canonicalize_name(name): version for name, _, version in pins}


@pytest.fixture(scope="module")
def project():
    text = (ROOT / "workflow" / "pyproject.toml").read_text()
    project = tomllib.loads(text)["project"]
    return {
        "run": [Requirement(line) for line in project["dependencies"]],
        "test": [
            Requirement(line) for line in project["optional-dependencies"]["test"]
        ],
    }


def test_every_line_is_an_exact_pin(conda, lock):
    assert all({**conda, **lock}.values())


def test_conda_pins_equal_the_lock(conda, lock):
    assert conda == {name: lock.get(name) for name in conda}


def test_run_time_dependencies_are_pinned_in_both(conda, lock, project):
    names = {canonicalize_name(requirement.name) for requirement in project["run"]}
    assert names <= set(conda)
    assert names <= set(lock)


def test_test_dependencies_are_locked(lock, project):
    names = {canonicalize_name(requirement.name) for requirement in project["test"]}
    assert names <= set(lock)


def test_locked_versions_are_those_the_package_asks_for(lock, project):
    for requirement in project["run"] + project["test"]:
        assert lock[canonicalize_name(requirement.name)] in requirement.specifier


def test_torch_is_nowhere(conda, lock, project):
    asked = {requirement.name for requirement in project["run"] + project["test"]}
    assert "torch" not in {*conda, *lock, *asked}
