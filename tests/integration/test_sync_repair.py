"""Repair with the bytes that were seen: the generation that is returned holds them, and the index still converges."""

import errno
import os
import threading
import time

import pytest

from indexerd.sources import SourceTree
from tests.fakes.sync_rig import Rig, let_writers_be_slow

# A fault of the program makes one wait for so long, a machine with too much to do does not.
SOON = 60.0


@pytest.fixture
def rig(tmp_path):
    """A sync without a thread that has indexed one file."""
    with Rig(tmp_path, watch=False) as made:
        made.write("n.md", "first")
        made.loop.sync_once()
        yield made


class Full:
    """A state directory that takes no new file while `cause` is set."""

    def __init__(self, real):
        self._real, self.cause = real, 0

    def __getattr__(self, name):
        if self.cause and name == "write_new":
            raise OSError(self.cause, os.strerror(self.cause))
        return getattr(self._real, name)


def seen(rig, *names):
    """Read files as a query does."""
    sources = SourceTree(rig.roots)
    return {name: sources.read(name) for name in names or ["n.md"]}


def change(rig, name, text):
    """Save a file, surely in a later tick of the file system's clock than the last time."""
    path = rig.root / name
    before = path.stat().st_ctime_ns if path.exists() else 0
    rig.save(name, text)
    while path.stat().st_ctime_ns == before:
        rig.save(name, text)


def repair(rig, reads, seconds=SOON):
    return rig.loop.repair(reads, time.monotonic() + seconds)


def text_in(snapshot, path="n.md"):
    found = snapshot.find(path)
    return bytes(found[0].data.raw(found[1])).decode() if found else None


def test_the_generation_holds_what_was_seen_though_the_file_changed_again(rig):
    """It is the one that is returned; the current one has the newest text by then, without any event."""
    generation = rig.generation()
    change(rig, "n.md", "second")
    reads = seen(rig)
    change(rig, "n.md", "third")
    snapshot = repair(rig, reads)
    assert (snapshot.generation, text_in(snapshot)) == (generation + 1, "second")
    assert rig.text("n.md") == "third"


def test_what_is_indexed_just_so_is_not_published_again(rig):
    """The current generation is returned as it is."""
    generation = rig.generation()
    assert repair(rig, seen(rig)).generation == rig.generation() == generation


def test_what_is_older_than_what_is_indexed_is_not_published(rig):
    """The index never goes back; the newer version is what is to be searched."""
    change(rig, "n.md", "second")
    reads = seen(rig)
    change(rig, "n.md", "third")
    rig.loop.sync_once()
    generation = rig.generation()
    snapshot = repair(rig, reads)
    assert (snapshot.generation, text_in(snapshot), rig.generation()) == (generation, "third", generation)


def test_several_files_make_one_generation(rig):
    """All that a query saw is in it together; what is indexed already is not counted as changed."""
    rig.write("m.md", "other first")
    rig.write("k.md", "unchanged")
    rig.loop.sync_once()
    generation = rig.generation()
    change(rig, "n.md", "second")
    change(rig, "m.md", "other second")
    reads = seen(rig, "n.md", "m.md", "k.md")
    snapshot = repair(rig, reads)
    assert [text_in(snapshot, name) for name in reads] == ["second", "other second", "unchanged"]
    assert snapshot.generation == generation + 1
    assert rig.store.generations()[-1].updated == 2


def test_a_file_that_is_gone_is_looked_at_and_the_rest_published_as_seen(rig):
    """Absence is believed only when the look sees it too."""
    rig.write("m.md", "other first")
    rig.loop.sync_once()
    change(rig, "n.md", "second")
    (rig.root / "m.md").unlink()
    reads = seen(rig, "n.md", "m.md")
    rig.write("m.md", "back again")
    snapshot = repair(rig, reads)
    assert (text_in(snapshot), text_in(snapshot, "m.md")) == ("second", "back again")
    (rig.root / "m.md").unlink()
    assert text_in(repair(rig, seen(rig, "m.md")), "m.md") is None


@pytest.mark.parametrize("data", [b"bin\0ary", b"x" * 3000])
def test_what_a_fresh_index_would_not_have_is_not_published(tmp_path, data):
    """A file that became binary, or too large for its sources, is removed as by any look."""
    with Rig(tmp_path, watch=False) as rig:
        rig.write("n.md", "first")
        rig.loop.sync_once()
        rig.loop._stepper.writer.cycle.sources._max_file_bytes = 2000
        rig.write("n.md", data)
        sources = SourceTree(rig.roots, 2000)
        snapshot = repair(rig, {"n.md": sources.read("n.md")})
        assert (text_in(snapshot), rig.paths()) == (None, [])


def test_a_file_that_is_ignored_by_now_is_not_published(rig):
    """Rules come before bytes: a document that is no longer indexed is not brought back."""
    change(rig, "n.md", "second")
    reads = seen(rig)
    rig.write(".gitignore", "n.md\n")
    rig.loop.sync_once()
    assert rig.paths() == []
    assert text_in(repair(rig, reads)) is None
    assert rig.paths() == []


