"""A save is searchable at once, also while a bulk run is under way and in the seconds after one."""

import os
import random

import pytest

from indexerd.sync.pending import Hint
from tests.fakes.daemon_process import DaemonProcess, wait_for
from tests.fakes.sync_rig import Rig

SIZE = {"small": (1500, 60), "large": (40_000, 200)}[os.environ.get("INDEXERD_TEST_SIZE", "small")]


@pytest.fixture
def half_read(tmp_path, monkeypatch):
    """A sync amid its first index: a slice of it is read, not published, and the rest is still to come."""
    monkeypatch.setattr("indexerd.sync.bulk.SLICE_FILES_HERE", 40)
    # However long a slice takes, it is not published before the run is over.
    monkeypatch.setattr("indexerd.sync.writer.FIRST_PUBLISH_SECONDS", float("inf"))
    with Rig(tmp_path, watch=False) as rig:
        for number in range(200):
            rig.write(f"n{number:03}.md", f"text {number}")
            os.utime(rig.root / f"n{number:03}.md", (number, number))
        stepper = rig.loop._stepper
        stepper.pending.doubt()
        while stepper.writer.progress() is None or stepper.writer.progress().done < 40:
            stepper.step()
        assert stepper.writer.bulk_running()
        assert not rig.paths()
        yield rig


def look_at(rig, *names):
    """Name files as an event would, and step once; return the number that stands for them."""
    stepper = rig.loop._stepper
    hints = [Hint(os.fsencode(rig.root / name)) for name in names]
    number = stepper.pending.add(hints, rig.clock.monotonic())
    stepper.step()
    assert stepper.pending.named_through() >= number
    assert stepper.pending.resolved_through() < number
    return number


def finish(rig):
    """Step until everything is published."""
    rig.loop._stepper.run_until(rig.loop._stepper.pending.last())


def test_a_save_amid_a_first_index_is_published_by_itself(half_read):
    """A file that the run has yet to read is read and published at once, and is the same after the run."""
    half_read.write("n000.md", "saved")
    look_at(half_read, "n000.md")
    assert half_read.paths() == ["n000.md"]
    assert half_read.text("n000.md") == "saved"
    assert half_read.loop.building()
    finish(half_read)
    assert (len(half_read.paths()), half_read.text("n000.md")) == (200, "saved")


def test_a_newer_read_counts_although_the_run_publishes_an_older_one_later(half_read, tmp_path):
    """Of files that the run has read before, the newer state stays: changed, deleted, or made again."""
    half_read.write("n199.md", "saved")
    (half_read.root / "n198.md").unlink()
    (half_read.root / "n197.md").unlink()
    look_at(half_read, "n199.md", "n198.md", "n197.md")
    half_read.write("n197.md", "made again")
    look_at(half_read, "n197.md")
    assert half_read.paths() == ["n197.md", "n199.md"]
    finish(half_read)
    assert (half_read.text("n199.md"), half_read.text("n198.md")) == ("saved", None)
    assert half_read.text("n197.md") == "made again"
    assert half_read.digest() == half_read.scratch_digest(tmp_path / "scratch")
    assert not half_read.loop.building()


def test_a_file_that_is_as_it_was_again_goes_back_to_that(tmp_path, monkeypatch):
    """Changed, read by the run, changed back and named: what the run has read is not the last word."""
    monkeypatch.setattr("indexerd.sync.bulk.SLICE_FILES_HERE", 40)
    with Rig(tmp_path, watch=False) as rig:
        for number in range(100):
            rig.write(f"n{number:03}.md", f"text {number}")
        rig.loop.sync_once()
        for number in range(100):
            rig.write(f"n{number:03}.md", f"new text {number}")
        stepper = rig.loop._stepper
        stepper.pending.doubt()
        while stepper.writer.progress() is None or stepper.writer.progress().done < 40:
            stepper.step()
        for number in range(0, 100, 10):
            rig.write(f"n{number:03}.md", f"text {number}")
        look_at(rig, *(f"n{number:03}.md" for number in range(0, 100, 10)))
        finish(rig)
        assert [rig.text(f"n{number:03}.md") for number in (0, 1, 90, 91)] == [
            "text 0", "new text 1", "text 90", "new text 91",
        ]  # fmt: skip
        assert rig.digest() == rig.scratch_digest(tmp_path / "scratch")


@pytest.mark.parametrize("text", ["text 0", "made again"])
@pytest.mark.parametrize("few", [True, False])
def test_a_file_that_the_run_found_gone_and_that_is_made_again_stays(tmp_path, monkeypatch, text, few):
    """A checkout unlinks a file and makes it anew: that the run saw it between the two is not the last word."""
    monkeypatch.setattr("indexerd.sync.bulk.SLICE_FILES_HERE", 40)
    monkeypatch.setattr("indexerd.sync.writer.FIRST_PUBLISH_SECONDS", float("inf"))
    with Rig(tmp_path, watch=False) as rig:
        for number in range(200):
            rig.write(f"n{number:03}.md", f"text {number}")
        rig.loop.sync_once()
        for number in range(1, 200):
            rig.write(f"n{number:03}.md", f"new text {number}")
        (rig.root / "n000.md").unlink()
        stepper = rig.loop._stepper
        stepper.pending.doubt()
        while stepper.writer.progress() is None or stepper.writer.progress().done < 40:
            stepper.step()
        rig.write("n000.md", text)
        look_at(rig, "n000.md", *(() if few else (f"n{number:03}.md" for number in range(100, 199))))
        finish(rig)
        assert rig.text("n000.md") == text
        assert rig.digest() == rig.scratch_digest(tmp_path / "scratch")


