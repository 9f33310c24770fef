"""The process is short of memory at an allocation of a commit, or where a search reads: it fails, and nothing else.

The interpreter's own hook refuses one allocation; each point has a process of its own.
"""

import contextlib
import gc
import itertools
import os
import random
import shutil
import signal
import traceback
from functools import partial

import pytest

from indexerd.errors import DurabilityUnknownError
from indexerd.store import Change, merging, open_reader
from indexerd.store.fsio import RealStoreFilesystem
from indexerd.store.segment import Segment
from indexerd.store.tables import BytesTable
from indexerd.store.verify import fsck
from tests.fakes.crash_shapes import LARGE, MAX_STORED, OLD, SHAPES, content_of
from tests.fakes.memory_sources import MemorySources
from tests.fakes.searching import Library
from tests.fakes.small_stores import FINGERPRINT, content, make_segment, opened

_testcapi = pytest.importorskip("_testcapi")

POINTS = 700 if LARGE else 50
CHANGED = {"a.md": "# A\n\nchanged words\n"}


@pytest.fixture(autouse=True)
def merge_early(monkeypatch):
    monkeypatch.setattr(merging, "MAX_STORED", MAX_STORED)


def publish_change(store):
    prepared = store.prepare([make_segment(CHANGED)], settings=FINGERPRINT, change=Change(0, 1, 0))
    try:
        store.publish(prepared)
    except BaseException:
        store.abort(prepared)
        raise


ACTS = {
    "edit": publish_change,
    "merge": lambda store: store.merge_once(),
    "checkpoint": lambda store: store.checkpoint(),
    "forget": lambda store: store.erase("b.md"),
}


@pytest.fixture
def begun(request, tmp_path):
    """Return a function that opens a store on a directory of its own, in which an act can begin."""
    before = next(shape for shape in SHAPES if shape.name == request.getfixturevalue("name")).before
    fs = RealStoreFilesystem.open_directory(os.fsencode(tmp_path / "before"), create=True)
    seen = before.play(fs)
    fs.close()
    # Remembered by the tests themselves, not by what they test.
    make_segment(CHANGED)
    gc.collect()

    def begin(place):
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(tmp_path / "before", place)
        return opened(RealStoreFilesystem.open_directory(os.fsencode(place), create=False))

    return begin, dict(seen.files[seen.newest])


def in_child(what):
    """Run a function in a process of its own; return what it said, or that it died in a library that needs memory."""
    receiving, sending = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            said = what()
        except BaseException:  # noqa: BLE001 - a child must never return to the tests
            said = traceback.format_exc()
        os.write(sending, said.encode())
        os._exit(0)
    os.close(sending)
    with os.fdopen(receiving, "rb") as pipe:
        said = pipe.read().decode()
    ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return "died" if ended in (-signal.SIGSEGV, -signal.SIGABRT, -signal.SIGBUS) else said


def refused(act, allocation):
    """Do something, of which one allocation is refused; tell whether that made it fail."""
    _testcapi.set_nomemory(allocation, allocation + 1)
    try:
        act()
    except (MemoryError, OSError, DurabilityUnknownError, SystemError, OverflowError):
        # numpy tells of some refusals by one of the last two, and dies of others.
        failed = True
    else:
        failed = False
    finally:
        _testcapi.remove_mem_hooks()
    return failed


def refused_commit(store, place, name, files, allocation):
    """Refuse one allocation of an act; hold memory to the disk, then do the act again. Return what became of it."""
    before, after = content_of(files), content_of({**files, **CHANGED} if name == "edit" else files)
    failed = refused(lambda: ACTS[name](store), allocation)
    now, number = content(store.snapshot()), store.snapshot().generation
    if name == "forget":
        assert now == before
    else:
        assert now == (before if failed else after), "it failed and is there, or did not fail and is not"
    found = open_reader(RealStoreFilesystem.open_directory(os.fsencode(place), create=False))
    assert (content(found), found.generation) == (now, number), "memory and disk differ"
    if failed and (name != "merge" or store.merge_due()):
        ACTS[name](store)
    store.checkpoint()
    store.collect()
    assert store.snapshot().durable
    assert content(store.snapshot()) == after
    store.close()
    assert_whole(place, {after})
    return "failed" if failed else "done"


def assert_whole(place, contents):
    """Hold a directory to what it may hold."""
    fs = RealStoreFilesystem.open_directory(os.fsencode(place), create=False)
    assert not [one for one in fsck(fs) if one.kind == "problem"]
    assert content(open_reader(fs)) in contents


def points(attempt):
    """Return the numbers of some allocations, over all of what is attempted."""
    last = 64
    while in_child(partial(attempt, last)) in ("failed", "died"):
        last *= 2
    return sorted(random.Random(1).sample(range(1, last), min(POINTS, last - 1)))


@pytest.mark.slow
@pytest.mark.parametrize("name", ACTS)
def test_without_memory_a_commit_changes_nothing(name, begun, tmp_path, tally):
    """At an allocation of a commit there is no memory: it fails, all stays as it was, and the next one succeeds."""
    begin, files = begun

    def attempt(allocation):
        place = tmp_path / str(allocation)
        return refused_commit(begin(place), place, name, files, allocation)

    said = {allocation: in_child(partial(attempt, allocation)) for allocation in points(attempt)}
    assert not {at: what for at, what in said.items() if what not in ("failed", "done", "died")}
    for allocation in (at for at, what in said.items() if what == "died"):
        assert_whole(tmp_path / str(allocation), {content_of(files), content_of(files | CHANGED)})
    assert "failed" in said.values()
    tally("allocations refused", len(said))


def test_without_memory_a_search_fails_and_the_next_one_answers(monkeypatch):
    """Wherever a search reads a source or a stored text it may fail; what it remembers for the next one is whole."""
    expected = Library(OLD).query("gamma beta")
    for owner, name in ((MemorySources, "read"), (Segment, "document"), (BytesTable, "slices"), (Segment, "raw")):
        library, real = Library(OLD), getattr(owner, name)
        for number in itertools.count(1):
            calls = itertools.count(1)

            def refusing(*given, real=real, calls=calls, number=number):
                if next(calls) == number:
                    raise MemoryError
                return real(*given)

            with monkeypatch.context() as patch, contextlib.suppress(MemoryError):
                patch.setattr(owner, name, refusing)
                library.query("gamma beta")
            assert library.query("gamma beta").hits == expected.hits
            if next(calls) <= number:
                break