def test_an_emptied_file_that_a_scan_comes_upon_is_read_again(tmp_path, monkeypatch):
    """Between truncating and writing a file is empty: also where no event tells of that, its last text stays."""
    monkeypatch.setattr("indexerd.sync.writer.HURRIED", 30.0)
    with Rig(tmp_path, watch=False) as rig:
        path = rig.write("n.md", "first")
        rig.start()
        with path.open("w") as file:
            rig.loop.reconcile()
            rig.until(lambda: rig.loop._stepper.writer._emptied)
            assert rig.text("n.md") == "first"
            file.write("second")
        rig.settle()
        assert rig.text("n.md") == "second"


def test_an_emptied_file_is_looked_at_not_published(tmp_path, monkeypatch):
    """An empty file is most likely one that is being saved: its old text stays until it is sure."""
    let_writers_be_slow(monkeypatch)
    with Rig(tmp_path) as rig:
        rig.write("n.md", "first")
        rig.start()
        with (rig.root / "n.md").open("w") as file:
            reads = seen(rig)
            snapshot = repair(rig, reads, seconds=0.005)
            assert snapshot is None or text_in(snapshot) == "first"
            file.write("second")
        rig.settle()
        assert rig.text("n.md") == "second"


def test_half_of_a_save_in_place_is_not_published(tmp_path, monkeypatch):
    """While a writer has the file open what was seen may be half; once it is closed, the whole is returned."""
    let_writers_be_slow(monkeypatch)
    with Rig(tmp_path) as rig:
        rig.write("n.md", "first")
        rig.start()
        with (rig.root / "n.md").open("r+") as file:
            file.write("half")
            file.flush()
            reads = seen(rig)
            assert reads["n.md"].data == b"halft"
            snapshot = repair(rig, reads, seconds=0.005)
            assert snapshot is None or text_in(snapshot) == "first"
            file.write(" and whole")
        assert text_in(repair(rig, reads)) == "half and whole"


def test_a_store_that_refuses_answers_with_nothing_and_keeps_everything(tmp_path):
    """Nobody waits for it; when it takes writes again the index converges by itself."""
    with Rig(tmp_path, watch=False, wrap=Full) as rig:
        rig.write("n.md", "first")
        rig.start()
        generation = rig.generation()
        rig.fs.cause = errno.ENOSPC
        change(rig, "n.md", "second")
        began = time.monotonic()
        assert repair(rig, seen(rig)) is None
        assert time.monotonic() - began < SOON
        assert (rig.generation(), rig.text("n.md")) == (generation, "first")
        rig.until(lambda: "publish_failed" in rig.problems())
        rig.fs.cause = 0
        rig.until(lambda: rig.text("n.md") == "second" and rig.problems() <= {"polling"})


def test_without_a_thread_a_store_that_refuses_is_no_error_either(tmp_path):
    """A one-shot command then withholds the passage."""
    with Rig(tmp_path, watch=False, wrap=Full) as rig:
        rig.write("n.md", "first")
        rig.loop.sync_once()
        change(rig, "n.md", "second")
        rig.fs.cause = errno.ENOSPC
        assert repair(rig, seen(rig)) is None
        rig.fs.cause = 0
        rig.loop.sync_once()
        assert rig.text("n.md") == "second"


def test_out_of_time_nothing_is_waited_for_but_the_file_is_looked_at(tmp_path):
    """A wish that comes too late leaves a hint."""
    with Rig(tmp_path, watch=False) as rig:
        rig.write("n.md", "first")
        rig.start()
        change(rig, "n.md", "second")
        repair(rig, seen(rig), seconds=0)
        rig.until(lambda: rig.text("n.md") == "second")


def test_a_question_before_the_thread_runs_steps_nothing(tmp_path):
    """The socket answers from the last index before the first scan: only the thread to come writes."""
    with Rig(tmp_path, watch=False) as rig:
        rig.write("n.md", "first")
        rig.loop.sync_once()
        rig.close()
        rig.open()
        change(rig, "n.md", "second")
        generation = rig.generation()
        assert repair(rig, seen(rig), seconds=0.02) is None
        assert rig.generation() == generation
        rig.start()
        assert rig.text("n.md") == "second"


def test_each_of_many_who_ask_at_once_gets_what_it_saw_or_newer(tmp_path):
    """Nobody is answered from an older state than the own one, and the index ends with the newest."""
    with Rig(tmp_path, watch=False, poll_seconds=60.0) as rig:
        rig.write("n.md", "version 00")
        rig.start()
        reads = []
        for number in range(1, 21):
            change(rig, "n.md", f"version {number:02}")
            reads.append(seen(rig))
        got, start = {}, threading.Barrier(len(reads))

        def ask(number):
            start.wait()
            got[number] = text_in(repair(rig, reads[number]))

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(len(reads))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for number, text in got.items():
            assert text >= reads[number]["n.md"].data.decode()
        rig.until(lambda: rig.text("n.md") == "version 20")
