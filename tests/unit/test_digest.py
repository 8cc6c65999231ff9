"""Digests that follow imports, in the real package and in a changed copy of it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import trialwise
from trialwise.digest import code_digest, imported_files

PACKAGE = Path(trialwise.__file__).parent


def files_of(*modules):
    return {file.relative_to(PACKAGE).as_posix() for file in imported_files(*modules)}


def test_imports_are_followed_at_any_depth():
    files = files_of("consistency.comparisons")
    assert {
        "consistency/comparisons.py",
        "consistency/kappa.py",
        "trials.py",
        "errors.py",
    } <= files
    assert "cli.py" not in files
    assert not any(file.startswith("simulation/") for file in files)


def test_module_without_imports_stands_alone():
    assert files_of("consistency.kappa") == {"consistency/kappa.py"}


def test_order_of_the_modules_does_not_matter():
    modules = ["consistency.shape_bias", "summary.figures", "consistency.null"]
    assert code_digest(*modules) == code_digest(*reversed(modules))


def test_unknown_module():
    with pytest.raises(ModuleNotFoundError, match=r"trialwise\.consistency\.kapa"):
        code_digest("consistency.kapa")


def test_reading_the_imports_imports_nothing_heavy():
    program = (
        "import sys, trialwise.digest as d\n"
        "d.code_digest('consistency.regression', 'summary.figures')\n"
        "print(*{'numpy', 'scipy', 'pandas', 'matplotlib'} & set(sys.modules))"
    )
    assert run(program).split() == []


def run(program, **variables):
    return subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def test_digest_changes_with_a_file_far_below_and_with_no_other(tmp_path):
    copy = tmp_path / "trialwise"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))

    def digests():
        program = (
            "from trialwise.digest import code_digest as d\n"
            "print(d('consistency.comparisons'), d('consistency.confusion'))"
        )
        return run(program, PYTHONPATH=str(tmp_path)).split()

    before = digests()
    assert before == [
        code_digest("consistency.comparisons"),
        code_digest("consistency.confusion"),
    ]
    with (copy / "consistency" / "kappa.py").open("a") as file:
        file.write("# changed\n")
    after = digests()
    assert after[0] != before[0]
    assert after[1] == before[1]
