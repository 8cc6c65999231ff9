"""Features of all images of a set from one network."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset
from tqdm import tqdm

from trialwise.errors import InputError
from trialwise.models.network import Network
from trialwise.models.preprocessing import check_range, read_image
from trialwise.models.registry import Model
from trialwise.models.streaming import show_progress, stream_features


def extract_features(
    model: Model,
    network: Network,
    root: str | Path,
    images: Sequence[str],
    output: str | Path,
    *,
    weights: Mapping[str, str],
    device: str | None = None,
    batch_size: int = 32,
    n_workers: int = 1,
    save_every: float = 10,
) -> None:
    """Extract the features of every image and write them with their sidecar.

    Rows go to the disk as they are made. A run that is interrupted goes on after the
    last rows that were saved when it is started again, and with the same batch size
    gives the same numbers as one that was not.

    Parameters
    ----------
    model : Model
        Its row of the registry.
    network : Network
    root : path
        Folder of the images.
    images : sequence of str
        The manifest: paths relative to `root`, in the order of the rows.
    output : path
        The ``.npy`` file to make, float32, shape (n, dimension). Its sidecar bears the
        same name with ``.json``.
    weights : mapping of str to str
        The sha256 of each weight file, by name.
    device : str, optional
        Such as ``cpu`` or ``cuda:1``; default a GPU where there is one.
    batch_size : int, default=32
        Where it does not fit into the GPU's memory it is halved until it does.
    n_workers : int, default=1
        Processes that decode and prepare images; 0 does it in this one.
    save_every : float, default=10
        Seconds after which new rows are saved against a crash.

    Raises
    ------
    InputError
        If an image cannot be read or its prepared values are out of range, the network
        is in training mode, features have another dimension than registered or are not
        finite, one image does not fit into the GPU's memory, or rows of an earlier run
        were made from other images or weights or in another way.
    """
    network.check()

    def run(start: int) -> Iterator[np.ndarray]:
        return run_network(
            network,
            root,
            images,
            model.normalisation,
            device=device,
            batch_size=batch_size,
            n_workers=n_workers,
            start=start,
            label=model.id,
        )

    stream_features(model, images, output, weights, run, save_every=save_every)


def run_network(
    network: Network,
    root: str | Path,
    images: Sequence[str],
    normalisation: str,
    *,
    device: str | None = None,
    batch_size: int = 32,
    n_workers: int = 1,
    start: int = 0,
    label: str = "",
) -> Iterator[np.ndarray]:
    """Run a network on images, batch by batch, with a progress bar.

    Parameters
    ----------
    network, root, images, device, batch_size, n_workers
        As in `extract_features`.
    normalisation : str
        What the prepared values are checked against, a key of `NORMALISATIONS`.
    start : int, default=0
        Number of images to pass over.
    label : str
        Of the progress bar.

    Yields
    ------
    ndarray of float32, shape (n, features)

    Raises
    ------
    InputError
        If an image cannot be read or is out of range, or one alone does not fit into
        the GPU's memory.
    """
    runner = _Runner(network, _choose_device(device), batch_size)
    loader = DataLoader(
        _Images(Path(root), images[start:], network, normalisation),
        batch_size=batch_size,
        num_workers=n_workers,
        collate_fn=_collate,
        pin_memory=runner.device.type == "cuda",
    )
    yield from show_progress(map(runner.run, loader), label, len(images), start)


@dataclass(frozen=True)
class _Fault:
    """What is wrong with an image.

    An exception would reach the user as the traceback of a worker process.
    """

    message: str


class _Images(Dataset):
    """Prepared images, checked in the worker that made them."""

    def __init__(
        self, root: Path, images: Sequence[str], network: Network, normalisation: str
    ) -> None:
        self.root = root
        self.images = images
        self.preprocess = network.preprocess
        self.normalisation = normalisation

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int) -> Tensor | _Fault:
        image = self.images[index]
        try:
            prepared = self.preprocess(read_image(self.root, image))
            check_range(prepared, self.normalisation, image)
        except InputError as error:
            return _Fault(str(error))
        return prepared


def _collate(items: list[Tensor | _Fault]) -> Tensor | _Fault:
    for item in items:
        if isinstance(item, _Fault):
            return item
    return torch.stack(items)


class _Runner:
    """Runs batches in parts that fit into the memory of the device."""

    def __init__(self, network: Network, device: torch.device, size: int) -> None:
        # On CPUs convolutions are up to twice as fast with the channels last.
        on_cpu = device.type == "cpu"
        self.format = torch.channels_last if on_cpu else torch.preserve_format
        network.module.to(device, memory_format=self.format)
        self.network = network
        self.device = device
        self.size = size

    def run(self, batch: Tensor | _Fault) -> np.ndarray:
        if isinstance(batch, _Fault):
            raise InputError(batch.message)
        while True:
            try:
                return self._run_parts(batch)
            except torch.OutOfMemoryError as error:
                if self.size == 1:
                    raise InputError(
                        f"One image at a time does not fit into the memory of "
                        f"{self.device}. Use a larger GPU, or the device cpu."
                    ) from error
            # Outside the handler, where the exception no longer holds the tensors.
            self.size = min(self.size, len(batch)) // 2 or 1
            if self.device.type == "cuda":
                torch.cuda.empty_cache()
            tqdm.write(
                f"Out of memory on {self.device}: going on with {self.size} images "
                "at a time.",
                file=sys.stderr,
            )

    def _run_parts(self, batch: Tensor) -> np.ndarray:
        outputs = []
        with _single_precision():
            for part in batch.split(self.size):
                part = part.to(
                    self.device, non_blocking=True, memory_format=self.format
                )
                outputs.append(self.network(part).cpu())
        return torch.cat(outputs).numpy()


def _single_precision() -> AbstractContextManager:
    """Keep convolutions on a GPU from rounding their inputs to TF32, the default."""
    return torch.backends.cudnn.flags(
        enabled=True, benchmark=False, deterministic=True, allow_tf32=False
    )


def _choose_device(device: str | None) -> torch.device:
    if device is None:
        device = "cuda" if torch.cuda.is_available() else "cpu"
    if device.startswith("cuda") and not torch.cuda.is_available():
        raise InputError(
            f"There is no device {device}: torch finds no GPU. Use the device cpu, or "
            "mend the driver."
        )
    return torch.device(device)
