"""Digest of the code a stage uses, so that a change in it reruns the stage."""

import ast
import functools
import hashlib
from pathlib import Path

PACKAGE = Path(__file__).parent


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

    Nothing is imported: the files are read.

    Raises
    ------
    ModuleNotFoundError
        If there is no such module.
    """
    waiting = []
    for module in modules:
        path = _file_of(module)
        if path is None:
            raise ModuleNotFoundError(f"there is no module {PACKAGE.name}.{module}")
        waiting.append(path)
    files: set[Path] = set()
    while waiting:
        path = waiting.pop()
        if path not in files:
            files.add(path)
            found = map(_file_of, _imports(path.read_text()))
            waiting += [path for path in found if path is not None]
    return files


@functools.cache
def _imports(code: str) -> list[str]:
    names = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    prefix = f"{PACKAGE.name}."
    return [name.removeprefix(prefix) for name in names if name.startswith(prefix)]


def _file_of(module: str) -> Path | None:
    base = PACKAGE.joinpath(*module.split("."))
    for path in (base.with_suffix(".py"), base / "__init__.py"):
        if path.is_file():
            return path
    return None
