"""The table of folder watches, and what one kernel event means as a hint.

Owns: which watch descriptor stands for which folders, the event mask, the translation of an event.
Knows nothing of: descriptors of files, threads, what a hint leads to.
Invariants: 1. a folder reached by several spellings gets its events under each. 2. a folder that moved away loses its
    watches at the event, before its new place is watched: a later event never arrives under an old path for long. 3.
    of a folder that matters for some names alone, events of other names say nothing.
Purity: pure.
See: docs/consistency.md (events are hints).
"""

from collections.abc import Collection, Iterable
from typing import NamedTuple

from indexerd.sync.pending import Hint, Kind

# Values of inotify(7); the contract test holds them equal to the names of the watching library.
MODIFY, ATTRIB, CLOSE_WRITE = 0x2, 0x4, 0x8
MOVED_FROM, MOVED_TO, CREATE, DELETE = 0x40, 0x80, 0x100, 0x200
DELETE_SELF, MOVE_SELF, UNMOUNT, OVERFLOW, IGNORED = 0x400, 0x800, 0x2000, 0x4000, 0x8000
ONLYDIR, DONT_FOLLOW, EXCL_UNLINK, MASK_ADD, ISDIR = 0x1000000, 0x2000000, 0x4000000, 0x20000000, 0x40000000

# Lean: nothing that reading causes (open, access, close without write), else our own scan would wake us for ever.
# MODIFY stays because a file may be written for hours without being closed.
_CHANGES = MODIFY | ATTRIB | CLOSE_WRITE | MOVED_FROM | MOVED_TO | CREATE | DELETE
FOLDER_MASK = _CHANGES | ONLYDIR | DONT_FOLLOW | EXCL_UNLINK | MASK_ADD
# A root may be given through a link, and nobody above it tells when it goes.
ROOT_MASK = _CHANGES | DELETE_SELF | MOVE_SELF | ONLYDIR | EXCL_UNLINK | MASK_ADD

_WRITING = MODIFY | CREATE
_FINISHED = CLOSE_WRITE | MOVED_FROM | MOVED_TO | DELETE


class Event(NamedTuple):
    """One record of the kernel: watch descriptor, mask, name inside the folder (empty for the folder itself)."""

    wd: int
    mask: int
    name: bytes


class Harvest(NamedTuple):
    """What a batch of events says.

    Attributes:
        hints: Paths to look at, in the order of the events.
        overflowed: Events were lost: everything is in doubt.
        dropped: Watches to remove, because their folder moved away.
    """

    hints: tuple[Hint, ...]
    overflowed: bool
    dropped: tuple[int, ...]


