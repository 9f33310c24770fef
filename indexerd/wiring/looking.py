"""One look at the sources beside an index: what is not searchable, and why.

Owns: what such a look takes together: a scan, the index as it is, the first bytes of what is not indexed.
Knows nothing of: how a finding is told.
Invariants: 1. nothing is written and no lock is taken: a daemon at work is not disturbed. 2. the reasons are those that
    a sync gives.
Purity: shell (reads the state directory and the sources).
See: docs/operations.md (doctor).
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from indexerd.config import Config
from indexerd.model import SourcePath
from indexerd.ports import SourceFault
from indexerd.sources import SourceTree
from indexerd.store import open_reader
from indexerd.store.fsio import RealStoreFilesystem
from indexerd.store.snapshot import empty_snapshot
from indexerd.sync.fingerprint import FingerprintCache
from indexerd.sync.ledger import documents_of
from indexerd.sync.look import UNKNOWN_DEVICE, Place
from indexerd.sync.memory import load_saved
from indexerd.sync.plan import plan
from indexerd.sync.reading import is_binary
from indexerd.sync.status import Named
from indexerd.wiring.reading import formed_roots
from indexerd.wiring.syncing import scanner_of

# Of the files that are new to the index, newest first: a folder that was never indexed is no reason to read it whole.
_MOST_READ = 1000


class Unsearchable(NamedTuple):
    """Files that are not indexed, and documents that cannot be looked at now, in the order of their paths."""

    skipped: tuple[Named, ...]
    held: tuple[Named, ...]


def look_once(config: Config) -> Unsearchable:
    """Look below the roots of a watch set that has a state directory.

    Raises:
        OSError: The state directory cannot be read.
        StoreError: No generation in it proves whole.
    """
    fs = RealStoreFilesystem.open_directory(config.state_dir, create=False)
    try:
        snapshot, cache = open_reader(fs) or empty_snapshot(), FingerprintCache.of(load_saved(fs))
    finally:
        fs.close()
    roots, indexed = formed_roots(config), dict(documents_of(snapshot))
    known = {mount: Place(UNKNOWN_DEVICE, mount=True) for mount in cache.mounts}
    look = scanner_of(config, roots).scan(known)
    decided = plan(look=look, indexed=indexed, cache=cache, roots=roots)
    new = [path for path in decided.read if path not in indexed][:_MOST_READ]
    skipped = {entry.source_path: entry.reason for entry in decided.skipped}
    skipped.update(_unusable(SourceTree(roots, config.max_file_bytes), new))
    return Unsearchable(_named(skipped.items()), _named(decided.held.items()))


def _unusable(sources: SourceTree, paths: Iterable[SourcePath]) -> Iterator[tuple[SourcePath, str]]:
    """Yield those of the files that a sync could not index, with the reason."""
    for path in paths:
        read = sources.read(path)
        if isinstance(read, SourceFault):
            # Gone since it was listed: no file is no finding.
            if read.code != "source_missing":
                yield path, read.detail
        elif is_binary(read.data):
            yield path, "binary"


def _named(entries: Iterable[tuple[SourcePath, str]]) -> tuple[Named, ...]:
    return tuple(Named(path, reason) for path, reason in sorted(entries))
