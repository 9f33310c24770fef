"""A daemon starts once, survives being killed, ends in order, and answers all the while."""

import contextlib
import ctypes
import os
import resource
import signal
import socket
import time
from pathlib import Path

import pytest

from indexerd.client import Client
from indexerd.daemon import _Mailbox
from indexerd.errors import ShutdownError, UnreachableError
from tests.fakes.daemon_process import PATIENCE_SECONDS, DaemonProcess, wait_for

pytestmark = pytest.mark.slow


@pytest.fixture
def docs(tmp_path):
    """A small folder of documents."""
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a.md").write_text("# Alpha\n\nThe stable word is quokka.\n")
    (folder / "b.md").write_text("# Beta\n\nNothing of interest.\n")
    return folder


@pytest.fixture
def start(tmp_path):
    """Start daemons; leave none behind."""
    started = []

    def begin(roots, **options):
        started.append(DaemonProcess(roots, tmp_path, **options))
        return started[-1]

    yield begin
    for one in started:
        one.close()


def paths(result):
    return [hit["source_path"] for hit in result["hits"]]


def test_a_saved_word_is_found_by_the_next_query(docs, start):
    """Write, ask, find; edit, ask, find the new and not the old; delete, ask, find nothing."""
    daemon = start([docs]).ready()
    assert paths(daemon.call("query", text="quokka")) == ["a.md"]
    (docs / "c.md").write_text("fresh wombat\n")
    found = daemon.call("query", text="wombat")
    assert (paths(found), found["freshness"]["state"]) == (["c.md"], "current")
    (docs / "c.md").write_text("fresh numbat\n")
    assert paths(daemon.call("query", text="wombat")) == []
    assert paths(daemon.call("query", text="numbat")) == ["c.md"]
    (docs / "c.md").unlink()
    assert paths(daemon.call("query", text="numbat")) == []
    assert daemon.end() == 0


def test_after_kill_9_the_next_start_answers_the_same_at_once(docs, start):
    """The socket file left behind is taken over, and the index is the one that was published."""
    first = start([docs]).ready()
    before = first.call("query", text="quokka")
    first.end(signal.SIGKILL)
    assert Path(first.socket).is_socket()
    second = start([docs])
    assert second.said() == "answering"
    after = second.call("query", text="quokka", wait_ms=0)
    same = ("generation", "store_id", "settings", "candidates")
    assert {key: after[key] for key in same} == {key: before[key] for key in same}
    assert [hit["chunk_id"] for hit in after["hits"]] == [hit["chunk_id"] for hit in before["hits"]]
    assert second.said() == "ready"
    assert second.end() == 0


def test_what_changed_while_nobody_ran_is_found_after_the_start(docs, start):
    """Files added, edited, renamed and deleted in between are as they are now."""
    assert start([docs]).ready().end() == 0
    (docs / "new.md").write_text("platypus\n")
    (docs / "a.md").write_text("# Alpha\n\nNow an echidna.\n")
    (docs / "b.md").rename(docs / "renamed.md")
    daemon = start([docs]).ready()
    assert paths(daemon.call("query", text="platypus")) == ["new.md"]
    assert paths(daemon.call("query", text="echidna")) == ["a.md"]
    assert paths(daemon.call("query", text="quokka")) == []
    listed = [row["source_path"] for row in daemon.call("documents")["documents"]]
    assert listed == ["a.md", "new.md", "renamed.md"]
    assert {row["source_path"] for row in daemon.call("documents", deleted=True)["documents"]} == {"b.md"}


def test_a_second_daemon_on_the_same_state_is_refused_whatever_its_socket(docs, start, tmp_path):
    """The lock is on the state directory, not on the socket, a port or a pid."""
    first = start([docs]).ready()
    second = start([docs], socket=tmp_path / "run" / "other.sock")
    assert second.said().startswith("StoreLockedError")
    assert second.process.wait(PATIENCE_SECONDS) == 70
    assert not (tmp_path / "run" / "other.sock").exists()
    assert paths(first.call("query", text="quokka")) == ["a.md"]


def test_removing_every_lock_like_file_lets_no_second_writer_in(docs, start, tmp_path):
    """There is no lock file to remove: the kernel holds the lock."""
    first = start([docs]).ready()
    for name in os.listdir(first.state):
        assert "lock" not in name
        assert not name.endswith("pid")
    second = start([docs], socket=tmp_path / "run" / "other.sock")
    assert second.said().startswith("StoreLockedError")


def test_a_second_daemon_at_the_same_socket_is_refused_and_the_first_keeps_it(docs, start, tmp_path):
    """Another state at the same socket path: the one who answers stays."""
    first = start([docs]).ready()
    second = start([docs], state=tmp_path / "state2")
    assert second.said().startswith("BusyError")
    assert paths(first.call("query", text="quokka")) == ["a.md"]


