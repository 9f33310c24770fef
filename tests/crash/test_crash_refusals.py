"""The disk refuses: every operation of the store with every error, once and for ever, under the whole sync."""

import errno
import itertools
import os
from collections import Counter
from functools import cache

import pytest

from indexerd.clock import BackOff
from indexerd.errors import DurabilityUnknownError
from indexerd.store import merging, recover, rewrite
from indexerd.store.verify import fsck
from indexerd.sync import stepper
from tests.fakes.forgetful_filesystem import ForgetfulFilesystem, Plan, killed_process
from tests.fakes.small_stores import content, opened
from tests.fakes.sync_rig import Rig

CODES = ("ENOSPC", "EIO", "EDQUOT", "EMFILE", "EACCES", "EROFS", "EINTR")
OPERATIONS = ("names", "open", "create", "write", "flush_file", "flush_directory", "replace", "remove")
# Beyond the third time an operation is the same one again: all of them are for the large size.
TIMES = 10_000 if os.environ.get("INDEXERD_TEST_SIZE") == "large" else 3
BEFORE = {"edited.md": "# Edited\n\nfirst\n", "gone.md": "gone\n", "old.md": "# Moved\n\nmoved\n", "same.md": "same\n"}


class Bench:
    """A root that was indexed and then changed, and the disk of its index from before the change."""

    def __init__(self, folder):
        self.folder = folder
        with self.rig(ForgetfulFilesystem()) as rig:
            for name, text in BEFORE.items():
                rig.write(name, text)
            rig.write("large.md", "".join(f"line {n} of many words\n" for n in range(400)))
            rig.loop.sync_once()
            # Enough stored segments for the upkeep after the change to merge.
            for number in range(merging.MAX_STORED):
                rig.write("edited.md", f"# Edited\n\nversion {number}\n")
                rig.loop.sync_once()
            disk = rig.fs.disk
        self.disk = disk.copy()
        for name in ("gone.md", "old.md"):
            (rig.root / name).unlink()
        rig.write("edited.md", "# Edited\n\nlast\n")
        rig.write("new/one.md", "# New\n\none\n")
        rig.write("new/two.md", "# New\n\ntwo\n")
        rig.write("moved.md", BEFORE["old.md"])
        self.scratch = rig.scratch_digest(folder)

    def change_back(self):
        """Change the root once more: some of what was new is gone, some of what was changed is as it was indexed."""
        root = self.folder / "root"
        (root / "new/one.md").unlink()
        (root / "gone.md").write_text(BEFORE["gone.md"])
        (root / "edited.md").write_text(f"# Edited\n\nversion {merging.MAX_STORED - 1}\n")
        (root / "same.md").write_text("not the same\n")

    def rig(self, fs):
        def wrap(real):
            real.close()
            return fs

        return Rig(self.folder, watch=False, wrap=wrap)

    def begun(self):
        """Return a sync over the index from before the change."""
        return self.rig(ForgetfulFilesystem(self.disk.copy()))

    @cache  # noqa: B019 - one bench for all tests
    def plain(self):
        """Return the report of a run without faults, and how often each operation comes in it and in the upkeep."""
        with self.begun() as rig:
            start = len(rig.fs.operations)
            report = rig.loop.sync_once()
            middle = len(rig.fs.operations)
            upkeep(rig.store)
            parts = rig.fs.operations[start:middle], rig.fs.operations[middle:]
            counts = [Counter(name for name, _ in part) for part in parts]
            assert rig.digest() == self.scratch
            return report, *counts


def upkeep(store):
    store.merge_once()
    store.checkpoint()
    store.collect()


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(merging, "MAX_STORED", 4)
        patch.setattr(stepper, "BackOff", lambda: BackOff(0.001, 0.001))
        for module in (recover, rewrite):
            # A segment above this is used from its file, which is one more operation that can fail.
            patch.setattr(module, "HELD_OPEN_BYTES", 4096)
        yield Bench(tmp_path_factory.mktemp("bench"))


def plans(counts, code):
    """Yield what can go wrong: each operation at each time that it comes, once and for ever."""
    for operation, for_ever in itertools.product(OPERATIONS, (False, True)):
        for time in range(1, min(counts[operation], TIMES) + 1):
            yield Plan(fail_at=time, error=getattr(errno, code), for_ever=for_ever, only=operation)


