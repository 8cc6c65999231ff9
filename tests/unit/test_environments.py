"""One set of versions: the conda file, the pip lock and the package's metadata."""

import csv
import importlib.metadata
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.licenses import canonicalize_license_expression
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
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
        "python": project["requires-python"],
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


@pytest.fixture(scope="module")
def licences():
    with (ROOT / "envs" / "licences.tsv").open() as file:
        return list(csv.DictReader(file, delimiter="\t"))


def test_every_locked_package_has_a_licence_and_no_other(licences, lock, models_lock):
    for environment, locked in {"main": lock, "models": models_lock}.items():
        listed = [
            canonicalize_name(row["package"])
            for row in licences
            if row["environment"] == environment
        ]
        assert sorted(listed) == sorted(locked)
    assert {row["environment"] for row in licences} == {"main", "models"}


def test_licences_are_spdx_and_those_that_packages_state(licences, lock, models_lock):
    compared = 0
    locked = {**lock, **models_lock}
    for row in licences:
        assert canonicalize_license_expression(row["licence"]) == row["licence"]
        try:
            metadata = importlib.metadata.metadata(row["package"])
        except importlib.metadata.PackageNotFoundError:
            continue
        stated = metadata.get("License-Expression")
        if stated and metadata["Version"] == locked[canonicalize_name(row["package"])]:
            assert canonicalize_license_expression(stated) == row["licence"]
            compared += 1
    assert compared > 30


def test_copyleft_is_named_to_readers(licences):
    text = " ".join((ROOT / "README.md").read_text().split())
    copyleft = {r["package"] for r in licences if re.search("[GME]PL", r["licence"])}
    assert copyleft >= {"certifi", "tqdm"}
    assert [name for name in copyleft if name not in text] == []


@pytest.mark.parametrize(
    ("version", "code"), [("2, 7, 18", 1), ("3, 10, 19", 1), ("3, 11, 0", 0)]
)
def test_old_python_is_refused_in_a_sentence(project, version, code):
    check = ROOT / "envs" / "check_python.py"
    program = f"import runpy, sys; sys.version_info = ({version}); runpy.run_path"
    done = subprocess.run(
        [sys.executable, "-c", f"{program}({str(check)!r})"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == code
    assert done.stderr.count("3.11 or newer is needed. Install one") == code
    assert "Traceback" not in done.stderr
    assert (version.replace(", ", ".") in SpecifierSet(project["python"])) != code


def test_torch_is_nowhere(conda, lock, project):
    asked = {requirement.name for requirement in project["run"] + project["test"]}
    assert "torch" not in {*conda, *lock, *asked}
