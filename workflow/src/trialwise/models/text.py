"""Models that know images by the name of the object they show."""

import hashlib
import os
import re
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import numpy as np
import requests
from requests.adapters import HTTPAdapter
from urllib3.util import Retry

from trialwise.errors import InputError
from trialwise.feature_matrices import blocks_of
from trialwise.files import whole
from trialwise.models.availability import API_KEY
from trialwise.models.features import describe_features, write_features
from trialwise.models.loaders import check_size, find_files, load_module
from trialwise.models.registry import Model
from trialwise.stimuli import object_name

if TYPE_CHECKING:
    import torch

PROMPT = "A photo of a {}"
NAMES_PER_REQUEST = 256
NAMES_PER_BATCH = 64


def extract_text_features(
    model: Model,
    weights: str | Path,
    images: Sequence[str],
    output: str | Path,
    *,
    checksums: Mapping[str, str],
) -> None:
    """Write one row per image from the vector of the object's name.

    Parameters
    ----------
    model : Model
        Its provider is one of `EMBEDDERS`.
    weights : path
        Folder of the model's files; for an embedding API the folder of its answers.
    images : sequence of str
        The manifest; `object_name` says what an image shows.
    output : path
        The ``.npy`` file to make, with a sidecar. Where the vectors are means over
        words, the sidecar's ``unknown_names`` lists the names without a known word.
    checksums : mapping of str to str
        The sha256 of each file of the model, by name.

    Raises
    ------
    InputError
        If the provider knows no names, a file or package or the key of the API is
        missing, or the vectors are not those registered.
    """
    if model.provider not in EMBEDDERS:
        raise InputError(
            f"{model.id}: the provider {model.provider} embeds no names of objects. "
            f"Those that do are {', '.join(EMBEDDERS)}."
        )
    shown = [object_name(image) for image in images]
    names = sorted(set(shown))
    vectors, more = EMBEDDERS[model.provider](model, Path(weights), names)
    row = {name: index for index, name in enumerate(names)}
    rows = np.array([row[name] for name in shown])
    facts = describe_features(model, images, checksums, **more)
    write_features((vectors[r] for r in blocks_of(rows)), facts, images, output)


def embed_with_transformer(
    module: "torch.nn.Module",
    tokenize: Callable[..., Mapping[str, "torch.Tensor"]],
    names: Sequence[str],
) -> np.ndarray:
    """Embed names in a sentence: the first token of the last layer.

    Parameters
    ----------
    module : torch.nn.Module
        A model of transformers, in evaluation mode.
    tokenize : callable
        Its tokenizer.
    names : sequence of str, length n

    Returns
    -------
    ndarray of float32, shape (n, D)

    References
    ----------
    Demircan et al. (2024): the CLS token of ``A photo of a X``.
    """
    import torch

    vectors = []
    for start in range(0, len(names), NAMES_PER_BATCH):
        texts = [PROMPT.format(name) for name in names[start : start + NAMES_PER_BATCH]]
        tokens = tokenize(texts, return_tensors="pt", padding=True)
        with torch.inference_mode():
            vectors.append(module(**tokens).last_hidden_state[:, 0].numpy())
    return np.concatenate(vectors)


def embed_by_words(
    names: Sequence[str], table: np.ndarray, words: Mapping[str, int]
) -> tuple[np.ndarray, list[str]]:
    """Embed names as the mean over those of their words that are known.

    Parameters
    ----------
    names : sequence of str, length n
        Taken in lower case and split at spaces and hyphens.
    table : ndarray, shape (n_words, D)
    words : mapping of str to int
        Row of each known word, in lower case.

    Returns
    -------
    vectors : ndarray of float32, shape (n, D)
        Zero where no word of the name is known.
    unknown : list of str
        The names of these rows.
    """
    vectors = np.zeros((len(names), table.shape[1]), dtype=np.float32)
    unknown = []
    for vector, name in zip(vectors, names, strict=True):
        parts = re.split("[ -]+", name.lower())
        rows = [words[part] for part in parts if part in words]
        if rows:
            vector[:] = table[rows].mean(axis=0)
        else:
            unknown.append(name)
    return vectors, unknown


def embed_with_api(
    names: Sequence[str], model: str, url: str, answers: str | Path
) -> np.ndarray:
    """Embed names in a sentence by a service, asking it once for each.

    Parameters
    ----------
    names : sequence of str, length n
    model : str
        The service's name of its model.
    url : str
        Address that takes ``{"model": ..., "input": [...]}``.
    answers : path
        Folder in which answers are kept, so that a later call needs no key.

    Returns
    -------
    ndarray of float32, shape (n, D)

    Raises
    ------
    InputError
        If an answer is lacking and the environment has no key, or the service refuses.
    """
    files = {name: _answer_file(Path(answers), model, name) for name in names}
    lacking = [name for name, file in files.items() if not file.is_file()]
    key = os.environ.get(API_KEY)
    if lacking and not key:
        raise InputError(
            f"{model} has no answer yet for {len(lacking)} of {len(names)} names, and "
            f"asking it needs a key. Put yours into the environment as {API_KEY}."
        )
    with requests.Session() as session:
        retry = Retry(
            total=5,
            backoff_factor=1,
            status_forcelist=(429, 500, 502, 503),
            allowed_methods=("POST",),
            raise_on_status=False,
        )
        session.mount(url, HTTPAdapter(max_retries=retry))
        for start in range(0, len(lacking), NAMES_PER_REQUEST):
            asked = lacking[start : start + NAMES_PER_REQUEST]
            for name, vector in zip(
                asked, _ask(session, url, model, key, asked), strict=True
            ):
                with whole(files[name]) as temporary:
                    np.save(temporary, np.asarray(vector, dtype=np.float32))
    return np.stack([np.load(file) for file in files.values()])


