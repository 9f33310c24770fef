"""A segment: some documents, their chunks, their posting lists, their text, and tombstones.

Owns: the value that everything reads, in memory or over the bytes of a file.
Knows nothing of: files, generations, which documents are live.
Invariants: 1. paths ascend by their bytes, none twice, and chunks follow the documents in that order. 2. tombstones
    ascend and name no document of the segment. 3. nothing is decoded before it is asked for.
Purity: pure over bytes.
See: docs/on-disk-format.md (segments).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple, cast

import numpy as np
import numpy.typing as npt

from indexerd.digests import content_hash
from indexerd.errors import CorruptionError
from indexerd.model import (
    LOST_HASH,
    Chunk,
    ContentHash,
    Digest,
    Document,
    LineSpan,
    MetadataValue,
    SourcePath,
    UnsafeFinding,
)
from indexerd.postings import PostingIndex
from indexerd.store.codec import pack_each, unpack
from indexerd.store.tables import BytesTable, Texts, TextTable

Words = npt.NDArray[np.uint32]
_WHERE = "segment"


# Weakly referable: search remembers what it derives from a segment for as long as the segment lives.
@dataclass(frozen=True, slots=True, kw_only=True, eq=False, weakref_slot=True)
class Segment:
    """Documents and chunks by ordinal. Arrays are read-only by convention: many snapshots share them.

    Attributes:
        settings: Fingerprint of the settings that made it.
        path_table: Source paths.
        path_keys: `uint64[documents]`, `path_key` of each.
        content_hashes: `uint8[documents, 32]`.
        digests: `uint8[documents, 16]`.
        sizes: `uint64[documents]`, bytes.
        first_chunks: `uint32[documents + 1]`, ordinal of each document's first chunk.
        unsafe: `bool[documents]`: the safety gate holds it back from evidence.
        has_metadata: `bool[documents]`: it has front matter, readable or not.
        records: What `document` decodes.
        tombstone_table: Paths that are dead in all earlier segments.
        tombstone_keys: `uint64`, `path_key` of each.
        document_of_chunk: `int32[chunks]`.
        start_lines: `uint32[chunks]`, 1-based.
        end_lines: `uint32[chunks]`, inclusive.
        byte_starts: `uint32[chunks]`, offset in the raw document.
        byte_ends: `uint32[chunks]`, half-open.
        occurrences: `uint32[chunks]`, 0, 1, ... among equal texts of a document.
        columns_lines: `uint32[chunks]`, header row of a split table, 0 none.
        heading_numbers: `uint32[chunks]`, entry of `headings`.
        headings: Distinct heading paths in order of first use.
        chunk_hit: `bool[chunks]`, False for a heading that only lends its words.
        texts: Raw bytes of each document; of a large segment they stay in its file.
        postings: Posting lists over the chunks.
    """

    settings: str
    path_table: TextTable
    path_keys: npt.NDArray[np.uint64]
    content_hashes: npt.NDArray[np.uint8]
    digests: npt.NDArray[np.uint8]
    sizes: npt.NDArray[np.uint64]
    first_chunks: Words
    unsafe: npt.NDArray[np.bool_]
    has_metadata: npt.NDArray[np.bool_]
    records: BytesTable
    tombstone_table: TextTable
    tombstone_keys: npt.NDArray[np.uint64]
    document_of_chunk: npt.NDArray[np.int32]
    start_lines: Words
    end_lines: Words
    byte_starts: Words
    byte_ends: Words
    occurrences: Words
    columns_lines: Words
    heading_numbers: Words
    headings: BytesTable
    chunk_hit: npt.NDArray[np.bool_]
    texts: Texts
    postings: PostingIndex

    @property
    def document_count(self) -> int:
        """Number of documents."""
        return len(self.path_table)

    @property
    def chunk_count(self) -> int:
        """Number of chunks."""
        return len(self.start_lines)

    @property
    def lengths(self) -> Words:
        """Words of each chunk."""
        return self.postings.lengths

    @property
    def paths(self) -> Sequence[SourcePath]:
        """Source paths by document."""
        return cast("Sequence[SourcePath]", self.path_table)

    @property
    def tombstones(self) -> tuple[SourcePath, ...]:
        """Paths that are dead in all earlier segments, ascending."""
        return tuple(map(SourcePath, self.tombstone_table))

    def find(self, source_path: SourcePath) -> int:
        """Return the ordinal of a document, -1 if it is not here."""
        return self.path_table.table.find(source_path.encode())

    def document(self, number: int) -> Document:
        """Return a document as stored."""
        record = unpack(self.records[number], _WHERE)
        title, format_, aliases, tags, metadata, front_lines, lines, unread, problems, unsafe = record
        return Document(
            source_path=SourcePath(self.path_table[number]),
            digest=Digest(self.digests[number].tobytes()),
            content_hash=ContentHash(self.content_hashes[number].tobytes()),
            size_bytes=self.sizes.item(number),
            line_count=lines,
            format=format_,
            title=title,
            aliases=tuple(aliases),
            tags=tuple(tags),
            metadata=MappingProxyType({k: v if isinstance(v, str) else tuple(v) for k, v in metadata}),
            front_matter_lines=front_lines,
            unread_keys=tuple(unread),
            problems=tuple(problems),
            unsafe=tuple(UnsafeFinding(line, pattern) for line, pattern in unsafe),
        )

    def chunk(self, number: int, text: str | None = None) -> Chunk:
        """Return a chunk.

        Args:
            number: Which one.
            text: Its text, from a caller who has cut it. Without it the hash is computed from the kept text, which is
                read; it is `LOST_HASH` where that is lost.
        """
        if text is None:
            text = self.chunk_text(number)
        # `item` gives a Python number at half the price of indexing.
        return Chunk(
            LineSpan(self.start_lines.item(number), self.end_lines.item(number)),
            self.byte_starts.item(number),
            self.byte_ends.item(number),
            content_hash(text.encode()) if text is not None else LOST_HASH,
            self.occurrences.item(number),
            tuple(unpack(self.headings[self.heading_numbers.item(number)], _WHERE)),
            self.chunk_hit.item(number),
            self.columns_lines.item(number),
        )

    def raw(self, number: int) -> memoryview:
        """Return the raw bytes of a document.

        Raises:
            CorruptionError: They are lost: the file was damaged after it was opened.
        """
        return memoryview(self.texts[number])

    def chunk_text(self, number: int, raw: bytes | None = None) -> str | None:
        """Return the exact slice of a chunk's decoded document; None where it is lost.

        Args:
            number: Which chunk.
            raw: Its document's bytes, from a caller who has proved them equal to the indexed ones; None for those kept.
        """
        try:
            whole = memoryview(self.texts[self.document_of_chunk.item(number)] if raw is None else raw)
        except CorruptionError:
            return None
        # Chunks are whole lines, and no UTF-8 sequence spans a line feed: decoding the slice is slicing the decoded
        # text.
        return str(whole[self.byte_starts.item(number) : self.byte_ends.item(number)], "utf-8", "replace")


class Record(NamedTuple):
    """What a segment stores of a document beside its columns; `Segment.document` reads it. Fields as in `Document`."""

    title: str
    format: str
    aliases: tuple[str, ...]
    tags: tuple[str, ...]
    metadata: list[tuple[str, MetadataValue]]
    front_matter_lines: int
    line_count: int
    unread_keys: tuple[str, ...]
    problems: tuple[str, ...]
    unsafe: tuple[UnsafeFinding, ...]


def document_records(records: Iterable[Record]) -> list[bytes]:
    """Return the bytes of some records."""
    return pack_each(records)


def owners_of_chunks(first_chunks: Words) -> npt.NDArray[np.int32]:
    """Return the document of each chunk."""
    return np.repeat(np.arange(len(first_chunks) - 1, dtype=np.int32), first_chunks[1:] - first_chunks[:-1])
