"""What lies under a running daemon is damaged, removed or replaced: it goes on answering, says so, and heals."""

import contextlib
import hashlib
import os
import shutil
import socket
import stat
from pathlib import Path

import pytest

from indexerd.client import Client, UnreachableError
from indexerd.errors import StoreError
from indexerd.store.fsio import RealStoreFilesystem
from indexerd.store.verify import fsck
from tests.fakes.daemon_process import DaemonProcess, wait_for

pytestmark = pytest.mark.slow

FILES = 300


@pytest.fixture
def docs(tmp_path):
    """A folder whose largest segment is so large that its texts stay in the file."""
    folder = tmp_path / "docs"
    folder.mkdir()
    for n in range(FILES):
        # Words that no other text has: nothing of them can be packed away.
        filler = " ".join(hashlib.sha256(f"{n} {word}".encode()).hexdigest() for word in range(60))
        (folder / f"{n:03}.md").write_text(f"# Note {n}\n\nword{n} quokka {filler}\n")
    return folder


@pytest.fixture
def daemon(docs, tmp_path):
    """A daemon with everything in one segment, durable."""
    daemon = DaemonProcess([docs], tmp_path).ready()
    wait_for(lambda: daemon.call("status")["durable_generation"] == daemon.call("status")["generation"])
    yield daemon
    daemon.close()


def segments(daemon):
    return sorted(Path(daemon.state).glob("*.segment"), key=lambda path: path.stat().st_size)


def answers_whole(daemon):
    """Ask for every tenth document by its word, and for its evidence."""
    for n in range(0, FILES, 10):
        found = daemon.call("query", text=f"word{n}")
        assert [hit["source_path"] for hit in found["hits"]] == [f"{n:03}.md"], n
        assert found["rejected_counts"] == {}
    given = daemon.call("evidence", text="word30 quokka", phrase=["word30 quokka"])
    assert [block["citation"].split("#")[0] for block in given["evidence"]["blocks"]] == ["030.md"]


def is_sound(daemon):
    """Tell whether no problem stands and the state directory proves whole."""
    if daemon.call("status")["problems"]:
        return False
    try:
        fs = RealStoreFilesystem.open_directory(daemon.state, create=False)
    except (OSError, StoreError):
        return False
    try:
        return not [finding for finding in fsck(fs) if finding.kind == "problem"]
    finally:
        fs.close()


def is_healed(daemon, before):
    """Tell whether the files are others than before and all is well."""
    return segments(daemon) and segments(daemon) != before and is_sound(daemon)


def truncate(path):
    os.truncate(path, 4096)


def flip(path):
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 2)
        file.write(b"\xff" * 100_000)


def wipe(folder):
    """Remove a folder in which somebody may be writing."""
    while folder.exists():
        shutil.rmtree(folder, ignore_errors=True)


def put_in_the_way(place):
    """Put a file in the place of a folder that may be made anew at any moment."""
    while not place.is_file():
        wipe(place)
        with contextlib.suppress(IsADirectoryError):
            place.write_text("in the way")


def remove(path):
    path.unlink()


def replace_by_folder(path):
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("harm", [truncate, flip, remove, replace_by_folder])
def test_a_damaged_segment_is_named_healed_and_never_felt(daemon, harm):
    """Answers stay whole, a new file takes the damaged one's place, and the next start finds a sound index."""
    before = segments(daemon)
    assert before[-1].stat().st_size > 256 << 10
    generation, identity = daemon.call("status")["generation"], daemon.call("status")["store_id"]
    harm(before[-1])
    answers_whole(daemon)
    wait_for(lambda: is_healed(daemon, before))
    answers_whole(daemon)
    status = daemon.call("status")
    assert (status["generation"], status["store_id"], status["state"]) == (generation, identity, "current")


def test_damage_that_cannot_be_healed_yet_is_a_standing_problem(daemon, docs):
    """While the directory takes no file the problem says so; it goes when that is mended."""
    before = segments(daemon)
    truncate(before[-1])
    put_in_the_way(Path(daemon.state))
    named = wait_for(lambda: [p for p in daemon.call("status")["problems"] if p["code"] == "state_directory_lost"])
    assert named[0]["since"]
    assert daemon.call("status")["state"] == "degraded"
    answers_whole(daemon)
    Path(daemon.state).unlink()
    wait_for(lambda: is_healed(daemon, before))
    answers_whole(daemon)


@pytest.mark.parametrize("way", ["removed", "moved", "replaced"])
def test_a_state_directory_that_is_gone_is_made_anew(daemon, docs, tmp_path, way):
    """The index is published again under the same identity, the new directory is private and locked."""
    identity, state = daemon.call("status")["store_id"], Path(daemon.state)
    if way == "removed":
        # Of one that is made anew at once nothing more is to be removed.
        with contextlib.suppress(OSError):
            shutil.rmtree(state)
    else:
        state.rename(tmp_path / "elsewhere")
    if way == "replaced":
        state.mkdir(exist_ok=True)
    (docs / "late.md").write_text("late wombat\n")
    found = daemon.call("query", text="wombat")
    wait_for(lambda: segments(daemon) and is_sound(daemon))
    found = wait_for(lambda: daemon.call("query", text="wombat")["hits"])
    assert [hit["source_path"] for hit in found] == ["late.md"]
    answers_whole(daemon)
    assert daemon.call("status")["store_id"] == identity
    assert stat.S_IMODE(state.stat().st_mode) == 0o700
    second = DaemonProcess([docs], tmp_path, state=daemon.state, socket=tmp_path / "other" / "s.sock")
    assert second.said().startswith("StoreLockedError")
    second.close()
    assert daemon.end() == 0
    again = DaemonProcess([docs], tmp_path).ready()
    answers_whole(again)
    assert again.call("status")["opening"] == {"state": "healthy", "detail": "", "fell_back": False}
    again.close()


@pytest.mark.parametrize("way", ["removed", "folder removed", "replaced"])
def test_a_socket_that_is_gone_is_made_anew(daemon, way):
    """New clients get in again within seconds, those who are connected notice nothing."""
    path = Path(daemon.socket)
    connected = Client(daemon.socket)
    pid = connected.call("status")["pid"]
    if way == "folder removed":
        # The new file may be there before the folder is gone.
        with contextlib.suppress(OSError):
            shutil.rmtree(path.parent)
    elif way == "removed":
        path.unlink()
    else:
        with socket.socket(socket.AF_UNIX) as other:
            other.bind(f"{path}.other")
        os.replace(f"{path}.other", path)
    assert connected.call("status")["pid"] == pid
    wait_for(lambda: reached(daemon) == pid)
    assert stat.S_IMODE(path.lstat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert connected.call("query", {"text": "word20"})["hits"]
    wait_for(lambda: not connected.call("status")["problems"])
    connected.close()
    assert daemon.end() == 0
    assert not path.exists()


def reached(daemon):
    with contextlib.suppress(UnreachableError):
        return daemon.call("status")["pid"]
    return None


def test_what_stands_in_the_sockets_place_is_not_removed(daemon):
    """A file that is no socket is named in the status; once it is gone the socket is back."""
    path = Path(daemon.socket)
    connected = Client(daemon.socket)
    path.unlink()
    path.write_text("mine")
    named = wait_for(lambda: [p for p in connected.call("status")["problems"] if "is no socket" in p["detail"]])
    assert named[0]["code"] == "socket_lost"
    assert path.read_text() == "mine"
    path.unlink()
    wait_for(lambda: reached(daemon))
    wait_for(lambda: not connected.call("status")["problems"])
    connected.close()
