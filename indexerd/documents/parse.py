"""Bytes of one document to its chunks and names.

Owns: the order of the steps, which format reads which file, and the offsets that tie text to bytes and lines.
Knows nothing of: files, terms, the store, what a key permits.
Invariants: 1. chunks, front matter, blank lines between them and the byte-order mark give the document back, byte for
    byte. 2. `text` is the exact slice of the decoded source. 3. equal arguments give equal results.
Purity: pure.
See: docs/on-disk-format.md (documents), docs/search.md (chunks).
"""

from collections.abc import Callable, Mapping
from itertools import accumulate
from typing import NamedTuple

from indexerd.digests import content_hash
from indexerd.documents import markdown, org, plaintext, rst
from indexerd.documents.chunker import BLANK, Cut, Section, cut_chunks
from indexerd.documents.decoding import Decoded, decode
from indexerd.documents.frontmatter import FrontMatter, read_front_matter
from indexerd.documents.names import front_matter_tags, inline_tags, path_words, title_of, values_of
from indexerd.documents.outline import Block, Heading, Outline, new_tuple
from indexerd.model import ContentHash, MetadataValue, Settings, SourcePath

DOCUMENTS_VERSION = 1

_Format = tuple[str, Callable[[str], Outline]]
_MARKDOWN: _Format = ("markdown", markdown.outline)
_TEXT: _Format = ("text", plaintext.outline)
_FORMATS: Mapping[str, _Format] = {
    "md": _MARKDOWN,
    "markdown": _MARKDOWN,
    "mdx": _MARKDOWN,
    "rst": ("rst", rst.outline),
    "org": ("org", org.outline),
}


class ParsedChunk(NamedTuple):
    """One chunk, with what is stored and what is searched.

    Attributes:
        first_line: Its first line, 1-based.
        last_line: Its last line, inclusive.
        byte_start: Offset of its first byte in the raw document.
        byte_end: Offset behind its last byte, line end included.
        text: The exact slice of the decoded source.
        heading_path: The titles it stands under, outermost first.
        is_hit: False for a heading alone whose words the next chunk under it takes over.
        columns_line: Line of the header row that this part of a split table repeats; 0 if none.
        heading_text: Searchable words of its headings.
        body_text: Searchable text: without its own heading lines, with the repeated header row.
        occurrence: 0, 1, ... among equal texts of the document.
    """

    first_line: int
    last_line: int
    byte_start: int
    byte_end: int
    text: str
    heading_path: tuple[str, ...]
    is_hit: bool
    columns_line: int
    heading_text: str
    body_text: str
    occurrence: int

    @property
    def content_hash(self) -> ContentHash:
        """SHA-256 of its text in UTF-8: computed, for the index does not store it."""
        return content_hash(self.text.encode())


class ParsedDocument(NamedTuple):
    """One document as read from its bytes.

    Attributes:
        source_path: Its name.
        format: Name of the format module.
        title: See `model.Document`.
        aliases: Other names.
        tags: From front matter and text.
        metadata: Readable front-matter values by key.
        metadata_text: The front-matter block itself, so that no word of the file is unfindable.
        file_name: Decoded last part of the path without its ending.
        folders: Decoded path of its folder.
        front_matter_lines: Lines of the block with its fences; 0 if there is none.
        line_count: Lines as `grep -c ''` counts them.
        unread_keys: Front-matter keys without a readable value.
        problems: Codes, see `model.Document`.
        chunks: In document order.
        decoded_text: The text without its byte-order mark.
    """

    source_path: SourcePath
    format: str
    title: str
    aliases: tuple[str, ...]
    tags: tuple[str, ...]
    metadata: Mapping[str, MetadataValue]
    metadata_text: str
    file_name: str
    folders: str
    front_matter_lines: int
    line_count: int
    unread_keys: tuple[str, ...]
    problems: tuple[str, ...]
    chunks: tuple[ParsedChunk, ...]
    decoded_text: str


def parse_document(source_path: SourcePath, raw: bytes, settings: Settings) -> ParsedDocument:
    """Read one document. Total: any bytes give a result, and what is odd is named in `problems`.

    Args:
        source_path: Its name; the ending chooses the format (unknown endings are read as plain text).
        raw: Its bytes.
        settings: Chunk size and the meaning of front-matter keys.
    """
    decoded = decode(raw)
    text = decoded.text
    front = read_front_matter(text)
    name, read = _FORMATS.get(source_path[source_path.rfind(".") + 1 :].lower(), _TEXT)
    body = text[front.end :] if front.end else text
    outline = read(body)
    file_name, folders = path_words(source_path)
    keys = settings.keys
    tags = front_matter_tags(front.values, keys.tags) if front.values else []
    tags += outline.tags
    if "#" in body and name != "rst":
        tags += inline_tags(body, outline.blocks)
    front_lines = text.count("\n", 0, front.end) if front.end else 0
    only = _only_chunk(raw, decoded, body, outline, settings.max_chars)
    cuts = cut_chunks(body, outline, settings.max_chars) if only is None else []
    fields = (
        source_path,
        name,
        title_of(values_of(front.values, keys.title) if front.values else (), outline, file_name),
        tuple(values_of(front.values, keys.aliases)) if front.values else (),
        tuple(dict.fromkeys(tags)) if tags else (),
        front.values,
        front.text,
        file_name,
        folders,
        front_lines,
        raw.count(b"\n") + (raw[-1:] not in b"\n"),
        front.unread_keys,
        _problems(decoded, front),
        tuple(_chunks(raw, decoded, front.end, body, cuts)) if only is None else (only,),
        text,
    )
    return new_tuple(ParsedDocument, fields)


