"""External files, got from a real server that also fails in every usual way."""

import hashlib
import shutil
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pandas as pd
import pytest

from trialwise.errors import InputError
from trialwise.sources import get_group, read_sources

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "resources" / "sources.tsv"
SCHEMA = ROOT / "workflow" / "schemas" / "sources.schema.yaml"

BODIES = {
    "data/a.csv": b"subject,choice\n" + b"1,left\n" * 300,
    "data/b.csv": b"subject,choice\n" + b"2,right\n" * 20_000,
    "data/c.csv": b"subject,choice\n",
}
A, B, C = BODIES
WHOLE = {Path(path).name: body for path, body in BODIES.items()}


def sha256(body):
    return hashlib.sha256(body).hexdigest()


class Server(ThreadingHTTPServer):
    """Serves BODIES; the next answers for a path are taken from `plan` first."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.requests = []
        self.plan = {path: [] for path in BODIES}
        self.released = threading.Event()


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        path = self.path.removeprefix("/")
        self.server.requests.append(path)
        plan = self.server.plan[path]
        getattr(self, plan.pop(0) if plan else "well")(BODIES[path])

    def well(self, body):
        self.answer(body, len(body))

    def truncated(self, body):
        self.answer(body[: len(body) // 2], len(body))

    def corrupted(self, body):
        self.answer(body[::-1], len(body))

    def stalled(self, body):
        self.server.released.wait(5)

    def stalled_midway(self, body):
        self.truncated(body)
        self.wfile.flush()
        self.server.released.wait(5)

    def missing(self, body):
        self.send_error(404)

    def busy(self, body):
        self.send_error(503)

    def answer(self, body, length):
        self.send_response(200)
        self.send_header("Content-Length", str(length))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


@pytest.fixture
def server(serve):
    server = serve(Server())
    yield server
    server.released.set()


@pytest.fixture
def sources(server):
    return table(server.url)


def table(url):
    return pd.DataFrame(
        {
            "group": "trials",
            "path": path,
            "url": f"{url}/{path}",
            "sha256": sha256(body),
            "bytes": str(len(body)),
            "licence": "none stated",
            "terms": "attribute the authors",
        }
        for path, body in BODIES.items()
    )


def fill(mirror, *paths):
    for path in paths:
        (mirror / path).parent.mkdir(parents=True, exist_ok=True)
        (mirror / path).write_bytes(BODIES[path])


def contents(folder):
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def message(error):
    text = str(error.value)
    assert "\n" not in text
    return text


def test_group_is_downloaded_whole_with_one_bar(tmp_path, server, sources, capsys):
    get_group(sources, "trials", tmp_path / "new" / "trials")
    assert contents(tmp_path / "new" / "trials") == WHOLE
    assert sorted(server.requests) == [A, B, C]
    assert [entry.name for entry in (tmp_path / "new").iterdir()] == ["trials"]
    bar = capsys.readouterr().err
    assert bar.count("\n") == 1
    assert "trials: 100%" in bar
    assert "162k/162k" in bar
    assert "B/s]" in bar


def test_only_the_group_is_downloaded(tmp_path, server, sources):
    sources.loc[sources["path"] != B, "group"] = "others"
    get_group(sources, "trials", tmp_path / "trials")
    assert server.requests == [B]
    assert contents(tmp_path / "trials") == {"b.csv": BODIES[B]}


def test_downloaded_files_have_the_usual_permissions(tmp_path, sources):
    get_group(sources, "trials", tmp_path / "trials")
    usual = tmp_path / "usual"
    usual.touch()
    assert {file.stat().st_mode for file in (tmp_path / "trials").iterdir()} == {
        usual.stat().st_mode
    }


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("truncated", "broke off"),
        ("corrupted", "checksum differs"),
        ("stalled", "timed out"),
        ("stalled_midway", "timed out"),
        ("missing", "HTTP 404"),
        ("busy", "HTTP 503"),
    ],
)
def test_fault_ends_in_one_line_and_no_folder(tmp_path, server, sources, fault, reason):
    server.plan[B] = [fault, fault]
    with pytest.raises(InputError) as error:
        get_group(sources, "trials", tmp_path / "trials", timeout=0.2, attempts=2)
    text = message(error)
    assert f"{B} cannot be downloaded from {server.url}/{B}" in text
    assert reason in text
    assert f"Put it at {B} in a folder" in text
    assert "TRIALWISE_MIRROR" in text
    assert server.requests.count(B) == 2
    assert not (tmp_path / "trials").exists()


@pytest.mark.parametrize("fault", ["truncated", "corrupted", "busy", "missing"])
def test_third_attempt_succeeds(tmp_path, server, sources, fault):
    server.plan[B] = [fault, fault]
    get_group(sources, "trials", tmp_path / "trials")
    assert contents(tmp_path / "trials") == WHOLE
    assert server.requests.count(B) == 3


@pytest.mark.parametrize("mirror", [None, "empty"])
def test_refused_connection(tmp_path, server, mirror):
    remedy = "a folder and name that folder in TRIALWISE_MIRROR"
    if mirror:
        mirror = tmp_path / mirror
        mirror.mkdir()
        remedy = f"the mirror {mirror}, which lacks it"
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
        with pytest.raises(InputError) as error:
            get_group(table(url), "trials", tmp_path / "trials", mirror)
    text = message(error)
    assert f"{A} cannot be downloaded from {url}/{A} (no connection)" in text
    assert f" Put it at {A} in {remedy}." in text
    assert not (tmp_path / "trials").exists()


def test_second_call_downloads_only_what_was_missing(tmp_path, server, sources):
    server.plan[B] = ["missing"]
    with pytest.raises(InputError):
        get_group(sources, "trials", tmp_path / "trials", attempts=1)
    assert server.requests == [A, B]
    get_group(sources, "trials", tmp_path / "trials", attempts=1)
    assert server.requests == [A, B, B, C]
    assert contents(tmp_path / "trials") == WHOLE
    assert [entry.name for entry in tmp_path.iterdir()] == ["trials"]


def test_leftovers_are_verified(tmp_path, server, sources):
    part = tmp_path / ".trials.part"
    part.mkdir()
    (part / "a.csv").write_bytes(BODIES[A])
    (part / "b.csv").write_bytes(BODIES[B][:1000])
    (part / "tmp123").write_bytes(b"half a download")
    get_group(sources, "trials", tmp_path / "trials")
    assert server.requests == [B, C]
    assert contents(tmp_path / "trials") == WHOLE


def test_destination_is_replaced(tmp_path, sources):
    (tmp_path / "trials").mkdir()
    (tmp_path / "trials" / "old.csv").touch()
    get_group(sources, "trials", tmp_path / "trials")
    assert contents(tmp_path / "trials") == WHOLE
    assert [entry.name for entry in tmp_path.iterdir()] == ["trials"]


def test_destination_survives_a_failed_call(tmp_path, server, sources):
    get_group(sources, "trials", tmp_path / "trials")
    server.plan[C] = ["corrupted"]
    with pytest.raises(InputError):
        get_group(sources, "trials", tmp_path / "trials", attempts=1)
    assert contents(tmp_path / "trials") == WHOLE


def test_mirror_spares_the_network(tmp_path, server, sources):
    fill(tmp_path / "mirror", A, B, C)
    get_group(sources, "trials", tmp_path / "trials", tmp_path / "mirror")
    assert contents(tmp_path / "trials") == WHOLE
    assert server.requests == []


def test_what_the_mirror_lacks_is_downloaded(tmp_path, server, sources):
    fill(tmp_path / "mirror", A, C)
    get_group(sources, "trials", tmp_path / "trials", tmp_path / "mirror")
    assert contents(tmp_path / "trials") == WHOLE
    assert server.requests == [B]


def test_supplying_the_file_in_a_mirror_mends_a_failed_call(tmp_path, server, sources):
    server.plan[C] = ["missing"]
    with pytest.raises(InputError):
        get_group(sources, "trials", tmp_path / "trials", attempts=1)
    fill(tmp_path / "mirror", C)
    server.requests.clear()
    get_group(sources, "trials", tmp_path / "trials", tmp_path / "mirror")
    assert contents(tmp_path / "trials") == WHOLE
    assert server.requests == []


def test_corrupted_mirror_is_refused_until_the_file_is_removed(
    tmp_path, server, sources
):
    mirror = tmp_path / "mirror"
    fill(mirror, A, B, C)
    (mirror / B).write_bytes(b"edited")
    with pytest.raises(InputError) as error:
        get_group(sources, "trials", tmp_path / "trials", mirror)
    text = message(error)
    assert str(mirror / B) in text
    assert sha256(BODIES[B]) in text
    assert sha256(b"edited") in text
    assert "Replace it in the mirror, or remove it there" in text
    assert server.requests == []
    assert not (tmp_path / "trials").exists()
    (mirror / B).unlink()
    get_group(sources, "trials", tmp_path / "trials", mirror)
    assert server.requests == [B]
    assert contents(tmp_path / "trials") == WHOLE


def test_mirror_that_does_not_exist(tmp_path, server, sources):
    with pytest.raises(InputError) as error:
        get_group(sources, "trials", tmp_path / "trials", tmp_path / "nowhere")
    assert str(tmp_path / "nowhere") in message(error)
    assert "TRIALWISE_MIRROR" in message(error)
    assert server.requests == []


def test_empty_mirror_variable_means_none(tmp_path, server, sources):
    get_group(sources, "trials", tmp_path / "trials", "")
    assert sorted(server.requests) == [A, B, C]


def test_unknown_group(tmp_path, sources):
    with pytest.raises(InputError) as error:
        get_group(sources, "trial", tmp_path / "trials")
    assert "'trial'" in message(error)
    assert "Choose from trials." in message(error)


def test_destination_that_cannot_be_written(tmp_path, sources):
    (tmp_path / "file").touch()
    with pytest.raises(InputError) as error:
        get_group(sources, "trials", tmp_path / "file" / "trials")
    assert str(tmp_path / "file" / "trials") in message(error)


def test_tracked_table():
    sources = read_sources(TABLE, SCHEMA)
    assert len(sources) >= 226
    counts = sources["group"].value_counts()
    expected = {
        "cue-conflict": 35,
        "edges": 35,
        "silhouettes": 35,
        "colour": 3,
        "contrast-png": 17,
        "eidolon": 19,
        "high-pass": 18,
        "low-pass": 18,
        "phase-scrambling": 24,
        "uniform-noise": 19,
        "brain-score": 1,
        "percentile-tables": 2,
        "learning-tasks": 5,
    }
    assert counts[list(expected)].to_dict() == expected


@pytest.fixture
def tracked(tmp_path):
    return Path(shutil.copy(TABLE, tmp_path / "sources.tsv"))


def rewrite(file, line, column, value):
    lines = [text.split("\t") for text in file.read_text().splitlines()]
    lines[line - 1][lines[0].index(column)] = value
    file.write_text("".join("\t".join(fields) + "\n" for fields in lines))


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("group", "Cue conflict"),
        ("path", "/data/a.csv"),
        ("path", "data/../a.csv"),
        ("path", "../a.csv"),
        ("path", "data//a.csv"),
        ("path", "data/"),
        ("url", "ftp://127.0.0.1/a.csv"),
        ("sha256", "0" * 63),
        ("sha256", "0" * 65),
        ("sha256", "g" * 64),
        ("sha256", ""),
        ("bytes", "12.5"),
        ("bytes", "-1"),
        ("licence", ""),
        ("terms", ""),
    ],
)
def test_wrong_value_is_refused_with_its_line(tracked, column, value):
    rewrite(tracked, 7, column, value)
    with pytest.raises(InputError) as error:
        read_sources(tracked, SCHEMA)
    text = message(error)
    assert f"{tracked}, line 7: {column} is {value!r}. It must be " in text


def test_text_that_looks_like_a_missing_value_is_kept(tracked):
    rewrite(tracked, 2, "terms", "NA")
    rewrite(tracked, 3, "group", "null")
    sources = read_sources(tracked, SCHEMA)
    assert sources["terms"][0] == "NA"
    assert sources["group"][1] == "null"


def test_missing_column(tracked):
    rewrite(tracked, 1, "sha256", "md5")
    with pytest.raises(InputError) as error:
        read_sources(tracked, SCHEMA)
    text = message(error)
    assert f"{tracked}, line 1" in text
    assert "Make them group, path, url, sha256, bytes, licence, terms" in text


def test_repeated_path(tracked):
    rewrite(tracked, 9, "path", tracked.read_text().splitlines()[4].split("\t")[1])
    with pytest.raises(InputError) as error:
        read_sources(tracked)
    text = message(error)
    assert f"{tracked}, line 9" in text
    assert "stands already in line 5" in text
    assert "Remove one of the two rows" in text


def test_files_keep_their_folders_below_the_one_they_share(sources, tmp_path):
    paths = ["data/x/a.csv", "data/x/sub/b.csv", "data/y/a.csv"]
    for path, body in zip(paths, BODIES.values(), strict=True):
        file = tmp_path / "mirror" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(body)
    files = sources.assign(path=paths)
    get_group(files, "trials", tmp_path / "new", tmp_path / "mirror")
    got = {
        f.relative_to(tmp_path / "new").as_posix()
        for f in tmp_path.rglob("new/**/*.csv")
    }
    assert got == {"x/a.csv", "x/sub/b.csv", "y/a.csv"}
    assert (tmp_path / "new/y/a.csv").read_bytes() == BODIES[C]


@pytest.mark.parametrize("line", [2, 5])
def test_surplus_field(tracked, line):
    rewrite(tracked, line, "terms", "attribute\tthem")
    with pytest.raises(InputError) as error:
        read_sources(tracked, SCHEMA)
    text = message(error)
    assert str(tracked) in text
    assert f"line {line}" in text


def test_blank_line(tracked):
    lines = tracked.read_text().splitlines(keepends=True)
    tracked.write_text("".join([*lines[:3], "\n", *lines[3:]]))
    with pytest.raises(InputError) as error:
        read_sources(tracked, SCHEMA)
    assert f"{tracked}, line 4: group is ''" in message(error)


@pytest.mark.parametrize("text", [None, ""])
def test_missing_or_empty_table(tmp_path, text):
    file = tmp_path / "sources.tsv"
    if text is not None:
        file.write_text(text)
    with pytest.raises(InputError) as error:
        read_sources(file)
    assert str(file) in message(error)
