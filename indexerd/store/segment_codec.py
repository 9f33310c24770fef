"""Segments to bytes and back.

Owns: the layout of a segment file: head, section table, sections.
Knows nothing of: files, names, generations.
Invariants: 1. equal segments give equal bytes. 2. every byte is covered by a checksum: the head's covers the section
    table, which holds one for each section, padding included. 3. a changed byte is an error before any value is used.
Purity: pure over bytes.
See: docs/on-disk-format.md (segments).
"""

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from indexerd.digests import fast_digest, fast_digest_parts, running_digest
from indexerd.errors import CorruptionError, FormatVersionError
from indexerd.ports import StoreFile
from indexerd.store.codec import pack, unpack
from indexerd.store.columns import narrow, widen
from indexerd.store.manifest import is_count
from indexerd.store.segment_postings import PackedPostings, pack_postings
from indexerd.store.segment_value import Segment, owners_of_chunks
from indexerd.store.tables import BytesTable, FileTexts, Pieces, TextTable, table_of

SEGMENT_FORMAT = 1

_MAGIC = b"idxd-seg"
_HEAD = struct.Struct("<8sIIQ")  # magic, format, sections, bytes of the whole file
_ENTRY = struct.Struct("<8sQQ16s")  # name, offset, length without padding, checksum with padding
_CHECKSUM_BYTES = 16
_ALIGNMENT = 8
# No head comes near it: it has some thirty sections.
_HEAD_BYTES = 1 << 14
_PIECE_BYTES = 1 << 20

_Part = bytes | memoryview
_TextsOf = Callable[[npt.NDArray[np.uint64], npt.NDArray[np.uint8]], BytesTable | FileTexts]


def encode_segment(segment: Segment) -> Sequence[_Part]:
    """Return the bytes of a segment's file, in parts to be written one after the other.

    Texts that are not in memory are read each time that the parts are gone through, with their errors.
    """
    sections = _sections_without_texts(segment)
    texts, size = segment.texts, segment.texts.offsets.item(-1)
    parts: list[_Part] = []
    entries, offset = [], _HEAD.size + (len(sections) + 1) * _ENTRY.size + _CHECKSUM_BYTES
    for name, data in sections.items():
        padded = (data, bytes(-len(data) % _ALIGNMENT))
        entries.append(_ENTRY.pack(name.encode(), offset, len(data), fast_digest_parts(padded)))
        parts += padded
        offset += sum(map(len, padded))
    end = bytes(-size % _ALIGNMENT)
    # Not joined: of the texts that would be a copy.
    last: Sequence[_Part] = [texts.blob, end] if isinstance(texts, BytesTable) else Pieces([], texts, end)
    entries.append(_ENTRY.pack(b"text", offset, size, fast_digest_parts(last)))
    head = _HEAD.pack(_MAGIC, SEGMENT_FORMAT, len(entries), offset + size + len(end)) + b"".join(entries)
    before = [head + fast_digest(head), *parts]
    return [*before, *last] if isinstance(texts, BytesTable) else Pieces(before, texts, end)


def segment_hash(parts: Sequence[_Part]) -> bytes:
    """Return the content hash of an encoded segment: 16 bytes that cover every other byte.

    The head's checksum is enough, since the head holds the checksum of each section.
    """
    return bytes(parts[0][-_CHECKSUM_BYTES:])


def stored_hash(buffer: memoryview, where: str) -> bytes:
    """Return the content hash of a segment file, without proving its sections.

    Raises:
        CorruptionError: The head is damaged. Fall back or rebuild.
        FormatVersionError: Written by another format version. Rebuild.
    """
    end = _HEAD.size + len(_entries(buffer, where)) * _ENTRY.size
    return bytes(buffer[end : end + _CHECKSUM_BYTES])


