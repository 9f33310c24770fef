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

import numpy as np

from indexerd.model import SourcePath
from indexerd.store.manifest import NO_GENERATION, Manifest, Versions
from indexerd.store.parts import LiveSegment, Part, Stored


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
        versions: Of the program that published it.
        erased: Documents that were live in it and have been erased since.
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
    versions: Versions
    erased: int

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


def make_snapshot(*, store_id: str, manifest: Manifest, durable: bool, parts: Sequence[Part]) -> Snapshot:
    """Return a snapshot with its counts added up."""
    segments = tuple(part.view for part in parts)
    return Snapshot(
        store_id=store_id,
        generation=manifest.generation,
        durable=durable,
        settings=manifest.settings,
        segments=segments,
        document_count=sum(segment.document_count for segment in segments),
        chunk_count=sum(segment.chunk_count for segment in segments),
        unsafe_chunk_count=sum(segment.unsafe_chunk_count for segment in segments),
        stored=tuple(stored for part in parts for stored in part.stored),
        versions=manifest.versions,
        erased=manifest.erased,
    )


def empty_snapshot() -> Snapshot:
    """Return the snapshot of a store in which nothing was ever published."""
    return make_snapshot(store_id="", manifest=NO_GENERATION, durable=False, parts=())


def _walk(segment: LiveSegment, number: int) -> Iterator[tuple[bytes, int, LiveSegment, int]]:
    paths = segment.data.paths
    for index in np.flatnonzero(segment.live).tolist():
        yield paths[index].encode(), number, segment, index
