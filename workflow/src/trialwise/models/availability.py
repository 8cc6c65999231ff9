"""Which models can be used here, and what the others need."""

from collections.abc import Iterable
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
EXTRAS = {"pyarrow": "demo", "fasttext": "fasttext"}


def why_unavailable(model: Model, images: str, things: str | None) -> str:
    """Say what a model needs that is not here; empty if nothing.

    Parameters
    ----------
    model : Model
    images : str
        The image set.
    things : str or None
        Folder of the THINGS images, if the user has named one.
    """
    if model.environment != "main":
        return f"needs the environment envs/{model.environment}.txt"
    needed = [LIBRARIES[model.provider]] if model.provider in LIBRARIES else []
    needed += sorted(_packages(model.url.split()))
    for library in needed:
        if find_spec(library) is None:
            extra = "demo" if library not in LIBRARIES.values() else "models"
            extra = EXTRAS.get(library, extra)
            return f"needs {library}: pip install -e 'workflow[{extra}]'"
    if images == "things" and model.input == "image" and not things:
        return "needs the THINGS images: name their folder in TRIALWISE_THINGS"
    return ""


def describe_left_out(reasons: dict[str, str]) -> str:
    """Models that a run leaves out, one line per reason."""
    by_reason: dict[str, list[str]] = {}
    for model, reason in reasons.items():
        by_reason.setdefault(reason, []).append(model)
    return "\n".join(
        f"left out: {', '.join(models)} ({reason})"
        for reason, models in by_reason.items()
    )


def _packages(urls: Iterable[str]) -> set[str]:
    """Python packages that ship weight files."""
    return {
        url.removeprefix("package:").partition("/")[0]
        for url in urls
        if url.startswith("package:")
    }
