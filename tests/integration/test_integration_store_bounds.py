"""However many publishes pass, a query walks few parts; memory, descriptors, files and the cost of a publish stay."""

import os
import random
from pathlib import Path

import pytest

from indexerd.clock import SystemClock
from indexerd.model import History
from indexerd.store.fsio import RealStoreFilesystem
from indexerd.store.merging import MAX_STORED
from indexerd.store.parts import MAX_PARTS
from indexerd.store.verify import fsck
from indexerd.sync.upkeep import malloc_trim
from tests.fakes.costs import open_descriptors
from tests.fakes.crash_shapes import LARGE
from tests.fakes.forgetful_filesystem import ForgetfulFilesystem
from tests.fakes.small_stores import content, opened, publish, rebuilt_content

EDITS = 100_000 if LARGE else 900
SIZES = [1_000, 10_000, 100_000] if LARGE else [300, 3_000]
DOCUMENTS = 200
MEGABYTE = 1 << 20


def text_of(number, version):
    return f"# Document {number}\n\n" + f"version {version} of the words of {number}\n" * 50


def keep_up(store):
    while store.merge_due():
        assert store.merge_once()
    store.checkpoint()
    store.collect()


def resident_bytes():
    malloc_trim(0)
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def size_of(folder):
    return sum(entry.stat().st_size for entry in os.scandir(folder))


@pytest.mark.slow
def test_many_single_edits_leave_everything_flat(tmp_path):
    """Parts of a query, files, bytes on disk, descriptors and memory are bounded after each upkeep, to the last one."""
    fs = RealStoreFilesystem.open_directory(tmp_path / "state", create=True)
    store = opened(fs, SystemClock(), history=History(max_ratio=0))
    files = {f"{number}.md": text_of(number, 0) for number in range(DOCUMENTS)}
    publish(store, files)
    keep_up(store)
    live, rng = size_of(tmp_path / "state"), random.Random(7)
    marks = []
    for edit in range(1, EDITS + 1):
        number = rng.randrange(DOCUMENTS)
        files[f"{number}.md"] = text_of(number, edit)
        publish(store, {f"{number}.md": files[f"{number}.md"]})
        if edit % 10 == 0:
            keep_up(store)
            assert len(store.snapshot().segments) <= MAX_PARTS
            assert len(store.snapshot().stored) <= MAX_STORED * MAX_PARTS
            # Beside live and dead: superseded versions in small parts, which are rewritten when there are too many.
            one = max(stored.ref.file.length for stored in store.snapshot().stored[1:] or store.snapshot().stored)
            assert size_of(tmp_path / "state") <= 2 * live + 2 * MAX_STORED * one
            assert len(os.listdir(tmp_path / "state")) <= MAX_STORED * MAX_PARTS + 3
        if edit % (EDITS // 3) == 0:
            marks.append((open_descriptors(), resident_bytes()))
    assert content(store.snapshot()) == rebuilt_content(files)
    # What is allocated once is by now: from here on nothing may grow.
    descriptors, resident = zip(*marks, strict=True)
    assert descriptors[-1] <= descriptors[0] + 2
    assert resident[-1] <= resident[0] + 16 * MEGABYTE
    store.close()
    fs = RealStoreFilesystem.open_directory(tmp_path / "state", create=False)
    assert not fsck(fs)
    fs.close()


class Measured(ForgetfulFilesystem):
    """A state directory that adds up what is written."""

    written = 0

    def write_new(self, name, parts):
        self.written += sum(memoryview(part).nbytes for part in parts)
        super().write_new(name, parts)


def cost_of_one_edit(documents):
    """Return operations and bytes of publishing one document into a store of so many."""
    fs = Measured()
    store = opened(fs, history=History(max_ratio=0))
    publish(store, {f"{number:06}.md": f"# D{number}\n\nwords of {number}\n" for number in range(documents)})
    keep_up(store)
    operations, written = len(fs.operations), fs.written
    publish(store, {"000100.md": "# D100\n\nother words\n"})
    return [name for name, _ in fs.operations[operations:]], fs.written - written


@pytest.mark.slow
def test_publishing_one_document_costs_the_same_in_a_large_store_as_in_a_small_one():
    """The same operations in the same order, and as many bytes, save for numbers that have more digits."""
    operations, written = zip(*map(cost_of_one_edit, SIZES), strict=True)
    assert all(each == operations[0] for each in operations)
    assert len(operations[0]) <= 10
    assert max(written) - min(written) <= 64
    assert max(written) <= 8192
