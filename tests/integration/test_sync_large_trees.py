"""Many folders: no livelock after a removal, no ghosts of what moved away, no watch on what is ignored, rest."""

import contextlib
import os
import shutil
import time
from pathlib import Path

import pytest

from tests.fakes.sync_rig import Rig

FOLDERS = 50_000 if os.environ.get("INDEXERD_TEST_SIZE") == "large" else 5_000
PATIENCE = 600 if FOLDERS > 5_000 else 240
pytestmark = pytest.mark.slow


def watches_here():
    """Return how many folders this process watches, as the kernel counts them."""
    count = 0
    for info in Path("/proc/self/fdinfo").iterdir():
        # Other threads open and close descriptors meanwhile.
        with contextlib.suppress(OSError):
            count += info.read_text().count("inotify wd:")
    return count


def grow(top, count):
    """Make so many folders below `top`, ten in each, a file in every fifth; return how many files."""
    folders, files = [top], 0
    top.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        folder = folders[number // 10] / f"d{number}"
        folder.mkdir()
        folders.append(folder)
        if number % 5 == 0:
            (folder / "n.md").write_text(f"text {number}\n")
            files += 1
    return files


class Idleness:
    """Counts what the sync does: its steps, what the watch hands over, what is looked at."""

    def __init__(self, rig):
        self.steps, self.hints, self.looks = 0, [], 0
        stepper, watcher = rig.loop._stepper, rig.loop._stepper.watcher
        step, note, scanner = stepper.step, watcher._hand_over, stepper.scanner
        look, scan = scanner.look, scanner.scan

        def stepping():
            self.steps += 1
            step()

        def noting(hints, *, overflowed):
            self.hints += hints
            note(hints, overflowed=overflowed)

        def looking(original):
            def looked(*args, **kwargs):
                self.looks += 1
                return original(*args, **kwargs)

            return looked

        stepper.step, watcher._hand_over = stepping, noting
        scanner.look, scanner.scan = looking(look), looking(scan)

    def during(self, seconds):
        """Return (steps in a second, hints, looks) of a stretch in which nobody does anything."""
        began, before = time.monotonic(), (self.steps, len(self.hints), self.looks)
        while (took := time.monotonic() - began) < seconds:
            time.sleep(0.1)
        return (self.steps - before[0]) / took, len(self.hints) - before[1], self.looks - before[2]


def at_rest(rig):
    """Wait until nothing is due but timers."""
    stepper = rig.loop._stepper
    rig.barrier(PATIENCE)
    # Files too recent to trust are looked at once more, for which nobody waits.
    rig.until(lambda: not stepper.timetable._recent, PATIENCE)
    rig.until(lambda: stepper.pending.next_due() is None and not stepper.pending._in_work, PATIENCE)


@pytest.fixture
def tree(tmp_path):
    with Rig(tmp_path) as rig:
        rig.files = grow(rig.root / "one", FOLDERS // 2) + grow(rig.root / "two", FOLDERS // 2)
        rig.loop.start()
        rig.until(lambda: rig.loop.status().state == "current", PATIENCE)
        assert (watches_here(), len(rig.paths())) == (FOLDERS + 3, rig.files)
        yield rig


def test_half_of_the_folders_removed_is_followed_by_rest(tree):
    """`rm -rf` of half of them: their watches and documents are gone, others are seen, then nothing is done at all."""
    shutil.rmtree(tree.root / "one")
    assert tree.barrier(PATIENCE) == "current"
    tree.until(lambda: tree.loop.status().state == "current", PATIENCE)
    assert (watches_here(), len(tree.paths())) == (FOLDERS // 2 + 2, tree.files // 2)
    tree.write("two/d3/probe.md", "seen by its watch")
    tree.until(lambda: tree.text("two/d3/probe.md") is not None)
    at_rest(tree)
    overflows, idleness = tree.loop.status().overflows, Idleness(tree)
    steps, hints, looks = idleness.during(3.0)
    assert (hints, looks, tree.loop.status().overflows) == (0, 0, overflows)
    assert steps < 2


def test_folders_moved_out_are_silent_and_moved_in_are_heard(tree, tmp_path):
    """After a move out nothing that happens there is reported; after the move back everything is."""
    away = tmp_path / "away"
    (tree.root / "one").rename(away)
    assert tree.barrier(PATIENCE) == "current"
    assert (watches_here(), len(tree.paths())) == (FOLDERS // 2 + 2, tree.files // 2)
    at_rest(tree)
    idleness = Idleness(tree)
    for number in range(0, FOLDERS // 2, 100):
        path = next(away.rglob(f"d{number}")) / "ghost.md" if number < 300 else away / f"ghost{number}.md"
        path.write_text("nobody hears")
    tree.settle()
    assert (idleness.hints, idleness.looks) == ([], 0)
    away.rename(tree.root / "back")
    assert tree.barrier(PATIENCE) == "current"
    assert watches_here() == FOLDERS + 3
    tree.write("back/d0/heard.md", "heard again")
    tree.settle()
    assert tree.text("back/d0/heard.md") == "heard again"


def test_ignored_folders_cost_no_watch(tree):
    """Folders that rules or their name leave out are never watched, made before or after, and wake nobody."""
    for name in ("node_modules", ".git", ".hidden", "two/made"):
        if name == "two/made":
            tree.write(".gitignore", "made/\n")
            tree.settle()
        grow(tree.root / name, 200)
    tree.settle()
    at_rest(tree)
    before, idleness = watches_here(), Idleness(tree)
    # One for `.git/info` at most: what git keeps there decides what is ignored.
    assert before == FOLDERS + 3
    for name in ("node_modules", ".git", ".hidden", "two/made"):
        (tree.root / name / "d0" / "n.md").write_text("nobody hears")
    tree.settle()
    assert (idleness.hints, idleness.looks, watches_here()) == ([], 0, before)
    assert len(tree.paths()) == tree.files


def test_the_processor_rests_when_nothing_happens(tree):
    """With all folders watched and files read by others, nothing is told, looked at or stepped but for the timer."""
    at_rest(tree)
    idleness = Idleness(tree)
    for path in (tree.root / "two").rglob("*.md"):
        path.read_bytes()
    steps, hints, looks = idleness.during(5.0)
    assert (hints, looks) == (0, 0)
    # The timer that compares each root with the folder it was, once a second.
    assert steps < 2
