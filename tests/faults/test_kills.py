"""Runs killed at random moments and resumed, compared with one that was not."""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pooch
import pytest

WAYS = ("group", "snakemake", "worker")
STEP = 0.05


def commands():
    """What every process was started with, and its parent, by its number."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            found[int(folder.name)] = (parent, (folder / "cmdline").read_bytes())
        except OSError:
            continue
    return found


def workers(process):
    """Processes below this one that run a stage."""
    known = commands()

    def is_below(number):
        while number in known and number != process.pid:
            number = known[number][0]
        return number == process.pid

    return [
        number
        for number, (_, command) in known.items()
        if b"trialwise\0" in command and is_below(number)
    ]


def kill(process, way, rng):
    """End a run, or one job of it, as a power cut or the kernel would."""
    running = workers(process)
    if way == "worker" and running:
        os.kill(rng.choice(running), signal.SIGKILL)
    elif way == "snakemake":
        process.kill()
    else:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def run_until_killed(folder, target, way, rng):
    """Start a run, kill it a random time after its first job began; False if it ended.

    Its workers may outlive it.
    """
    process = folder.start(target, "--rerun-incomplete")
    while process.poll() is None and not workers(process):
        time.sleep(STEP)
    end = time.monotonic() + rng.uniform(0, 3)
    while process.poll() is None and time.monotonic() < end:
        time.sleep(STEP)
    if process.poll() is not None:
        assert process.returncode == 0
        return False
    kill(process, way, rng)
    return True


def check_resumed(folder, target, kills, seed):
    rng = random.Random(seed)
    for kill_number in range(kills):
        way = WAYS[(seed + kill_number) % len(WAYS)]
        assert run_until_killed(folder, target, way, rng), kill_number
        folder.run("--unlock")
    folder.run(target, "--rerun-incomplete")
    assert folder.plan(target) == {}


@pytest.mark.parametrize("seed", [1])
def test_run_killed_twice_gives_the_same_results(folder, undisturbed, seed):
    check_resumed(folder, "consistency", 2, seed)
    assert folder.content() == undisturbed.content()
    verified = folder.verify()
    assert verified.returncode == 0, verified.stdout


@pytest.mark.full
def test_run_killed_twenty_times_gives_the_same_results(folder, tmp_path):
    folder.write_study()
    check_resumed(folder, "all", 20, 7)
    other = type(folder)(tmp_path / "undisturbed")
    other.write_study()
    other.run("all")
    assert folder.content() == other.content()
    verified = folder.verify()
    assert verified.returncode == 0, verified.stdout


class Slow(BaseHTTPRequestHandler):
    """Sends a file a little at a time, and counts how often each is asked for."""

    def do_GET(self):
        name = self.path.removeprefix("/")
        self.server.asked.append(name)
        data = self.server.files[name]
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        for start in range(0, len(data), 2**16):
            try:
                self.wfile.write(data[start : start + 2**16])
            except OSError:
                return
            time.sleep(STEP)

    def log_message(self, *arguments):
        """Say nothing."""


@pytest.fixture
def server():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Slow)
    server.asked = []
    server.files = {
        f"part-{i}.csv": random.Random(i).randbytes(2**16 * 6 + i) for i in range(3)
    }
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def write_sources(server, folder):
    lines = ["group\tpath\turl\tsha256\tbytes\tlicence\tterms"]
    for name, data in server.files.items():
        (folder / "original").write_bytes(data)
        checksum = pooch.file_hash(folder / "original")
        url = f"http://127.0.0.1:{server.server_port}/{name}"
        values = ("trials", f"a/{name}", url, checksum, str(len(data)), "free", "none")
        lines.append("\t".join(values))
    (folder / "sources.tsv").write_text("\n".join(lines) + "\n")


def download(folder):
    command = [sys.executable, "-m", "trialwise", "get-source", "--group", "trials"]
    command += ["--sources", folder / "sources.tsv", "--output", folder / "trials"]
    proxies = {"http_proxy", "https_proxy", "all_proxy", "trialwise_mirror"}
    kept = {k: v for k, v in os.environ.items() if k.lower() not in proxies}
    return subprocess.Popen(
        [str(word) for word in command],
        env={**kept, "NO_PROXY": "127.0.0.1"},
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("seed", range(2))
def test_download_killed_three_times_is_whole_in_the_end(tmp_path, server, seed):
    write_sources(server, tmp_path)
    rng = random.Random(seed)
    for number in range(3):
        process, asked = download(tmp_path), len(server.asked)
        while process.poll() is None and len(server.asked) == asked:
            time.sleep(STEP)
        time.sleep(rng.uniform(0, 0.3))
        process.kill()
        process.communicate()
        assert len(server.asked) > asked, number
        assert not (tmp_path / "trials").exists()
    process = download(tmp_path)
    assert process.communicate()[1].count("error:") == 0
    assert process.returncode == 0
    found = {file.name: file.read_bytes() for file in (tmp_path / "trials").iterdir()}
    assert found == server.files


def test_what_a_killed_download_has_finished_is_not_fetched_again(tmp_path, server):
    write_sources(server, tmp_path)
    process = download(tmp_path)
    while process.poll() is None and len(server.asked) < 2:
        time.sleep(STEP)
    process.kill()
    process.communicate()
    assert download(tmp_path).wait() == 0
    assert server.asked.count("part-0.csv") == 1
