"""Interpreters of the other environments, named by environment variables."""

import os

import pytest


def _interpreter(name):
    python = os.environ.get(f"TRIALWISE_{name.upper()}")
    if not python:
        pytest.skip(
            f"TRIALWISE_{name.upper()} names no interpreter of envs/{name}.txt."
        )
    return python


@pytest.fixture(scope="session")
def harmonization_python():
    """The interpreter of the environment of Harmonization."""
    return _interpreter("harmonization")


@pytest.fixture(scope="session")
def thingsvision_python():
    """The interpreter of the environment of thingsvision."""
    return _interpreter("thingsvision")