def refused(action):
    try:
        return action(), False
    except (OSError, DurabilityUnknownError):
        return None, True


def seen(store):
    """Return what everybody can see of a store."""
    return store.snapshot().generation, content(store.snapshot()), store.generations()


def counted(report):
    return (report.added, report.updated, report.deleted, report.unchanged, report.chunks_active, report.generation)


@pytest.mark.parametrize("code", CODES)
def test_a_refused_sync_changes_nothing_and_its_retry_reports_what_it_would_have(bench, code):
    """At every operation, once or for ever: memory stays, and once healed the counts are exactly those."""
    expected, counts, _ = bench.plain()
    assert (expected.added, expected.updated, expected.deleted) == (3, 1, 2)
    failures = 0
    for plan in plans(counts, code):
        with bench.begun() as rig:
            before = seen(rig.store)
            rig.fs.plan = plan
            report, failed = refused(rig.loop.sync_once)
            if failed and plan.for_ever:
                assert [refused(rig.loop.sync_once)[1] for _ in range(2)] == [True, True]
            rig.fs.plan = Plan()
            if failed:
                failures += 1
                assert seen(rig.store) == before, plan
                report = rig.loop.sync_once()
            assert counted(report) == counted(expected), plan
            assert rig.digest() == bench.scratch
            upkeep(rig.store)
            assert not fsck(rig.fs), plan
            assert content(opened(killed_process(rig.fs), roots=rig.roots).snapshot()) == content(rig.store.snapshot())
    assert failures >= 10


@pytest.mark.parametrize("code", CODES)
def test_refused_upkeep_changes_no_answer_and_is_made_up_for(bench, code):
    """A merge, checkpoint or collection that fails leaves content and number; the next one leaves nothing undone."""
    expected, _, counts = bench.plain()
    failures = 0
    for plan in plans(counts, code):
        with bench.begun() as rig:
            assert counted(rig.loop.sync_once()) == counted(expected)
            rig.fs.plan = plan
            failures += refused(lambda: upkeep(rig.store))[1]
            assert (rig.digest(), rig.generation()) == (bench.scratch, expected.generation), plan
            rig.fs.plan = Plan()
            upkeep(rig.store)
            assert (rig.digest(), rig.generation()) == (bench.scratch, expected.generation), plan
            assert rig.store.snapshot().durable
            assert not fsck(rig.fs), plan
    assert failures >= 10


@pytest.mark.parametrize("operation", ["create", "write", "replace"])
def test_what_changes_before_the_retry_is_counted_as_it_is_then(tmp_path, operation):
    """A file that came and went while the disk refused, or went and came back, is in no count and in no generation."""
    bench = Bench(tmp_path)
    with bench.begun() as rig, bench.begun() as fresh:
        rig.fs.plan = Plan(fail_at=1, error=errno.ENOSPC, only=operation, for_ever=True)
        assert refused(rig.loop.sync_once)[1]
        bench.change_back()
        assert refused(rig.loop.sync_once)[1]
        rig.fs.plan = Plan()
        report = rig.loop.sync_once()
        assert counted(report) == counted(fresh.loop.sync_once())
        assert (report.added, report.updated, report.deleted) == (2, 1, 1)
        assert rig.digest() == fresh.digest() == rig.scratch_digest(tmp_path / "scratch")


def test_what_is_published_at_any_moment_of_the_next_scan_is_not_published_again(bench):
    """What a refused sync left is published amid the scan of the retry, whenever there is time: one generation."""
    expected, _, _ = bench.plain()
    for moment in itertools.count():
        with bench.begun() as rig:
            rig.fs.plan = Plan(fail_at=1, error=errno.ENOSPC, only="create")
            assert refused(rig.loop.sync_once)[1]
            writer, calls = rig.loop._stepper.writer, itertools.count()
            between = writer.between
            writer.between = lambda at=moment: next(calls) == at and between()  # noqa: B023 - called in this round
            rig.loop._stepper._next_amid = 0.0
            assert counted(rig.loop.sync_once()) == counted(expected), moment
            if next(calls) <= moment:
                break
    assert moment > 3
