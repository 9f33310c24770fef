"""Proved candidates as hits: names, place, excerpt, matched words.

Owns: what a hit says of its passage beside the text.
Knows nothing of: ranking order, proof, evidence.
Invariants: 1. everything but title and metadata is cut from the bytes that proved the passage. 2. hits keep the order
    given.
Purity: pure.
See: docs/protocol.md (hits).
"""

import weakref
from collections.abc import Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Final, NamedTuple

from indexerd.access.rights import AccessRules, effective_metadata
from indexerd.analysis import locate_each
from indexerd.digests import chunk_id, document_id
from indexerd.documents.decoding import is_decoded
from indexerd.model import Chunk, Document, Root, SourcePath, UnsafeFinding
from indexerd.search.excerpt import Shown, show
from indexerd.search.freshness import Proved
from indexerd.search.outcome import Hit, Part
from indexerd.search.rank import Held, Ranking
from indexerd.search.recent import Recent, recent_of
from indexerd.search.selection import Accepted
from indexerd.search.words import QueryWords

if TYPE_CHECKING:
    from indexerd.ports import Sources
    from indexerd.search.view import View


# About two kilobytes each.
_KEPT_HITS: Final = 2048
_MOST_HITS: Final = 128
_Place = tuple[int, int, int]
_HITS: "weakref.WeakKeyDictionary[View, Recent[tuple[QueryWords, tuple[str, ...], bool], dict[_Place, Hit]]]" = (
    weakref.WeakKeyDictionary()
)


class HitMaker(NamedTuple):
    """Makes the hits of one query."""

    ranking: Ranking
    languages: tuple[str, ...]
    sources: "Sources"
    roots: Sequence[Root]
    rules: AccessRules
    explain: bool

    def hits(self, accepted: Sequence[Accepted], present: Sequence[frozenset[int]]) -> tuple[Hit, ...]:
        """Return the hits; `present` says which words each passage holds."""
        hits = self._made(accepted, present)
        return tuple(self._given(n, hits[one.candidate[1:]], one) for n, one in enumerate(accepted, start=1))

    def _given(self, n: int, hit: Hit, one: Accepted) -> Hit:
        """Return a hit with what belongs to this query alone."""
        proved, path = one.proved, hit.source_path
        place = self.sources.absolute(path), root_label(path, self.roots)
        return Hit._make((n, *place, one.text, proved.modified_ns, proved.validated_at_ns, *hit[6:]))

    def _made(self, accepted: Sequence[Accepted], present: Sequence[frozenset[int]]) -> dict[_Place, Hit]:
        """Return a hit for each passage. Proof says that its document is the indexed one, so they are remembered."""
        known = recent_of(_HITS, self.ranking.view, _KEPT_HITS)
        key = self.ranking.words, self.languages, self.explain
        hits = dict(known.get(key) or {})
        new = [(one, words) for one, words in zip(accepted, present, strict=True) if one.candidate[1:] not in hits]
        if new:
            weights = [figures.idf * figures.weight for figures in self.ranking.figures]
            terms = {words: matched_terms(self.ranking.words, words) for words in {words for _, words in new}}
            asked = self.ranking.words
            places = locate_each([one.text for one, _ in new], asked.searched, self.languages, asked.prefix)
            parts = self.ranking.parts([one.candidate for one, _ in new]) if self.explain else repeat(None)
            for (one, words), matches, held in zip(new, places, parts, strict=False):
                hits[one.candidate[1:]] = self._hit(one, terms[words], show(one.text, matches, weights), held)
            if len(hits) <= _MOST_HITS:
                known.keep(key, hits, len(hits))
        return hits

    def _hit(self, one: Accepted, terms: tuple[str, ...], shown: Shown, held: Held | None) -> Hit:
        candidate, stored, proved, text, unsafe = one
        view = self.ranking.view.segments[candidate.segment]
        document = view.segment.document(candidate.document)
        document_name = document_id(document.source_path)
        return Hit(
            n=0,
            path=None,
            root=None,
            text=text,
            modified_ns=None,
            validated_at_ns=0,
            score=candidate.score,
            title=document.title,
            source_path=document.source_path,
            span=stored.span,
            line=stored.span.first + shown.line_offset,
            column=shown.column,
            heading_path=stored.heading_path,
            excerpt=shown.excerpt,
            highlights=shown.highlights,
            matched_terms=terms,
            unsafe=nearest_finding(document, stored) if unsafe else None,
            chunk_id=chunk_id(document_name, stored.content_hash, stored.occurrence),
            document_id=document_name,
            content_hash=stored.content_hash,
            document_hash=document.content_hash,
            metadata=effective_metadata(document, self.rules),
            tags=document.tags,
            columns=columns_of(proved, stored),
            explain=None if held is None else self._explained(held),
            boost=1.0 if view.boosts is None else float(view.boosts[candidate.chunk]),
            decoded=("\ufffd" in text or stored.span.first == 1) and is_decoded(proved.data, *stored.span),
        )

    def _explained(self, held: Held) -> tuple[Part, ...]:
        found, name_bonus = held
        parts = [
            Part(word.surface, word.kind, figures.df, figures.idf, figures.weight, frequency, score)
            for order, frequency, score in found
            for word, figures in [(self.ranking.words.searched[order], self.ranking.figures[order])]
        ]
        if name_bonus:
            parts.append(Part("", "name", 0, 0.0, 0.0, 0.0, name_bonus))
        return tuple(parts)


def root_label(source_path: SourcePath, roots: Sequence[Root]) -> str | None:
    """Return the label of the root a document lies in."""
    for root in roots:
        if not root.prefixed or source_path.startswith(f"{root.label}/"):
            return root.label
    return None


def matched_terms(words: QueryWords, present: frozenset[int]) -> tuple[str, ...]:
    """Return the query's words that a passage holds, as typed, in query order, the longest of nested ones."""
    spans = sorted((words.searched[i].start, -words.searched[i].end) for i in present)
    terms: list[str] = []
    covered = -1
    for start, end in ((start, -end) for start, end in spans):
        if end > covered:
            terms.append(words.text[start:end])
            covered = end
    return tuple(dict.fromkeys(terms))


def nearest_finding(document: Document, stored: Chunk) -> UnsafeFinding | None:
    """Return the finding of a document that is nearest to a passage."""
    return min(document.unsafe, key=lambda finding: (_distance(finding.line, stored), finding.line), default=None)


def _distance(line: int, stored: Chunk) -> int:
    return max(stored.span.first - line, line - stored.span.last, 0)


def columns_of(proved: Proved, stored: Chunk) -> str:
    """Return the header row that a part of a split table repeats, or nothing."""
    if not stored.columns_line:
        return ""
    lines = proved.data.split(b"\n", stored.columns_line)
    return (
        lines[stored.columns_line - 1].decode("utf-8", "replace").strip() if len(lines) >= stored.columns_line else ""
    )
