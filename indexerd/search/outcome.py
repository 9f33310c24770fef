"""What a search found, proved, and did not give, as frozen values.

Owns: hits, rejected candidates, evidence blocks, the whole outcome.
Knows nothing of: how any of it was found; JSON.
Invariants: 1. `rejected_counts` covers every entry of `rejected`. 2. nothing here names a document hidden from the
    caller.
Purity: pure.
See: docs/protocol.md (result of query and evidence).
"""

import datetime
from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple

from indexerd.model import (
    ChunkId,
    Citation,
    ContentHash,
    DocumentId,
    LineSpan,
    MetadataValue,
    SourcePath,
    UnsafeFinding,
)
from indexerd.ports import SourceFault, SourceRead
from indexerd.search.request import SearchRequest

AbstentionReason = Literal["no_searchable_terms", "no_overlap", "missing_topic", "index_building", "nothing_current"]

RejectionCode = Literal[
    "unsafe_content",
    "source_changed",
    "source_missing",
    "source_unreadable",
    "source_escapes_root",
    "citation_mismatch",
    "superseded",
    "proof_budget",
    "duplicate_evidence",
    "budget_exceeded",
    "low_coverage",
    "document_limit",
    "top_k_reached",
    "examined_limit",
]

REASONS: Mapping[RejectionCode, str] = MappingProxyType(
    {
        "unsafe_content": "the document tries to instruct a model",
        "source_changed": "the file changed since it was indexed",
        "source_missing": "the file is gone",
        "source_unreadable": "the file cannot be read",
        "source_escapes_root": "the path leads out of its root",
        "citation_mismatch": "the cited lines do not hold the indexed text",
        "superseded": "a newer version of the document is valid",
        "proof_budget": "the limit on reading for proof was reached",
        "duplicate_evidence": "the same text, or as much that says the same, is given already",
        "budget_exceeded": "the block does not fit into the budget",
        "low_coverage": "the chunk holds too little of the query",
        "document_limit": "the document gave its share of hits",
        "top_k_reached": "enough hits were found",
        "examined_limit": "the limit on candidates looked at was reached",
    }
)


class Seen(NamedTuple):
    """What a query saw of a source: the whole file or why it could not be read, and when."""

    read: SourceRead | SourceFault
    at_ns: int


class Part(NamedTuple):
    """What one word adds to a score. The name bonus has the word `` (empty) and kind `name`."""

    word: str
    kind: str
    df: int
    idf: float
    weight: float
    frequency: float
    score: float


class Highlight(NamedTuple):
    """Character offsets in the excerpt, half-open."""

    start: int
    end: int


class Hit(NamedTuple):
    """One proved chunk. `text` is cut from the bytes that proved it. The first six fields are of one query alone.

    Attributes:
        n: Place, from 1.
        score: Its rank value; float64, not rounded.
        line: Line of the source that matches best.
        column: Byte in that line at which the match begins, from 1.
        excerpt: Whole lines around `line`, or the part of one long line.
        highlights: Matches in the excerpt.
        matched_terms: Words of the query that the chunk holds, in query order.
        unsafe: Finding that makes the document unsafe; the one nearest to the chunk.
        path: Absolute path as bytes; None if its root is gone.
        modified_ns: Modification time of the file that was read; None where its text is kept text.
        validated_at_ns: When the bytes were read.
        explain: Parts of the score, if asked for; `boost` apart.
        decoded: Whether the text is not the bytes of its lines: a mark was dropped or bytes were replaced.
    """

    n: int
    path: bytes | None
    root: str | None
    text: str
    modified_ns: int | None
    validated_at_ns: int
    score: float
    title: str
    source_path: SourcePath
    span: LineSpan
    line: int
    column: int
    heading_path: tuple[str, ...]
    excerpt: str
    highlights: tuple[Highlight, ...]
    matched_terms: tuple[str, ...]
    unsafe: UnsafeFinding | None
    chunk_id: ChunkId
    document_id: DocumentId
    content_hash: ContentHash
    document_hash: ContentHash
    metadata: Mapping[str, MetadataValue]
    tags: tuple[str, ...]
    columns: str
    explain: tuple[Part, ...] | None = None
    boost: float = 1.0
    decoded: bool = False

    @property
    def citation(self) -> Citation:
        """Return the full citation of the chunk."""
        return Citation(source_path=self.source_path, span=self.span, content_hash=self.content_hash)


class Rejected(NamedTuple):
    """A candidate that was looked at and not given."""

    chunk_id: ChunkId
    source_path: SourcePath
    code: RejectionCode
    reason: str


class Block(NamedTuple):
    """One evidence block as it stands in the prompt; `decoded` as in a hit."""

    label: str
    n: int
    citation: Citation
    title: str
    heading_path: tuple[str, ...]
    text: str
    rendered: str
    score: float
    chunk_id: ChunkId
    decoded: bool


class Omitted(NamedTuple):
    """A block that did not fit."""

    citation: Citation
    chars: int
    code: RejectionCode


class EvidenceSet(NamedTuple):
    """A guard and blocks within a budget. `prompt` is the guard, then the blocks, as counted."""

    evidence_set_id: str
    guard: str
    blocks: tuple[Block, ...]
    omitted: tuple[Omitted, ...]
    prompt: str
    budget_chars: int | None
    budget_tokens: int | None
    prompt_tokens: int | None


class SearchOutcome(NamedTuple):
    """Everything one search has to say.

    Attributes:
        candidates: Eligible chunks that hold a word of the query.
        coverage: Idf share of the query's words that the hits hold.
        answerability: Decision value of abstention, 0 to 1.
        unmatched: Words of the query that no eligible chunk holds.
        weak: Whether the answer rests on little; an evidence request then abstains or its guard says so.
        rejected: At most 100.
        rejected_counts: All that was looked at and not given, by code.
        unproved: What was seen of the files whose proof failed, in the order met: index just that, then search again.
            May name what the reply does not.
        evidence: For evidence requests that did not abstain.
        close_terms: By words that no eligible chunk holds: terms that are spelt like them, the likeliest first.
        searched: The text that was searched for in the place of the one asked, none of whose words is there; or None.
        no_document: Nothing was found, and paths, tags, metadata or times of the request leave no document at all.
    """

    request: SearchRequest
    as_of: datetime.date
    hits: tuple[Hit, ...]
    candidates: int
    coverage: float
    answerability: float
    unmatched: tuple[str, ...]
    weak: bool
    abstained: bool
    abstention_reason: AbstentionReason | None
    rejected: tuple[Rejected, ...]
    rejected_counts: Mapping[RejectionCode, int]
    unproved: Mapping[SourcePath, Seen]
    evidence: EvidenceSet | None
    close_terms: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    searched: str | None = None
    no_document: bool = False