def test_more_files_than_a_person_saves_join_the_run(half_read, tmp_path):
    """Fifty files named amid a run make no generation of their own, and are as they were written last."""
    generation = half_read.generation()
    for number in range(150, 200):
        half_read.write(f"n{number:03}.md", f"second {number}")
    look_at(half_read, *(f"n{number:03}.md" for number in range(150, 200)))
    assert half_read.generation() == generation
    finish(half_read)
    assert half_read.text("n199.md") == "second 199"
    assert half_read.digest() == half_read.scratch_digest(tmp_path / "scratch")


def test_files_read_again_for_their_times_alone_cost_no_generation(tmp_path, monkeypatch):
    """Hundreds of files written just before a first index are read once more, in portions, and nothing is published."""
    with Rig(tmp_path, watch=False) as rig:
        for number in range(300):
            rig.write(f"{number}.md", f"text {number}")
        with monkeypatch.context() as patch:
            # However long it took to write them.
            patch.setattr("indexerd.sync.fingerprint.is_racy", lambda *_: True)
            rig.loop.sync_once()
        stepper, generation = rig.loop._stepper, rig.generation()
        assert len(stepper.timetable._recent) == 300
        stepper.timers.on = True
        stepper.timetable.reconcile = float("inf")
        for path in stepper.timetable._recent:
            stepper.timetable._recent[path] = 0.0
        reads, work = [], stepper._work
        stepper._work = lambda batch: (reads.append(len(batch.hints)), work(batch))[1]
        rig.until(lambda: (stepper.step(), sum(reads) >= 300)[1])
        assert max(reads) <= 64
        assert rig.generation() == generation
        assert stepper.writer.progress() is None


def filled(folder, count):
    """Write many notes, and some that never change and share a word each."""
    for number in range(count):
        place = folder / f"d{number % 29}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"n{number}.md").write_text(f"# Note {number}\n\n" + f"words of note {number} in a line\n" * 20)
    for number in range(20):
        (folder / f"stable{number}.md").write_text(f"# Stable\n\nzzstable{number} stays\n")
    return [path for path in sorted(folder.rglob("*.md")) if not path.name.startswith("stable")]


def save(path, word):
    """Save as most editors do."""
    temporary = path.with_name(f".{path.name}.tmp")
    temporary.write_text(path.read_text() + f"\nthe word {word}\n")
    temporary.replace(path)


def save_and_ask(daemon, paths, saves):
    """Save and ask, over and over; return the misses, and the holes."""
    drawn, misses, holes = random.Random(7), [], []
    for number in range(saves):
        word = f"zqsaved{number}x"
        save(drawn.choice(paths), word)
        reply = daemon.call("query", text=word, k=1)
        if not (reply["hits"] and word in reply["hits"][0]["text"]):
            misses.append((number, reply))
        which = drawn.randrange(20)
        reply = daemon.call("query", text=f"zzstable{which}", k=3)
        if not any(hit["source_path"] == f"stable{which}.md" for hit in reply["hits"]):
            holes.append((number, reply["freshness"], reply["rejected_counts"]))
    return misses, holes


@pytest.mark.slow
def test_saves_right_after_a_first_index_are_found(tmp_path):
    """Files written just before the start: the saves of the seconds after the first index are found, without a hole."""
    folder = tmp_path / "docs"
    paths = filled(folder, SIZE[0])
    daemon = DaemonProcess([folder], tmp_path)
    try:
        daemon.ready()
        assert save_and_ask(daemon, paths, SIZE[1]) == ([], [])
    finally:
        daemon.close()


# A first index that gets no further than its first slice while a file is there.
HALTED = """
import os, time
import indexerd.sync.bulk as bulk
from indexerd.sync.writer import Writer
bulk.SLICE_FILES = bulk.SLICE_FILES_HERE = 20
own = Writer.advance
def advance(writer):
    if writer.left() and writer.progress().done and os.path.exists({file!r}):
        time.sleep(0.005)
        return None
    return own(writer)
Writer.advance = advance
"""


@pytest.mark.slow
def test_saves_amid_a_first_index_are_found(tmp_path):
    """From the first generation on, what is saved is found long before the index is whole, and that is said."""
    folder, halt = tmp_path / "docs", tmp_path / "halt"
    paths = filled(folder, SIZE[0])
    halt.touch()
    daemon = DaemonProcess([folder], tmp_path, before=HALTED.format(file=str(halt)))

    def is_found(word):
        # So much is left that nobody waits for the end of it.
        reply = daemon.call("query", text=word, k=1, wait_ms=100)
        assert reply["freshness"]["state"] == "building"
        return reply["hits"] and word in reply["hits"][0]["text"]

    try:
        assert daemon.said() == "answering"
        wait_for(lambda: daemon.call("status")["generation"] >= 1)
        for number in range(SIZE[1]):
            save(paths[number], f"zqamid{number}x")
            wait_for(lambda number=number: is_found(f"zqamid{number}x"))
        halt.unlink()
        assert daemon.said() == "ready"
        assert daemon.call("status")["documents"] == len(paths) + 20
    finally:
        daemon.close()
