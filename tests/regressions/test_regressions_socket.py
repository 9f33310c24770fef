"""What people reported of the socket and the program: doors left open, files left behind, mistakes taken silently."""

import contextlib
import os
import signal
import socket
import stat
from pathlib import Path

import pytest

from indexerd.errors import RequestError, UnknownFieldError
from tests.fakes.daemon_process import PATIENCE_SECONDS
from tests.fakes.watched_notes import program

pytestmark = pytest.mark.slow
FILES = {"a.md": "socketword\n"}


def mode(path):
    return stat.S_IMODE(Path(path).stat().st_mode)


def test_nobody_else_can_reach_the_socket(own_notes):
    """Under a loose umask any local user could ask; the directory is 0700, the socket 0600, the state private too."""
    own_notes.write("a.md", "privateword\n")
    before = os.umask(0)
    try:
        daemon = own_notes.begin()
        assert daemon.said() == "answering"
    finally:
        os.umask(before)
    assert (mode(daemon.socket), mode(Path(daemon.socket).parent)) == (0o600, 0o700)
    assert mode(daemon.state) == 0o700
    assert daemon.said() == "ready"
    for path in Path(daemon.state).iterdir():
        # Some are on their way to another name.
        with contextlib.suppress(FileNotFoundError):
            assert mode(path) == 0o600


def test_a_killed_daemon_leaves_nothing_in_the_way(own_notes):
    """After kill -9 the address was in use; the next start takes it over, and a second one is told that one runs."""
    own_notes.write("a.md", "killedword\n")
    own_notes.start()
    own_notes.daemon.end(signal.SIGKILL)
    assert Path(own_notes.daemon.socket).is_socket()
    first = own_notes.start().daemon
    assert own_notes.found("killedword") == ["a.md"]
    second = own_notes.begin()
    assert second.said().startswith(("BusyError", "StoreLockedError"))
    own_notes.daemon = first
    assert own_notes.found("killedword") == ["a.md"]


def test_a_file_in_the_sockets_place_is_left_alone(own_notes):
    """Whatever lay at the path was removed; what is no socket stays, and the start is refused."""
    (own_notes.place / "run").mkdir(mode=0o700)
    precious = own_notes.place / "run" / "d.sock"
    precious.write_text("precious")
    daemon = own_notes.begin()
    assert "Error" in daemon.said()
    assert daemon.process.wait(PATIENCE_SECONDS) != 0
    assert precious.read_text() == "precious"


def test_an_unknown_field_is_refused_by_name(notes):
    """A misspelt field was ignored and the answer was unscoped; it is an error that names the field."""
    with pytest.raises(UnknownFieldError, match="collecton"):
        notes.daemon.call("query", text="socketword", collecton="x")
    with pytest.raises(UnknownFieldError, match="pahts"):
        notes.daemon.call("evidence", text="socketword", pahts=["x"])


def test_another_protocol_is_refused_once(notes):
    """An old client got nonsense from a new daemon; the mismatch is an error, and the next call is served."""
    with pytest.raises(RequestError, match="protocol"):
        notes.daemon.call("query", text="socketword", protocol=99)
    assert notes.found("socketword") == ["a.md"]


@pytest.mark.parametrize("command", ["watch", "sync"])
def test_a_missing_folder_is_no_folder(notes, tmp_path, command):
    """Without an argument the current folder was indexed; it is a usage error, and nothing is made."""
    done = program(tmp_path / "home", command)
    assert done.returncode == 2
    assert f"Try `indexerd {command} --help`".encode() in done.stderr
    assert list((tmp_path / "home").iterdir()) == []


def test_a_web_page_cannot_ask(notes):
    """A foreign host reached the index over HTTP; there is no TCP port at all."""
    inodes = set()
    for link in Path(f"/proc/{notes.daemon.process.pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            inodes.add(os.readlink(link).removeprefix("socket:").strip("[]"))
    for table in ("tcp", "tcp6", "udp", "udp6"):
        rows = Path(f"/proc/net/{table}")
        if rows.exists():
            assert inodes.isdisjoint(row.split()[9] for row in rows.read_text().splitlines()[1:])
    with socket.socket(socket.AF_UNIX) as one:
        one.connect(notes.daemon.socket)
