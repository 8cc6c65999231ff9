"""Files of OSF projects, from a real server that answers in OSF's form."""

import hashlib
import json
import shutil
import socket
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from trialwise import osf
from trialwise.errors import InputError
from trialwise.models.weights import read_record

BODIES = {
    "features/a.npy": b"first features" * 1000,
    "features/b.npy": b"second features" * 1000,
    "features/old/a.npy": b"older features",
    "human_behavioural/reward_learning/all.csv": b"participant,trial\n",
    "temp/1.npy": b"one image",
    "z.json": b"{}",
}
FOLDERS = ["features", "human_behavioural"]
LISTED = sorted(path for path in BODIES if not path.startswith("temp/"))
A, B = LISTED[:2]


def sha256(body):
    return hashlib.sha256(body).hexdigest()


class Server(ThreadingHTTPServer):
    """A project `abcde` with BODIES; two entries a page, whatever is asked for."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.api = f"{self.url}/v2"
        self.bodies = dict(BODIES)
        self.served = {}
        self.asked = []
        self.status = 200
        self.changes = {}

    def entry(self, path):
        """A file or folder, with the fields of OSF's API, version 2."""
        kind = "file" if path in self.bodies else "folder"
        attributes = {
            "kind": kind,
            "name": path.split("/")[-1],
            "path": f"/{sha256(path.encode())[:24]}",
            "materialized_path": f"/{path}" + "/" * (kind == "folder"),
            "provider": "osfstorage",
            "size": None,
            "extra": {"hashes": {"md5": None, "sha256": None}},
        }
        entry = {"id": path, "type": "files", "attributes": attributes}
        if kind == "folder":
            href = f"{self.api}/nodes/abcde/files/osfstorage/{path}/"
            related = {"related": {"href": href, "meta": {}}}
            return entry | {"relationships": {"files": {"links": related}}}
        attributes["size"] = len(self.bodies[path])
        attributes["extra"]["hashes"]["sha256"] = sha256(self.bodies[path])
        attributes.update(self.changes.get(path, {}))
        return entry | {"links": {"download": f"{self.url}/download/{path}"}}

    def page(self, folder, number, size):
        start = f"{folder}/" if folder else ""
        inside = {
            start + path.removeprefix(start).split("/")[0]
            for path in self.bodies
            if path.startswith(start)
        }
        entries = [self.entry(path) for path in sorted(inside, reverse=True)]
        here = f"{self.api}/nodes/abcde/files/osfstorage/{start}"
        more = len(entries) > 2 * number
        following = f"{here}?page={number + 1}&page%5Bsize%5D={size}" if more else None
        links = {"first": None, "last": None, "prev": None, "next": following}
        meta = {"total": len(entries), "per_page": 2}
        return {
            "data": entries[2 * number - 2 : 2 * number],
            "links": links | {"meta": meta},
        }


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        address = urlsplit(self.path)
        query = {key: values[0] for key, values in parse_qs(address.query).items()}
        self.server.asked.append(address.path)
        if self.server.status != 200:
            self.send_error(self.server.status)
            return
        root, _, rest = address.path.partition("/osfstorage/")
        if address.path.startswith("/download/"):
            path = address.path.removeprefix("/download/")
            body = self.server.served.get(path, self.server.bodies[path])
        elif address.path == "/v2/files/fghij/":
            body = json.dumps({"data": self.server.entry(A)}).encode()
        else:
            assert root == "/v2/nodes/abcde/files"
            number = int(query.get("page", 1))
            page = self.server.page(rest.rstrip("/"), number, query["page[size]"])
            body = json.dumps(page).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


@pytest.fixture
def server(serve):
    return serve(Server())


def fetch(server, store, mirror=None):
    """Fetch the project; return the paths that were downloaded."""
    listed = osf.list_project("abcde", FOLDERS, server.api, attempts=1)
    server.asked.clear()
    listed = osf.add_mirror(listed, "abcde", mirror)
    osf.get_files("abcde", listed, store, mirror, attempts=1)
    return sorted(path.removeprefix("/download/") for path in server.asked)


def contents(folder):
    return {
        file.relative_to(folder).as_posix(): file.read_bytes()
        for file in folder.rglob("*")
        if file.is_file()
    }


def message(function, *arguments, **options):
    with pytest.raises(InputError) as error:
        function(*arguments, **options)
    text = str(error.value)
    assert "\n" not in text
    return text


def test_files_of_all_pages_and_subfolders_are_listed(server):
    listed = osf.list_project("abcde", FOLDERS, server.api)
    assert listed["path"].tolist() == LISTED
    assert listed["sha256"].tolist() == [sha256(BODIES[path]) for path in LISTED]
    assert listed["bytes"].tolist() == [len(BODIES[path]) for path in LISTED]
    assert not any("/temp" in path for path in server.asked)


def test_everything_is_fetched(server, tmp_path):
    assert fetch(server, tmp_path / "osf") == LISTED
    assert contents(tmp_path / "osf" / "abcde") == {p: BODIES[p] for p in LISTED}
    record = read_record(tmp_path / "osf" / "abcde.sha256")
    assert record == {path: sha256(BODIES[path]) for path in LISTED}


def test_second_run_fetches_nothing(server, tmp_path):
    fetch(server, tmp_path)
    assert fetch(server, tmp_path) == []


