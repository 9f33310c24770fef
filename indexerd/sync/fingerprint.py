"""What a file's stat was when its bytes were last read, so that an unchanged file need not be read again.

Owns: when an equal stat may be believed, which files are read again all the same.
Knows nothing of: the disk, where the cache is kept, its bytes.
Invariants: 1. the cache is disposable: whatever is wrong with its bytes makes it empty, never wrong. 2. a file touched
    within two seconds of being read is not believed: it may have been written again within one tick of its file
    system's clock. 3. every file's turn to be read again comes, longest unread first.
Purity: pure.
See: docs/consistency.md (fingerprints).
"""

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from indexerd.model import ContentHash, SourcePath
from indexerd.ports import SourceStat
from indexerd.sync.saved import RACY_NS, Row, SavedFingerprints, decode, encode

# So many files are written down in a millisecond.
_PORTION = 500


class Fingerprint(NamedTuple):
    """One file as it was last read.

    Attributes:
        stat: Its stat then, equal before and after the read.
        content_hash: SHA-256 of the bytes.
        looked_ns: Wall time just before the read.
    """

    stat: SourceStat
    content_hash: ContentHash
    looked_ns: int


def is_racy(stat: SourceStat, looked_ns: int) -> bool:
    """Whether the file changed so close to the look that it may have changed again unseen.

    A time that lies far ahead of the look is not racy: the next write sets another one.
    """
    return abs(stat.mtime_ns - looked_ns) <= RACY_NS or abs(stat.ctime_ns - looked_ns) <= RACY_NS


class FingerprintCache:
    """The fingerprints of one store's documents. Belongs to one thread, save for `encode`, which any may call.

    Attributes:
        sampled_ns: Wall time of the last sample; 0 for never.
        unsaved: Whether anything was changed since it was read from its bytes, or since whoever wrote them said so.
    """

    def __init__(self) -> None:
        # Plain tuples in the order of `Fingerprint`: a cache of 40,000 files is made from its bytes at each start.
        self._known: dict[SourcePath, Row] = {}
        self.sampled_ns = 0
        self._mounts: frozenset[SourcePath] = frozenset()
        # Also while it is empty: the file says that a sync came to its end here.
        self.unsaved = True

    def __len__(self) -> int:
        return len(self._known)

    @property
    def mounts(self) -> frozenset[SourcePath]:
        """The folders where something was mounted when they were last seen."""
        return self._mounts

    @mounts.setter
    def mounts(self, mounts: frozenset[SourcePath]) -> None:
        self.unsaved = self.unsaved or mounts != self._mounts
        self._mounts = mounts

    def get(self, path: SourcePath) -> Fingerprint | None:
        """Return what is known of a file."""
        known = self._known.get(path)
        return None if known is None else Fingerprint(SourceStat._make(known[0]), known[1], known[2])

    def modified(self, paths: Iterable[SourcePath]) -> list[int | None]:
        """Return when each file was modified (ns since 1970), as it was last read; a filter by time asks of all."""
        return [None if known is None else known[0][3] for known in map(self._known.get, paths)]

    def hashes(self) -> Iterator[tuple[SourcePath, ContentHash]]:
        """Yield every known file with the hash that its bytes had."""
        for path, row in self._known.items():
            yield path, row[1]

    def record(self, path: SourcePath, stat: SourceStat, content_hash: ContentHash, looked_ns: int) -> None:
        """Remember a read. `looked_ns` is the wall time just before it."""
        self._known[path] = (stat, content_hash, looked_ns)
        self.unsaved = True

    def forget(self, path: SourcePath) -> None:
        """Drop what is known of a file; nothing happens if that is nothing."""
        self.unsaved = self._known.pop(path, None) is not None or self.unsaved

    def keep_only(self, paths: Iterable[SourcePath]) -> None:
        """Drop what is known of all other files."""
        before = len(self._known)
        self._known = {path: self._known[path] for path in paths if path in self._known}
        self.unsaved = self.unsaved or len(self._known) < before

    def believes(self, path: SourcePath, stat: SourceStat, content_hash: ContentHash) -> bool:
        """Whether a file with this stat surely has the bytes of this hash, as far as a stat can tell."""
        return bool(self.believed({path: stat}, {path: content_hash}))

    def believed(
        self, stats: Mapping[SourcePath, SourceStat], hashes: Mapping[SourcePath, ContentHash]
    ) -> list[SourcePath]:
        """Return the files of `stats`, in their order, that `believes` is true of: runs for each file of a scan."""
        find, expected = self._known.get, hashes.get
        return [
            path
            for path, stat in stats.items()
            if (row := find(path)) is not None
            and row[0] == stat
            and row[1] == expected(path)
            and not is_racy(stat, row[2])
        ]

    def doubted(self, paths: Iterable[SourcePath], hashes: Mapping[SourcePath, ContentHash]) -> list[SourcePath]:
        """Return the known files of `paths`, in their order, whose stat of the last read is not believed."""
        find, expected = self._known.get, hashes.get
        return [
            path
            for path in paths
            if (row := find(path)) is not None
            and (row[1] != expected(path) or is_racy(SourceStat._make(row[0]), row[2]))
        ]

    def same_files(self, stats: Iterable[SourceStat]) -> list[SourcePath]:
        """Return the names under which the same files (device and inode) were read: looks at everything known."""
        wanted = {stat[:2] for stat in stats}
        return [path for path, row in self._known.items() if row[0][:2] in wanted]

    def sample(self, paths: Iterable[SourcePath], count: int) -> list[SourcePath]:
        """Return the `count` files of `paths` that were read longest ago; the same for the same cache."""
        if count <= 0:
            return []
        aged = ((self._known[path][2], path) for path in paths if path in self._known)
        return [path for _, path in heapq.nsmallest(count, aged)]

    def encode(self, paths: Sequence[SourcePath] | None = None, pause: Callable[[], object] = lambda: None) -> bytes:
        """Return the cache's bytes.

        Args:
            paths: The files to write down, as far as they are known, in this order; None for all.
            pause: Called after each portion: all at once would hold up every thread for a tenth of a second.
        """
        paths = sorted(self._known) if paths is None else paths
        portions = (
            {path: row for path in paths[start : start + _PORTION] if (row := self._known.get(path)) is not None}
            for start in range(0, len(paths), _PORTION)
        )
        return encode(portions, self._mounts, self.sampled_ns, pause)

    @classmethod
    def decode(cls, data: bytes | memoryview) -> "FingerprintCache":
        """Read a cache; an empty one if a single byte is not as it was written."""
        return cls.of(decode(data))

    @classmethod
    def of(cls, saved: SavedFingerprints | None) -> "FingerprintCache":
        """Make a cache of what was written down; an empty one of nothing."""
        cache = cls()
        if saved is not None:
            cache._known = dict(saved.rows())
            cache._mounts, cache.sampled_ns, cache.unsaved = saved.mounts, saved.sampled_ns, False
        return cache
