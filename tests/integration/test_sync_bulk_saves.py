"""A save is searchable at once, also while a bulk run is under way and in the seconds after one."""

import os
import random
import time

import pytest

from indexerd.sync.pending import Hint
from tests.fakes.daemon_process import DaemonProcess
from tests.fakes.sync_rig import Rig

SIZE = {"small": (1500, 60), "large": (40_000, 200)}[os.environ.get("INDEXERD_TEST_SIZE", "small")]


@pytest.fixture
def half_read(tmp_path, monkeypatch):
    """A sync amid its first index: a slice of it is read, not published, and the rest is still to come."""
    monkeypatch.setattr("indexerd.sync.bulk.SLICE_FILES_HERE", 40)
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


def test_files_read_again_for_their_times_alone_cost_no_generation(tmp_path):
    """Hundreds of files written just before a first index are read once more, in portions, and nothing is published."""
    with Rig(tmp_path, watch=False) as rig:
        for number in range(300):
            rig.write(f"{number}.md", f"text {number}")
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
    """Save and ask, over and over; return the misses that were called current, all misses, and the holes."""
    drawn, lies, misses, holes = random.Random(7), [], 0, []
    for number in range(saves):
        word = f"zqsaved{number}x"
        save(drawn.choice(paths), word)
        reply = daemon.call("query", text=word, k=1)
        found = bool(reply["hits"]) and word in reply["hits"][0]["text"]
        misses += not found
        if not found and reply["freshness"]["state"] == "current":
            lies.append((number, reply))
        which = drawn.randrange(20)
        reply = daemon.call("query", text=f"zzstable{which}", k=3)
        if not any(hit["source_path"] == f"stable{which}.md" for hit in reply["hits"]):
            holes.append((number, reply["freshness"], reply["rejected_counts"]))
    return lies, misses, holes


@pytest.mark.slow
def test_saves_right_after_a_first_index_are_found(tmp_path):
    """Files written just before the start: the saves of the seconds after the first index are found, without a hole."""
    folder = tmp_path / "docs"
    paths = filled(folder, SIZE[0])
    daemon = DaemonProcess([folder], tmp_path)
    try:
        daemon.ready()
        lies, misses, holes = save_and_ask(daemon, paths, SIZE[1])
        assert (lies, holes) == ([], [])
        # A machine that does other things may be late now and then; it says so then.
        assert misses <= SIZE[1] // 10
    finally:
        daemon.close()


@pytest.mark.slow
def test_saves_amid_a_first_index_are_found(tmp_path):
    """From the first generation on, what is saved is found long before the index is whole, and that is said."""
    folder = tmp_path / "docs"
    paths = filled(folder, SIZE[0])
    daemon = DaemonProcess([folder], tmp_path, before="import indexerd.sync.bulk as b; b.SLICE_FILES = 20")
    try:
        assert daemon.said() == "answering"
        deadline = time.monotonic() + 60
        while daemon.call("status")["generation"] < 1:
            assert time.monotonic() < deadline
        lies, misses, states = [], 0, []
        for number in range(SIZE[1]):
            word = f"zqamid{number}x"
            save(paths[number], word)
            reply = daemon.call("query", text=word, k=1, wait_ms=500)
            states.append(reply["freshness"]["state"])
            found = bool(reply["hits"]) and word in reply["hits"][0]["text"]
            misses += not found
            if not found and states[-1] == "current":
                lies.append((number, reply))
        assert lies == []
        assert misses <= SIZE[1] // 10
        assert set(states) <= {"building", "current"}
    finally:
        daemon.close()
