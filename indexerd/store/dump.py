"""The logical content of a generation as sorted lines: the oracle by which two indexes are compared.

Owns: the canonical dump and its digest.
Knows nothing of: segments' order, generations, time, places: none of it shows.
Invariants: 1. equal content gives equal lines, whatever segments it lies in. 2. everything that a query can see is in
    it: documents, metadata, chunks, terms, frequencies, lengths. 3. the digest is SHA-256 of the lines as printed.
Purity: pure.
See: docs/on-disk-format.md (canonical dump).
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from indexerd.digests import chunk_id, document_id
from indexerd.model import Document, SourcePath
from indexerd.store.parts import LiveSegment
from indexerd.store.segment import Segment
from indexerd.store.snapshot import Snapshot

Ordinals = npt.NDArray[np.int64]


def canonical_dump(snapshot: Snapshot, hidden: frozenset[SourcePath] = frozenset()) -> Iterator[str]:
    """Yield the lines of the canonical dump, without line ends.

    First the settings, then each document followed by its chunks, then each term with `chunk:row` postings, where a
    chunk is its place among the chunks above and a row the term's frequency in each column.

    Args:
        snapshot: What to dump.
        hidden: Documents to leave out (held).
    """
    places = {id(segment): np.full(segment.data.chunk_count, -1, dtype=np.int64) for segment in snapshot.segments}
    chunks = 0
    if snapshot.document_count:
        yield _line("settings", {"settings": snapshot.settings})
    for segment, index in snapshot.documents():
        if segment.data.paths[index] in hidden:
            continue
        first, behind = int(segment.data.first_chunks[index]), int(segment.data.first_chunks[index + 1])
        places[id(segment)][first:behind] = np.arange(chunks, chunks + behind - first)
        yield from _document_lines(segment.data, index, range(first, behind), chunks)
        chunks += behind - first
    yield from _term_lines([(segment, places[id(segment)]) for segment in snapshot.segments])


def canonical_digest(snapshot: Snapshot, hidden: frozenset[SourcePath] = frozenset()) -> str:
    """Return the hex SHA-256 of the canonical dump, each line ended by a line feed."""
    digest = hashlib.sha256()
    for line in canonical_dump(snapshot, hidden):
        digest.update(line.encode() + b"\n")
    return digest.hexdigest()


def _document_lines(data: Segment, index: int, chunks: range, ordinal: int) -> Iterator[str]:
    document = data.document(index)
    yield _line("document", _document_fields(document))
    name = document_id(document.source_path)
    for place, number in enumerate(chunks):
        chunk = data.chunk(number)
        yield _line(
            "chunk",
            {
                "n": ordinal + place,
                "chunk_id": chunk_id(name, chunk.content_hash, chunk.occurrence),
                "lines": list(chunk.span),
                "bytes": [chunk.byte_start, chunk.byte_end],
                "content_hash": chunk.content_hash.hex(),
                "occurrence": chunk.occurrence,
                "heading_path": list(chunk.heading_path),
                "is_hit": chunk.is_hit,
                "columns_line": chunk.columns_line,
                "words": int(data.lengths[number]),
            },
        )


def _document_fields(document: Document) -> Mapping[str, object]:
    return {
        "source_path": document.source_path,
        "digest": document.digest.hex(),
        "content_hash": document.content_hash.hex(),
        "size_bytes": document.size_bytes,
        "line_count": document.line_count,
        "format": document.format,
        "title": document.title,
        "aliases": list(document.aliases),
        "tags": list(document.tags),
        "metadata": [[key, value] for key, value in document.metadata.items()],
        "front_matter_lines": document.front_matter_lines,
        "unread_keys": list(document.unread_keys),
        "problems": list(document.problems),
        "unsafe": [list(finding) for finding in document.unsafe],
    }


def _line(kind: str, fields: Mapping[str, object]) -> str:
    return f"{kind} {json.dumps(fields, separators=(',', ':'))}"


class _Postings(NamedTuple):
    """Postings of one segment with places in the dump.

    Attributes:
        names: Its terms that a shown chunk holds.
        numbers: For each posting, which of `names`.
        places: For each posting, the chunk's place in the dump.
        rows: For each posting, its row as text.
    """

    names: list[str]
    numbers: Ordinals
    places: Ordinals
    rows: list[str]


def _term_lines(parts: Sequence[tuple[LiveSegment, Ordinals]]) -> Iterator[str]:
    postings = [_shown(segment.data, places) for segment, places in parts]
    terms = sorted(set().union(*(part.names for part in postings)))
    rank = {name: number for number, name in enumerate(terms)}
    numbers = [np.array([rank[name] for name in part.names], dtype=np.int64)[part.numbers] for part in postings]
    keys = np.concatenate([np.zeros(0, dtype=np.int64), *numbers])
    places = np.concatenate([np.zeros(0, dtype=np.int64), *(part.places for part in postings)])
    rows = [row for part in postings for row in part.rows]
    order = np.lexsort((places, keys))
    starts = np.searchsorted(keys[order], np.arange(len(terms) + 1)).tolist()
    shown, rows = places[order].tolist(), [rows[number] for number in order.tolist()]
    for number, term in enumerate(terms):
        listed = range(starts[number], starts[number + 1])
        yield f"term {json.dumps(term)} " + " ".join([f"{shown[at]}:{rows[at]}" for at in listed])


def _shown(data: Segment, places: Ordinals) -> _Postings:
    plain = data.postings.plain()
    moved = places[plain.chunks]
    kept = np.flatnonzero(moved >= 0)
    terms = np.repeat(np.arange(plain.term_count), np.diff(plain.starts))[kept]
    used, numbers = np.unique(terms, return_inverse=True)
    texts = [",".join(f"{column}={n}" for column, n in enumerate(row) if n) for row in plain.frequencies.tolist()]
    rows = [texts[code] for code in plain.codes[kept].tolist()]
    return _Postings([plain.terms[number] for number in used.tolist()], numbers, moved[kept], rows)