def test_of_many_starters_exactly_one_runs_and_everybody_is_answered(docs, start):
    """Eight starts at once on nothing: one daemon, and eight clients with answers."""
    crowd = [start([docs]) for _ in range(8)]
    words = [one.said() for one in crowd]
    assert words.count("answering") == 1
    assert all(word.startswith(("answering", "StoreLockedError", "BusyError")) for word in words)
    for one in crowd:
        assert wait_for(lambda one=one: paths(one.call("query", text="quokka"))) == ["a.md"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_in_order(docs, start, number):
    """Status 0, no socket left, the last generation durable."""
    daemon = start([docs]).ready()
    generation = daemon.call("status")["generation"]
    assert daemon.end(number) == 0
    assert not Path(daemon.socket).exists()
    again = start([docs])
    assert again.said() == "answering"
    assert again.call("status")["durable_generation"] == generation


def state_of(process) -> str:
    return Path(f"/proc/{process}/task/{process}/stat").read_text().rpartition(")")[2].split()[0]


def test_a_signal_that_the_kernel_hands_to_another_thread_ends_it_too(docs, start):
    """Whichever thread gets the signal, the one that waits for it wakes."""
    daemon = start([docs]).ready()
    process = daemon.process.pid
    # Until the main thread waits: it sleeps each time that one looks.
    wait_for(lambda: all(state_of(process) == "S" for _ in range(500)))
    threads = [int(thread) for thread in os.listdir(f"/proc/{process}/task")]
    other = max(thread for thread in threads if thread != process)
    assert ctypes.CDLL(None).tgkill(process, other, signal.SIGTERM) == 0
    assert daemon.process.wait(PATIENCE_SECONDS) == 0


def test_the_shutdown_method_ends_it(docs, start):
    """The owner can stop the daemon over the socket."""
    daemon = start([docs]).ready()
    assert daemon.call("shutdown")["stopping"] is True
    assert daemon.process.wait(PATIENCE_SECONDS) == 0
    with pytest.raises((UnreachableError, ShutdownError)):
        daemon.call("status")


def test_sighup_looks_at_everything_again(docs, start):
    """A reconcile follows the signal, and the daemon goes on."""
    daemon = start([docs]).ready()
    wait_for(lambda: (daemon.call("status")["reconciled_age_s"] or 0.0) >= 0.5)
    sent = time.monotonic()
    daemon.process.send_signal(signal.SIGHUP)
    wait_for(lambda: daemon.call("status")["reconciled_age_s"] < time.monotonic() - sent)
    assert daemon.answers()


def test_the_service_manager_is_told_when_it_answers_and_when_it_stops(docs, start, tmp_path):
    """READY comes once the socket answers, STOPPING before the end."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "n"))
        manager.settimeout(PATIENCE_SECONDS)
        daemon = start([docs], notify_socket=str(tmp_path / "n"))
        assert b"READY=1" in manager.recv(4096)
        assert daemon.answers()
        while (word := manager.recv(4096)).startswith(b"STATUS=building"):
            pass
        assert word.startswith(b"STATUS=2 documents")
        daemon.ready()
        daemon.end()
        assert b"STOPPING=1" in manager.recv(4096)


_HANGING = """
from indexerd.sync.stepper import Stepper
import os, time
own = Stepper.step
def step(stepper):
    while os.path.exists({file!r}):
        time.sleep(0.01)
    own(stepper)
Stepper.step = step
"""


def falls_silent(manager):
    """Tell whether nothing is said for as long as the timeout, before very much is."""
    with contextlib.suppress(TimeoutError):
        for _ in range(200):
            manager.recv(4096)
        return False
    return True


def test_signs_of_life_come_while_the_writer_gets_on_and_stop_while_it_hangs(docs, start, tmp_path):
    """The socket still answers when the writer hangs, and the manager is told nothing; when it goes on, it is again."""
    hang = tmp_path / "hang"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "n"))
        manager.settimeout(PATIENCE_SECONDS)
        options = {"notify_socket": str(tmp_path / "n"), "watchdog_seconds": 0.4}
        daemon = start([docs], before=_HANGING.format(file=str(hang)), **options).ready()
        for _ in range(3):
            while b"WATCHDOG=1" not in manager.recv(4096):
                pass
        hang.touch()
        manager.settimeout(2.5)
        assert falls_silent(manager)
        assert daemon.answers()
        hang.unlink()
        manager.settimeout(PATIENCE_SECONDS)
        assert b"WATCHDOG=1" in manager.recv(4096)


def test_the_service_manager_is_told_of_a_reload_and_its_end(docs, start, tmp_path):
    """SIGHUP gives RELOADING with the time, then READY: what `Type=notify-reload` waits for."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "n"))
        manager.settimeout(PATIENCE_SECONDS)
        daemon = start([docs], notify_socket=str(tmp_path / "n")).ready()
        while not manager.recv(4096).startswith(b"STATUS=2 documents"):
            pass
        daemon.process.send_signal(signal.SIGHUP)
        assert manager.recv(4096).startswith(b"RELOADING=1\nMONOTONIC_USEC=")
        assert manager.recv(4096) == b"READY=1"


def test_a_start_that_is_refused_leaves_no_folder_behind(docs, start, tmp_path):
    """Something else lies where the socket should: the state directory is as it was, made before or not."""
    there, shared = tmp_path / "there", tmp_path / "shared"
    there.mkdir()
    shared.mkdir()
    (shared / "d.sock").write_text("no socket")
    for state in (tmp_path / "new" / "deep", there):
        daemon = start([docs], state=state, socket=shared / "d.sock")
        assert daemon.said().startswith("ConfigError: ")
        assert daemon.process.wait(PATIENCE_SECONDS) == 70
    assert not (tmp_path / "new").exists()
    assert list(there.iterdir()) == []


def test_roots_that_cannot_be_used_are_all_named_at_once(docs, start, tmp_path):
    """A file, a missing folder and one inside another are three problems in one message."""
    (tmp_path / "file.md").write_text("x")
    (docs / "sub").mkdir()
    daemon = start([docs, tmp_path / "file.md", tmp_path / "missing", docs / "sub"])
    said = daemon.said()
    assert said.startswith("ConfigError")
    for part in ("file.md is not a folder", "missing does not exist", f"{docs}/sub lies in root"):
        assert part in said
    assert not Path(daemon.state).exists()


def test_a_damaged_index_is_rebuilt_and_said_so(docs, start):
    """Zeroed files are never used: the index is made anew from the sources."""
    first = start([docs]).ready()
    first.end()
    for path in Path(first.state).iterdir():
        path.write_bytes(b"\0" * path.stat().st_size)
    second = start([docs]).ready()
    assert paths(second.call("query", text="quokka")) == ["a.md"]
    assert second.call("status")["opening"]["state"] == "damaged"


def test_out_of_descriptors_who_is_in_is_served_and_others_are_when_there_is_room(docs, start):
    """Accepting stops, answering does not, and it recovers by itself."""
    daemon = start([docs]).ready()
    pid = daemon.process.pid
    free = len(os.listdir(f"/proc/{pid}/fd")) + 6
    _, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    with Client(daemon.socket, 30) as inside:
        inside.call("status")
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (free, hard))
        crowd = []
        for _ in range(20):
            one = socket.socket(socket.AF_UNIX)
            one.connect(daemon.socket)
            crowd.append(one)
        # What else opens a file meanwhile may fail, and says so.
        assert inside.call("status")["state"] in {"current", "degraded"}
        for one in crowd:
            one.close()
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (hard, hard))
    assert paths(daemon.call("query", text="quokka")) == ["a.md"]


