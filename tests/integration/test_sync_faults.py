"""Lost events, limits, permissions, mounts and a full disk cost time and are named; they never cost truth."""

import contextlib
import errno
import mmap
import os
import shutil
import signal
import subprocess
import threading
import time

import pytest

from indexerd.access.rights import AccessRules
from indexerd.model import Settings
from indexerd.ports import SourceFault
from indexerd.search import SearchRequest, search
from indexerd.sources import SourceTree
from indexerd.sync import bulk
from indexerd.sync.cycle import Cycle
from indexerd.sync.pending import Hint
from indexerd.sync.watcher import Watcher
from indexerd.sync.writer import Writer
from tests.fakes.inotify_limits import limit, watches_in_use
from tests.fakes.plain_user import plain_user_folder
from tests.fakes.sync_rig import PATIENCE_SECONDS, Rig
from tests.fakes.watched_notes import Notes

is_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


class Failing:
    """A state directory whose named operations fail while `cause` is set."""

    def __init__(self, real, *operations):
        self._real, self._operations, self.cause, self.failures = real, operations, 0, 0

    def __getattr__(self, name):
        operation = getattr(self._real, name)
        if name not in self._operations:
            return operation

        def failing(*args):
            if self.cause:
                self.failures += 1
                raise OSError(self.cause, os.strerror(self.cause))
            return operation(*args)

        return failing


@contextlib.contextmanager
def no_scan_yet(rig):
    """Keep the sync from making up for lost events for the length of a block."""
    gate, watching = threading.Event(), rig.loop._stepper.watching
    renew = watching.renew

    def renewing():
        assert gate.wait(PATIENCE_SECONDS)
        renew()

    watching.renew = renewing
    try:
        yield
    finally:
        watching.renew = renew
        gate.set()


@is_root
@pytest.mark.root
def test_lost_events_lead_to_a_full_scan(tmp_path):
    """A queue of 16 events overflows under a burst: it is counted, said, and made up for by itself."""
    with limit("max_queued_events", 16), Rig(tmp_path) as rig:
        rig.write("n.md", "first")
        for number in range(5):
            (rig.root / f"d{number}").mkdir()
        rig.start()
        watcher = rig.loop._stepper.watcher
        before = time.time_ns()
        with no_scan_yet(rig):
            with watcher._lock:  # nobody reads meanwhile: as if the daemon were stopped
                for number in range(300):
                    rig.write(f"d{number % 5}/{number}.md", f"text {number}")
                (rig.root / "n.md").unlink()
            watcher.drain()
            status = rig.loop.status()
            (problem,) = status.problems
            assert (problem.code, problem.count) == ("events_lost", status.overflows)
            assert before <= problem.since_ns <= time.time_ns()
        rig.until(lambda: rig.loop.status().state == "current")
        rig.settle()
        assert len(rig.paths()) == 300
        assert rig.digest() == rig.scratch_digest(tmp_path / "scratch")
        rig.write("d1/after.md", "seen by the new watch")
        rig.until(lambda: rig.text("d1/after.md") is not None)


@is_root
@pytest.mark.root
def test_after_lost_events_nobody_is_told_current_before_the_scan(tmp_path):
    """From the overflow until the scan is published the barrier says pending."""
    with limit("max_queued_events", 16), Rig(tmp_path) as rig:
        rig.start()
        assert not rig.loop.may_hang()
        with no_scan_yet(rig):
            with rig.loop._stepper.watcher._lock:
                for number in range(100):
                    rig.write(f"{number}.md", "text")
            assert rig.barrier(0.001) == "pending"
        while (state := rig.barrier(0.001)) != "current":
            assert state == "pending"
        assert len(rig.paths()) == 100


@pytest.mark.slow
@is_root
@pytest.mark.root
def test_overflow_upon_overflow_is_made_up_for_with_few_scans(tmp_path):
    """A hundred bursts that each overflow lead to a handful of scans, not to a hundred."""
    with limit("max_queued_events", 16), Rig(tmp_path) as rig:
        rig.start()
        surveys = []
        cycle = rig.loop._stepper.writer.cycle
        scan = cycle.scanner.scan
        cycle.scanner.scan = lambda *args, **kwargs: (surveys.append(1), scan(*args, **kwargs))[1]
        for burst in range(100):
            with rig.loop._stepper.watcher._lock:  # nobody reads meanwhile, however quick the reader is
                for number in range(30):
                    rig.write(f"{number}.md", f"{burst} {number}")
        # Bursts that take long are made up for ever less often, up to a minute behind the last.
        assert rig.barrier(2 * PATIENCE_SECONDS) == "current"
        assert rig.loop.status().overflows > 0
        assert len(surveys) < 10
        assert rig.digest() == rig.scratch_digest(tmp_path / "scratch")


