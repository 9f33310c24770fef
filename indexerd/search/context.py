"""A passage widened to whole neighbouring chunks of its section.

Owns: how far context reaches, and the citation of what it gives.
Knows nothing of: budgets, how blocks are written, ranking.
Invariants: 1. the widened text is one slice of the proved bytes and holds the passage. 2. it never leaves the
    section.
Purity: pure.
See: docs/evidence.md (context).
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from indexerd.digests import content_hash
from indexerd.model import Citation, ContentHash, LineSpan
from indexerd.search.evidence import Item
from indexerd.search.freshness import Proved
from indexerd.search.outcome import Hit
from indexerd.search.selection import Accepted
from indexerd.search.view import View

if TYPE_CHECKING:
    from indexerd.store.segment import Segment


class Widened(NamedTuple):
    """Lines around a passage. `chunks` are the ordinals it covers, half-open."""

    span: LineSpan
    text: str
    content_hash: ContentHash
    chunks: range


def widen(segment: "Segment", document: int, chunk: int, proved: Proved, context: int | Literal["section"]) -> Widened:
    """Return the passage with those neighbours that lie within `context` lines of it, or all of its section."""
    first = last = chunk
    low, high = int(segment.first_chunks[document]), int(segment.first_chunks[document + 1])
    passage = segment.chunk(chunk)
    while first > low and _reaches(segment, first - 1, chunk, context):
        first -= 1
    while last + 1 < high and _reaches(segment, last + 1, chunk, context):
        last += 1
    if first == last:
        start, end, span = passage.byte_start, passage.byte_end, passage.span
    else:
        start, end = segment.chunk(first).byte_start, segment.chunk(last).byte_end
        span = LineSpan(segment.chunk(first).span.first, segment.chunk(last).span.last)
    text = proved.data[start:end].decode("utf-8", "replace")
    return Widened(span, text, content_hash(text.encode()), range(first, last + 1))


def _reaches(segment: "Segment", neighbour: int, chunk: int, context: int | Literal["section"]) -> bool:
    passage, other = segment.chunk(chunk), segment.chunk(neighbour)
    if other.heading_path != passage.heading_path:
        return False
    if context == "section":
        return True
    return other.span.last >= passage.span.first - context and other.span.first <= passage.span.last + context


def items_of(
    view: View, accepted: Sequence[Accepted], hits: Sequence[Hit], context: int | Literal["section"]
) -> list[Item]:
    """Return what is to become blocks: one a hit, widened by context; a hit inside an earlier wide block gives none."""
    items: list[Item] = []
    covered: set[tuple[int, int]] = set()
    for one, hit in zip(accepted, hits, strict=True):
        candidate = one.candidate
        narrow = _item(hit)
        if not context:
            items.append(narrow)
            continue
        if (candidate.segment, candidate.chunk) in covered:
            continue
        segment = view.segments[candidate.segment].segment
        wide = widen(segment, candidate.document, candidate.chunk, one.proved, context)
        chunks = {(candidate.segment, chunk) for chunk in wide.chunks}
        if len(chunks) == 1 or chunks & covered:
            items.append(narrow)
            covered.add((candidate.segment, candidate.chunk))
            continue
        covered |= chunks
        citation = Citation(source_path=hit.source_path, span=wide.span, content_hash=wide.content_hash)
        items.append(narrow._replace(citation=citation, text=wide.text, narrow=narrow))
    return items


def _item(hit: Hit) -> Item:
    return Item(hit.n, hit.score, hit.title, hit.chunk_id, hit.citation, hit.heading_path, hit.columns, hit.text)
