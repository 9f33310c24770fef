"""The frozen values that every part speaks.

Owns: identities (as distinct types), roots, settings, what history keeps, documents and chunks as stored, citations.
Knows nothing of: files, arrays, sockets, the clock.
Invariants: 1. values never change. 2. line spans are 1-based and inclusive; byte ranges are half-open.
Purity: pure.
See: docs/glossary.md.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple, NewType

SourcePath = NewType("SourcePath", str)
DocumentId = NewType("DocumentId", str)
ChunkId = NewType("ChunkId", str)
Digest = NewType("Digest", bytes)
ContentHash = NewType("ContentHash", bytes)

MetadataValue = str | tuple[str, ...]


_MINUTE_NS = 60 * 10**9
_HOUR_NS = 60 * _MINUTE_NS
_DAY_NS = 24 * _HOUR_NS


class LineSpan(NamedTuple):
    """First and last line, 1-based and inclusive, as `sed -n 'FIRST,LASTp'` counts."""

    first: int
    last: int


class Root(NamedTuple):
    """A directory the user asked us to index.

    Attributes:
        label: Short name, unique in the set.
        path: Absolute path in the spelling the user gave (`os.fsdecode` form).
        prefixed: Whether source paths of this root begin with `label/`; fixed when the store is made.
    """

    label: str
    path: str
    prefixed: bool = False


class FrontMatterKeys(NamedTuple):
    """Which front-matter keys carry which meaning. All other keys are metadata to filter by."""

    title: tuple[str, ...] = ("title",)
    aliases: tuple[str, ...] = ("aliases", "alias")
    tags: tuple[str, ...] = ("tags", "tag", "keywords")
    version: tuple[str, ...] = ("version",)
    valid_from: tuple[str, ...] = ("valid_from",)
    valid_to: tuple[str, ...] = ("valid_to",)
    acl: tuple[str, ...] = ("acl",)
    series: tuple[str, ...] = ("series",)


class Settings(NamedTuple):
    """All that decides what is stored for a document. Part of every settings fingerprint.

    Attributes:
        max_chars: Target size of a chunk in characters; at least 120.
        formats: File endings that are indexed, lower case, with the dot.
        language: Snowball language for stemming, or `none`.
        languages: `(root label, language)` pairs that override `language` below that root.
        keys: Which front-matter keys mean what.
    """

    max_chars: int = 900
    formats: tuple[str, ...] = (".md", ".markdown", ".mdx", ".txt", ".rst", ".org")
    language: str = "english"
    languages: tuple[tuple[str, str], ...] = ()
    keys: FrontMatterKeys = FrontMatterKeys()

    def language_of(self, source_path: SourcePath) -> str:
        """Return the stemming language for a document, by the label its source path begins with."""
        if not self.languages:
            return self.language
        return dict(self.languages).get(source_path.partition("/")[0], self.language)

    def all_languages(self) -> tuple[str, ...]:
        """Return every language in use, sorted, without repetition."""
        return tuple(sorted({self.language, *(language for _, language in self.languages)}))


class UnsafeFinding(NamedTuple):
    """A line that tries to instruct a model, and the name of the pattern that says so."""

    line: int
    pattern: str


class Document(NamedTuple):
    """One document as stored.

    Attributes:
        source_path: Its name; see docs/on-disk-format.md.
        digest: xxh3-128 of the raw bytes.
        content_hash: SHA-256 of the raw bytes (`document_hash` in replies).
        size_bytes: Length of the raw bytes.
        line_count: Lines as `grep -c ''` counts them.
        format: Name of the format module that read it (`markdown`, `text`, `rst`, `org`).
        title: Front-matter title, else the only level-1 heading, else the file name without its ending.
        aliases: Other names, from front matter.
        tags: From front matter and inline `#tags`, without the `#`, in order of first sight.
        metadata: Every front-matter key with its raw value, order kept. Rights are computed from it when read.
        front_matter_lines: Lines of the front-matter block with its fences; 0 if there is none.
        unread_keys: Keys of a front-matter block whose value could not be read (all keys of a bad block).
        problems: Codes of what is odd: `undecodable`, `bad_front_matter`, `front_matter_too_large`.
        unsafe: Lines held back by the safety gate.
    """

    source_path: SourcePath
    digest: Digest
    content_hash: ContentHash
    size_bytes: int
    line_count: int
    format: str
    title: str
    aliases: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, MetadataValue] = MappingProxyType({})
    front_matter_lines: int = 0
    unread_keys: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    unsafe: tuple[UnsafeFinding, ...] = ()


LOST_HASH = ContentHash(bytes(32))
"""Stands for the hash of a text that is lost: no text has it."""


class Chunk(NamedTuple):
    """One chunk as stored.

    Attributes:
        span: Its lines.
        byte_start: Offset of its first byte in the raw document (a BOM belongs to no chunk).
        byte_end: Offset behind its last byte, line end included.
        content_hash: SHA-256 of its text in UTF-8; `LOST_HASH` where the kept text cannot be read any more.
        occurrence: 0, 1, ... among equal texts of the document.
        heading_path: The titles above it, outermost first.
        is_hit: False for a heading that lends its words to the next chunk under it.
        columns_line: Line of the header row that a part of a split table repeats; 0 if none.
    """

    span: LineSpan
    byte_start: int
    byte_end: int
    content_hash: ContentHash
    occurrence: int
    heading_path: tuple[str, ...]
    is_hit: bool
    columns_line: int


class History(NamedTuple):
    """Which older generations are kept with their text, so that evidence can be replayed.

    Attributes:
        generations: The newest so many.
        minutes: One a minute for so many minutes.
        hours: One an hour for so many hours.
        days: One a day for so many days.
        evidence_days: Days that a generation named by evidence is kept.
        max_ratio: All of it at most so many times the live text; 0 keeps none.
    """

    generations: int = 64
    minutes: int = 60
    hours: int = 24
    days: int = 30
    evidence_days: int = 30
    max_ratio: float = 1.0

    @property
    def pin_ns(self) -> int:
        """How long evidence keeps a generation."""
        return self.evidence_days * _DAY_NS

    @property
    def steps(self) -> tuple[tuple[int, int], ...]:
        """Pairs of how far back and how long a step is, of each of which one generation is kept."""
        return (
            (self.minutes * _MINUTE_NS, _MINUTE_NS),
            (self.hours * _HOUR_NS, _HOUR_NS),
            (self.days * _DAY_NS, _DAY_NS),
        )


class Citation(NamedTuple):
    """A source path, a line span, and (in full) the hash of the cited text."""

    source_path: SourcePath
    span: LineSpan
    content_hash: ContentHash | None = None

    def __str__(self) -> str:
        short = f"{self.source_path}#L{self.span.first}-L{self.span.last}"
        return f"{short}@sha256:{self.content_hash.hex()}" if self.content_hash is not None else short


# Parsed from its end: a source path may itself contain `#L1-L2`.
_CITATION = re.compile(
    r"(?P<path>.+)#L(?P<first>[1-9][0-9]{0,8})(?:-L(?P<last>[1-9][0-9]{0,8}))?(?:@sha256:(?P<hash>[0-9a-f]{64}))?",
    re.DOTALL,
)


def parse_citation(text: str) -> Citation | None:
    """Read `path#L12-L18` or `path#L12-L18@sha256:HEX`; return None if it is neither. `#L12` alone is `#L12-L12`."""
    match = _CITATION.fullmatch(text)
    if match is None:
        return None
    span = LineSpan(int(match["first"]), int(match["last"] or match["first"]))
    if span.first > span.last:
        return None
    digest = ContentHash(bytes.fromhex(match["hash"])) if match["hash"] else None
    return Citation(source_path=SourcePath(match["path"]), span=span, content_hash=digest)
