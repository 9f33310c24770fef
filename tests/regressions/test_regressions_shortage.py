"""A process that is out of descriptors concludes nothing about the files that it cannot open, and goes on by itself."""

import contextlib
import os
import resource

from indexerd.model import SourcePath
from indexerd.ports import SourceFault
from tests.fakes.sync_rig import Rig


@contextlib.contextmanager
def no_descriptor_left():
    """Let this process open nothing more; what is open stays open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def moved_in(rig, name, text):
    """Return what moves a finished file into the root, which takes no descriptor."""
    outside = rig.root.parent / f"outside-{name}"
    outside.write_text(text)
    return lambda: os.rename(outside, rig.root / name)


def test_a_look_without_descriptors_is_tried_again_and_holds_nothing(tmp_path):
    """The step fails, is told, and the new file is found as soon as there are descriptors, not with the next scan."""
    with Rig(tmp_path) as rig:
        rig.write("old.md", "old text")
        rig.write("folder/inner.md", "inner text")
        rig.start()
        rig.until(lambda: rig.store.snapshot().durable)
        move = moved_in(rig, "new.md", "new text")
        with no_descriptor_left():
            move()
            rig.until(lambda: "sync_failed" in rig.problems())
            status = rig.loop.status()
        assert status.held == ()
        assert [root.state for root in status.roots] == ["ok"]
        rig.until(lambda: rig.text("new.md") == "new text")
        rig.settle()
        rig.until(lambda: not rig.problems())
        assert rig.paths() == ["folder/inner.md", "new.md", "old.md"]


def test_a_file_that_could_not_be_opened_for_want_of_descriptors_is_read_again(tmp_path):
    """It is neither held nor skipped: a fresh index would have it."""
    with Rig(tmp_path) as rig:
        rig.write("a.md", "first")
        rig.start()
        sources = rig.loop._stepper.writer.cycle.sources
        real, refusals = sources.read, []

        def read(path):
            if path == SourcePath("b.md") and len(refusals) < 3:
                refusals.append(path)
                return SourceFault("source_unreadable", "root: EMFILE")
            return real(path)

        sources.read = read
        rig.write("b.md", "second")
        rig.until(lambda: len(refusals) == 3)
        rig.settle()
        status = rig.loop.status()
        assert (status.skipped, status.held) == ((), ())
        assert rig.text("b.md") == "second"
