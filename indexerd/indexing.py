"""Files to a segment: parse, look for unsafe text, invert, lay out as columns.

Owns: which text of a document is searched in which field, and the settings fingerprint.
Knows nothing of: where the bytes come from, what becomes of the segment.
Invariants: 1. a segment is a pure function of paths, bytes and settings: equal input gives equal bytes, in any
    process. 2. a merge of segments equals a build over all their files.
Purity: pure.
See: docs/search.md (fields), docs/on-disk-format.md (settings fingerprint).
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate, groupby
from typing import NamedTuple

import numpy as np

from indexerd.access import SAFETY_VERSION, scan_texts
from indexerd.analysis import (
    ANALYZER_VERSION,
    STEMMER_VERSION,
    UNICODE_VERSION,
    Units,
    invert_languages,
    name_key,
)
from indexerd.digests import content_hash, fast_digest, path_key
from indexerd.documents import DOCUMENTS_VERSION, FRONT_MATTER_VERSION, ParsedChunk, ParsedDocument, parse_document
from indexerd.model import Document, Settings, SourcePath, UnsafeFinding
from indexerd.postings import Field
from indexerd.store.codec import pack
from indexerd.store.segment_value import Segment, document_record, owners_of_chunks
from indexerd.store.tables import bytes_table, text_table

# A name key is a term of its own kind: no text has a NUL in a word.
NAME_KEY_MARK = "\x00"


class _Indexed(NamedTuple):
    """A document on its way into a segment."""

    parsed: ParsedDocument
    document: Document
    raw: bytes
    first_chunk: int


def settings_fingerprint(settings: Settings) -> str:
    """Return the fingerprint of all that decides what is stored for a document: 32 hex digits.

    Which files are indexed at all (`formats`) is not part of it: that decides which documents there are.
    """
    keys = settings.keys
    values = (
        (DOCUMENTS_VERSION, FRONT_MATTER_VERSION, ANALYZER_VERSION, SAFETY_VERSION),
        (STEMMER_VERSION, UNICODE_VERSION, settings.language, sorted(settings.languages), settings.max_chars),
        (keys.title, keys.aliases, keys.tags),
        (keys.version, keys.valid_from, keys.valid_to, keys.acl, keys.series),
    )
    return fast_digest(pack(values)).hex()


def build_segment(
    files: Sequence[tuple[SourcePath, bytes]], settings: Settings, tombstones: Sequence[SourcePath] = ()
) -> Segment:
    """Return the segment of some documents.

    Args:
        files: Paths and raw bytes, in any order, no path twice.
        settings: How to read and analyse them.
        tombstones: Paths that are dead in all earlier segments; none of them in `files`.
    """
    indexed = _index(sorted(files, key=lambda file: file[0].encode()), settings)
    chunks = [chunk for item in indexed for chunk in item.parsed.chunks]
    counts = [len(item.parsed.chunks) for item in indexed]
    first_chunks = np.cumsum([0, *counts]).astype(np.uint32)
    heading_paths: dict[tuple[str, ...], int] = {}
    dead = sorted(set(tombstones), key=str.encode)
    columns = list(zip(*chunks, strict=True)) or [()] * len(ParsedChunk._fields)
    named = dict(zip(ParsedChunk._fields, columns, strict=True))
    words = np.uint32
    return Segment(
        settings=settings_fingerprint(settings),
        path_table=text_table([item.document.source_path for item in indexed]),
        path_keys=np.array([path_key(item.document.source_path) for item in indexed], np.uint64),
        content_hashes=_rows([item.document.content_hash for item in indexed], 32),
        digests=_rows([item.document.digest for item in indexed], 16),
        sizes=np.array([len(item.raw) for item in indexed], np.uint64),
        first_chunks=first_chunks,
        unsafe=np.array([bool(item.document.unsafe) for item in indexed], np.bool_),
        has_metadata=np.array([_has_metadata(item.document) for item in indexed], np.bool_),
        records=bytes_table([document_record(item.document) for item in indexed]),
        tombstone_table=text_table(dead),
        tombstone_keys=np.array([path_key(path) for path in dead], np.uint64),
        document_of_chunk=owners_of_chunks(first_chunks),
        start_lines=np.array(named["first_line"], words),
        end_lines=np.array(named["last_line"], words),
        byte_starts=np.array(named["byte_start"], words),
        byte_ends=np.array(named["byte_end"], words),
        occurrences=np.array(named["occurrence"], words),
        columns_lines=np.array(named["columns_line"], words),
        heading_numbers=np.array(
            [heading_paths.setdefault(path, len(heading_paths)) for path in named["heading_path"]], words
        ),
        headings=bytes_table([pack(path) for path in heading_paths]),
        chunk_hit=np.array(named["is_hit"], np.bool_),
        texts=bytes_table([item.raw for item in indexed]),
        postings=invert_languages(_units(indexed, settings), len(chunks), _keys(indexed)),
    )


def document_of(source_path: SourcePath, raw: bytes, settings: Settings) -> Document:
    """Return what a segment of this file would say of the document, without the cost of its words."""
    return _index([(source_path, raw)], settings)[0].document


def _rows(values: Sequence[bytes], width: int) -> np.ndarray[tuple[int, int], np.dtype[np.uint8]]:
    return np.frombuffer(b"".join(values), np.uint8).reshape(len(values), width)


def _has_metadata(document: Document) -> bool:
    return bool(document.front_matter_lines or document.metadata or document.unread_keys)


def _index(files: Sequence[tuple[SourcePath, bytes]], settings: Settings) -> list[_Indexed]:
    documents = [parse_document(source_path, raw, settings) for source_path, raw in files]
    # All at once: that is several times as fast as one by one for small documents.
    findings = scan_texts([parsed.decoded_text for parsed in documents])
    firsts = accumulate((len(parsed.chunks) for parsed in documents), initial=0)
    return [
        _Indexed(parsed, _document(parsed, raw, unsafe), raw, first)
        for parsed, (_, raw), unsafe, first in zip(documents, files, findings, firsts, strict=False)
    ]


def _document(parsed: ParsedDocument, raw: bytes, unsafe: tuple[UnsafeFinding, ...]) -> Document:
    return Document(
        source_path=parsed.source_path,
        digest=fast_digest(raw),
        content_hash=content_hash(raw),
        size_bytes=len(raw),
        line_count=parsed.line_count,
        format=parsed.format,
        title=parsed.title,
        aliases=parsed.aliases,
        tags=parsed.tags,
        metadata=parsed.metadata,
        front_matter_lines=parsed.front_matter_lines,
        unread_keys=parsed.unread_keys,
        problems=parsed.problems,
        unsafe=unsafe,
    )


def _units(indexed: Sequence[_Indexed], settings: Settings) -> Iterator[Units]:
    """Yield the units of neighbouring documents of one language."""
    by_language = groupby(indexed, key=lambda item: settings.language_of(item.document.source_path))
    for language, items in by_language:
        units = Units(language)
        for item in items:
            _add_document(units, item)
        yield units


def _add_document(units: Units, item: _Indexed) -> None:
    """Add the searched texts of a document: its names once, on its first hit, then each hit's own words."""
    named = False
    for number, chunk in enumerate(item.parsed.chunks, item.first_chunk):
        if not chunk.is_hit:
            continue
        if not named:
            _add_names(units, item.parsed, number)
            named = True
        if chunk.heading_text:
            units.add(number, Field.HEADING, chunk.heading_text)
        units.add(number, Field.TEXT, chunk.body_text)


def _add_names(units: Units, parsed: ParsedDocument, chunk: int) -> None:
    for name in dict.fromkeys((parsed.title, *parsed.aliases, parsed.file_name)):
        units.add(chunk, Field.NAME, name)
    for tag in parsed.tags:
        units.add(chunk, Field.TAG, tag)
    # The rest of the front matter weighs as little as a folder: it only keeps every word of the file findable.
    for text in (parsed.folders, parsed.metadata_text):
        if text:
            units.add(chunk, Field.FOLDER, text)


def _keys(indexed: Sequence[_Indexed]) -> list[tuple[int, str]]:
    """Return the name keys of each document, on its first hit: by them a query that equals a name finds it."""
    found = []
    for item in indexed:
        parsed = item.parsed
        first = next((number for number, chunk in enumerate(parsed.chunks, item.first_chunk) if chunk.is_hit), None)
        if first is not None:
            keys = {name_key(name) for name in (parsed.title, *parsed.aliases, parsed.file_name)}
            found += [(first, NAME_KEY_MARK + key) for key in sorted(keys) if key]
    return found