@is_root
@pytest.mark.root
def test_folders_beyond_the_watch_limit_are_looked_at_instead(tmp_path):
    """With 20 watches and 60 folders every change is still found by the barrier, and the limit is named."""
    with Rig(tmp_path) as rig:
        for number in range(60):
            rig.write(f"d{number}/n.md", "first")
        with limit("max_user_watches", watches_in_use() + 20):
            rig.start()
            assert "max_user_watches" in rig.loop.status().problems[0].detail
            assert rig.loop.status().state == "degraded"
            for number in range(60):
                rig.write(f"d{number}/n.md", f"text {number}")
                rig.settle()
                assert rig.text(f"d{number}/n.md") == f"text {number}"
        rig.due("refused_retry")
        rig.until(lambda: rig.problems() == set())
        assert rig.loop.status().watches == 61


@pytest.mark.slow
@is_root
@pytest.mark.root
def test_the_watch_limit_reached_later_is_noticed(tmp_path):
    """Folders made after the limit is reached are named as unwatched, and their files found."""
    with limit("max_user_watches", watches_in_use() + 20), Rig(tmp_path) as rig:
        rig.start()
        for number in range(40):
            rig.write(f"d{number}/n.md", f"text {number}")
        rig.settle()
        assert len(rig.paths()) == 40
        assert rig.problems() == {"watch_limit"}
        shutil.rmtree(rig.root)
        rig.root.mkdir()
        rig.until(lambda: rig.problems() == set())


@is_root
@pytest.mark.root
def test_without_any_inotify_instance_the_roots_are_scanned(tmp_path):
    """When no descriptor is to be had, it is said, and the barrier looks for itself."""
    with limit("max_user_instances", 0), Rig(tmp_path) as rig:
        rig.write("n.md", "first")
        rig.start()
        assert rig.problems() == {"polling"}
        rig.write("sub/m.md", "second")
        rig.settle()
        assert rig.paths() == ["n.md", "sub/m.md"]


@is_root
@pytest.mark.root
def test_a_watch_that_could_not_be_had_is_tried_again(tmp_path):
    """No descriptor at the start: it is said since when, and once there is one the roots are watched by themselves."""
    with Rig(tmp_path) as rig:
        rig.write("sub/n.md", "first")
        before = time.time_ns()
        with limit("max_user_instances", 0):
            rig.start()
            (problem,) = rig.loop.status().problems
            assert (problem.code, problem.count > 0, "tried again" in problem.detail) == ("polling", True, True)
            assert before <= problem.since_ns <= time.time_ns()
        rig.write("sub/n.md", "second")
        problems, states = rig.loop._stepper.problems, []
        clear = problems.clear

        def clear_and_ask(code):
            if code == "polling":
                states.append(rig.barrier(0))
            clear(code)

        problems.clear = clear_and_ask
        rig.due("refused_retry")
        rig.until(lambda: rig.problems() == set())
        # Whoever relies on the watch from now on waits for the scan that sets it on the folders.
        assert set(states) == {"pending"}
        rig.settle()
        assert rig.loop.status().watches == 2
        rig.loop._stepper.timetable.reconcile = float("inf")
        rig.write("sub/n.md", "third")
        rig.until(lambda: rig.text("sub/n.md") == "third")
        assert rig.digest() == rig.scratch_digest(tmp_path / "scratch")


@is_root
@pytest.mark.root
def test_no_descriptor_left_for_a_fresh_watch_is_no_end(tmp_path):
    """After lost events another watch is begun; where none is to be had the scan is made all the same, and told."""
    with limit("max_queued_events", 16), Rig(tmp_path) as rig:
        rig.start()
        with limit("max_user_instances", 0):
            with rig.loop._stepper.watcher._lock:
                for number in range(60):
                    rig.write(f"{number}.md", "text")
            rig.until(lambda: rig.problems() == {"polling"})
            rig.settle()
            assert len(rig.paths()) == 60
            rig.write("sub/later.md", "found by a look")
            rig.settle()
            assert rig.text("sub/later.md") is not None
        rig.due("refused_retry")
        rig.until(lambda: rig.problems() == set())
        rig.settle()
        assert rig.loop.status().watches == 2
        assert rig.digest() == rig.scratch_digest(tmp_path / "scratch")


def test_with_polling_changes_are_found_without_anybody_asking(tmp_path):
    """No watcher at all: a scan finds a change within the interval."""
    with Rig(tmp_path, watch=False, poll_seconds=0.2) as rig:
        rig.write("n.md", "first")
        rig.start()
        rig.write("n.md", "second")
        rig.until(lambda: rig.text("n.md") == "second")
        assert rig.loop.status().state in {"current", "pending"}


@pytest.mark.parametrize(("trust", "problem"), [(False, "polling"), (True, "events_only")])
def test_a_remote_root_is_polled_unless_polling_is_off(tmp_path, monkeypatch, trust, problem):
    """A network file system hides what others change: roots there are scanned, or the weaker promise is said."""
    monkeypatch.setattr("indexerd.sync.watching.read_mounts", lambda: b"30 1 0:40 / / rw - nfs4 server:/x rw\n")
    with Rig(tmp_path, trust_events=trust) as rig:
        rig.start()
        assert rig.problems() == {problem}
        assert rig.loop.status().state == "degraded"
        assert rig.loop.may_hang()
        assert (rig.loop.status().watches > 0) == trust
        rig.write("n.md", "seen at once, for this machine wrote it")
        rig.settle()
        assert rig.paths() == ["n.md"]


