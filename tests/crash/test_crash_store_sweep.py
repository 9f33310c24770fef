"""The store is stopped, cut off from power, and refused by the disk at every operation of every kind of commit."""

import errno
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

import pytest

from indexerd.errors import DurabilityUnknownError
from indexerd.store import Change, Store, fsck, merging
from tests.fakes.forgetful_filesystem import Disk, ForgetfulFilesystem, Killed, Plan, killed_process
from tests.fakes.small_stores import FINGERPRINT, content, make_segment, opened, publish

POWER_CUTS = 3
ERRORS = [
    errno.ENOSPC,
    errno.EIO,
    *(pytest.param(code, marks=pytest.mark.slow) for code in (errno.EACCES, errno.EMFILE, errno.EROFS)),
]
# Few enough stored segments that a merge is due after six publishes: the sweep opens the store thousands of times.
MAX_STORED = 4
OLD = {"a.md": "# A\n\nalpha words\n", "b.md": "# B\n\nbeta words\n", "sub/c.txt": "gamma words\n"}


@pytest.fixture(autouse=True)
def merge_early(monkeypatch):
    monkeypatch.setattr(merging, "MAX_STORED", MAX_STORED)


@dataclass
class Seen:
    """What the outside world was told: content of every published number, and the last one reported durable."""

    contents: dict[int, str] = field(default_factory=dict)
    durable: int = 0

    def copy(self) -> "Seen":
        return Seen(dict(self.contents), self.durable)

    def note(self, store: Store) -> None:
        snapshot = store.snapshot()
        if snapshot.generation and snapshot.generation not in self.contents:
            self.contents[snapshot.generation] = content(snapshot)
        durable = store.statistics().durable_generation
        self.durable = max(self.durable, durable)


def first(store):
    publish(store, OLD)


def add(store):
    publish(store, {"d.md": "# D\n\ndelta words\n"})


def edit(store):
    publish(store, {"a.md": "# A\n\nchanged words\n"})


def delete(store):
    publish(store, {}, ["b.md"])


def rename(store):
    publish(store, {"z.md": OLD["a.md"]}, ["a.md"])


def batch(store):
    publish(store, {f"many/{n:02}.md": f"# N{n}\n\nwords of {n}\n" for n in range(40)})


def checkpoint(store):
    store.checkpoint()


def add_and_checkpoint(store):
    publish(store, {"e.md": "epsilon\n"})
    store.checkpoint()


def merge(store):
    assert store.merge_once()


def merge_checkpoint_collect(store):
    store.merge_once()
    store.checkpoint()
    store.collect()


def rebuild(store):
    publish(store, {"new.md": "# New\n\neverything is new\n"}, replace_all=True)
    store.checkpoint()
    store.collect()


def shutdown(store):
    publish(store, {"f.md": "phi\n"})
    store.close()


def empty_disk():
    return Disk(), Seen()


def grown_disk(*, checkpoints, commits, closed=False, damage=False):
    fs, seen = ForgetfulFilesystem(), Seen()
    store = opened(fs)
    for commit in range(commits):
        publish(store, OLD if commit == 0 else {"a.md": f"# A\n\nversion {commit}\n"})
        seen.note(store)
        if commit in checkpoints:
            store.checkpoint()
            seen.note(store)
    if closed:
        store.close()
    if damage:
        fs.disk.names["latest"].data = b"torn"
    return fs.disk.copy(), seen


@dataclass(frozen=True)
class Shape:
    """A kind of commit: what is there before, and what is done."""

    name: str
    before: Callable[[], tuple[Disk, Seen]]
    act: Callable[[Store], None]
    always: bool = False

    def __str__(self):
        return self.name


def shapes():
    unsynced = lambda: grown_disk(checkpoints={0}, commits=3)  # noqa: E731
    many = lambda: grown_disk(checkpoints={2}, commits=6)  # noqa: E731
    closed = lambda: grown_disk(checkpoints=set(), commits=2, closed=True)  # noqa: E731
    torn = lambda: grown_disk(checkpoints={1}, commits=3, damage=True)  # noqa: E731
    return [
        Shape("first", empty_disk, first),
        Shape("first, always durable", empty_disk, first, always=True),
        Shape("add", unsynced, add),
        Shape("edit", unsynced, edit),
        Shape("delete", unsynced, delete),
        Shape("rename", unsynced, rename),
        Shape("batch", unsynced, batch),
        Shape("add after a clean close", closed, add),
        Shape("add, always durable", unsynced, add, always=True),
        Shape("add after a torn slot", torn, add_and_checkpoint),
        Shape("checkpoint", unsynced, checkpoint),
        Shape("add and checkpoint", unsynced, add_and_checkpoint),
        Shape("merge", many, merge),
        Shape("merge, checkpoint, collect", many, merge_checkpoint_collect),
        Shape("rebuild", unsynced, rebuild),
        Shape("shutdown", unsynced, shutdown),
    ]


SHAPES = shapes()


@cache
def before(shape):
    return shape.before()


@cache
def plain_run(shape):
    """Run a shape without faults; return the operations of opening, of acting, and what it leads to."""
    disk, seen = before(shape)
    fs, seen = ForgetfulFilesystem(disk.copy()), seen.copy()
    store = open_shape(shape, fs)
    opening = len(fs.operations)
    shape.act(store)
    seen.note(store)
    return opening, len(fs.operations) - opening, store.snapshot().generation, content(store.snapshot()), seen


def open_shape(shape, fs):
    return opened(fs, durability="always" if shape.always else "checkpoint")


