"""Files to a segment: parse, look for unsafe text, invert, lay out as columns.

Owns: which text of a document is searched in which field, and the settings fingerprint.
Knows nothing of: where the bytes come from, what becomes of the segment.
Invariants: 1. a segment is a pure function of paths, bytes and settings: equal input gives equal bytes, in any
    process. 2. a merge of segments equals a build over all their files.
Purity: pure.
See: docs/search.md (fields), docs/on-disk-format.md (settings fingerprint).
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from indexerd.access import SAFETY_VERSION, scan_texts
from indexerd.analysis import ANALYZER_VERSION, STEMMER_VERSION, UNICODE_VERSION, name_key
from indexerd.analysis.inversion import Units, invert_languages
from indexerd.digests import content_hash, fast_digest, path_key
from indexerd.documents.frontmatter import FRONT_MATTER_VERSION
from indexerd.documents.parse import DOCUMENTS_VERSION, ParsedChunk, ParsedDocument, parse_document
from indexerd.model import Document, Settings, SourcePath, UnsafeFinding
from indexerd.postings import Field
from indexerd.store.codec import pack
from indexerd.store.segment import merge_segments, sections_of
from indexerd.store.segment_value import Record, Segment, document_records, owners_of_chunks
from indexerd.store.tables import bytes_table, text_table

# Documents that are made anew at a time to compare them with what is stored: by bytes of text.
_COMPARED_BYTES = 8 << 20
# What people are told of the sections of a segment that differ.
_ASPECTS = {
    "paths": ("path_len", "paths", "path_key"),
    "hashes": ("sha256", "xxh3", "size"),
    "title, tags or metadata": ("rec_len", "records", "doc_flag"),
    "chunks": ("chunks", "line", "lines", "byte", "bytes", "columns", "hit"),
    "chunk ids": ("occurs",),
    "heading paths": ("heading", "head_len", "headings"),
    "lengths": ("words",),
    "terms": ("term_len", "terms", "term_n", "first", "shape", "list_len", "lists", "rows", "row_rank"),
}
# A name key is a term of its own kind: no text has a NUL in a word.
NAME_KEY_MARK = "\x00"
# As plain numbers: an array is made of them in a third of the time.
_TEXT, _HEADING, _NAME, _TAG, _FOLDER = map(int, (Field.TEXT, Field.HEADING, Field.NAME, Field.TAG, Field.FOLDER))


class _Indexed(NamedTuple):
    """A document on its way into a segment."""

    parsed: ParsedDocument
    raw: bytes
    unsafe: tuple[UnsafeFinding, ...]
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


def make_ready(settings: Settings) -> None:
    """Have the tables and patterns made that the first document would wait for: 0.1 s of a processor (2026-11-30)."""
    build_segment([(SourcePath("a.md"), b"# A\n\ntext\n")], settings)


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
    paths = [item.parsed.source_path for item in indexed]
    groups, keys = _searched(indexed, settings)
    columns = list(zip(*chunks, strict=True)) or [()] * len(ParsedChunk._fields)
    named = dict(zip(ParsedChunk._fields, columns, strict=True))
    words = np.uint32
    return Segment(
        settings=settings_fingerprint(settings),
        path_table=text_table(paths),
        path_keys=np.array(list(map(path_key, paths)), np.uint64),
        content_hashes=_rows([content_hash(item.raw) for item in indexed], 32),
        digests=_rows([fast_digest(item.raw) for item in indexed], 16),
        sizes=np.array([len(item.raw) for item in indexed], np.uint64),
        first_chunks=first_chunks,
        unsafe=np.array([bool(item.unsafe) for item in indexed], np.bool_),
        has_metadata=np.array([_has_metadata(item.parsed) for item in indexed], np.bool_),
        records=bytes_table(document_records(map(_record, indexed))),
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
        postings=invert_languages(groups, len(chunks), keys),
    )


def text_problems(segment: Segment, settings: Settings) -> Iterator[str]:
    """Yield what of a segment its own text does not give: all is parsed and analysed again; a line for each document.

    Args:
        segment: Made with settings of this fingerprint.
        settings: Those settings.
    """
    ends = np.cumsum(segment.sizes.astype(np.int64))
    first, count = 0, segment.document_count
    while first < count:
        reached = int(ends[first - 1]) if first else 0
        behind = max(int(np.searchsorted(ends, reached + _COMPARED_BYTES, side="right")), first + 1)
        if _differing(segment, first, behind, settings):
            for number in range(first, behind):
                aspects = ", ".join(_differing(segment, number, number + 1, settings))
                if aspects:
                    yield f"document {number}: its {aspects} are not what its text gives"
        first = behind


def _differing(segment: Segment, first: int, behind: int, settings: Settings) -> list[str]:
    """Return in what some documents of a segment differ from what their text gives."""
    mask = np.zeros(segment.document_count, np.bool_)
    mask[first:behind] = True
    files = [(segment.paths[number], bytes(segment.raw(number))) for number in range(first, behind)]
    stored = sections_of(merge_segments([(segment, mask)], drop_tombstones=True))
    fresh = sections_of(build_segment(files, settings))
    return [word for word, names in _ASPECTS.items() if any(stored[name] != fresh[name] for name in names)]


def document_of(source_path: SourcePath, raw: bytes, settings: Settings) -> Document:
    """Return what a segment of this file would say of the document, without the cost of its words."""
    item = _index([(source_path, raw)], settings)[0]
    return Document(
        source_path=source_path,
        digest=fast_digest(raw),
        content_hash=content_hash(raw),
        size_bytes=len(raw),
        **{**_record(item)._asdict(), "metadata": item.parsed.metadata},
    )


def _rows(values: Sequence[bytes], width: int) -> np.ndarray[tuple[int, int], np.dtype[np.uint8]]:
    return np.frombuffer(b"".join(values), np.uint8).reshape(len(values), width)


def _has_metadata(parsed: ParsedDocument) -> bool:
    return bool(parsed.front_matter_lines or parsed.metadata or parsed.unread_keys)


def _index(files: Sequence[tuple[SourcePath, bytes]], settings: Settings) -> list[_Indexed]:
    documents = [parse_document(source_path, raw, settings) for source_path, raw in files]
    # All at once: that is several times as fast as one by one for small documents.
    findings = scan_texts([parsed.decoded_text for parsed in documents])
    firsts = accumulate((len(parsed.chunks) for parsed in documents), initial=0)
    return [
        _Indexed(parsed, raw, unsafe, first)
        for parsed, (_, raw), unsafe, first in zip(documents, files, findings, firsts, strict=False)
    ]


def _record(item: _Indexed) -> Record:
    parsed = item.parsed
    return Record(
        parsed.title,
        parsed.format,
        parsed.aliases,
        parsed.tags,
        list(parsed.metadata.items()),
        parsed.front_matter_lines,
        parsed.line_count,
        parsed.unread_keys,
        parsed.problems,
        item.unsafe,
    )


def _searched(indexed: Sequence[_Indexed], settings: Settings) -> tuple[list[Units], list[tuple[int, str]]]:
    """Return the units of neighbouring documents of one language, and the name keys of all."""
    groups: list[Units] = []
    keys: list[tuple[int, str]] = []
    for item in indexed:
        language = settings.language_of(item.parsed.source_path)
        if not groups or groups[-1].language != language:
            groups.append(Units(language))
        keys += _add_document(groups[-1], item)
    return groups, keys


def _add_document(units: Units, item: _Indexed) -> list[tuple[int, str]]:
    """Add the searched texts of a document: its names once, on its first hit, then each hit's own words.

    Returns:
        The keys of its names, on the same hit: by them a query that equals a name finds it.
    """
    parsed = item.parsed
    keys: list[tuple[int, str]] | None = None
    for number, chunk in enumerate(parsed.chunks, item.first_chunk):
        if not chunk.is_hit:
            continue
        if keys is None:
            names = {*parsed.aliases, parsed.title, parsed.file_name}
            _add_names(units, parsed, number)
            keys = [(number, NAME_KEY_MARK + key) for key in sorted({name_key(name) for name in names}) if key]
        if chunk.heading_text:
            units.add(number, _HEADING, chunk.heading_text)
        units.add(number, _TEXT, chunk.body_text)
    return keys or []


def _add_names(units: Units, parsed: ParsedDocument, chunk: int) -> None:
    for name in dict.fromkeys((parsed.title, *parsed.aliases, parsed.file_name)):
        units.add(chunk, _NAME, name)
    for tag in parsed.tags:
        units.add(chunk, _TAG, tag)
    # The rest of the front matter weighs as little as a folder: it only keeps every word of the file findable.
    for text in (parsed.folders, parsed.metadata_text):
        if text:
            units.add(chunk, _FOLDER, text)