def _problems(decoded: Decoded, front: FrontMatter) -> tuple[str, ...]:
    if not decoded.undecodable and not front.problem:
        return ()
    return (("undecodable",) if decoded.undecodable else ()) + ((front.problem,) if front.problem else ())


def _line_starts(raw: bytes, bom_bytes: int) -> list[int]:
    """Return byte offsets of line starts: replaced characters differ from their bytes in length, never in lines."""
    starts = list(accumulate((len(line) + 1 for line in raw[bom_bytes:].split(b"\n")), initial=bom_bytes))
    starts[-1] = len(raw)
    return starts


def _only_chunk(raw: bytes, decoded: Decoded, body: str, outline: Outline, max_chars: int) -> ParsedChunk | None:
    """Return the chunk that is a whole document, what most small ones are; None where more must be looked at.

    It is what `_chunks` returns for them, for a third of the time.
    """
    count, headings = len(body), outline.headings
    if not 1 < count <= max_chars or len(body) != len(decoded.text) or decoded.undecodable:
        return None
    # No blank line at either edge, no heading but at the top.
    if body[0] in BLANK or body[-1] != "\n" or body[-2] in BLANK or len(headings) > 1:
        return None
    path: tuple[str, ...] = ()
    own = ""
    if headings:
        start, end, _, title, depth, _ = headings[0]
        if start or depth:
            return None
        path, own = (title,), body[:end]
    place = (1, body.count("\n"), decoded.bom_bytes, len(raw), body, path)
    return new_tuple(ParsedChunk, (*place, True, 0, own.strip(), body[len(own) :], 0))


def _chunks(raw: bytes, decoded: Decoded, body_at: int, body: str, cuts: list[Cut]) -> list[ParsedChunk]:
    """Place and dress the cuts. Lines and bytes are counted forward only: one pass over the text, whatever its cuts."""
    chunks: list[ParsedChunk] = []
    line, byte_at = 1, decoded.bom_bytes
    if body_at:
        line += decoded.text.count("\n", 0, body_at)
        byte_at += len(decoded.text[:body_at].encode())
    line_starts = _line_starts(raw, decoded.bom_bytes) if decoded.undecodable else None
    plain = body.isascii()
    dress = _Dress(body, cuts)
    seen: dict[str, int] = {}
    at = 0
    for index, cut in enumerate(cuts):
        start, end = cut.start, cut.end
        text = body[start:end]
        if start > at:
            # Blank lines: a character is a byte there.
            line += body.count("\n", at, start)
            byte_at += start - at
        first_line, byte_start = line, byte_at
        line += text.count("\n")
        last_line = line - 1 if text[-1] == "\n" else line
        byte_at += end - start if plain else len(text.encode())
        if line_starts is not None:
            byte_start, byte_at = line_starts[first_line - 1], line_starts[last_line]
        at = end
        occurrence = seen.get(text, 0)
        seen[text] = occurrence + 1
        place = (first_line, last_line, byte_start, byte_at, text, cut.section.path)
        chunks.append(new_tuple(ParsedChunk, (*place, *dress.words(index, cut, text, first_line), occurrence)))
    return chunks


class _Dress:
    """Finds the searchable words of the chunks, in order: who lends to whom depends on the chunks before."""

    def __init__(self, body: str, cuts: list[Cut]) -> None:
        self._body = body
        self._cuts = cuts
        self._lent: tuple[Heading, ...] = ()
        self._columns: _Columns | None = None

    def words(self, index: int, cut: Cut, text: str, first_line: int) -> tuple[bool, int, str, str]:
        """Return (is_hit, columns_line, heading_text, body_text) of the next chunk."""
        start, end, section, table = cut
        is_hit, heading_text, body_text = True, "", text
        if section.stack:
            own = section.stack[-1]
            own_end = own.end - start if own.start <= start < own.end else 0
            if own_end:
                if (start, end) == (own.start, own.end) and index + 1 < len(self._cuts):
                    is_hit = not _is_under(self._cuts[index + 1], section)
                body_text = text[own_end:]
            heading_text = _heading_text(self._body, section, self._lent, text[:own_end])
            if self._lent or not is_hit:
                self._lent = () if is_hit else (*self._lent, own)
        if table is None:
            return is_hit, 0, heading_text, body_text
        if self._columns is None:
            self._columns = _Columns(self._body)
        columns_line, row = self._columns.of(table, start, first_line)
        return is_hit, columns_line, heading_text, f"{body_text}\n{row}"


def _is_under(cut: Cut, section: Section) -> bool:
    depth = len(section.stack)
    stack = cut.section.stack
    return len(stack) >= depth and stack[depth - 1] is section.stack[-1]


def _heading_text(body: str, section: Section, lent: tuple[Heading, ...], own: str) -> str:
    """Return the words of the headings above a chunk: whole lines, with anchors, of those it shows or stands in for."""
    path = section.path
    if not lent:
        if not own:
            return "\n".join(path)
        return "\n".join((*path[:-1], own.strip())) if len(path) > 1 else own.strip()
    parts = [body[one.start : one.end].strip() if one in lent else one.title for one in section.stack]
    return "\n".join((*parts[:-1], own.strip())) if own else "\n".join(parts)


class _Columns:
    """Finds the header row of split tables; counts each table's lines once, however many parts it has."""

    def __init__(self, body: str) -> None:
        self._body = body
        self._table: Block | None = None
        self._line = 0

    def of(self, table: Block, start: int, first_line: int) -> tuple[int, str]:
        """Return (line, text) of the header row of `table`, of which a part begins at offset `start`."""
        if self._table != table:
            self._table = table
            self._line = first_line - self._body.count("\n", table.start, start)
        return self._line, self._body[table.start : table.header_end]