def run_until_killed(shape, operation):
    """Run a shape until it is killed; return the disk and what was seen of it."""
    disk, seen = before(shape)
    fs, seen = ForgetfulFilesystem(disk.copy()), seen.copy()
    store = open_shape(shape, fs)
    fs.plan = Plan(kill_at=operation)
    try:
        shape.act(store)
    except Killed:
        # What the killed process had reported before it died.
        seen.durable = max(seen.durable, store.statistics().durable_generation)
        return fs, seen
    raise AssertionError("was not killed")


def check_loaded(store, known, *, at_least):
    snapshot = store.snapshot()
    assert store.opening.state == "healthy" or not at_least, store.opening
    if snapshot.generation:
        assert known[snapshot.generation] == content(snapshot)
    assert snapshot.generation >= at_least
    return snapshot


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_killed_at_every_operation_exactly_one_generation_loads(shape):
    """After a kill the newest published generation loads, nothing is wrong, and the same work leads to the same end."""
    _, operations, _, final, after = plain_run(shape)
    newest_before = max(before(shape)[1].contents, default=0)
    for operation in range(1, operations + 1):
        fs, _ = run_until_killed(shape, operation)
        following = killed_process(fs)
        store = open_shape(shape, following)
        floor = 0 if shape.name == "add after a torn slot" else newest_before
        check_loaded(store, after.contents, at_least=floor)
        assert not [finding for finding in fsck(following) if finding.kind == "problem"]
        if shape.act not in (merge, checkpoint):
            shape.act(store)
            assert content(store.snapshot()) == final


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_power_cut_at_every_operation_keeps_what_was_reported_durable(shape):
    """After a power cut a known generation loads, never older than the durable one, and no number comes back anew."""
    _, operations, *_, after = plain_run(shape)
    for operation in range(1, operations + 1):
        fs, seen = run_until_killed(shape, operation)
        newest = opened(killed_process(fs)).snapshot().generation
        for cut in range(POWER_CUTS):
            following = ForgetfulFilesystem(fs.disk.after_power_cut(operation * 1000 + cut))
            store = opened(following)
            same_store = store.snapshot().generation > 0
            check_loaded(store, after.contents, at_least=seen.durable)
            assert not [finding for finding in fsck(following) if finding.kind == "problem" and seen.durable]
            published = publish(store, {"other.md": f"other words {operation} {cut}\n"})
            assert not same_store or published.generation > newest


@pytest.mark.parametrize("for_ever", [False, True], ids=["once", "for ever"])
@pytest.mark.parametrize("code", ERRORS, ids=["ENOSPC", "EIO", "EACCES", "EMFILE", "EROFS"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_an_error_at_every_operation_changes_nothing(shape, code, for_ever):
    """After an error memory answers as before or as after, never between; once it is mended the same work succeeds."""
    _, operations, generation, final, after = plain_run(shape)
    disk, _ = before(shape)
    for operation in range(1, operations + 1):
        fs = ForgetfulFilesystem(disk.copy())
        store = open_shape(shape, fs)
        was = content(store.snapshot()), store.snapshot().generation
        fs.plan = Plan(fail_at=operation, error=code, for_ever=for_ever)
        failed = fails(shape, store)
        fs.plan = Plan()
        now = content(store.snapshot()), store.snapshot().generation
        assert now in (was, (final, generation))
        if shape.act is shutdown:
            continue
        if failed and now == was:
            retry(shape, store)
            assert content(store.snapshot()) == final
            assert store.snapshot().generation == generation
        store.checkpoint()
        assert store.snapshot().durable
        store.collect()
        check_loaded(opened(killed_process(fs)), after.contents, at_least=generation)
        assert not fsck(killed_process(fs)), operation


def fails(shape, store):
    try:
        shape.act(store)
    except (OSError, DurabilityUnknownError):
        return True
    return False


def retry(shape, store):
    if shape.act is not merge or store.merge_due():
        shape.act(store)


@pytest.mark.parametrize("seed", range(12))
def test_a_failed_flush_is_never_trusted_afterwards(seed):
    """A disk that says EIO once and OK ever after loses nothing that is later reported durable."""
    fs = ForgetfulFilesystem()
    store = opened(fs)
    publish(store, OLD)
    fs.plan = Plan(fail_at=1 + seed % 4, error=errno.EIO, only="flush_file" if seed % 2 else "flush_directory")
    for _ in range(3):
        try:
            store.checkpoint()
        except (OSError, DurabilityUnknownError):
            continue
    assert store.snapshot().durable
    expected = content(store.snapshot())
    for cut in range(20):
        store = opened(ForgetfulFilesystem(fs.disk.after_power_cut(seed * 100 + cut)))
        assert content(store.snapshot()) == expected


def test_a_flush_that_failed_before_a_kill_is_not_trusted_after_it():
    """What an earlier process could not flush is written anew by the next one before it is called durable."""
    fs = ForgetfulFilesystem()
    store = opened(fs)
    publish(store, OLD)
    fs.plan = Plan(fail_at=1, error=errno.EIO, only="flush_file")
    with pytest.raises(OSError):
        store.checkpoint()
    following = killed_process(fs)
    store = opened(following)
    store.checkpoint()
    expected = content(store.snapshot())
    for cut in range(20):
        assert content(opened(ForgetfulFilesystem(following.disk.after_power_cut(cut))).snapshot()) == expected


def test_two_segments_in_one_generation_are_published_together():
    """A generation of several segments is there whole or not at all."""
    fs = ForgetfulFilesystem()
    store = opened(fs)
    segments = [make_segment({"a.md": "one\n", "b.md": "two\n"}), make_segment({"a.md": "three\n"}, ["b.md"])]
    snapshot = store.publish(store.prepare(segments, settings=FINGERPRINT, change=Change(2, 0, 0)))
    assert [segment.data.paths[index] for segment, index in snapshot.documents()] == ["a.md"]
    assert content(snapshot) == content(opened(killed_process(fs)).snapshot())
