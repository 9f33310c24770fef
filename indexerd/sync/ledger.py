"""What the writer knows about the sources: what is indexed and trusted, what is skipped, what is held.

Owns: the writer's memory between two looks, and the answer to "is this document held?".
Knows nothing of: the disk, the store's files, threads.
Invariants: 1. only the writer changes it; what others read (`held`, `skipped`) is replaced whole, never changed in
    place. 2. it can be lost at any time: a scan and a reading of all files make it anew.
Purity: pure.
See: docs/consistency.md (looking and reading).
"""

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from indexerd.model import ContentHash, SourcePath
from indexerd.ports import SourceStat
from indexerd.store import Snapshot
from indexerd.store.segment import Segment
from indexerd.sync.fingerprint import FingerprintCache
from indexerd.sync.look import UNKNOWN_DEVICE, Look, Place, RootState
from indexerd.sync.plan import SyncPlan, next_places
from indexerd.sync.saved import SavedFingerprints, documents_digest

_HASH = np.dtype("V32")


class Stored(NamedTuple):
    """A new version of a document: its hash, and the file's stat (None if it was not looked at) and time of look."""

    content_hash: ContentHash
    stat: SourceStat | None
    looked_ns: int


class Known:
    """What the index and the cache hold: every document's hash, its fingerprint, and the paths in order."""

    __slots__ = ("cache", "indexed", "paths")

    def __init__(self, indexed: Iterable[tuple[SourcePath, ContentHash]], cache: FingerprintCache) -> None:
        self.indexed: dict[SourcePath, ContentHash] = dict(indexed)
        # Paths and hashes are most of what is kept here for each document: the cache shares ours, and we its.
        cache.keep_only(self.indexed)
        self.indexed.update((path, known) for path, known in cache.hashes() if known == self.indexed[path])
        # Sorted, so that the documents below a folder are one range.
        self.paths: list[SourcePath] = sorted(self.indexed)
        self.cache = cache


class Ledger:
    """The indexed documents by path, with the cache of fingerprints beside them."""

    def __init__(
        self, known: Callable[[], Known], saved: Callable[[], SavedFingerprints | None] = lambda: None
    ) -> None:
        """Make a ledger that has asked for nothing yet, since what is large takes its time.

        Args:
            known: Returns the same value each time; asked when first needed.
            saved: Returns what was written down of just the documents that are indexed, or nothing; the same each time.
        """
        self._make, self._saved = known, saved
        self._made: Known | None = None
        self._places: Mapping[SourcePath, Place] | None = None
        self.roots: dict[str, RootState] = {}
        self.held_paths: frozenset[SourcePath] = frozenset()
        self._held: Mapping[SourcePath, str] = MappingProxyType({})
        self.skipped: Mapping[SourcePath, str] = MappingProxyType({})
        self._unusable: dict[SourcePath, tuple[SourceStat, str]] = {}

    def _known(self) -> Known:
        if self._made is None:
            self._made, self._saved = self._make(), lambda: None
        return self._made

    def make(self) -> None:
        """Have the documents at hand one by one, as the first change needs them."""
        self._known()

    @property
    def is_made(self) -> bool:
        """Whether documents were asked for one by one: until then nothing has changed since the last run."""
        return self._made is not None

    def doubted(self, files: Mapping[SourcePath, SourceStat]) -> list[SourcePath] | None:
        """Return which of all files that there are must be read; None where that is to be decided file by file."""
        saved = self._saved()
        return None if saved is None else saved.doubted(files)

    @property
    def _indexed(self) -> dict[SourcePath, ContentHash]:
        return self._known().indexed

    @property
    def cache(self) -> FingerprintCache:
        """Return what the files' stats were when they were last read."""
        return self._known().cache

    @property
    def places(self) -> Mapping[SourcePath, Place]:
        """Return the roots and mount points as they were last seen."""
        if self._places is None:
            saved = self._saved()
            mounts = self.cache.mounts if saved is None else saved.mounts
            self._places = {mount: Place(UNKNOWN_DEVICE, mount=True) for mount in mounts}
        return self._places

    def __len__(self) -> int:
        return len(self._indexed)

    def __contains__(self, path: SourcePath) -> bool:
        return path in self._indexed

    @property
    def indexed(self) -> Mapping[SourcePath, ContentHash]:
        """Return every indexed document with its hash."""
        return self._indexed

    @property
    def held(self) -> Mapping[SourcePath, str]:
        """Return the documents that cannot be looked at now, with the reason."""
        return self._held

    @held.setter
    def held(self, held: Mapping[SourcePath, str]) -> None:
        if held is not self._held:
            self._held = held
            self.held_paths = frozenset(held)

    def paths(self) -> list[SourcePath]:
        """Return the paths of all indexed documents, in order."""
        return self._known().paths.copy()

    def within(self, scope: Collection[SourcePath]) -> dict[SourcePath, ContentHash]:
        """Return the indexed documents at or below any of these paths; the empty path stands for all."""
        if "" in scope:
            return dict(self._indexed)
        found: dict[SourcePath, ContentHash] = {}
        indexed, paths = self._indexed, self._known().paths
        for top in scope:
            if top in indexed:
                found[top] = indexed[top]
            # "0" follows "/": the range of all paths that begin with `top/`.
            first, last = bisect_left(paths, f"{top}/"), bisect_left(paths, f"{top}0")
            found.update((path, indexed[path]) for path in paths[first:last])
        return found

    def note_look(self, look: Look, plan: SyncPlan) -> None:
        """Take in what a look found beside the files to read: roots, mounts, what is skipped and held."""
        self._places = next_places(self.places, look, plan.held)
        self.roots.update(look.roots)
        saved, mounts = self._saved(), frozenset(path for path, place in self._places.items() if place.mount)
        if saved is None or saved.mounts != mounts:
            self.cache.mounts = mounts
        self.held = _replaced(self.held, look.scope, plan.held)
        skipped = {entry.source_path: entry.reason for entry in plan.skipped}
        # A file known to be unusable is not read again while it stays as it is; it stays on the list.
        for path, (stat, reason) in self._unusable.items():
            if look.files.get(path) == stat:
                skipped[path] = reason
        self.skipped = _replaced(self.skipped, look.scope, skipped)

    def is_known_unusable(self, path: SourcePath, stat: SourceStat | None) -> bool:
        """Return whether this very state of the file was read before and is of no use."""
        known = self._unusable.get(path)
        return known is not None and known[0] == stat

    def note_stored(self, stored: Mapping[SourcePath, Stored], deleted: Iterable[SourcePath]) -> None:
        """Take in what a publish made true.

        Args:
            stored: Each document now indexed in a new version.
            deleted: Documents that are no more.
        """
        indexed, cache = self._indexed, self.cache
        fresh = [path for path in stored if path not in indexed]
        gone = {path for path in deleted if path in indexed}
        for path, version in stored.items():
            indexed[path] = version.content_hash
            self._unusable.pop(path, None)
            if version.stat is not None:
                cache.record(path, version.stat, version.content_hash, version.looked_ns)
        for path in gone:
            del indexed[path]
            cache.forget(path)
        self._reorder(fresh, gone)
        looked_at = {path for path, version in stored.items() if version.stat is not None}
        self._no_longer_held(looked_at | gone)
        self._no_longer_skipped(looked_at)

    def note_equal(self, path: SourcePath, stat: SourceStat, looked_ns: int) -> None:
        """Take in that a file was read and is what is indexed."""
        self.cache.record(path, stat, self._indexed[path], looked_ns)
        self._unusable.pop(path, None)
        self._no_longer_held({path})
        self._no_longer_skipped({path})

    def note_unusable(self, path: SourcePath, stat: SourceStat | None, reason: str) -> None:
        """Take in that a file was read and cannot be indexed as it is."""
        if stat is not None:
            self._unusable[path] = (stat, reason)
        self.skipped = MappingProxyType({**self.skipped, path: reason})

    def note_held(self, path: SourcePath, reason: str) -> None:
        """Take in that an indexed document cannot be looked at."""
        self.held = MappingProxyType({**self.held, path: reason})

    def _reorder(self, fresh: list[SourcePath], gone: set[SourcePath]) -> None:
        known = self._known()
        if len(fresh) + len(gone) > 64:
            known.paths = sorted(known.indexed)
            return
        for path in gone:
            del known.paths[bisect_left(known.paths, path)]
        for path in fresh:
            known.paths.insert(bisect_left(known.paths, path), path)

    def _no_longer_held(self, paths: set[SourcePath]) -> None:
        if not paths.isdisjoint(self.held):
            self.held = MappingProxyType({path: why for path, why in self.held.items() if path not in paths})

    def _no_longer_skipped(self, paths: set[SourcePath]) -> None:
        if not paths.isdisjoint(self.skipped):
            self.skipped = MappingProxyType({path: why for path, why in self.skipped.items() if path not in paths})


