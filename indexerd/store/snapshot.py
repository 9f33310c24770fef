"""A reader's pinned, immutable view of one generation.

Owns: what a query may see of the store.
Knows nothing of: how generations are made, locks, slots.
Invariants: 1. a snapshot never changes and needs no lock; its files stay readable for as long as it is referenced.
    2. a document is in it once. 3. at most `MAX_PARTS` segments, save while a bulk load waits for its merge.
Purity: pure.
See: docs/consistency.md (snapshots).
"""

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from indexerd.model import ContentHash, SourcePath
from indexerd.store.parts import LiveSegment, Part, Stored


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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Snapshot:
    """One generation.

    Attributes:
        store_id: Identity of the store.
        generation: Its number; 0 when nothing was published yet.
        durable: Whether it is known to outlive a power cut.
        settings: Settings fingerprint of its documents; empty for generation 0.
        segments: Oldest first; no document lives in two of them.
        document_count: Living documents.
        chunk_count: Their chunks.
        unsafe_chunk_count: Those of documents that the safety gate marked.
        stored: The segments as they lie in the state directory, oldest first.
    """

    store_id: str
    generation: int
    durable: bool
    settings: str
    segments: tuple[LiveSegment, ...]
    document_count: int
    chunk_count: int
    unsafe_chunk_count: int
    stored: tuple[Stored, ...]

    def find(self, source_path: SourcePath) -> tuple[LiveSegment, int] | None:
        """Return where a living document lies, or None."""
        for segment in reversed(self.segments):
            index = segment.data.find(source_path)
            if index >= 0 and segment.live[index]:
                return segment, index
        return None

    def documents(self) -> Iterator[tuple[LiveSegment, int]]:
        """Yield every living document in the order of its source path's UTF-8 bytes."""
        walks = [_walk(segment, number) for number, segment in enumerate(self.segments)]
        for _, _, segment, index in heapq.merge(*walks, key=lambda item: item[:2]):
            yield segment, index

    def deleted(self) -> tuple[DeletedDocument, ...]:
        """Return what is still known of documents that are gone, by source path. Merging forgets them."""
        found: dict[SourcePath, DeletedDocument] = {}
        for stored in self.stored:
            for path in stored.data.tombstones:
                found[path] = DeletedDocument(path, self._last_hash(path), stored.ref.generation)
        return tuple(found[path] for path in sorted(found, key=str.encode) if self.find(path) is None)

    def _last_hash(self, path: SourcePath) -> ContentHash | None:
        for stored in reversed(self.stored):
            index = stored.data.find(path)
            if index >= 0:
                return ContentHash(bytes(stored.data.content_hashes[index]))
        return None


def make_snapshot(*, store_id: str, generation: int, durable: bool, settings: str, parts: Sequence[Part]) -> Snapshot:
    """Return a snapshot with its counts added up."""
    segments = tuple(part.view for part in parts)
    return Snapshot(
        store_id=store_id,
        generation=generation,
        durable=durable,
        settings=settings,
        segments=segments,
        document_count=sum(segment.document_count for segment in segments),
        chunk_count=sum(segment.chunk_count for segment in segments),
        unsafe_chunk_count=sum(segment.unsafe_chunk_count for segment in segments),
        stored=tuple(stored for part in parts for stored in part.stored),
    )


def empty_snapshot() -> Snapshot:
    """Return the snapshot of a store in which nothing was ever published."""
    return make_snapshot(store_id="", generation=0, durable=False, settings="", parts=())


def _walk(segment: LiveSegment, number: int) -> Iterator[tuple[bytes, int, LiveSegment, int]]:
    paths = segment.data.paths
    for index in np.flatnonzero(segment.live).tolist():
        yield paths[index].encode(), number, segment, index