def test_one_remote_root_is_polled_and_the_others_are_watched(tmp_path, monkeypatch):
    """Only the root whose events cannot be trusted is looked at in turn; what the status says names it."""
    near, far = tmp_path / "near", tmp_path / "far"
    mount = f"30 1 0:40 / {far} rw - nfs4 server:/x rw\n".encode()
    monkeypatch.setattr("indexerd.sync.watching.read_mounts", lambda: mount)
    with Rig(tmp_path, near, far, poll_seconds=0.2) as rig:
        rig.write("n.md", "first", root=far)
        rig.start()
        [problem] = rig.loop.status().problems
        assert (problem.code, problem.detail.partition(":")[0]) == ("polling", "r1")
        watched = rig.loop.status().watches
        surveys, survey = [], Cycle.survey
        monkeypatch.setattr(
            Cycle, "survey", lambda self, *args, **more: surveys.append(1) or survey(self, *args, **more)
        )
        # Whoever asks looks for himself; and the timer finds it with nobody asking.
        rig.write("n.md", "second", root=far)
        rig.settle()
        assert rig.text("r1/n.md") == "second"
        rig.write("n.md", "third", root=far)
        rig.until(lambda: rig.text("r1/n.md") == "third")
        (far / "sub").mkdir()
        rig.write("sub/n.md", "below", root=far)
        rig.write("n.md", "by event", root=near)
        rig.until(lambda: rig.text("r1/sub/n.md") == "below" and rig.text("r0/n.md") == "by event")
        assert (rig.loop.status().watches, surveys) == (watched, [])
        # It is local again: watched like any other.
        monkeypatch.setattr("indexerd.sync.watching.read_mounts", lambda: b"")
        far.rename(tmp_path / "away")
        far.mkdir()
        rig.until(lambda: rig.problems() == set() and rig.loop.status().watches == watched + 1)


def test_a_look_at_a_polled_root_holds_up_no_save_elsewhere(tmp_path, monkeypatch):
    """Amid the look at many folders that are polled, a save in a watched root is published."""
    near, far = tmp_path / "near", tmp_path / "far"
    mount = f"30 1 0:40 / {far} rw - nfs4 server:/x rw\n".encode()
    monkeypatch.setattr("indexerd.sync.watching.read_mounts", lambda: mount)
    with Rig(tmp_path, near, far, poll_seconds=0.2) as rig:
        for number in range(20):
            (far / str(number)).mkdir()
        rig.start()
        between, seen = rig.loop._stepper.writer.between, []

        def watched_between():
            if not seen and rig.loop._stepper.writer._amid is not None:
                seen.append("amid")
                rig.write("n.md", "saved amid", root=near)
            between()
            if seen == ["amid"] and "r0/n.md" in rig.paths():
                seen.append("published")

        rig.loop._stepper.writer.between = watched_between
        rig.until(lambda: seen == ["amid", "published"])


def test_a_watch_thread_that_dies_is_replaced(tmp_path, monkeypatch):
    """An error in the watch thread is made up for by a new watch and a full scan."""
    with Rig(tmp_path) as rig:
        rig.start()
        drain, watcher = Watcher.drain, rig.loop._stepper.watcher
        thread = watcher._thread
        monkeypatch.setattr(Watcher, "drain", lambda _self: 1 / 0)
        rig.write("n.md", "first")
        thread.join(PATIENCE_SECONDS)
        assert not thread.is_alive()
        monkeypatch.setattr(Watcher, "drain", drain)
        rig.until(lambda: watcher.statistics().alive and rig.text("n.md") == "first")
        rig.write("n.md", "second")
        rig.until(lambda: rig.text("n.md") == "second")


def test_a_dead_watch_is_replaced_by_a_scan_that_is_waited_for(tmp_path, monkeypatch):
    """A new watch knows nothing of what the old one had not told: a scan that nobody waits for does not begin it."""
    with Rig(tmp_path) as rig:
        stepper, renewed = rig.loop._stepper, []
        monkeypatch.setattr(stepper.watching, "is_dead", lambda: True)
        monkeypatch.setattr(stepper.watching, "renew", lambda: renewed.append(stepper.pending.resolved_through()))
        stepper.pending.survey()
        stepper.step()
        assert renewed == []
        number = stepper.pending.doubt()
        stepper.step()
        assert renewed[0] < number


def test_an_unreadable_folder_holds_its_documents():
    """A folder without permissions keeps its documents, held; back with permissions they are eligible again."""
    with plain_user_folder() as folder, Rig(folder) as rig:
        rig.write("sub/s.md", "first")
        rig.write("n.md", "first")
        rig.start()
        (rig.root / "sub").chmod(0)
        rig.settle()
        assert (rig.paths(), rig.loop.held()) == (["n.md", "sub/s.md"], {"sub/s.md"})
        assert rig.loop.status().held[0].source_path == "sub/s.md"
        (rig.root / "sub").chmod(0o755)
        rig.settle()
        assert rig.loop.held() == frozenset()
        rig.write("sub/s.md", "second")
        rig.settle()
        assert rig.text("sub/s.md") == "second"


