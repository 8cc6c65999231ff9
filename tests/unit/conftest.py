"""Examples that are not timed, and servers that answer in the place of the network."""

import threading
from contextlib import ExitStack
from types import SimpleNamespace

import pytest
from hypothesis import settings

# How long an example takes depends on what else the machine does.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


@pytest.fixture
def serve(monkeypatch):
    """Start a server that runs until the test ends, without proxies and waiting."""
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr("pooch.core.time", SimpleNamespace(sleep=lambda seconds: None))
    with ExitStack() as stack:

        def start(server):
            thread = threading.Thread(target=server.serve_forever, args=(0.01,))
            thread.start()
            stack.callback(server.server_close)
            stack.callback(thread.join)
            stack.callback(server.shutdown)
            return server

        yield start