def test_file_that_was_damaged_here_is_fetched_again(server, tmp_path):
    fetch(server, tmp_path)
    (tmp_path / "abcde" / A).write_bytes(BODIES[A][:-1])
    assert fetch(server, tmp_path) == [A]
    assert (tmp_path / "abcde" / A).read_bytes() == BODIES[A]


def test_corrupted_file_is_refused_and_the_others_stay(server, tmp_path):
    server.served[B] = BODIES[B][::-1]
    text = message(fetch, server, tmp_path)
    assert f"osf/abcde/{B} cannot be downloaded from {server.url}/download/{B}" in text
    assert "checksum differs" in text
    assert f"Put it at osf/abcde/{B} in a folder" in text
    assert contents(tmp_path / "abcde") == {A: BODIES[A]}
    assert not (tmp_path / "abcde.sha256").exists()
    server.served.clear()
    assert fetch(server, tmp_path) == LISTED[1:]


def test_file_that_changes_on_osf_is_refused(server, tmp_path):
    fetch(server, tmp_path)
    server.bodies[A] = b"new features"
    text = message(fetch, server, tmp_path)
    assert text.startswith(f"{A} of osf.io/abcde now has the sha256 ")
    assert sha256(BODIES[A]) in text
    assert sha256(b"new features") in text
    assert (tmp_path / "abcde" / A).read_bytes() == BODIES[A]
    (tmp_path / "abcde.sha256").unlink()
    assert fetch(server, tmp_path) == [A]


@pytest.mark.parametrize(
    "path",
    ["/../a.npy", "/features/../../a.npy", "//a.npy", "/features\\..\\a", "/a\n.npy"],
)
def test_path_that_leaves_the_folder_is_refused(server, path):
    server.changes[A] = {"materialized_path": path}
    text = message(osf.list_project, "abcde", FOLDERS, server.api)
    assert "whose path leaves its folder" in text


def test_name_of_a_single_file_that_leaves_the_folder_is_refused(server):
    server.changes[A] = {"name": "../a.npy"}
    text = message(osf.describe_file, "fghij", server.api)
    assert "osf.io/fghij lists a file '../a.npy'" in text


def test_single_file(server, tmp_path):
    described = osf.describe_file("fghij", server.api)
    folder = osf.get_files("fghij", described, tmp_path)
    assert contents(folder) == {"a.npy": BODIES[A]}


def test_unreachable_server(tmp_path):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        api = f"http://127.0.0.1:{closed.getsockname()[1]}/v2"
        text = message(osf.list_project, "abcde", FOLDERS, api, attempts=1)
    assert f"osf.io/abcde cannot be listed by {api} (no connection)" in text
    assert "put the files into osf/abcde in a folder" in text
    assert "TRIALWISE_MIRROR" in text


@pytest.mark.parametrize("status", [404, 429, 503])
def test_server_that_refuses(server, status):
    server.status = status
    text = message(osf.list_project, "abcde", FOLDERS, server.api, attempts=1)
    assert f"(HTTP {status})" in text
    assert len(server.asked) == 1


def test_listing_is_asked_for_again_after_a_fault_of_the_server(server):
    server.status = 502
    message(osf.list_project, "abcde", FOLDERS, server.api, attempts=2)
    assert len(server.asked) == 2


def test_answer_in_another_form(server):
    server.changes[A] = {"extra": {}}
    text = message(osf.list_project, "abcde", FOLDERS, server.api)
    assert "the form of its answer is unknown: KeyError('hashes')" in text


def test_mirror_spares_the_network(server, tmp_path):
    for path in LISTED:
        target = tmp_path / "mirror" / "osf" / "abcde" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(BODIES[path])
    assert fetch(server, tmp_path / "store", tmp_path / "mirror") == []
    assert contents(tmp_path / "store/abcde") == {p: BODIES[p] for p in LISTED}


def test_mirror_is_verified(server, tmp_path):
    target = tmp_path / "mirror" / "osf" / "abcde" / A
    target.parent.mkdir(parents=True)
    target.write_bytes(b"edited")
    text = message(fetch, server, tmp_path / "store", tmp_path / "mirror")
    assert (
        f"{target} has the sha256 {sha256(b'edited')}, not {sha256(BODIES[A])}" in text
    )


def test_file_without_a_checksum_must_come_from_the_mirror(server, tmp_path):
    server.changes[A] = {"extra": {"hashes": {"md5": None, "sha256": None}}}
    text = message(fetch, server, tmp_path / "store")
    assert text.startswith(f"OSF knows no sha256 of {A} of osf.io/abcde.")
    target = tmp_path / "mirror" / "osf" / "abcde" / A
    target.parent.mkdir(parents=True)
    target.write_bytes(BODIES[A])
    assert fetch(server, tmp_path / "store", tmp_path / "mirror") == LISTED[1:]
    assert contents(tmp_path / "store/abcde") == {p: BODIES[p] for p in LISTED}


def test_folder_that_cannot_be_written(server, tmp_path):
    (tmp_path / "file").touch()
    text = message(fetch, server, tmp_path / "file")
    assert "Mend the permissions or free space there." in text


def test_record_survives_the_files(server, tmp_path):
    fetch(server, tmp_path)
    shutil.rmtree(tmp_path / "abcde")
    server.bodies[A] = b"new features"
    assert "as when it was first fetched" in message(fetch, server, tmp_path)
    assert not Path(tmp_path / "abcde").exists()