def test_an_unreadable_file_is_held_and_the_others_go_on():
    """One file without permissions is listed with its cause; ten files, nine indexed."""
    with plain_user_folder() as folder, Rig(folder) as rig:
        for number in range(10):
            rig.write(f"{number}.md", "first")
        (rig.root / "3.md").chmod(0)
        rig.start()
        assert len(rig.paths()) == 9
        assert [(e.source_path, e.reason) for e in rig.loop.status().skipped] == [("3.md", "EACCES")]
        (rig.root / "3.md").chmod(0o644)
        (rig.root / "4.md").chmod(0)
        rig.settle()
        assert len(rig.paths()) == 10
        assert rig.loop.held() == {"4.md"}
        assert rig.loop.status().skipped == ()
        (rig.root / "4.md").chmod(0o644)
        rig.settle()
        assert rig.loop.held() == frozenset()


@pytest.mark.slow
def test_an_unreadable_root_holds_everything():
    """A root without permissions is no empty root."""
    with plain_user_folder() as folder, Rig(folder) as rig:
        rig.write("sub/s.md", "first")
        rig.start()
        rig.root.chmod(0)
        rig.settle()
        assert (rig.paths(), rig.loop.held()) == (["sub/s.md"], {"sub/s.md"})
        assert rig.problems() == {"root_unavailable"}
        rig.root.chmod(0o755)
        rig.until(lambda: rig.problems() == set())
        assert rig.loop.held() == frozenset()


def test_a_root_that_was_unreadable_at_the_start_is_back_with_its_permissions():
    """It could not be watched, so nothing reports that it can be read again: whoever asks notices."""
    with plain_user_folder() as folder, Rig(folder) as rig:
        rig.write("sub/s.md", "first")
        rig.start()
        rig.close()
        rig.root.chmod(0)
        rig.open().start()
        assert rig.loop.held() == {"sub/s.md"}
        rig.root.chmod(0o755)
        rig.settle()
        assert (rig.loop.held(), rig.problems()) == (frozenset(), set())
        rig.write("sub/s.md", "second")
        rig.settle()
        assert rig.text("sub/s.md") == "second"


@is_root
@pytest.mark.root
def test_an_unmounted_root_holds_its_documents(tmp_path):
    """A file system taken away leaves all documents held; brought back, nothing is made anew."""
    disk = tmp_path / "disk"
    (tmp_path / "root").mkdir()
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "none", disk], check=True)
    try:
        (disk / "n.md").write_text("first")
        subprocess.run(["mount", "--bind", disk, tmp_path / "root"], check=True)
        with Rig(tmp_path) as rig:
            rig.start()
            generation = rig.generation()
            subprocess.run(["umount", rig.root], check=True)
            rig.settle()
            assert (rig.paths(), rig.loop.held()) == (["n.md"], {"n.md"})
            subprocess.run(["mount", "--bind", disk, rig.root], check=True)
            rig.settle()
            assert (rig.loop.held(), rig.generation()) == (frozenset(), generation)
            (disk / "n.md").write_text("second")
            rig.settle()
            assert rig.text("n.md") == "second"
    finally:
        subprocess.run(["umount", tmp_path / "root"], check=False, stderr=subprocess.DEVNULL)
        subprocess.run(["umount", disk], check=False)


@is_root
@pytest.mark.root
def test_a_file_system_mounted_inside_the_root_is_seen_and_held_when_it_goes(tmp_path):
    """No event tells of a mount below the root; its files are found all the same, and held once it is gone."""
    with Rig(tmp_path) as rig:
        inner = rig.root / "inner"
        inner.mkdir()
        rig.start()
        subprocess.run(["mount", "-t", "tmpfs", "none", inner], check=True)
        try:
            (inner / "m.md").write_text("on the mount")
            rig.until(lambda: rig.text("inner/m.md") == "on the mount")
            subprocess.run(["umount", inner], check=True)
            rig.until(lambda: rig.loop.held() == {"inner/m.md"})
        finally:
            subprocess.run(["umount", inner], check=False, stderr=subprocess.DEVNULL)


@is_root
@pytest.mark.root
def test_what_is_mounted_over_a_root_deletes_nothing(tmp_path):
    """Another file system over the root hides its documents: held, told, and back by themselves when it is gone."""
    with Rig(tmp_path) as rig:
        rig.write("sub/n.md", "first")
        rig.write("m.md", "first")
        rig.start()
        subprocess.run(["mount", "-t", "tmpfs", "none", rig.root], check=True)
        try:
            rig.write("m.md", "on top")
            rig.until(lambda: rig.problems() == {"root_unavailable"})
            rig.settle()
            assert rig.loop.status().roots[0].state == "device_changed"
            assert {"sub/n.md", "m.md"} <= set(rig.paths())
            assert "sub/n.md" in rig.loop.held()
        finally:
            subprocess.run(["umount", rig.root], check=True)
        rig.until(lambda: rig.problems() == set())
        rig.settle()
        assert (rig.loop.held(), rig.text("m.md")) == (frozenset(), "first")
        rig.write("sub/n.md", "second")
        rig.settle()
        assert rig.digest() == rig.scratch_digest(tmp_path / "scratch")