def _ask(
    session: requests.Session, url: str, model: str, key: str, names: Sequence[str]
) -> list[list[float]]:
    try:
        answer = session.post(
            url,
            headers={"Authorization": f"Bearer {key}"},
            json={"model": model, "input": [PROMPT.format(name) for name in names]},
            timeout=60,
        )
        answer.raise_for_status()
    except requests.RequestException as error:
        raise InputError(
            f"{url} does not answer for {model}: {error}. Check the key in {API_KEY} "
            "and try again; the answers so far are kept."
        ) from error
    items = sorted(answer.json()["data"], key=lambda item: item["index"])
    return [item["embedding"] for item in items]


def _answer_file(folder: Path, model: str, name: str) -> Path:
    text = f"{model}\n{PROMPT.format(name)}"
    return folder / f"{hashlib.sha256(text.encode()).hexdigest()}.npy"


def _transformers(
    model: Model, folder: Path, names: Sequence[str]
) -> tuple[np.ndarray, dict[str, Any]]:
    from transformers import AutoTokenizer

    if model.pooling != "cls":
        raise InputError(
            f"{model.id}: language models are pooled by their first token, not by "
            f"{model.pooling!r}. Make its pooling cls."
        )
    module = load_module(model, folder)
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    return embed_with_transformer(module, tokenizer, names), {"prompt": PROMPT}


def _glove(
    model: Model, folder: Path, names: Sequence[str]
) -> tuple[np.ndarray, dict[str, Any]]:
    import pandas as pd

    table = np.load(_find(model, folder, "*.npy"), mmap_mode="r")
    known = pd.read_parquet(_find(model, folder, "*.parquet"))["index"]
    words = {word: row for row, word in enumerate(known)}
    vectors, unknown = embed_by_words(names, table, words)
    return vectors, {"unknown_names": unknown}


def _fasttext(
    model: Model, folder: Path, names: Sequence[str]
) -> tuple[np.ndarray, dict[str, Any]]:
    try:
        import fasttext
    except ModuleNotFoundError as error:
        raise InputError(
            f"{model.id}: the package fasttext is not installed. "
            "Run `pip install fasttext-community`."
        ) from error

    # Published within an archive, from which its library cannot read.
    with tempfile.TemporaryDirectory(dir=folder.parent) as unpacked:
        if not list(folder.glob("*.bin")):
            folder = _unpack(_find(model, folder, "*.zip"), Path(unpacked))
        vectors = fasttext.load_model(str(_find(model, folder, "*.bin")))
        return np.stack([vectors.get_word_vector(name) for name in names]), {}


def _unpack(archive: Path, folder: Path) -> Path:
    with zipfile.ZipFile(archive) as files:
        for name in files.namelist():
            if name.endswith(".bin"):
                files.extract(name, folder)
    return folder


def _members_inside(files: tarfile.TarFile) -> list[tarfile.TarInfo]:
    """The members, if all are files and folders that stay where they are unpacked."""
    members = files.getmembers()
    for member in members:
        path = PurePosixPath(member.name)
        leaves = path.is_absolute() or ".." in path.parts
        if leaves or not (member.isfile() or member.isdir()):
            raise tarfile.TarError(f"{member.name} does not stay in its folder")
    return members


def _use(
    model: Model, folder: Path, names: Sequence[str]
) -> tuple[np.ndarray, dict[str, Any]]:
    import tensorflow_hub

    (archive,) = find_files(model, folder)
    with tempfile.TemporaryDirectory(dir=folder.parent) as unpacked:
        try:
            with tarfile.open(archive) as files:
                files.extractall(unpacked, _members_inside(files))
            module = tensorflow_hub.load(unpacked)
        except (tarfile.TarError, OSError, ValueError) as error:
            raise InputError(
                f"{model.id}: {archive} is no archive of a model of TensorFlow Hub: "
                f"{error}. Fetch it again."
            ) from error
        variables = getattr(module, "variables", [])
        check_size(model, sum(int(np.prod(v.shape)) for v in variables))
        texts = [PROMPT.format(name) for name in names]
        vectors = [
            module(texts[start : start + NAMES_PER_BATCH])
            for start in range(0, len(texts), NAMES_PER_BATCH)
        ]
    return np.concatenate(vectors), {"prompt": PROMPT}


def _api(
    model: Model, folder: Path, names: Sequence[str]
) -> tuple[np.ndarray, dict[str, Any]]:
    vectors = embed_with_api(names, model.name, model.url, folder)
    return vectors, {"prompt": PROMPT}


def _find(model: Model, folder: Path, pattern: str) -> Path:
    for path in sorted(folder.rglob(pattern)):
        return path
    raise InputError(
        f"{model.id}: {folder} has no file {pattern}. "
        "Fetch the weights of the model first."
    )


EMBEDDERS = {
    "transformers": _transformers,
    "glove": _glove,
    "fasttext": _fasttext,
    "use": _use,
    "embedding-api": _api,
}
