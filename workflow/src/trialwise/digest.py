"""Digest of the code a stage uses, so that a change in it reruns the stage."""

import ast
import hashlib
from importlib.util import find_spec
from pathlib import Path

PACKAGE = "trialwise"


def code_digest(*modules: str) -> str:
    """Digest of modules of this package and of all they import from it.

    Parameters
    ----------
    modules : str
        Names below the package, such as ``consistency.kappa``.

    Returns
    -------
    str
        Sixteen hex digits that change when one of the files does.
    """
    digest = hashlib.sha256()
    for path in sorted(imported_files(*modules)):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def imported_files(*modules: str) -> set[Path]:
    """Files of `modules` and of every module of the package they import, at any depth.

    Raises
    ------
    ModuleNotFoundError
        If there is no such module.
    """
    files: set[Path] = set()
    waiting = [f"{PACKAGE}.{module}" for module in modules]
    seen = set(waiting)
    while waiting:
        name = waiting.pop()
        spec = find_spec(name)
        if spec is None:
            raise ModuleNotFoundError(f"there is no module {name}")
        path = Path(spec.origin)
        files.add(path)
        new = _imports(path) - seen
        seen |= new
        waiting += new
    return files


def _imports(path: Path) -> set[str]:
    named = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            named |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            named.add(node.module)
            named |= {f"{node.module}.{alias.name}" for alias in node.names}
    own = {name for name in named if name.startswith(f"{PACKAGE}.")}
    return {name for name in own if _is_module(name)}


def _is_module(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False