@pytest.mark.slow
def test_a_race_of_watch_and_mkdir_loses_no_file(tmp_path):
    """Three hundred times `mkdir -p` three folders deep and a file, as quick as a shell can: all are indexed."""
    with Rig(tmp_path) as rig:
        rig.start()
        script = 'i=0; while [ $i -lt 300 ]; do mkdir -p $i/b/c; echo "text $i" > $i/b/c/n.md; i=$((i+1)); done'
        subprocess.run(["sh", "-c", script], cwd=rig.root, check=True)
        rig.settle()
        assert len(rig.paths()) == 300
        assert rig.loop.status().watches == 901
        assert rig.digest() == rig.scratch_digest(tmp_path / "scratch")


@pytest.mark.parametrize("moment", [-(10**9), 0, 10**9, 4_102_444_800 * 10**9])
def test_odd_times_of_a_file_hide_no_change(tmp_path, moment):
    """Before 1970, at it, or far ahead: edits of equal size that put the odd time back are found, then all is still."""
    with Rig(tmp_path) as rig:
        path = rig.write("n.md", "text 0")
        os.utime(path, ns=(moment, moment))
        rig.start()
        for number in range(1, 6):
            path.write_text(f"text {number}")
            os.utime(path, ns=(moment, moment))
            rig.settle()
            assert rig.text("n.md") == f"text {number}"
        rig.close()
        path.write_text("text 9")
        os.utime(path, ns=(moment, moment))
        rig.open().start()
        assert rig.text("n.md") == "text 9"
        rig.until(lambda: not rig.loop._stepper.timetable._recent)


@pytest.mark.parametrize("way", ["sync", "reconcile"])
def test_a_write_through_memory_is_found_by_the_next_full_look(tmp_path, way):
    """Mapped pages make no event at all: the next scan or sync finds them by the file's times."""
    with Rig(tmp_path) as rig:
        path = rig.write("n.md", "first")
        os.utime(path, ns=(1, 1))
        rig.start()
        with path.open("r+b") as file, mmap.mmap(file.fileno(), 5) as mapping:
            mapping[:5] = b"FIRST"
            mapping.flush()
        if way == "sync":
            rig.loop.sync_once()
        else:
            rig.loop.reconcile()
            rig.settle()
        assert rig.text("n.md") == "FIRST"


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("faketime") is None, reason="needs faketime")
def test_a_clock_that_jumps_about_hides_no_change(tmp_path):
    """The clock of the daemon goes back a day and ahead by years while it runs: every save is found, old text never."""
    clock, notes = tmp_path / "clock", Notes(tmp_path)
    clock.write_text("+0")
    environ = {"FAKETIME_TIMESTAMP_FILE": str(clock), "FAKETIME_NO_CACHE": "1", "NO_FAKE_STAT": "1"}
    environ |= {"FAKETIME_DONT_FAKE_MONOTONIC": "1", "DONT_FAKE_MONOTONIC": "1"}
    notes.write("n.md", "jumpword0 steady\n")
    try:
        notes.start(environ=environ, through=("faketime", "-f", "+0"))
        for number, jump in enumerate(("-86400", "+0", "+315360000", "-3600", "+0"), start=1):
            clock.write_text(jump)
            notes.write("n.md", f"jumpword{number} steady\n")
            assert notes.found(f"jumpword{number}") == ["n.md"]
            assert notes.found(f"jumpword{number - 1}") == []
            notes.save("saved.md", f"savedword{number}\n")
            assert notes.found(f"savedword{number}") == ["saved.md"]
        notes.settle()
        assert notes.digest() == notes.scratch_digest()
    finally:
        notes.close()


def test_a_store_that_refuses_for_long_costs_no_cycles(tmp_path):
    """While a publish waits for its next attempt nothing is due at once, also when fingerprints should be saved."""
    with Rig(tmp_path, wrap=lambda real: Failing(real, "write_new", "replace")) as rig:
        rig.write("n.md", "first")
        rig.start()
        rig.fs.cause = errno.ENOSPC
        rig.write("n.md", "second")
        rig.until(lambda: "publish_failed" in rig.problems())
        stepper = rig.loop._stepper
        with stepper.lock:
            stepper.retry_at = stepper.clock.monotonic() + 60.0
            stepper.timetable.save = 0.0
            assert not stepper.save_due()
            assert stepper.timetable.save > stepper.clock.monotonic()
            stepper.retry_at = 0.0
        rig.fs.cause = None


