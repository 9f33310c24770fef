"""Files to a segment: parse, look for unsafe text, invert, lay out as columns.

Owns: which text of a document is searched in which field, and the settings fingerprint.
Knows nothing of: where the bytes come from, what becomes of the segment.
Invariants: 1. a segment is a pure function of paths, bytes and settings: equal input gives equal bytes, in any
    process. 2. a merge of segments equals a build over all their files.
Purity: pure.
See: docs/search.md (fields), docs/on-disk-format.md (settings fingerprint).
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from indexerd.access import SAFETY_VERSION, scan_texts
from indexerd.analysis import ANALYZER_VERSION, STEMMER_VERSION, UNICODE_VERSION, name_key
from indexerd.analysis.inversion import Units, invert_languages
from indexerd.digests import content_hash, fast_digest, path_key
from indexerd.documents.decoding import decode
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
    ordered = sorted(files, key=lambda file: file[0].encode())
    gathered = _Gathered(settings)
    records = document_records(gathered.records(ordered))
    width, words = len(ParsedChunk._fields), np.uint32
    named = {name: gathered.cells[at::width] for at, name in enumerate(ParsedChunk._fields)}
    first_chunks = np.array(gathered.first_chunks, words)
    heading_paths: dict[tuple[str, ...], int] = {}
    numbers = [heading_paths.setdefault(path, len(heading_paths)) for path in named["heading_path"]]
    dead = sorted(set(tombstones), key=str.encode)
    paths, raws = [path for path, _ in ordered], [raw for _, raw in ordered]
    return Segment(
        settings=settings_fingerprint(settings),
        path_table=text_table(paths),
        path_keys=np.array(list(map(path_key, paths)), np.uint64),
        content_hashes=_rows(list(map(content_hash, raws)), 32),
        digests=_rows(list(map(fast_digest, raws)), 16),
        sizes=np.array(list(map(len, raws)), np.uint64),
        first_chunks=first_chunks,
        unsafe=np.array(gathered.unsafe, np.bool_),
        has_metadata=np.array(gathered.has_metadata, np.bool_),
        records=bytes_table(records),
        tombstone_table=text_table(dead),
        tombstone_keys=np.array([path_key(path) for path in dead], np.uint64),
        document_of_chunk=owners_of_chunks(first_chunks),
        start_lines=np.array(named["first_line"], words),
        end_lines=np.array(named["last_line"], words),
        byte_starts=np.array(named["byte_start"], words),
        byte_ends=np.array(named["byte_end"], words),
        occurrences=np.array(named["occurrence"], words),
        columns_lines=np.array(named["columns_line"], words),
        heading_numbers=np.array(numbers, words),
        headings=bytes_table([pack(path) for path in heading_paths]),
        chunk_hit=np.array(named["is_hit"], np.bool_),
        texts=bytes_table(raws),
        postings=invert_languages(gathered.units.values(), len(numbers), gathered.name_keys),
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
    parsed = parse_document(source_path, raw, settings)
    record = _record(parsed, scan_texts((parsed.decoded_text,))[0])
    return Document(
        source_path=source_path,
        digest=fast_digest(raw),
        content_hash=content_hash(raw),
        size_bytes=len(raw),
        **{**record._asdict(), "metadata": parsed.metadata},
    )


def _rows(values: Sequence[bytes], width: int) -> np.ndarray[tuple[int, int], np.dtype[np.uint8]]:
    return np.frombuffer(b"".join(values), np.uint8).reshape(len(values), width)


def _record(parsed: ParsedDocument, unsafe: tuple[UnsafeFinding, ...]) -> Record:
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
        unsafe,
    )


class _Gathered:
    """What a segment has of its documents, column by column.

    The parsed documents themselves are not kept: memory is for their words, and what is gone Python need not look
    through for garbage.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.first_chunks = [0]
        self.unsafe: list[bool] = []
        self.has_metadata: list[bool] = []
        # The fields of all chunks, one chunk after the other.
        self.cells: list[Any] = []
        self.units: dict[str, Units] = {}
        self.name_keys: list[tuple[int, str]] = []

    def records(self, files: Sequence[tuple[SourcePath, bytes]]) -> Iterator[Record]:
        """Gather documents; yield the record of each."""
        settings = self._settings
        # All at once: that is several times as fast as one by one for small documents.
        findings = scan_texts([decode(raw).text for _, raw in files])
        for (source_path, raw), unsafe in zip(files, findings, strict=True):
            parsed = parse_document(source_path, raw, settings)
            self.unsafe.append(bool(unsafe))
            self.has_metadata.append(bool(parsed.front_matter_lines or parsed.metadata or parsed.unread_keys))
            language = settings.language_of(source_path)
            if language not in self.units:
                self.units[language] = Units(language)
            self._add_words(self.units[language], parsed)
            for chunk in parsed.chunks:
                self.cells += chunk
            self.first_chunks.append(self.first_chunks[-1] + len(parsed.chunks))
            yield _record(parsed, unsafe)

    def _add_words(self, units: Units, parsed: ParsedDocument) -> None:
        """Add the searched texts of a document: its names once, on its first hit, then each hit's own words."""
        is_named = False
        for number, chunk in enumerate(parsed.chunks, self.first_chunks[-1]):
            if not chunk.is_hit:
                continue
            if not is_named:
                is_named = True
                self._add_names(units, parsed, number)
            if chunk.heading_text:
                units.add(number, _HEADING, chunk.heading_text)
            units.add(number, _TEXT, chunk.body_text)

    def _add_names(self, units: Units, parsed: ParsedDocument, chunk: int) -> None:
        """Add the names of a document, and their keys: by them a query that equals a name finds it."""
        names = dict.fromkeys((parsed.title, *parsed.aliases, parsed.file_name))
        self.name_keys += [(chunk, NAME_KEY_MARK + key) for key in set(map(name_key, names)) if key]
        for name in names:
            units.add(chunk, _NAME, name)
        for tag in parsed.tags:
            units.add(chunk, _TAG, tag)
        # The rest of the front matter weighs as little as a folder: it only keeps every word of the file findable.
        for text in (parsed.folders, parsed.metadata_text):
            if text:
                units.add(chunk, _FOLDER, text)