def decode_segment(buffer: memoryview, where: str, *, verify: bool) -> Segment:
    """Return the segment whose file has these bytes. Nothing is copied but what narrow columns need.

    Args:
        buffer: The whole file; it must outlive the segment.
        where: Name of the file, for the error.
        verify: Whether to prove every section, not only the head. Reads all bytes.

    Raises:
        CorruptionError: The bytes are not what was written. Fall back or rebuild.
        FormatVersionError: Written by another format version. Rebuild.
    """
    sections: dict[str, memoryview] = {}
    for name, offset, length, checksum in _entries(buffer, where):
        padded = buffer[offset : offset + -(-length // _ALIGNMENT) * _ALIGNMENT]
        if verify and fast_digest(padded) != checksum:
            raise CorruptionError(where, f"checksum of section {name!r} differs")
        sections[name] = padded[:length]

    def texts_of(sizes: npt.NDArray[np.uint64], _digests: npt.NDArray[np.uint8]) -> BytesTable:
        return _filled(table_of(sections["text"], sizes.astype(np.int64)))

    return _decoded(sections, len(buffer), where, texts_of)


def open_segment(file: StoreFile, digest: bytes, where: str) -> Segment:
    """Return the segment that a file holds, proved whole; all but its texts is in memory afterwards.

    Args:
        file: Stays open for as long as the segment is used.
        digest: `fast_digest` of all its bytes.
        where: Name of the file, for the error.

    Raises:
        CorruptionError: The bytes are not what was written. Fall back or rebuild.
        FormatVersionError: Written by another format version. Rebuild.
        OSError: The machine's fault. Try again.
    """
    head = memoryview(file.read_at(0, _HEAD_BYTES))
    entries = _entries(head, where, file.size)
    sections: dict[str, memoryview] = {}
    running = running_digest()
    running.update(head[: entries[0][1]])
    text_at = text_bytes = 0
    for name, offset, length, _ in entries:
        padded = -(-length // _ALIGNMENT) * _ALIGNMENT
        if name == "text":
            text_at, text_bytes = offset, length
            for at in range(0, padded, _PIECE_BYTES):
                running.update(file.read_at(offset + at, min(_PIECE_BYTES, padded - at)))
        else:
            data = file.read_at(offset, padded)
            running.update(data)
            sections[name] = memoryview(data)[:length]
    if running.digest() != digest:
        raise CorruptionError(where, "its hash differs from its name's")

    def texts_of(sizes: npt.NDArray[np.uint64], digests: npt.NDArray[np.uint8]) -> FileTexts:
        if int(sizes.sum()) != text_bytes:
            raise ValueError("lengths and bytes of the texts differ")
        return FileTexts(file, text_at, sizes, digests, where)

    return _decoded(sections, file.size, where, texts_of)


def _decoded(sections: Mapping[str, memoryview], file_bytes: int, where: str, texts_of: _TextsOf) -> Segment:
    try:
        return _segment(sections, file_bytes, where, texts_of)
    except (KeyError, ValueError, IndexError, TypeError, OverflowError) as error:
        raise CorruptionError(where, f"sections do not fit together ({error})") from error


def _entries(buffer: memoryview, where: str, length_found: int | None = None) -> list[tuple[str, int, int, bytes]]:
    """Read the head, prove it, and return the section table.

    Args:
        buffer: The whole file; or its beginning, and `length_found` is the length of the whole.
        where: Name of the file, for the error.
        length_found: See `buffer`.
    """
    length_found = len(buffer) if length_found is None else length_found
    if len(buffer) < _HEAD.size + _CHECKSUM_BYTES:
        raise CorruptionError(where, f"{len(buffer)} bytes are too few for a head")
    magic, version, count, length = _HEAD.unpack_from(buffer)
    end = _HEAD.size + count * _ENTRY.size
    if magic != _MAGIC or len(buffer) < end + _CHECKSUM_BYTES:
        raise CorruptionError(where, f"begins with {magic!r}, {count} sections; expected {_MAGIC!r}")
    if fast_digest(buffer[:end]) != bytes(buffer[end : end + _CHECKSUM_BYTES]):
        raise CorruptionError(where, "checksum of the head differs")
    if version != SEGMENT_FORMAT:
        raise FormatVersionError(where, version, SEGMENT_FORMAT)
    if length != length_found:
        raise CorruptionError(where, f"{length_found} bytes, the head says {length}")
    entries, behind = [], end + _CHECKSUM_BYTES
    for at in range(count):
        name, offset, size, checksum = _ENTRY.unpack_from(buffer, _HEAD.size + at * _ENTRY.size)
        if offset != behind:
            raise CorruptionError(where, f"section {at} does not begin where the one before it ends")
        if not name.isascii():
            raise CorruptionError(where, f"section {at} has a name that is no text")
        behind += -(-size // _ALIGNMENT) * _ALIGNMENT
        entries.append((name.rstrip(b"\0").decode("ascii"), offset, size, checksum))
    if behind != length:
        raise CorruptionError(where, "the sections do not end where the file does")
    return entries


def sections_of(segment: Segment) -> dict[str, bytes | memoryview]:
    """Return the sections of a segment's file by name: equal for equal segments."""
    return {**_sections_without_texts(segment), "text": segment.texts.blob}


def _sections_without_texts(segment: Segment) -> dict[str, _Part]:
    postings = pack_postings(segment.postings)
    counts = (segment.document_count, segment.chunk_count, postings.term_count, len(postings.frequencies))
    tombstones, headings = segment.tombstone_table.table, segment.headings
    flags = segment.unsafe.astype(np.uint8) | (segment.has_metadata.astype(np.uint8) << 1)
    return {
        "meta": pack((segment.settings, *counts, len(tombstones), len(headings))),
        "path_len": narrow(segment.path_table.table.lengths()),
        "paths": segment.path_table.table.blob,
        "path_key": segment.path_keys.astype("<u8").tobytes(),
        "sha256": segment.content_hashes.tobytes(),
        "xxh3": segment.digests.tobytes(),
        "size": narrow(segment.sizes),
        "chunks": narrow(np.diff(segment.first_chunks)),
        "doc_flag": narrow(flags),
        "rec_len": narrow(segment.records.lengths()),
        "records": segment.records.blob,
        "dead_len": narrow(tombstones.lengths()),
        "dead": tombstones.blob,
        "dead_key": segment.tombstone_keys.astype("<u8").tobytes(),
        **_chunk_sections(segment),
        "head_len": narrow(headings.lengths()),
        "headings": headings.blob,
        "term_len": narrow(postings.terms.lengths()),
        "terms": postings.terms.blob,
        "term_n": narrow(postings.counts),
        "first": narrow(postings.firsts),
        "shape": narrow(postings.shapes),
        "list_len": narrow(postings.lists.lengths()),
        "lists": postings.lists.blob,
        "rows": narrow(postings.frequencies.ravel()),
        "row_rank": narrow(postings.ranked),
    }


def _chunk_sections(segment: Segment) -> dict[str, _Part]:
    return {
        "line": narrow(segment.start_lines),
        "lines": narrow(segment.end_lines - segment.start_lines),
        "byte": narrow(segment.byte_starts),
        "bytes": narrow(segment.byte_ends - segment.byte_starts),
        "occurs": narrow(segment.occurrences),
        "columns": narrow(segment.columns_lines),
        "heading": narrow(segment.heading_numbers),
        "hit": narrow(segment.chunk_hit.astype(np.uint8)),
        "words": narrow(segment.lengths),
    }


def _segment(sections: Mapping[str, memoryview], file_bytes: int, where: str, texts_of: _TextsOf) -> Segment:
    settings, *counts = unpack(sections["meta"], where)
    # Each thing that is counted takes a byte at least: no count can ask for more memory than the file is worth.
    if not isinstance(settings, str) or not all(is_count(count) and count <= file_bytes for count in counts):
        raise ValueError("a count is malformed")
    documents, chunks, terms, rows, tombstones, headings = counts

    def column(name: str, count: int, dtype: type[np.unsignedinteger[Any]] = np.uint32) -> npt.NDArray[Any]:
        return widen(sections[name], count, dtype)

    def table(lengths: str, blob: str, count: int) -> BytesTable:
        return _filled(table_of(sections[blob], column(lengths, count)))

    flags = column("doc_flag", documents, np.uint8)
    chunk_counts = column("chunks", documents)
    if int(chunk_counts.sum(dtype=np.int64)) != chunks:
        raise ValueError("chunks are not shared out among the documents")
    first_chunks = table_of(b"", chunk_counts).offsets.astype(np.uint32)
    start_lines, byte_starts = column("line", chunks), column("byte", chunks)
    sizes = column("size", documents, np.uint64)
    digests = np.frombuffer(sections["xxh3"], np.uint8).reshape(documents, 16)
    lists = PackedPostings(
        terms=table("term_len", "terms", terms),
        counts=column("term_n", terms),
        firsts=column("first", terms),
        shapes=column("shape", terms, np.uint8),
        lists=table("list_len", "lists", terms),
        frequencies=column("rows", rows * 10).reshape(rows, 10),
        ranked=column("row_rank", rows),
        lengths=column("words", chunks),
    )
    segment = Segment(
        settings=settings,
        path_table=TextTable(table("path_len", "paths", documents)),
        path_keys=np.frombuffer(sections["path_key"], "<u8"),
        content_hashes=np.frombuffer(sections["sha256"], np.uint8).reshape(documents, 32),
        digests=digests,
        sizes=sizes,
        first_chunks=first_chunks,
        unsafe=(flags & 1).astype(np.bool_),
        has_metadata=(flags >> 1).astype(np.bool_),
        records=table("rec_len", "records", documents),
        tombstone_table=TextTable(table("dead_len", "dead", tombstones)),
        tombstone_keys=np.frombuffer(sections["dead_key"], "<u8"),
        document_of_chunk=owners_of_chunks(first_chunks),
        start_lines=start_lines,
        end_lines=start_lines + column("lines", chunks),
        byte_starts=byte_starts,
        byte_ends=byte_starts + column("bytes", chunks),
        occurrences=column("occurs", chunks),
        columns_lines=column("columns", chunks),
        heading_numbers=column("heading", chunks),
        headings=table("head_len", "headings", headings),
        chunk_hit=column("hit", chunks, np.uint8).astype(np.bool_),
        texts=texts_of(sizes, digests),
        postings=lists,
    )
    for misfit in _misfits(segment, lists):
        raise ValueError(misfit)
    return segment


def _filled(table: BytesTable) -> BytesTable:
    """Return a table whose entries are exactly its buffer."""
    # A sum beyond 64 bits would wrap; then an entry has a length below zero.
    if table.offsets.item(-1) != len(table.blob) or (table.lengths() < 0).any():
        raise ValueError("lengths and bytes of a table differ")
    return table


def _misfits(segment: Segment, lists: PackedPostings) -> Iterator[str]:
    """Yield what would lead a reader outside of the segment; what lies inside of it is for fsck."""
    documents, chunks, rows = segment.document_count, segment.chunk_count, len(lists.frequencies)
    checks = (
        (len(segment.path_keys) == documents, "paths without a key"),
        (len(segment.tombstone_keys) == len(segment.tombstone_table), "tombstones without a key"),
        (bool((segment.heading_numbers < len(segment.headings)).all()), "a chunk under no heading path"),
        (bool((segment.byte_starts < segment.byte_ends).all()), "a chunk that ends before it begins"),
        (bool((segment.byte_ends <= segment.sizes[segment.document_of_chunk]).all()), "a chunk outside its document"),
        (bool((lists.counts > 0).all() and (lists.firsts < chunks).all()), "a posting list of nothing"),
        (int(lists.counts.sum(dtype=np.int64)) - lists.term_count <= len(lists.lists.blob), "postings without bytes"),
        (bool((lists.ranked < rows).all()), "a code of no row"),
    )
    yield from (problem for good, problem in checks if not good)