@pytest.mark.parametrize("operation", ["write_new", "replace"])
@pytest.mark.parametrize("cause", ["ENOSPC", "EIO", "EDQUOT", "EMFILE", "EACCES", "EROFS", "EINTR"])
def test_a_publish_that_fails_changes_nothing_and_is_tried_again(tmp_path, cause, operation):
    """While writing fails the last generation stands and the problem is named; then it clears by itself."""
    with Rig(tmp_path, wrap=lambda real: Failing(real, operation)) as rig:
        rig.write("n.md", "first")
        rig.start()
        generation = rig.generation()
        rig.fs.cause = getattr(errno, cause)
        rig.write("n.md", "second")
        rig.until(lambda: "publish_failed" in rig.problems())
        [problem] = [one for one in rig.loop.status().problems if one.code == "publish_failed"]
        assert problem.detail.startswith(f"{cause}: ")
        assert (rig.generation(), rig.text("n.md")) == (generation, "first")
        reached = rig.loop.barrier(time.monotonic() + 0.05)
        assert (reached.state, reached.failure.code) == ("pending", "publish_failed")
        assert rig.loop.status().state == "degraded"
        rig.write("m.md", "meanwhile")
        rig.fs.cause = 0
        rig.until(lambda: rig.loop.status().state == "current")
        rig.settle()
        assert (rig.text("n.md"), rig.text("m.md"), rig.problems()) == ("second", "meanwhile", set())


def test_a_scan_counts_as_done_when_what_it_found_is_searchable(tmp_path):
    """A later start that found a new file is not told as ready while that file is not published."""
    with Rig(tmp_path, wrap=lambda real: Failing(real, "write_new")) as rig:
        rig.write("n.md", "first")
        rig.start()
    rig.write("m.md", "meanwhile")
    with rig:
        rig.fs.cause = errno.ENOSPC
        rig.loop.start()
        rig.until(lambda: "publish_failed" in rig.problems())
        assert rig.loop.status().reconciled_age_seconds is None
        rig.fs.cause = 0
        rig.until(lambda: rig.loop.status().reconciled_age_seconds is not None)
        assert rig.paths() == ["m.md", "n.md"]


def test_a_file_that_came_and_went_while_the_disk_refused_is_not_indexed(tmp_path):
    """It was read and waited for the disk; gone before that healed, it is in no generation."""
    with Rig(tmp_path, wrap=lambda real: Failing(real, "write_new")) as rig:
        rig.write("n.md", "first")
        rig.start()
        rig.fs.cause = errno.ENOSPC
        rig.write("gone.md", "soon gone")
        rig.until(lambda: "publish_failed" in rig.problems())
        (rig.root / "gone.md").unlink()
        rig.write("m.md", "meanwhile")
        rig.fs.cause = 0
        rig.until(lambda: rig.loop.status().state == "current")
        rig.settle()
        assert rig.paths() == ["m.md", "n.md"]


def test_a_file_that_goes_while_many_are_read_is_not_indexed(tmp_path, monkeypatch):
    """It was read with others and had not come back when it was seen gone; it is in no generation all the same."""
    advance = Writer.advance

    def lose_one_first(self):
        rig.until(self.results_ready)
        (rig.root / "0.md").unlink()
        rig.loop._stepper.pending.add([Hint(os.fsencode(rig.root / "0.md"))], rig.clock.monotonic())
        monkeypatch.setattr(Writer, "advance", advance)

    with Rig(tmp_path, watch=False, workers=1) as rig:
        for number in range(100):
            rig.write(f"{number}.md", f"text {number}")
        monkeypatch.setattr(bulk, "WORTH_A_WORKER_BYTES", 0)
        monkeypatch.setattr(Writer, "advance", lose_one_first)
        rig.loop.sync_once()
        rig.until(lambda: not rig.loop._stepper.pending.count() or rig.loop._stepper.step())
        assert len(rig.paths()) == 99
        assert "0.md" not in rig.paths()


def test_a_question_during_a_long_failure_is_answered_at_once(tmp_path):
    """While the next try is further away than anybody would wait, nobody waits."""
    with Rig(tmp_path, wrap=lambda real: Failing(real, "write_new")) as rig:
        rig.start()
        rig.fs.cause = errno.ENOSPC
        rig.write("n.md", "first")
        rig.until(lambda: rig.loop.status().problems and rig.loop.status().problems[0].count >= 2)
        # A second try of a busy machine's; who really waited would do so each time.
        rig.until(lambda: answers_within(rig, 0.09))
        rig.fs.cause = 0


def test_a_disk_that_stays_full_is_logged_once(tmp_path, caplog):
    """It is asked again and again, and counted; what is known already is not written to a log on the same disk."""
    with Rig(tmp_path, wrap=lambda real: Failing(real, "write_new")) as rig:
        rig.start()
        rig.fs.cause = errno.ENOSPC
        rig.write("n.md", "first")
        rig.until(lambda: rig.loop.status().problems and rig.loop.status().problems[0].count >= 3)
        assert len([record for record in caplog.records if record.message.startswith("step_failed")]) == 1
        rig.fs.cause = 0


def answers_within(rig, seconds):
    """Ask with a wait, and return whether the answer, which cannot be current, came sooner than the wait allows."""
    began = time.monotonic()
    assert rig.barrier(0.1) == "pending"
    return time.monotonic() - began < seconds


