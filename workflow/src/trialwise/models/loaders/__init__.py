"""Networks built by the library that has their architecture, with local weights."""

from collections.abc import Collection
from importlib import import_module
from pathlib import Path
from pickle import UnpicklingError
from textwrap import shorten
from types import ModuleType
from typing import TYPE_CHECKING
from zipfile import BadZipFile

from trialwise.errors import InputError
from trialwise.models.registry import Model

if TYPE_CHECKING:
    import torch

    from trialwise.models.network import Network

LIBRARIES = (
    "torchvision",
    "timm",
    "open_clip",
    "transformers",
    "checkpoint",
    "dreamsim",
)


def load(model: Model, weights: str | Path | None) -> "Network":
    """Build a network that sees images and give it its weights.

    Nothing is downloaded: the architecture is built without weights, and the local
    weight file must fit it exactly.

    Parameters
    ----------
    model : Model
    weights : path or None
        Folder with the weight files, as `get_weights` makes it. None leaves the
        random weights of the library.

    Returns
    -------
    Network
        In evaluation mode, float32, on the CPU.

    Raises
    ------
    InputError
        If the model needs another environment, its name or weights are unknown to
        the library, the weight file does not fit, or the network is not the
        registered one.
    """
    from trialwise.models.network import Network
    from trialwise.models.preprocessing import build_preprocess

    network = Network(
        module=load_module(model, weights),
        preprocess=build_preprocess(model),
        layer=model.layer,
        pooling=model.pooling,
    )
    network.check()
    return network


def load_module(model: Model, weights: str | Path | None) -> "torch.nn.Module":
    """The module of `load`, also for models that read text (transformers).

    Parameters
    ----------
    model : Model
    weights : path or None

    Returns
    -------
    torch.nn.Module
        In evaluation mode, float32, on the CPU.

    Raises
    ------
    InputError
        As `load`.
    """
    if model.environment != "main":
        raise InputError(
            f"{model.id}: the provider {model.provider} does not run in the main "
            f"environment. Extract it in the one of envs/{model.environment}.txt."
        )
    if model.provider not in LIBRARIES:
        raise InputError(
            f"{model.id}: the provider {model.provider} has no network to load. "
            f"Networks come from {', '.join(LIBRARIES)}."
        )
    library = import_module(f"trialwise.models.loaders.{model.provider}")
    files = None if weights is None else find_files(model, weights)
    module = _build(model, library, files)
    module = module.eval().float().requires_grad_(False)
    check_parameters(model, module)
    if hasattr(library, "fit_to_input"):
        library.fit_to_input(module, model)
    return module


def _build(
    model: Model, library: ModuleType, files: list[Path] | None
) -> "torch.nn.Module":
    from safetensors import SafetensorError

    try:
        return library.build(model, files)
    except (UnpicklingError, EOFError, BadZipFile, SafetensorError) as error:
        raise InputError(
            f"{model.id}: {files[0]} is damaged or holds more than weights. Fetch it "
            "again; if you trust it, load it with torch and save its state dictionary "
            "alone."
        ) from error
    except RuntimeError as error:
        if files is None:
            raise
        reason = shorten(str(error).splitlines()[-1], 200, placeholder=" ...")
        raise InputError(
            f"{model.id}: {files[0]} does not fit {model.provider} {model.name}: "
            f"{reason} Supply the registered file, or correct the registry."
        ) from error


def check_parameters(model: Model, module: "torch.nn.Module") -> None:
    """Refuse a network of another size than the registered one.

    Parameters
    ----------
    model : Model
    module : torch.nn.Module

    Raises
    ------
    InputError
    """
    check_size(model, sum(parameter.numel() for parameter in module.parameters()))


def check_size(model: Model, n: int) -> None:
    """Refuse a number of parameters other than the registered one.

    Parameters
    ----------
    model : Model
    n : int
        Parameters of the network that was built.

    Raises
    ------
    InputError
        If `n` is another number.
    """
    if n != model.parameters:
        raise InputError(
            f"{model.id}: {model.provider} {model.name} has {n} parameters, not the "
            f"registered {model.parameters}. Correct either in the registry."
        )


def check_name(model: Model, known: Collection[str], fault: str) -> None:
    """Refuse a model whose `name` is not among the known ones.

    Parameters
    ----------
    model : Model
    known : collection of str
    fault : str
        What the message says before the name.

    Raises
    ------
    InputError
    """
    if model.name not in known:
        raise InputError(
            f"{model.id}: {fault} {model.name!r}. Choose from {', '.join(known)}."
        )


def find_files(model: Model, folder: str | Path) -> list[Path]:
    """The weight files of a model, in the order of their addresses.

    Parameters
    ----------
    model : Model
    folder : path
        Of its weights.

    Returns
    -------
    list of Path

    Raises
    ------
    InputError
        If one of them is not in the folder.
    """
    folder = Path(folder)
    names = list(model.files)
    if not names and folder.is_dir():
        names = sorted(file.name for file in folder.iterdir())
    missing = [name for name in names if not (folder / name).is_file()]
    if missing or not names:
        raise InputError(
            f"{model.id}: {folder} has no {', '.join(missing) or 'file'}. "
            "Fetch the weights of the model first."
        )
    return [folder / name for name in names]
