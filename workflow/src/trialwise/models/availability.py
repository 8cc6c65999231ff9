"""Which models can be used here, and what the others need."""

import os
import shutil
from collections.abc import Iterable, Mapping
from importlib.util import find_spec

from trialwise.models.registry import Model

LIBRARIES = {
    "torchvision": "torchvision",
    "timm": "timm",
    "open_clip": "open_clip",
    "transformers": "transformers",
    "checkpoint": "timm",
    "dreamsim": "timm",
    "glove": "pyarrow",
    "fasttext": "fasttext",
}
API_KEY = "OPENAI_API_KEY"
EXTRAS = {"pyarrow": "demo", "fasttext": "fasttext"}


def why_unavailable(
    model: Model, images: str, things: str | None, environments: Mapping[str, str]
) -> str:
    """Say what a model needs that is not here; empty if nothing.

    Parameters
    ----------
    model : Model
    images : str
        The image set.
    things : str or None
        Folder of the THINGS images, if the user has named one.
    environments : mapping of str to str
        Python interpreter of each further environment that the user has named.

    Returns
    -------
    str
        One line with the remedy.
    """
    if lacking := explain_environment(model, environments):
        return lacking
    needed = [LIBRARIES[model.provider]] if model.provider in LIBRARIES else []
    needed += sorted(_packages(model.url.split()))
    for library in needed:
        if find_spec(library) is None:
            extra = "demo" if library not in LIBRARIES.values() else "models"
            extra = EXTRAS.get(library, extra)
            return f"needs {library}: pip install -e 'workflow[{extra}]'"
    if model.provider == "embedding-api" and not os.environ.get(API_KEY):
        return f"needs a key: put yours into the environment as {API_KEY}"
    if images == "things" and model.input == "image" and not things:
        return "needs the THINGS images: name their folder in TRIALWISE_THINGS"
    return ""


def explain_environment(model: Model, environments: Mapping[str, str]) -> str:
    """Say how to make the environment that a model needs; empty if it is there.

    Parameters
    ----------
    model : Model
    environments : mapping of str to str
        As in `why_unavailable`.
    """
    name = model.environment
    python = environments.get(name, "")
    if name == "main" or shutil.which(python):
        return ""
    folder = f".venv-{name}"
    fault = f"{python} is no interpreter" if python else "needs another environment"
    return (
        f"{fault}: python3.11 -m venv {folder} && {folder}/bin/pip install -r "
        f"envs/{name}.txt, and name it in the configuration: "
        f"environments: {{{name}: {folder}/bin/python}}"
    )


def describe_left_out(reasons: Mapping[str, str]) -> str:
    """Models that a run leaves out, one line per reason."""
    return "\n".join(
        f"left out: {', '.join(models)} ({reason})"
        for reason, models in group_by_reason(reasons).items()
    )


def group_by_reason(reasons: Mapping[str, str]) -> dict[str, list[str]]:
    """The models of each reason, in the order of their first."""
    by_reason: dict[str, list[str]] = {}
    for model, reason in reasons.items():
        by_reason.setdefault(reason, []).append(model)
    return by_reason


def _packages(urls: Iterable[str]) -> set[str]:
    """Python packages that ship weight files."""
    return {
        url.removeprefix("package:").partition("/")[0]
        for url in urls
        if url.startswith("package:")
    }
