"""Weight files, got from a real server, a mirror and an installed package."""

import dataclasses
import hashlib
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import pytest

from trialwise.errors import InputError
from trialwise.models.registry import read_models
from trialwise.models.weights import get_weights, read_record

ROOT = Path(__file__).parents[2]
FIRST, SECOND = b"first weights" * 100, b"second weights" * 100


def sha256(body):
    return hashlib.sha256(body).hexdigest()


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@pytest.fixture
def server(tmp_path, serve):
    """A folder whose files a server on this machine offers; `url` is its address."""
    folder = tmp_path / "served"
    for name, body in {"a": FIRST, "b": SECOND}.items():
        (folder / name).mkdir(parents=True)
        (folder / name / "model.pth").write_bytes(body)
    handler = partial(Quiet, directory=str(folder))
    http = serve(ThreadingHTTPServer(("127.0.0.1", 0), handler))
    return SimpleNamespace(folder=folder, url=f"http://127.0.0.1:{http.server_port}")


@pytest.fixture(scope="module")
def registered():
    return read_models(ROOT / "config" / "models.tsv")["resnet18"]


@pytest.fixture
def model(registered, server):
    return dataclasses.replace(
        registered, id="first", url=f"{server.url}/a/model.pth", sha256=""
    )


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "weights" / "first"


def message(*arguments):
    with pytest.raises(InputError) as error:
        get_weights(*arguments)
    text = str(error.value)
    assert "\n" not in text
    return text


def test_downloaded_file_is_recorded(model, folder):
    get_weights(model, folder)
    assert (folder / "model.pth").read_bytes() == FIRST
    assert [file.name for file in folder.iterdir()] == ["model.pth"]
    assert read_record(folder.parent / "first.sha256") == {"model.pth": sha256(FIRST)}


def test_record_can_be_checked_by_sha256sum(model, folder):
    get_weights(model, folder)
    record = (folder.parent / "first.sha256").read_text()
    assert record == f"{sha256(FIRST)}  model.pth\n"


def test_downloaded_file_has_the_usual_permissions(model, folder, tmp_path):
    get_weights(model, folder)
    (tmp_path / "usual").touch()
    usual = (tmp_path / "usual").stat().st_mode
    assert (folder / "model.pth").stat().st_mode == usual


def test_models_with_the_same_file_name_keep_their_own_weights(model, server, tmp_path):
    other = dataclasses.replace(model, id="second", url=f"{server.url}/b/model.pth")
    for one in (model, other):
        get_weights(one, tmp_path / one.id)
    assert (tmp_path / "first" / "model.pth").read_bytes() == FIRST
    assert (tmp_path / "second" / "model.pth").read_bytes() == SECOND


def test_recorded_checksum_is_enforced_at_second_fetch(model, server, folder):
    get_weights(model, folder)
    (server.folder / "a" / "model.pth").write_bytes(SECOND)
    text = message(model, folder)
    assert text.startswith(f"first: model.pth has the sha256 {sha256(SECOND)}, not ")
    assert sha256(FIRST) in text
    assert (folder / "model.pth").read_bytes() == FIRST


def test_recorded_checksum_outlives_its_folder(model, server, folder):
    get_weights(model, folder)
    (folder / "model.pth").unlink()
    folder.rmdir()
    (server.folder / "a" / "model.pth").write_bytes(SECOND)
    assert "when it was first used" in message(model, folder)
    assert not folder.exists()


def test_registered_checksum(model, folder):
    get_weights(dataclasses.replace(model, sha256=sha256(FIRST)), folder)
    text = message(dataclasses.replace(model, sha256=sha256(SECOND)), folder)
    assert text.startswith(f"first: model.pth has the sha256 {sha256(FIRST)}, not the ")
    assert f"registered {sha256(SECOND)}" in text


@pytest.mark.parametrize(("body", "fits"), [(FIRST, True), (SECOND, False)])
def test_checksum_in_the_file_name(model, server, folder, body, fits):
    name = f"net_v2-{sha256(FIRST)[:8]}.pth.tar"
    (server.folder / name).write_bytes(body)
    model = dataclasses.replace(model, url=f"{server.url}/{name}")
    if fits:
        get_weights(model, folder)
        assert (folder / name).read_bytes() == FIRST
    else:
        assert f"does not begin with {sha256(FIRST)[:8]}" in message(model, folder)
        assert not folder.exists()


def test_second_of_two_files_is_verified(model, server, folder):
    (server.folder / "config.json").write_bytes(b"{}")
    model = dataclasses.replace(
        model,
        url=f"{server.url}/a/model.pth {server.url}/config.json",
        sha256=f"{sha256(FIRST)} {sha256(b'[]')}",
    )
    assert message(model, folder).startswith("first: config.json has the sha256 ")
    assert not folder.exists()


def test_mirror_spares_the_network(model, server, folder, tmp_path):
    place = tmp_path / "mirror" / "weights" / "first" / "model.pth"
    place.parent.mkdir(parents=True)
    place.write_bytes(SECOND)
    get_weights(model, folder, tmp_path / "mirror")
    assert (folder / "model.pth").read_bytes() == SECOND


def test_mirror_is_verified(model, folder, tmp_path):
    place = tmp_path / "mirror" / "weights" / "first" / "model.pth"
    place.parent.mkdir(parents=True)
    place.write_bytes(SECOND)
    model = dataclasses.replace(model, sha256=sha256(FIRST))
    assert "Remove it from the mirror" in message(model, folder, tmp_path / "mirror")


def test_mirror_that_does_not_exist(model, folder, tmp_path):
    assert "is not a folder" in message(model, folder, tmp_path / "nowhere")


def test_weights_without_an_address(model, folder, tmp_path):
    model = dataclasses.replace(model, url="")
    assert "Put the file into weights/first in a folder" in message(model, folder)
    place = tmp_path / "mirror" / "weights" / "first" / "any.pth"
    place.parent.mkdir(parents=True)
    place.write_bytes(FIRST)
    get_weights(model, folder, tmp_path / "mirror")
    assert (folder / "any.pth").read_bytes() == FIRST


def test_missing_file(model, server, folder):
    model = dataclasses.replace(model, url=f"{server.url}/gone.pth")
    text = message(model, folder)
    assert f"{server.url}/gone.pth cannot be downloaded" in text
    assert "Put the file at weights/first/gone.pth in a folder" in text
    assert not folder.exists()


def test_file_of_an_installed_package(model, folder):
    model = dataclasses.replace(model, url="package:pytest/__main__.py")
    get_weights(model, folder)
    source = Path(pytest.__file__).with_name("__main__.py")
    assert (folder / "__main__.py").read_bytes() == source.read_bytes()


@pytest.mark.parametrize("url", ["package:no_such_package/a", "package:pytest/a/b"])
def test_package_that_is_not_installed(model, folder, url):
    text = message(dataclasses.replace(model, url=url), folder)
    assert "Install that package" in text
