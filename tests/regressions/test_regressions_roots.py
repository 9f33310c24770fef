"""A root that goes and comes back, however quickly, is watched and whole again."""

import os
import threading
import time

import pytest

from tests.fakes.sync_rig import PATIENCE_SECONDS, Rig


@pytest.mark.parametrize("pause", [0.0, 0.001, 0.02])
def test_a_root_renamed_and_renamed_back_is_whole_at_the_next_question(tmp_path, pause):
    """No event tells that the same folder is back; the first barrier after it sees it all the same."""
    with Rig(tmp_path) as rig:
        for number in range(5):
            rig.write(f"{number}.md", "text")
        rig.start()
        for turn in range(10):
            os.rename(rig.root, f"{rig.root}.away")
            time.sleep(pause)
            os.rename(f"{rig.root}.away", rig.root)
            rig.write("0.md", f"turn {turn}")
            rig.settle()
            assert (rig.text("0.md"), rig.loop.held()) == (f"turn {turn}", frozenset())
            assert "root_unavailable" not in rig.problems()
        rig.write("1.md", "told by an event")
        rig.until(lambda: rig.text("1.md") == "told by an event")


def test_a_root_that_a_look_under_way_has_missed_is_whole_at_the_next_question(tmp_path):
    """It was back before the question, the look had not told yet that it was gone; the barrier ended with that look."""
    with Rig(tmp_path) as rig:
        rig.write("a.md", "one")
        rig.start()
        watcher, wait_for = rig.loop._stepper.watcher, rig.loop._wait_for
        keep_only, looked, asked = watcher.keep_only, threading.Event(), threading.Event()

        def keep_none(*of):
            # The end of the look: watches are dropped, what it has found is not told yet.
            keep_only(*of)
            looked.set()
            assert asked.wait(PATIENCE_SECONDS)

        def wait_on(*of, **more):
            asked.set()
            return wait_for(*of, **more)

        watcher.keep_only, rig.loop._wait_for = keep_none, wait_on
        os.rename(rig.root, f"{rig.root}.away")
        assert looked.wait(PATIENCE_SECONDS)
        os.rename(f"{rig.root}.away", rig.root)
        rig.write("a.md", "two")
        rig.settle()
        assert (rig.text("a.md"), rig.loop.held()) == ("two", frozenset())


def test_a_look_at_a_root_leaves_the_root_in_it_watched(tmp_path):
    """The outer root's rules are edited, so all of it is looked at: what happens in the inner one is still told."""
    inner = tmp_path / "root" / "inner"
    inner.parent.mkdir()
    with Rig(tmp_path, tmp_path / "root", inner) as rig:
        rig.write("a.md", "outer")
        rig.write("k/b.md", "one", root=inner)
        rig.start()
        rig.write(".gitignore", "*.txt\n")
        rig.settle()
        rig.write("k/b.md", "two", root=inner)
        rig.write("c.md", "new", root=inner)
        rig.settle()
        assert (rig.text("r1/k/b.md"), rig.text("r1/c.md")) == ("two", "new")
        assert rig.digest() == rig.scratch_digest(tmp_path / "scratch")


def test_a_look_at_one_file_does_not_make_a_lost_root_whole(tmp_path):
    """Files that were due for another look were found in the root that was back, and the rest stayed held for good."""
    with Rig(tmp_path) as rig:
        rig.write("a.md", "one")
        rig.write("b.md", "two")
        rig.start()
        os.rename(rig.root, f"{rig.root}.away")
        rig.until(lambda: "root_unavailable" in rig.problems())
        os.rename(f"{rig.root}.away", rig.root)
        rig.loop.sync_once([str(rig.root / "a.md")])
        rig.settle()
        assert (rig.loop.held(), rig.problems()) == (frozenset(), set())
        rig.write("c.md", "three")
        rig.until(lambda: rig.text("c.md") == "three")
