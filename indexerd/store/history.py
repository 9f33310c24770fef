"""The past, read back: a kept generation, what it changed, and the documents that are gone.

Owns: how a generation is opened again; which error says why it cannot be; what is known of deleted documents.
Knows nothing of: why a generation is kept, who may see it.
Invariants: 1. a generation is opened only if all of it proves whole. 2. damage in one says nothing of another.
Purity: shell (reads the state directory, through the port).
See: docs/on-disk-format.md (history), docs/protocol.md (generations).
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from indexerd.errors import CorruptionError, FormatVersionError, GenerationError
from indexerd.model import ContentHash, SourcePath
from indexerd.ports import StoreFilesystem
from indexerd.store.manifest import Manifest, SegmentRef
from indexerd.store.parts import Stored
from indexerd.store.recover import read_generation, read_segment
from indexerd.store.slots import KeptGeneration, Slot
from indexerd.store.snapshot import Snapshot, make_snapshot


class GenerationInfo(NamedTuple):
    """A kept generation.

    Attributes:
        generation: Its number.
        durable: It is known to outlive a power cut.
        published_at_ns: Wall time.
        added: Documents it added.
        updated: Documents it changed.
        deleted: Documents it removed.
    """

    generation: int
    durable: bool
    published_at_ns: int
    added: int
    updated: int
    deleted: int


class Changes(NamedTuple):
    """What a generation changed, by name.

    Attributes:
        since: The kept generation that it is compared with; 0 for none before the first.
        added: Documents that are new in it.
        updated: Documents with other bytes.
        deleted: Documents that are gone.
    """

    since: int
    added: tuple[SourcePath, ...]
    updated: tuple[SourcePath, ...]
    deleted: tuple[SourcePath, ...]


class DeletedDocument(NamedTuple):
    """A document that is gone.

    Attributes:
        source_path: Its name.
        content_hash: SHA-256 of its last version, if that is still known.
        generation: The one that deleted it, or a later one that merging put it with.
    """

    source_path: SourcePath
    content_hash: ContentHash | None
    generation: int


class Past(NamedTuple):
    """What a reader of older generations holds on to.

    Attributes:
        fs: The state directory; None where there is none, and no slot.
        slot: Names the kept generations; None while nothing is published.
        durable: Those of them that outlive a power cut.
        manifests: Of those that can be read.
        current: The newest one.
    """

    fs: StoreFilesystem | None
    slot: Slot | None
    durable: frozenset[int]
    manifests: Mapping[int, Manifest]
    current: Snapshot

    def generations(self) -> tuple[GenerationInfo, ...]:
        """Return the kept generations, oldest first."""
        return tuple(self.info(kept.generation) for kept in (self.slot.kept if self.slot else ()))

    def info(self, generation: int) -> GenerationInfo:
        """Return what is known of a kept generation. Raises as `open`."""
        kept = self._kept(generation)
        return GenerationInfo(generation, generation in self.durable, kept.published_at_ns, *kept.change)

    def open(self, generation: int) -> Snapshot:
        """Open a kept generation.

        Raises:
            GenerationError: It is not kept, or does not prove whole; `code` says which.
            OSError: The machine's fault. Try again.
        """
        kept = self._kept(generation)
        assert self.fs is not None
        try:
            manifest, parts = read_generation(self.fs, kept)
        except (CorruptionError, FormatVersionError) as error:
            message = f"generation {generation} is damaged and cannot be answered from ({error})"
            raise GenerationError("generation_damaged", message) from error
        assert self.slot is not None
        return make_snapshot(
            store_id=self.slot.store_id, manifest=manifest, durable=generation in self.durable, parts=parts
        )

    def changes(self, generation: int) -> Changes | None:
        """Return what a generation changed since the one kept before it; None for the oldest kept, unless it is 1.

        Raises:
            GenerationError: One of both is not kept, or damaged.
        """
        after = _hashes(self.open(generation))
        since = max((one.generation for one in self.generations() if one.generation < generation), default=0)
        if not since and generation > 1:
            return None
        before = _hashes(self.open(since)) if since else {}
        return Changes(
            since=since,
            added=tuple(path for path in after if path not in before),
            updated=tuple(path for path in after if before.get(path, after[path]) != after[path]),
            deleted=tuple(path for path in before if path not in after),
        )

    def last_versions(self, generation: int) -> Iterator[Stored]:
        """Yield segments of later generations, newest first: the first that holds a path has its last known version.

        Files that cannot be read are passed over.
        """
        later = {ref for number, one in self.manifests.items() if number > generation for ref in one.segments}
        yield from _readable(self.fs, later)

    def deleted(self) -> tuple[DeletedDocument, ...]:
        """Return what is still known of documents that are gone, by source path."""
        refs = {ref for one in self.manifests.values() for ref in one.segments}
        last: dict[SourcePath, SegmentRef] = {}
        hashes: dict[SourcePath, ContentHash] = {}
        dead: dict[SourcePath, int] = {}
        for stored in _readable(self.fs, refs):
            data = stored.data
            # Newest first: the oldest tombstone that is newer than the last version is the one that deleted it.
            dead.update((path, stored.ref.generation) for path in data.tombstones if path not in last)
            for number, path in enumerate(data.path_table):
                name = SourcePath(path)
                if last.setdefault(name, stored.ref) is stored.ref:
                    hashes[name] = ContentHash(data.content_hashes[number].tobytes())
        return tuple(
            DeletedDocument(path, hashes.get(path), dead.get(path) or self._first_without(last[path]))
            for path in sorted(last.keys() | dead.keys(), key=str.encode)
            if self.current.find(path) is None
        )

    def _first_without(self, ref: SegmentRef) -> int:
        """Return the first kept generation after a segment: one that replaced all there was leaves no tombstones."""
        later = [
            number for number, one in self.manifests.items() if number > ref.generation and ref not in one.segments
        ]
        return min(later, default=self.current.generation)

    def _kept(self, generation: int) -> KeptGeneration:
        kept = {one.generation: one for one in (self.slot.kept if self.slot else ())}
        if generation not in kept:
            oldest = min(kept, default=None)
            since = "none is" if oldest is None else f"history reaches back to {oldest}"
            message = f"generation {generation} is not kept; {since}, the current one is {self.current.generation}"
            raise GenerationError("generation_not_kept", message)
        return kept[generation]


def _hashes(snapshot: Snapshot) -> dict[SourcePath, bytes]:
    return {one.data.paths[i]: one.data.content_hashes[i].tobytes() for one, i in snapshot.documents()}


def no_past(current: Snapshot) -> Past:
    """Return the past of which nothing is known."""
    return Past(fs=None, slot=None, durable=frozenset(), manifests={}, current=current)


def _readable(fs: StoreFilesystem | None, refs: set[SegmentRef]) -> Iterator[Stored]:
    for ref in sorted(refs, key=lambda one: (one.generation, one.file.serial), reverse=True):
        assert fs is not None
        try:
            yield read_segment(fs, ref)
        except (CorruptionError, FormatVersionError):
            continue