@pytest.mark.slow
def test_a_signal_at_any_moment_ends_the_daemon(docs, start):
    """Sent the moment it says that it is ready, when it is about to sleep, SIGTERM is never missed."""
    for _ in range(12 if os.environ.get("INDEXERD_TEST_SIZE") != "large" else 300):
        assert start([docs]).ready().end() == 0


def test_the_mailbox_is_woken_by_a_signal_that_no_handler_has_seen_yet():
    """The interpreter itself writes into what the main thread sleeps on: the sleep ends though the handler is late."""
    mailbox = _Mailbox()
    with mailbox.signals():
        descriptor = signal.set_wakeup_fd(-1)
        assert descriptor == mailbox._writing
        signal.set_wakeup_fd(descriptor, warn_on_full_buffer=False)
        os.kill(os.getpid(), signal.SIGHUP)
        assert mailbox.wait(PATIENCE_SECONDS) == b"r"
        assert mailbox.wait(0.0) is None


def test_no_look_for_rings_of_values_holds_up_the_first_queries(docs, start, tmp_path):
    """While values are added in great numbers the interpreter does not go through all of them again and again."""
    for number in range(1500):
        (docs / f"n{number}.md").write_text(f"# Note {number}\n\nwords of note {number} all over\n")
    told = tmp_path / "told"
    note = f"open({str(told)!r}, 'a').write(f'{{phase}} {{info}}\\n')"
    before = f"import gc; gc.callbacks.append(lambda phase, info: info['generation'] == 2 and {note})"
    daemon = start([docs], before=before).ready()
    for number in range(200):
        daemon.call("query", text=f"words note {number}")
    assert not told.exists()
