"""What a look at the disk means for the index: what to read, what is gone, what to keep though it cannot be seen.

Owns: the decision, for each document and file, between reading, keeping, holding and tombstoning.
Knows nothing of: the disk, the store, threads. A plan can be printed.
Invariants: 1. a tombstone needs an absence seen: within the scope, not beneath anything held. 2. what lies outside the
    scope is not touched, except that a document of no configured root goes. 3. a file is left unread only if its
    fingerprint is believed. 4. every file in scope is read or unchanged; every document in scope is read, unchanged,
    held or a tombstone.
Purity: pure.
See: docs/consistency.md (planning).
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from indexerd.model import ContentHash, Root, SourcePath
from indexerd.naming import root_of, source_path
from indexerd.ports import SourceStat
from indexerd.sync.fingerprint import FingerprintCache
from indexerd.sync.look import Look, Place, Skipped, nearest_above


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncPlan:
    """What should happen. Each list is without repetition, and no path is in two of the first four.

    Attributes:
        read: Files whose bytes must be read and compared, most recently modified first.
        tombstones: Documents whose absence was seen, sorted.
        held: Documents that may exist but cannot be looked at, with the reason.
        unchanged: Documents whose fingerprint is believed.
        skipped: Files that are not indexed, and folders that nobody could look into, for people.
    """

    read: tuple[SourcePath, ...]
    tombstones: tuple[SourcePath, ...]
    held: Mapping[SourcePath, str]
    unchanged: tuple[SourcePath, ...]
    skipped: tuple[Skipped, ...]


def plan(  # noqa: PLR0913 -- the six things a decision depends on, all by name
    *,
    look: Look,
    indexed: Mapping[SourcePath, ContentHash],
    cache: FingerprintCache,
    roots: Sequence[Root],
    redo: bool = False,
    sample: Collection[SourcePath] = (),
) -> SyncPlan:
    """Decide what to do about what was seen.

    Args:
        look: What was seen.
        indexed: The live documents and their hashes: at least those within the look's scope.
        cache: The fingerprints.
        roots: The configured roots.
        redo: Read every file, since the settings changed.
        sample: Files to read again though their fingerprint is believed.
    """
    read, unchanged = _sort_files(look.files, indexed, cache, frozenset(sample), redo=redo)
    tombstones, held = _sort_absent(look, [path for path in indexed if path not in look.files], roots)
    return SyncPlan(
        read=_newest_first(read, look.files),
        tombstones=tuple(sorted(tombstones)),
        held=held,
        unchanged=tuple(unchanged),
        skipped=(*look.skipped, *_unseen(look, held, roots)),
    )


def plan_quietly(
    *, look: Look, doubted: Collection[SourcePath], roots: Sequence[Root], sample: Collection[SourcePath]
) -> SyncPlan:
    """Decide as `plan` does where the files of a look at everything are just the indexed documents.

    Args:
        look: What was seen.
        doubted: The files whose fingerprint is not believed.
        roots: The configured roots.
        sample: Files to read again though their fingerprint is believed.
    """
    read = frozenset(doubted).union(path for path in sample if path in look.files)
    return SyncPlan(
        read=_newest_first(list(read), look.files),
        tombstones=(),
        held={},
        unchanged=tuple(path for path in look.files if path not in read) if read else tuple(look.files),
        skipped=(*look.skipped, *_unseen(look, (), roots)),
    )


def _unseen(look: Look, held: Collection[SourcePath], roots: Sequence[Root]) -> Iterator[Skipped]:
    """Yield what could not be looked at and holds no known document: nothing is held, and yet something is missed.

    A root that cannot be looked at has a state of its own that says so.
    """
    places = frozenset(place.source_path for place in look.held)
    tops = {source_path(root, b"") for root in roots} | {nearest_above(path, places) for path in held}
    scope = frozenset(look.scope)
    for place in look.held:
        if place.source_path not in tops and nearest_above(place.source_path, scope) is not None:
            yield Skipped(place.source_path, place.reason)


def next_places(known: Mapping[SourcePath, Place], look: Look, held: Collection[SourcePath]) -> dict[SourcePath, Place]:
    """Return where roots and mounts stand for the next look.

    What was seen replaces what was known. But a place whose device changed or whose mount is gone stays as it was
    known for as long as documents beneath it are held, and a look at a part of it decides nothing: otherwise the next
    look would find it ordinary and empty.
    """
    scope = frozenset(look.scope)
    doubted = frozenset(place.source_path for place in look.held)
    waiting = {place for path in held for place in _lineage(path) if place in doubted}
    waiting.update(path for path in doubted if nearest_above(path, scope) is None)
    places = {path: place for path, place in known.items() if path in waiting or nearest_above(path, scope) is None}
    places.update((path, place) for path, place in look.places.items() if path not in waiting)
    return places


def _lineage(path: SourcePath) -> Iterator[SourcePath]:
    """Yield the path and all that it lies beneath, down to the empty path."""
    at = str(path)
    yield path
    while at:
        at = at.rpartition("/")[0]
        yield SourcePath(at)


def _sort_files(
    files: Mapping[SourcePath, SourceStat],
    indexed: Mapping[SourcePath, ContentHash],
    cache: FingerprintCache,
    sample: frozenset[SourcePath],
    *,
    redo: bool,
) -> tuple[list[SourcePath], list[SourcePath]]:
    """Return the files to read, and those that are surely as indexed."""
    if redo:
        return list(files), []
    unchanged = [path for path in cache.believed(files, indexed) if path not in sample]
    sure = frozenset(unchanged)
    read = [path for path in files if path not in sure] if len(sure) < len(files) else []
    return read, unchanged


def _sort_absent(
    look: Look, absent: Sequence[SourcePath], roots: Sequence[Root]
) -> tuple[list[SourcePath], dict[SourcePath, str]]:
    """Return the documents that are gone, and those that only cannot be looked at."""
    scope = frozenset(look.scope)
    reasons = {place.source_path: place.reason for place in look.held}
    gone: list[SourcePath] = []
    held: dict[SourcePath, str] = {}
    for path in absent:
        if root_of(roots, path) is None:
            gone.append(path)
        elif nearest_above(path, scope) is None:
            continue
        elif (place := nearest_above(path, reasons)) is not None:
            held[path] = reasons[place]
        else:
            gone.append(path)
    return gone, held


def _newest_first(paths: list[SourcePath], files: Mapping[SourcePath, SourceStat]) -> tuple[SourcePath, ...]:
    return tuple(sorted(paths, key=lambda path: (-files[path].mtime_ns, path)))
