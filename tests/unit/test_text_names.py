"""Names of objects as vectors of words and answers of a service."""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from trialwise.errors import InputError
from trialwise.models.text import API_KEY, embed_by_words, embed_with_api

TABLE = np.arange(12, dtype=np.float32).reshape(4, 3)
WORDS = {"hot": 0, "air": 1, "balloon": 2, "t": 3}


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("balloon", [2]),
        ("hot-air balloon", [0, 1, 2]),
        ("Hot Air", [0, 1]),
        ("t-shirt", [3]),
    ],
)
def test_name_is_the_mean_of_its_known_words(name, rows):
    vectors, unknown = embed_by_words([name], TABLE, WORDS)
    np.testing.assert_allclose(vectors[0], TABLE[rows].mean(axis=0))
    assert unknown == []


def test_name_without_a_known_word_is_zero_and_listed():
    vectors, unknown = embed_by_words(["air", "yo-yo"], TABLE, WORDS)
    np.testing.assert_array_equal(vectors, [TABLE[1], np.zeros(3)])
    assert unknown == ["yo-yo"]


class Service(BaseHTTPRequestHandler):
    """Answers with the length of each text, in reverse order; the first time busy."""

    asked: list[dict]
    busy: int

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        type(self).asked.append({**body, "key": self.headers["Authorization"]})
        if len(self.asked) <= self.busy:
            self.send_response(429)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        items = [
            {"index": i, "embedding": [len(text), -len(text)]}
            for i, text in enumerate(body["input"])
        ]
        answer = json.dumps({"data": items[::-1]}).encode()
        self.send_response(200 if self.headers["Authorization"][-4:] == "good" else 401)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *arguments):
        pass


@pytest.fixture
def service(serve):
    handler = type("OneTest", (Service,), {"asked": [], "busy": 0})
    server = serve(ThreadingHTTPServer(("127.0.0.1", 0), handler))
    return handler, f"http://127.0.0.1:{server.server_port}/v1/embeddings"


def lengths(*names):
    n = [len(f"A photo of a {name}") for name in names]
    return np.column_stack([n, np.negative(n)])


def test_service_is_asked_once_for_each_name(service, tmp_path, monkeypatch):
    handler, url = service
    monkeypatch.setenv(API_KEY, "good")
    first = embed_with_api(["cat", "zebra"], "ada", url, tmp_path)
    np.testing.assert_array_equal(first, lengths("cat", "zebra"))
    again = embed_with_api(["zebra", "aardvark"], "ada", url, tmp_path)
    np.testing.assert_array_equal(again, lengths("zebra", "aardvark"))
    texts = [request["input"] for request in handler.asked]
    assert texts == [
        ["A photo of a cat", "A photo of a zebra"],
        ["A photo of a aardvark"],
    ]


def test_kept_answers_need_no_key(service, tmp_path, monkeypatch):
    _, url = service
    monkeypatch.setenv(API_KEY, "good")
    embed_with_api(["cat"], "ada", url, tmp_path)
    monkeypatch.delenv(API_KEY)
    kept = embed_with_api(["cat"], "ada", url, tmp_path)
    np.testing.assert_array_equal(kept, lengths("cat"))
    with pytest.raises(InputError, match=API_KEY):
        embed_with_api(["cat"], "another", url, tmp_path)


def test_busy_service_is_asked_again(service, tmp_path, monkeypatch):
    handler, url = service
    handler.busy = 1
    monkeypatch.setenv(API_KEY, "good")
    vectors = embed_with_api(["cat"], "ada", url, tmp_path)
    np.testing.assert_array_equal(vectors, lengths("cat"))
    assert len(handler.asked) == 2


def test_wrong_key_is_refused_and_nothing_kept(service, tmp_path, monkeypatch):
    _, url = service
    monkeypatch.setenv(API_KEY, "bad")
    with pytest.raises(InputError, match=f"401.*{API_KEY}"):
        embed_with_api(["cat"], "ada", url, tmp_path)
    assert list(tmp_path.iterdir()) == []