class WatchTable:
    """Folders by watch descriptor and back. Not safe for threads by itself."""

    def __init__(self) -> None:
        self._folders: dict[int, tuple[bytes, ...]] = {}
        self._watch: dict[bytes, int] = {}
        self._names: dict[bytes, frozenset[bytes]] = {}
        # The tree of what is watched, and of the folders between: what is done to one folder must not cost a pass over
        # all of them, or the queue overflows when many are removed.
        self._children: dict[bytes, set[bytes]] = {}

    def __len__(self) -> int:
        return len(self._folders)

    def __contains__(self, folder: bytes) -> bool:
        return folder in self._watch

    def add(self, wd: int, folder: bytes, names: frozenset[bytes] = frozenset()) -> None:
        """Note that a descriptor stands for a folder; the kernel gives one descriptor to one inode.

        Once all names of a folder matter they do until it is dropped, whoever asks for some of them.
        """
        old = self._watch.get(folder)
        if not names:
            self._names.pop(folder, None)
        elif old is None or folder in self._names:
            self._names[folder] = names
        if old is not None and old != wd:
            self._release(old, folder)
        self._watch[folder] = wd
        self._link(folder)
        known = self._folders.get(wd, ())
        if folder not in known:
            self._folders[wd] = (*known, folder)

    def gone(self, wd: int) -> None:
        """Forget a descriptor that the kernel has removed."""
        for folder in self._folders.pop(wd, ()):
            if self._watch.get(folder) == wd:
                del self._watch[folder]
                self._names.pop(folder, None)
                self._unlink(folder)

    def drop_below(self, prefixes: Iterable[bytes]) -> tuple[int, ...]:
        """Forget the folders at and below these paths; return the descriptors that stand for nothing any more."""
        return self._drop(self._at_or_below(prefixes))

    def keep_only(
        self, tops: Collection[bytes], folders: Collection[bytes], others: Collection[bytes] = ()
    ) -> tuple[int, ...]:
        """Forget the folders at and below `tops` that are not among those given; return descriptors left over.

        What lies at and below `others` stays, unless a top lies there in turn.
        """
        return self._drop([folder for folder in self._at_or_below(tops, others) if folder not in folders])

    def read(self, events: Iterable[Event]) -> Harvest:
        """Turn events into hints and keep the table in step with them."""
        hints: list[Hint] = []
        overflowed = False
        moved_away: list[bytes] = []
        for event in events:
            if event.mask & OVERFLOW:
                overflowed = True
            elif event.mask & IGNORED:
                self.gone(event.wd)
            else:
                found = [hint_of(folder, event) for folder in self._concerned(event)]
                hints.extend(found)
                if event.mask & MOVED_FROM and event.mask & ISDIR:
                    moved_away.extend(hint.path for hint in found)
        return Harvest(tuple(hints), overflowed, self.drop_below(moved_away))

    def _concerned(self, event: Event) -> list[bytes]:
        """Return the folders of an event's watch for which its name matters; the folder's own events always do."""
        folders = self._folders.get(event.wd, ())
        return [f for f in folders if not event.name or f not in self._names or event.name in self._names[f]]

    def _at_or_below(self, tops: Iterable[bytes], others: Collection[bytes] = ()) -> list[bytes]:
        """Return the watched folders at and below these paths, each once, but for those at and below others."""
        found: dict[bytes, None] = {}
        ahead = list(tops)
        while ahead:
            folder = ahead.pop()
            if folder not in found and folder not in others:
                found[folder] = None
                ahead.extend(self._children.get(folder, ()))
        return [folder for folder in found if folder in self._watch]

    def _link(self, folder: bytes) -> None:
        """Have each folder above know the one below it; one that has others below is known already."""
        while folder:
            above = folder.rpartition(b"/")[0]
            below = self._children.get(above)
            if below is not None:
                below.add(folder)
                return
            self._children[above] = {folder}
            folder = above

    def _unlink(self, folder: bytes) -> None:
        """Forget a folder that is not watched any more, and those above it that stand for nothing else."""
        while folder and folder not in self._watch and folder not in self._children:
            above = folder.rpartition(b"/")[0]
            below = self._children.get(above, set())
            below.discard(folder)
            if below:
                return
            self._children.pop(above, None)
            folder = above

    def _drop(self, folders: list[bytes]) -> tuple[int, ...]:
        unused = []
        for folder in folders:
            wd = self._watch.pop(folder)
            self._names.pop(folder, None)
            self._unlink(folder)
            if self._release(wd, folder):
                unused.append(wd)
        return tuple(unused)

    def _release(self, wd: int, folder: bytes) -> bool:
        left = tuple(known for known in self._folders.get(wd, ()) if known != folder)
        if left:
            self._folders[wd] = left
            return False
        return self._folders.pop(wd, None) is not None


def lies_below(path: bytes, tops: Collection[bytes], others: Collection[bytes] = ()) -> bool:
    """Whether a path is one of `tops` or lies beneath one, with none of `others` between; sets are asked quickly."""
    while path not in tops:
        if path in others:
            return False
        path = path.rpartition(b"/")[0]
        if not path:
            return b"/" in tops
    return True


def hint_of(folder: bytes, event: Event) -> Hint:
    """Return the path that one event asks to be looked at.

    A folder's own event (no name) and any event about a folder mean: look at all below it.
    """
    if not event.name:
        return Hint(folder, Kind.DONE, tree=True)
    path = folder + b"/" + event.name
    if event.mask & ISDIR:
        return Hint(path, Kind.DONE, tree=True)
    if event.mask & _FINISHED:
        return Hint(path, Kind.DONE)
    return Hint(path, Kind.WRITING if event.mask & _WRITING else Kind.TOUCHED)