def test_a_checkpoint_that_fails_is_named_and_tried_again(tmp_path):
    """A flush that fails leaves answers as they are and shows until one succeeds."""
    with Rig(tmp_path, wrap=lambda real: Failing(real, "flush_file", "flush_directory")) as rig:
        rig.start()
        rig.fs.cause = errno.EIO
        rig.write("n.md", "first")
        rig.settle()
        assert rig.text("n.md") == "first"
        rig.until(lambda: "upkeep_failed" in rig.problems())
        rig.fs.cause = 0
        rig.until(lambda: rig.store.statistics().durable_generation == rig.generation())
        rig.until(lambda: rig.problems() == set())


class Hanging:
    """A state directory whose flushes, and writes of fingerprints, do not return while `gate` is shut."""

    def __init__(self, real):
        self._real, self.gate, self.waiting = real, threading.Event(), threading.Event()
        self.gate.set()

    def __getattr__(self, name):
        operation = getattr(self._real, name)
        if not name.startswith(("flush", "write_new")):
            return operation

        def hanging(*args):
            is_slow = name != "write_new" or args[0] == "fingerprints.new"
            if is_slow and not self.gate.is_set():
                self.waiting.set()
                self.gate.wait()
            return operation(*args)

        return hanging


def test_a_disk_that_hangs_in_a_flush_holds_up_nobody(tmp_path):
    """While a flush does not return, saves are published, queries answered and status told; none waits for it."""
    with Rig(tmp_path, wrap=Hanging) as rig:
        rig.write("n.md", "zeroth word")
        rig.start()
        rig.until(lambda: rig.store.snapshot().durable)
        durable = rig.generation()
        rig.fs.gate.clear()
        try:
            rig.save("n.md", "hanging word")
            rig.settle()
            assert rig.fs.waiting.wait(PATIENCE_SECONDS)
            for number in range(1, 51):
                rig.save("n.md", f"saved{number} word")
                rig.settle()
                assert [hit.source_path for hit in asked(rig, f"saved{number}").hits] == ["n.md"]
                assert rig.store.statistics().durable_generation == durable
            assert rig.loop.status().state == "current"
        finally:
            rig.fs.gate.set()
        rig.until(lambda: rig.store.statistics().durable_generation == rig.generation() == durable + 51)


def test_fingerprints_that_are_being_written_down_hold_up_nobody(tmp_path):
    """While the file of fingerprints does not get written, saves are published and found."""
    with Rig(tmp_path, wrap=Hanging) as rig:
        rig.write("n.md", "zeroth word")
        rig.start()
        rig.until(lambda: rig.store.snapshot().durable)
        rig.fs.gate.clear()
        try:
            rig.due("save")
            assert rig.fs.waiting.wait(PATIENCE_SECONDS)
            rig.write("n.md", "first word")
            rig.settle()
            assert [hit.source_path for hit in asked(rig, "first").hits] == ["n.md"]
        finally:
            rig.fs.gate.set()
        rig.until((rig.state / "fingerprints").exists)


def asked(rig, text):
    """Search what the rig has published, with proof, as a query does."""
    return search(
        rig.store.snapshot(),
        SearchRequest(text=text, as_of=rig.clock.today()),
        rules=AccessRules(),
        held=rig.loop.held(),
        sources=SourceTree(rig.roots),
        clock=rig.clock,
        settings=Settings(),
    )


def test_a_state_directory_without_write_permission_is_an_error_that_goes_away_with_it():
    """As a user without privileges: publishes fail with EACCES, answers stay; with the right back all is published."""
    with plain_user_folder() as folder, Rig(folder) as rig:
        rig.write("n.md", "first")
        rig.start()
        rig.until(lambda: rig.store.snapshot().durable)
        rig.state.chmod(0o500)
        with pytest.raises(PermissionError):
            (rig.state / "probe").touch()
        rig.write("n.md", "second")
        rig.until(lambda: "publish_failed" in rig.problems())
        assert "EACCES" in rig.loop.status().problems[0].detail
        assert rig.text("n.md") == "first"
        rig.state.chmod(0o700)
        rig.until(lambda: rig.loop.status().state == "current")
        assert (rig.text("n.md"), rig.problems()) == ("second", set())


def test_what_was_published_becomes_durable_by_itself(tmp_path):
    """Some time after a publish the generation is durable, with nobody asking."""
    with Rig(tmp_path) as rig:
        rig.write("n.md", "first")
        rig.start()
        for number in range(3):
            rig.write("n.md", f"text {number}")
            rig.settle()
            rig.until(lambda: rig.store.statistics().durable_generation == rig.generation())


