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


@pytest.fixture(scope="module")
def models_lock():
    lines = (ROOT / "envs" / "models.txt").read_text().splitlines()
    return {canonicalize_name(n): v for n, _, v in (x.partition("==") for x in lines)}


def test_conda_file_of_the_models_equals_the_locks(lock, models_lock):
    text = (ROOT / "envs" / "models.yaml").read_text()
    (pip,) = (x for x in yaml.safe_load(text)["dependencies"] if isinstance(x, dict))
    known = {**lock, **models_lock}
    for line in pip["pip"]:
        name, _, version = line.partition("==")
        assert known[canonicalize_name(name)] == version


@pytest.mark.parametrize("extra", ["models", "demo", "test-models"])
def test_extras_are_locked(extra, lock, models_lock):
    text = (ROOT / "workflow" / "pyproject.toml").read_text()
    asked = tomllib.loads(text)["project"]["optional-dependencies"][extra]
    known = {**lock, **models_lock}
    for requirement in map(Requirement, asked):
        assert known[canonicalize_name(requirement.name)] in requirement.specifier


def test_the_two_locks_are_disjoint(lock, models_lock):
    assert not set(lock) & set(models_lock)


def test_torch_is_nowhere(conda, lock, project):
    asked = {requirement.name for requirement in project["run"] + project["test"]}
    assert "torch" not in {*conda, *lock, *asked}