def _replaced(
    old: Mapping[SourcePath, str], scope: Collection[SourcePath], new: Mapping[SourcePath, str]
) -> Mapping[SourcePath, str]:
    """Return the entries outside the scope together with the new ones."""
    if not old and not new:
        return old
    kept = {} if "" in scope else {path: why for path, why in old.items() if not is_within(path, scope)}
    return MappingProxyType(kept | dict(new))


def is_within(path: SourcePath, scope: Collection[SourcePath]) -> bool:
    """Return whether a path is at or below one of those of the scope."""
    if "" in scope or path in scope:
        return True
    at = path.rfind("/")
    while at > 0:
        if path[:at] in scope:
            return True
        at = path.rfind("/", 0, at)
    return False


def saved_of(snapshot: Snapshot, saved: SavedFingerprints | None) -> SavedFingerprints | None:
    """Return what was written down if it speaks of just the living documents and their versions; else nothing."""
    if saved is None or len(saved.hashes) != snapshot.document_count:
        return None
    living = [(live.data, np.flatnonzero(live.live)) for live in snapshot.segments]
    keys = np.concatenate([np.asarray(data.path_keys)[at] for data, at in living] or [np.empty(0, np.uint64)])
    hashes = np.concatenate([_hashes(data, at) for data, at in living] or [np.empty(0, _HASH)])
    return saved if documents_digest(keys.astype(np.uint64), hashes) == saved.documents else None


def documents_of(snapshot: Snapshot) -> Iterator[tuple[SourcePath, ContentHash]]:
    """Yield every living document with its hash, in no order."""
    for live in snapshot.segments:
        indexes = np.flatnonzero(live.live)
        paths = live.data.path_table.table.slices(indexes)
        hashes = _hashes(live.data, indexes).tolist()
        yield from (
            (SourcePath(str(path, "utf-8")), ContentHash(known)) for path, known in zip(paths, hashes, strict=True)
        )


def _hashes(segment: Segment, indexes: npt.NDArray[np.intp]) -> npt.NDArray[np.void]:
    return np.ascontiguousarray(np.asarray(segment.content_hashes)[indexes]).view(_HASH).ravel()
