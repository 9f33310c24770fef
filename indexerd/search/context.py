"""A passage widened to whole neighbouring chunks of its section.

Owns: how far context reaches, and the citation of what it gives.
Knows nothing of: budgets, how blocks are written, ranking.
Invariants: 1. the widened text is one slice of the proved bytes and holds its passages. 2. it never leaves the
    section. 3. no line is in two blocks.
Purity: pure.
See: docs/evidence.md (context).
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from indexerd.digests import content_hash
from indexerd.documents.decoding import is_decoded
from indexerd.model import Citation, LineSpan
from indexerd.search.evidence import Item
from indexerd.search.outcome import Hit
from indexerd.search.selection import Accepted
from indexerd.search.view import View

if TYPE_CHECKING:
    from indexerd.store.segment import Segment


class Stretch(NamedTuple):
    """Chunks of one section that become one block. `hits` are the places of the passages in it, best first."""

    section: tuple[int, int, tuple[str, ...]]
    chunks: range
    hits: tuple[int, ...]

    def touches(self, other: "Stretch") -> bool:
        """Whether both lie in one section with nothing between them."""
        is_near = self.chunks.start <= other.chunks.stop and other.chunks.start <= self.chunks.stop
        return self.section == other.section and is_near


def widen(segment: "Segment", document: int, chunk: int, context: int | Literal["section"]) -> range:
    """Return the passage with those neighbours that lie within `context` lines of it, or all of its section."""
    first = last = chunk
    low, high = int(segment.first_chunks[document]), int(segment.first_chunks[document + 1])
    while first > low and _reaches(segment, first - 1, chunk, context):
        first -= 1
    while last + 1 < high and _reaches(segment, last + 1, chunk, context):
        last += 1
    return range(first, last + 1)


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
    """Return what is to become blocks: one a hit; with context the hits whose wide lines meet share one."""
    if not context:
        return [_item(hit) for hit in hits]
    stretches: list[Stretch] = []
    for at, (one, hit) in enumerate(zip(accepted, hits, strict=True)):
        number, document, chunk = one.candidate.segment, one.candidate.document, one.candidate.chunk
        reach = widen(view.segments[number].segment, document, chunk, context)
        own = Stretch((number, document, hit.heading_path), reach, (at,))
        met = [other for other in stretches if other.touches(own)]
        if not met:
            stretches.append(own)
            continue
        every = [*met, own]
        chunks = range(min(each.chunks.start for each in every), max(each.chunks.stop for each in every))
        joined = Stretch(own.section, chunks, tuple(sorted(at for each in every for at in each.hits)))
        stretches[stretches.index(met[0])] = joined
        stretches = [each for each in stretches if each not in met]
    return [_wide(view, stretch, accepted, hits) for stretch in stretches]


def _wide(view: View, stretch: Stretch, accepted: Sequence[Accepted], hits: Sequence[Hit]) -> Item:
    best, chunks = stretch.hits[0], stretch.chunks
    narrow = _item(hits[best])
    if len(chunks) == 1:
        return narrow
    segment = view.segments[stretch.section[0]].segment
    first, last = segment.chunk(chunks[0]), segment.chunk(chunks[-1])
    data = accepted[best].proved.data
    text = data[first.byte_start : last.byte_end].decode("utf-8", "replace")
    span = LineSpan(first.span.first, last.span.last)
    citation = Citation(source_path=hits[best].source_path, span=span, content_hash=content_hash(text.encode()))
    decoded = is_decoded(data, *span)
    parts = tuple(_item(hits[at]) for at in stretch.hits)
    return narrow._replace(citation=citation, text=text, decoded=decoded, parts=parts)


def _item(hit: Hit) -> Item:
    return Item(
        hit.n, hit.score, hit.title, hit.chunk_id, hit.citation, hit.heading_path, hit.columns, hit.text, hit.decoded
    )
