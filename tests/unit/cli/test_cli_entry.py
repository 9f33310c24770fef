"""The fast path of `query`: it answers like the full command line, or steps aside before printing anything."""

import json
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from indexerd import _entry
from indexerd.cli.sockets import choose_by_place

HIT = {
    "n": 1,
    "title": "Setup",
    "source_path": "a.md",
    "path": "/docs/a.md",
    "citation": "a.md#L1-L1",
    "start_line": 1,
    "end_line": 1,
    "line": 1,
    "column": 1,
    "content_hash": "ab" * 32,
    "heading_path": [],
    "text": "héllo\n",
    "excerpt": "héllo",
    "highlights": [],
    "unsafe": None,
    "score": 1.5,
}
RESULT = {"hits": [HIT], "freshness": {"state": "current"}, "rejected_counts": {}, "unmatched": []}
LOADED_LATER = {"click", "numpy", "msgpack", "json", "re", "socket", "typing", "dataclasses", "pathlib", "subprocess"}


class Daemon:
    """Answers every JSON line with what its table says."""

    def __init__(self, path, answers):
        self.seen = []
        self._answers = answers
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen()
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self):
        while True:
            connection, _ = self._listener.accept()
            with connection, connection.makefile("rwb") as stream:
                for line in stream:
                    request = json.loads(line)
                    self.seen.append(request)
                    reply = {"jsonrpc": "2.0", "id": request["id"], **self._answers[request["method"]]}
                    stream.write(json.dumps(reply, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")
                    stream.flush()
                    if request["method"] == "shutdown":
                        return

    def close(self):
        if not self._thread.is_alive():
            return
        self._answers["shutdown"] = {"result": {}}
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(self._listener.getsockname())
            client.sendall(b'{"id":0,"method":"shutdown"}\n')
            client.recv(100)
        self._thread.join()
        self._listener.close()


@pytest.fixture
def run_dir(tmp_path, monkeypatch):
    folder = tmp_path / "indexerd"
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.delenv("INDEXERD_SOCKET", raising=False)
    return folder


@pytest.fixture
def daemon(run_dir):
    made = []

    def make(name="docs.sock", result=RESULT, roots=("/docs",), **answers):
        status = {"result": {"roots": [{"label": "r", "path": root, "state": "ok"} for root in roots]}}
        made.append(Daemon(run_dir / name, {"query": {"result": result}, "status": status, **answers}))
        return made[-1]

    yield make
    for one in made:
        one.close()


def run(*arguments, cwd="/"):
    return subprocess.run(
        [sys.executable, "-m", "indexerd", "query", *arguments],
        capture_output=True,
        check=False,
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
    )


def test_a_hit_is_printed_and_the_status_is_nought(daemon):
    """A query that finds something prints it and succeeds."""
    served = daemon()
    done = run("héllo", "-n", "3", "--tag", "x")
    assert (done.returncode, done.stderr) == (0, b"")
    assert "1. Setup\n    a.md#L1-L1\n    héllo\n" in done.stdout.decode()
    assert served.seen[0]["params"] == {"text": "héllo", "k": 3, "tags": ["x"]}


def test_nothing_found_is_status_one_and_said_on_standard_error(daemon):
    """Like grep, no hit is 1; standard output stays empty."""
    daemon(result={**RESULT, "hits": [], "unmatched": ["xyzzy"]})
    done = run("xyzzy")
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"in no document: xyzzy" in done.stderr


def test_json_is_printed_as_it_came(daemon):
    """`--json` gives the socket's result, byte for byte what the daemon wrote."""
    daemon()
    done = run("--json", "héllo")
    assert json.loads(done.stdout) == RESULT
    assert done.returncode == 0


def test_the_fast_path_loads_almost_nothing(daemon):
    """A query pulls in none of the libraries that cost more than itself, also for a name that is not UTF-8."""
    odd = HIT | {"path": None, "path_b64": "L2RvY3Mv/y5tZA=="}
    daemon(result=RESULT | {"hits": [HIT, odd]})
    code = (
        "import sys, os; from indexerd import _entry; assert _entry.fast_query(['x']) == 0;"
        "sys.stderr.write(' '.join(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, text=True, cwd=Path(__file__).parents[3]
    )
    bare = subprocess.run(
        [sys.executable, "-c", "import sys; print(*sys.modules)"], capture_output=True, check=True, text=True
    )
    assert not (set(done.stderr.split()) - set(bare.stdout.split())) & LOADED_LATER


@pytest.mark.parametrize(
    "answer",
    [{"error": {"code": -1, "message": "no"}}, {"result": {**RESULT, "truncated": True}}],
    ids=["error", "page"],
)
def test_what_needs_words_or_pages_is_left_to_the_full_command_line(daemon, answer, capfdbinary):
    """An error or a result in pages makes the fast path step aside, silently."""
    daemon(query=answer)
    assert _entry.fast_query(["x"]) is None
    assert capfdbinary.readouterr() == (b"", b"")


def test_without_a_daemon_the_fast_path_steps_aside(run_dir):
    """No socket, or one that nobody serves, is not its business."""
    assert _entry.fast_query(["x"]) is None
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(run_dir / "dead.sock"))
    assert _entry.fast_query(["x"]) is None


def test_a_runtime_directory_that_others_can_write_is_not_used(run_dir, daemon):
    """A socket that somebody else may have put there is never asked."""
    served = daemon()
    run_dir.chmod(0o777)
    assert _entry.fast_query(["x"]) is None
    assert served.seen == []
    run_dir.chmod(0o700)


def test_of_several_daemons_the_one_that_holds_the_folder_is_asked(daemon, tmp_path):
    """With two daemons, the current directory decides."""
    other = daemon("a.sock", roots=("/elsewhere",))
    mine = daemon("b.sock", roots=(str(tmp_path),))
    assert run("x", cwd=tmp_path).returncode == 0
    assert [request["method"] for request in mine.seen] == ["status", "query"]
    assert [request["method"] for request in other.seen] == ["status"]


def test_a_closed_pipe_is_quiet(daemon):
    """`query | head` ends without a word."""
    daemon(result={**RESULT, "hits": [{**HIT, "excerpt": "x" * 1000}] * 200})
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "indexerd", "query", "x"],
        stdout=writer,
        stderr=subprocess.PIPE,
        check=False,
        cwd=Path(__file__).parents[3],
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.parametrize("words", [["query", "x"], ["--help"], ["query", "--help"], ["--version"], ["mcp"]])
def test_a_full_output_is_told_in_one_line(daemon, words):
    """What is printed into a full disk, be it help, ends with an error that names the stream, not with a traceback."""
    daemon()
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "indexerd", *words],
            input=b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n',
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
            cwd="/",
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
        )
    assert (done.returncode, done.stderr) == (
        2,
        b"indexerd: standard output: No space left on device; free some space there\n",
    )


def test_an_agent_without_an_input_is_told_in_one_line():
    """Whoever starts `mcp` with its input closed reads which stream was meant."""
    done = subprocess.run(
        ["/bin/sh", "-c", f"exec {sys.executable} -m indexerd mcp <&-"],
        capture_output=True,
        check=False,
        cwd="/",
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
    )
    assert (done.returncode, done.stderr) == (2, b"indexerd: standard input: Bad file descriptor\n")


def test_the_innermost_root_wins():
    """The closer root of two; of two daemons of one root, none; with one daemon, any folder will do."""
    roots = {"outer": ["/a"], "inner": ["/a/b"]}
    assert choose_by_place(roots, "/a/b/c") == "inner"
    assert choose_by_place(roots, "/a/x") == "outer"
    assert choose_by_place(roots, "/elsewhere") is None
    assert choose_by_place({"one": ["/a"]}, "/elsewhere") == "one"
    assert choose_by_place({"one": ["/a"], "other": ["/a"]}, "/a/x") is None