def test_an_unexpected_error_in_a_step_is_named_and_outlived(tmp_path, monkeypatch):
    """A fault of our own keeps the last generation, says so, and is tried again."""
    with Rig(tmp_path) as rig:
        rig.write("n.md", "first")
        rig.start()
        cycle = type(rig.loop._stepper.writer.cycle)
        look = cycle.look
        monkeypatch.setattr(cycle, "look", lambda *_: 1 / 0)
        rig.write("n.md", "second")
        rig.until(lambda: "sync_failed" in rig.problems())
        assert rig.text("n.md") == "first"
        monkeypatch.setattr(cycle, "look", look)
        rig.until(lambda: rig.loop.status().state == "current")
        assert rig.text("n.md") == "second"


def test_steps_of_a_first_index_leave_no_history(tmp_path, monkeypatch):
    """A first index that another process began is finished by this one: building until then, one generation after."""
    monkeypatch.setattr("indexerd.sync.writer.FIRST_PUBLISH_SECONDS", 0.0)
    monkeypatch.setattr("indexerd.sync.writer.NEXT_PUBLISH_SECONDS", 0.0)
    monkeypatch.setattr("indexerd.sync.bulk.SLICE_FILES_HERE", 40)
    with Rig(tmp_path, watch=False) as rig:
        for number in range(200):
            rig.write(f"n{number:03}.md", f"text {number}")
        stepper = rig.loop._stepper
        stepper.pending.doubt()
        while not rig.store.is_partial:
            stepper.step()
    with Rig(tmp_path) as rig:
        assert rig.loop.building()
        rig.start()
        rig.until(lambda: not rig.loop.building())
        assert len(rig.paths()) == 200
        assert not rig.store.is_partial
        rig.store.checkpoint()
        assert len(rig.store.generations()) == 1


def test_a_first_index_is_published_before_it_fills_the_memory(tmp_path, monkeypatch):
    """Each time as much is read as a draft may hold there is a generation, however little time has passed."""
    monkeypatch.setattr("indexerd.sync.writer.DRAFT_BYTES", 1000)
    for name in ("FIRST_PUBLISH_SECONDS", "NEXT_PUBLISH_SECONDS"):
        monkeypatch.setattr(f"indexerd.sync.writer.{name}", float("inf"))
    monkeypatch.setattr("indexerd.sync.bulk.SLICE_FILES_HERE", 40)
    with Rig(tmp_path, watch=False) as rig:
        for number in range(200):
            rig.write(f"n{number:03}.md", f"text {number:09}\n")
        generations = []
        rig.loop.on_publish(lambda snapshot: generations.append(snapshot.document_count))
        rig.loop.sync_once()
        assert generations == [80, 160, 200]


@pytest.mark.slow
def test_a_killed_worker_process_costs_nothing(tmp_path):
    """Workers killed in the middle of a first index: every file is indexed all the same."""
    with Rig(tmp_path, watch=False, workers=2) as rig:
        for number in range(200):
            rig.write(f"{number}.md", f"# Note {number}\n\n" + f"words of note {number} in many lines\n" * 800)
        done = threading.Event()

        def kill():
            while not done.is_set():
                bulk = rig.loop._stepper.writer._bulk
                for worker in bulk._started if bulk is not None else ():
                    if worker._process is not None:
                        worker._process.send_signal(signal.SIGKILL)
                done.wait(0.7)

        killer = threading.Thread(target=kill)
        killer.start()
        try:
            assert rig.loop.sync_once().added == 200
        finally:
            done.set()
            killer.join()


@pytest.mark.slow
def test_a_file_that_never_holds_still_is_listed_by_one_shot(tmp_path):
    """One shot gives a file that changes during every read up after a while, says so, and indexes the rest."""
    with Rig(tmp_path, watch=False) as rig:
        rig.write("still.md", "text")
        rig.write("busy.md", "text")
        read = rig.loop._sources.read

        class Restless:
            absolute = rig.loop._sources.absolute

            def read(self, path):
                return read(path) if path != "busy.md" else changing

        changing = SourceFault("source_changed", "changed during each of 3 reads")
        writer = rig.loop._stepper.writer
        writer.cycle = writer.cycle._replace(sources=Restless())
        report = rig.loop.sync_once()
        assert rig.paths() == ["still.md"]
        assert [(e.source_path, e.reason) for e in report.skipped] == [("busy.md", "source_changed")]


@is_root
@pytest.mark.root
def test_what_becomes_a_link_to_a_secret_of_another_user_leaves_the_index_and_is_listed(tmp_path):
    """It is counted as skipped, where its name was an indexed document's too; it comes back once it is not."""
    with Rig(tmp_path) as rig:
        rig.write("a.md", "mine")
        rig.start()
        secret = tmp_path / "secret.md"
        secret.write_text("secret")
        secret.chmod(0o600)
        os.chown(secret, 12345, 12345)
        os.link(secret, rig.root / "new.md")
        os.replace(rig.root / "new.md", rig.root / "a.md")
        rig.settle()
        assert rig.paths() == []
        assert [(each.source_path, each.reason) for each in rig.loop.status().skipped] == [("a.md", "foreign_link")]
        assert rig.digest() == rig.scratch_digest(tmp_path / "scratch")
        (rig.root / "a.md").chmod(0o644)
        rig.settle()
        assert rig.text("a.md") == "secret"
        assert not rig.loop.status().skipped
