"""Several segments as one.

Owns: the merge, and the plain records by which two indexes are compared.
Knows nothing of: files, generations, why a document is dead.
Invariants: 1. the result is what one build over the live documents gives, byte for byte. 2. work is linear in the
    parts.
Purity: pure.
See: docs/on-disk-format.md (segments).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from indexerd.digests import path_key
from indexerd.model import SourcePath
from indexerd.postings import merge_postings
from indexerd.store.segment_postings import merge_packed
from indexerd.store.segment_value import Segment, owners_of_chunks
from indexerd.store.tables import BytesTable, GatheredTexts, TextTable, bytes_table, table_of

_Indexes = npt.NDArray[np.int64]
_Scalar = TypeVar("_Scalar", bound=np.generic)


def merge_segments(
    parts: Sequence[tuple[Segment, npt.NDArray[np.bool_]]], *, drop_tombstones: bool = False, packed: bool = False
) -> Segment:
    """Return one segment with the live documents of some.

    Args:
        parts: At least one segment, all made with the same settings, oldest first, each with the mask of its live
            documents; no path is live twice.
        drop_tombstones: Whether nothing earlier remains that tombstones could hide.
        packed: Whether it is to be written, not searched: then postings and texts never lie in memory as a whole.
    """
    segments = [segment for segment, _ in parts]
    documents = _Documents(parts)
    first_chunks = documents.first_chunks()
    places = documents.chunk_places()
    headings, heading_numbers = _headings(segments, places, documents.chunks)
    tombstones = _tombstones(segments, documents.paths, drop_tombstones=drop_tombstones)
    return Segment(
        settings=segments[0].settings,
        path_table=TextTable(bytes_table(documents.paths)),
        path_keys=documents.column(lambda segment: segment.path_keys),
        content_hashes=documents.column(lambda segment: segment.content_hashes),
        digests=documents.column(lambda segment: segment.digests),
        sizes=documents.column(lambda segment: segment.sizes),
        first_chunks=first_chunks,
        unsafe=documents.column(lambda segment: segment.unsafe),
        has_metadata=documents.column(lambda segment: segment.has_metadata),
        records=documents.table(lambda segment: segment.records),
        tombstone_table=TextTable(bytes_table([path for path, _ in tombstones])),
        tombstone_keys=np.array([key for _, key in tombstones], np.uint64),
        document_of_chunk=owners_of_chunks(first_chunks),
        start_lines=documents.chunk_column(lambda segment: segment.start_lines),
        end_lines=documents.chunk_column(lambda segment: segment.end_lines),
        byte_starts=documents.chunk_column(lambda segment: segment.byte_starts),
        byte_ends=documents.chunk_column(lambda segment: segment.byte_ends),
        occurrences=documents.chunk_column(lambda segment: segment.occurrences),
        columns_lines=documents.chunk_column(lambda segment: segment.columns_lines),
        heading_numbers=heading_numbers,
        headings=headings,
        chunk_hit=documents.chunk_column(lambda segment: segment.chunk_hit),
        texts=documents.gathered() if packed else documents.texts(),
        postings=(merge_packed if packed else merge_postings)(
            [(segment.postings, some) for segment, some in zip(segments, places, strict=True)], int(first_chunks[-1])
        ),
    )


def with_tombstones(segment: Segment, dead: Iterable[bytes]) -> Segment:
    """Return the segment with these paths, none of which it holds, as its only tombstones."""
    paths = sorted(set(dead))
    keys = np.array([path_key(SourcePath(path.decode())) for path in paths], np.uint64)
    return replace(segment, tombstone_table=TextTable(bytes_table(paths)), tombstone_keys=keys)


class _Documents:
    """The live documents of all parts, in the order of their paths."""

    def __init__(self, parts: Sequence[tuple[Segment, npt.NDArray[np.bool_]]]) -> None:
        self._segments = [segment for segment, _ in parts]
        live = [np.flatnonzero(mask) for _, mask in parts]
        paths = [
            bytes(path)
            for segment, numbers in zip(self._segments, live, strict=True)
            for path in segment.path_table.table.slices(numbers)
        ]
        # The parts are sorted runs: sorting merges them.
        order = sorted(range(len(paths)), key=paths.__getitem__)
        self.paths = [paths[at] for at in order]
        bases = np.cumsum([0, *(segment.document_count for segment in self._segments)])
        self._live = live
        self._order = np.array(order, np.int64)
        shifted = [numbers + base for numbers, base in zip(live, bases, strict=False)]
        self._taken = np.concatenate(shifted)[self._order] if order else np.zeros(0, np.int64)
        counts = [np.diff(segment.first_chunks.astype(np.int64)) for segment in self._segments]
        self._counts = np.concatenate(counts)[self._taken]
        chunk_bases = np.cumsum([0, *(segment.chunk_count for segment in self._segments)])
        starts = [segment.first_chunks[:-1].astype(np.int64) for segment in self._segments]
        firsts = np.concatenate([first + base for first, base in zip(starts, chunk_bases, strict=False)])[self._taken]
        self.chunks = _ranges(firsts, self._counts)
        self._chunk_bases = chunk_bases

    def first_chunks(self) -> npt.NDArray[np.uint32]:
        return np.concatenate(([0], np.cumsum(self._counts))).astype(np.uint32)

    def column(self, of: Callable[[Segment], npt.NDArray[_Scalar]]) -> npt.NDArray[_Scalar]:
        values: npt.NDArray[_Scalar] = np.concatenate([of(segment) for segment in self._segments])[self._taken]
        return values

    def chunk_column(self, of: Callable[[Segment], npt.NDArray[_Scalar]]) -> npt.NDArray[_Scalar]:
        values: npt.NDArray[_Scalar] = np.concatenate([of(segment) for segment in self._segments])[self.chunks]
        return values

    def texts(self) -> BytesTable:
        """Return the texts, each put into its place as it is read: they are most of a segment, and held once."""
        lengths = self.column(lambda segment: segment.sizes)
        blob = memoryview(bytearray(int(lengths.sum())))
        table = table_of(blob, lengths)
        starts = np.empty(len(lengths), np.int64)
        starts[self._order] = table.offsets[:-1]
        pieces = (
            segment.texts[number]
            for segment, numbers in zip(self._segments, self._live, strict=True)
            for number in numbers.tolist()
        )
        for start, piece in zip(starts.tolist(), pieces, strict=True):
            blob[start : start + len(piece)] = piece
        return table

    def gathered(self) -> GatheredTexts:
        """Return the texts, left where they are."""
        part = np.repeat(np.arange(len(self._live)), [len(numbers) for numbers in self._live])
        number = np.concatenate(self._live)
        lengths = self.column(lambda segment: segment.sizes)
        tables = [segment.texts for segment in self._segments]
        return GatheredTexts(tables, part[self._order], number[self._order], lengths)

    def table(self, of: Callable[[Segment], BytesTable]) -> BytesTable:
        pieces = [
            piece
            for segment, numbers in zip(self._segments, self._live, strict=True)
            for piece in of(segment).slices(numbers)
        ]
        return bytes_table([pieces[at] for at in self._order.tolist()])

    def chunk_places(self) -> list[npt.NDArray[np.int32]]:
        """Return for each part the new ordinal of each of its chunks, -1 for those that are gone."""
        places = np.full(self._chunk_bases[-1], -1, np.int32)
        places[self.chunks] = np.arange(len(self.chunks), dtype=np.int32)
        return [places[first:last] for first, last in zip(self._chunk_bases, self._chunk_bases[1:], strict=False)]


def _ranges(firsts: _Indexes, counts: _Indexes) -> _Indexes:
    within = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.repeat(firsts, counts) + within


def _headings(
    segments: Sequence[Segment], places: Sequence[npt.NDArray[np.int32]], chunks: _Indexes
) -> tuple[BytesTable, npt.NDArray[np.uint32]]:
    """Return the distinct heading paths in order of first use, and each chunk's number."""
    distinct: dict[bytes, int] = {}
    known = []
    for segment, some in zip(segments, places, strict=True):
        used = np.unique(segment.heading_numbers[some >= 0]).astype(np.int64)
        names = np.zeros(len(segment.headings), np.int64)
        names[used] = [distinct.setdefault(bytes(one), len(distinct)) for one in segment.headings.slices(used)]
        known.append(names[segment.heading_numbers])
    numbers = np.concatenate(known)[chunks]
    used, first = np.unique(numbers, return_index=True)
    order = used[np.argsort(first)]
    rank = np.zeros(len(distinct), np.uint32)
    rank[order] = np.arange(len(order), dtype=np.uint32)
    paths = list(distinct)
    return bytes_table([paths[number] for number in order.tolist()]), rank[numbers]


def _tombstones(
    segments: Sequence[Segment], paths: Sequence[bytes], *, drop_tombstones: bool
) -> list[tuple[bytes, int]]:
    if drop_tombstones:
        return []
    live = set(paths)
    keys = {
        bytes(path): int(key)
        for segment in segments
        for path, key in zip(
            segment.tombstone_table.table.slices(np.arange(len(segment.tombstone_keys))),
            segment.tombstone_keys,
            strict=True,
        )
    }
    return sorted((path, key) for path, key in keys.items() if path not in live)
