"""Every shape of commit, with an oracle outside of the store that knows what each published number must hold.

A `Shape` is what lies in a state directory before and what is then done; both run on any `StoreFilesystem`. The oracle
keeps the files as a plain dictionary, and the content of a number is that of a store made from nothing with them.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from indexerd.model import SourcePath
from indexerd.ports import StoreFilesystem
from tests.fakes.forgetful_filesystem import Disk, ForgetfulFilesystem, Killed, Plan
from tests.fakes.small_stores import content, opened, publish, rebuilt_content

LARGE = os.environ.get("INDEXERD_TEST_SIZE") == "large"
OLD = {"a.md": "# A\n\nalpha words\n", "b.md": "# B\n\nbeta words\n", "sub/c.txt": "gamma words\n"}
# Few enough stored segments that a merge is due after six publishes: the sweeps open the store thousands of times.
MAX_STORED = 4


@dataclass
class Seen:
    """What the outside world knows.

    Attributes:
        files: Those of every published number.
        durable: The last number reported durable.
        store_id: Identity of the store.
        erasing: A document whose erasure has begun: a number may or may not still have it.
        erased: Whether that was reported.
    """

    files: dict[int, Mapping[str, str]] = field(default_factory=dict)
    durable: int = 0
    store_id: str = ""
    erasing: str = ""
    erased: bool = False

    def copy(self) -> "Seen":
        return replace(self, files=dict(self.files))

    def up_to(self, generation: int) -> "Seen":
        """Return what is known when nothing above this number was published."""
        files = {number: files for number, files in self.files.items() if number <= generation}
        return replace(self, files=files, durable=min(self.durable, generation), erased=False)

    def with_content(self, generation: int, digest: str) -> Mapping[str, str]:
        """Return the files of a number, of which the content must be this."""
        whole = self.files[generation]
        without = {path: text for path, text in whole.items() if path != self.erasing}
        possible = [without] if self.erased else [whole, without]
        return next(files for files in possible if content_of(files) == digest)

    @property
    def newest(self) -> int:
        return max(self.files, default=0)


class Work:
    """One process's work on a store, and the oracle beside it.

    `opened` is the generation that was found, `files` are what must be in the index now.
    """

    def __init__(self, fs: StoreFilesystem, seen: Seen, **options) -> None:
        self.store = opened(fs, **options)
        self.seen = seen
        seen.store_id = self.store.store_id
        self.opened = self.store.snapshot().generation
        self.files = seen.with_content(self.opened, content(self.store.snapshot())) if self.opened else {}
        self.note()

    def publish(self, files: Mapping[str, str], deleted: Sequence[str] = (), **options) -> None:
        kept = {} if options.get("replace_all") else self.files
        after = {path: text for path, text in {**kept, **files}.items() if path not in deleted}
        snapshot = publish(self.store, files, deleted, **options)
        assert self.seen.files.setdefault(snapshot.generation, after) == after, "a number was used again"
        self.files = after
        self.note()

    def checkpoint(self) -> None:
        self.store.checkpoint()
        self.note()

    def merge(self) -> None:
        assert self.store.merge_once()
        self.note()

    def collect(self) -> None:
        self.store.collect()

    def forget(self, path: str) -> None:
        self.seen.erasing = path
        self.store.erase(SourcePath(path))
        self.seen.erased = True
        self.note()

    def close(self) -> None:
        self.store.close()
        self.note()

    def note(self) -> None:
        """Hold the store to the oracle, and remember what is reported durable."""
        assert content(self.store.snapshot()) == content_of(self.files)
        self.heard()

    def heard(self) -> None:
        """Remember what is reported durable."""
        self.seen.durable = max(self.seen.durable, self.store.statistics().durable_generation)


def content_of(files: Mapping[str, str]) -> str:
    """Return the content of an index of these files, made from nothing."""
    return _content_of(tuple(sorted(files.items())))


@cache
def _content_of(files: tuple[tuple[str, str], ...]) -> str:
    return rebuilt_content(dict(files))


@dataclass(frozen=True)
class History:
    """What lies in the directory before.

    Attributes:
        commits: Publishes; the first is of `OLD`, each later one edits a file.
        checkpoints: Commits after which a checkpoint was made.
        deletes: Whether the second one deletes a file too.
        closed: Whether the store was closed.
        torn: Whether `latest` was damaged afterwards (in memory only).
    """

    commits: int = 0
    checkpoints: frozenset[int] = frozenset()
    deletes: bool = False
    closed: bool = False
    torn: bool = False

    def play(self, fs: StoreFilesystem) -> Seen:
        """Make it; return what is known of it."""
        seen = Seen()
        if not self.commits:
            return seen
        work = Work(fs, seen)
        for commit in range(self.commits):
            changed = {"a.md": f"# A\n\nversion {commit}\n"} if commit else OLD
            work.publish(changed, ["b.md"] if self.deletes and commit == 1 else [])
            if commit in self.checkpoints:
                work.checkpoint()
        if self.closed:
            work.close()
        return seen


@dataclass(frozen=True)
class Shape:
    """A kind of commit: what is there before, and what is done."""

    name: str
    before: History
    act: Callable[[Work], None]
    always: bool = False

    def __str__(self) -> str:
        return self.name

    def open(self, fs: StoreFilesystem, seen: Seen) -> Work:
        return Work(fs, seen, durability="always" if self.always else "checkpoint")


def first(work):
    work.publish(OLD)


ADDED = {"d.md": "# D\n\ndelta words\n"}


def add(work):
    work.publish(ADDED)


def edit(work):
    work.publish({"a.md": "# A\n\nchanged words\n"})


def delete(work):
    work.publish({}, ["b.md"])


def rename(work):
    work.publish({"z.md": OLD["b.md"]}, ["b.md"])


def batch(work):
    work.publish({f"many/{number:04}.md": f"# N{number}\n\nwords of {number}\n" for number in range(1000)})


def checkpoint(work):
    work.checkpoint()


def add_and_checkpoint(work):
    work.publish({"e.md": "epsilon\n"})
    work.checkpoint()


def merge(work):
    work.merge()


def merge_checkpoint_collect(work):
    if work.store.merge_due():
        work.merge()
    work.checkpoint()
    work.collect()


def merge_collect(work):
    # Before the durable slot follows: it still names what the merge has replaced.
    if work.store.merge_due():
        work.merge()
    work.collect()


def forget(work):
    work.forget("b.md")


def rebuild(work):
    work.publish({"new.md": "# New\n\neverything is new\n"}, replace_all=True)
    work.checkpoint()
    work.collect()


def shutdown(work):
    work.publish({"f.md": "phi\n"})
    work.close()


NOTHING = History()
UNSYNCED = History(3, frozenset({0}))
CLOSED = History(2, closed=True)
TORN = History(3, frozenset({1}), torn=True)
GONE = History(4, frozenset({2}), deletes=True)
MANY = History(6, frozenset({2}))
MANY_DURABLE = History(6, frozenset({5}))

SHAPES = [
    Shape("first", NOTHING, first),
    Shape("first, always durable", NOTHING, first, always=True),
    Shape("add", UNSYNCED, add),
    Shape("edit", UNSYNCED, edit),
    Shape("delete", UNSYNCED, delete),
    Shape("rename", UNSYNCED, rename),
    Shape("batch", UNSYNCED, batch),
    Shape("add after a clean close", CLOSED, add),
    Shape("add, always durable", UNSYNCED, add, always=True),
    Shape("add after a torn slot", TORN, add_and_checkpoint),
    Shape("checkpoint", UNSYNCED, checkpoint),
    Shape("add and checkpoint", UNSYNCED, add_and_checkpoint),
    Shape("merge", MANY, merge),
    Shape("merge, checkpoint, collect", MANY, merge_checkpoint_collect),
    Shape("merge, collect", MANY_DURABLE, merge_collect),
    Shape("forget", GONE, forget),
    Shape("rebuild", UNSYNCED, rebuild),
    Shape("shutdown", UNSYNCED, shutdown),
]


@cache
def _played(history: History) -> tuple[Disk, Seen]:
    fs = ForgetfulFilesystem()
    seen = history.play(fs)
    if history.torn:
        fs.disk.names["latest"].data = b"torn"
    return fs.disk.copy(), seen


def before(shape: Shape) -> tuple[ForgetfulFilesystem, Seen]:
    """Return a disk in memory on which the shape can begin, and what is known of it."""
    disk, seen = _played(shape.before)
    return ForgetfulFilesystem(disk.copy()), seen.copy()


@dataclass(frozen=True)
class PlainRun:
    """A shape without faults: how many operations, where it leads, and all that is known then."""

    operations: int
    generation: int
    content: str
    seen: Seen


@cache
def plain_run(shape: Shape) -> PlainRun:
    """Run a shape without faults, in memory."""
    fs, seen = before(shape)
    work = shape.open(fs, seen)
    opening = len(fs.operations)
    shape.act(work)
    return PlainRun(len(fs.operations) - opening, work.store.snapshot().generation, content_of(work.files), seen)


def killed_at(shape: Shape, operation: int) -> tuple[ForgetfulFilesystem, Seen]:
    """Run a shape until its process dies at an operation; return the disk, and what had been reported by then."""
    fs, seen = before(shape)
    work = shape.open(fs, seen)
    fs.plan = Plan(kill_at=operation)
    try:
        shape.act(work)
    except Killed:
        work.heard()
        return fs, seen
    raise AssertionError("was not killed")


def recovered(shape: Shape, fs: StoreFilesystem, seen: Seen) -> Work:
    """Do what the next process does: open, the same work again, and the upkeep that follows."""
    work = shape.open(fs, seen)
    if work.opened:
        assert work.store.opening.state == "healthy"
    if shape.act is not merge or work.store.merge_due():
        shape.act(work)
    if shape.act is not shutdown:
        work.checkpoint()
        work.collect()
        assert not work.seen.erasing or not any(work.seen.erasing.encode() in fs.read(name) for name in fs.names())
    return work
