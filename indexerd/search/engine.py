"""One search from request to outcome: eligibility, ranking, proof, selection, abstention, evidence.

Owns: the order of those steps and what passes between them.
Knows nothing of: sockets, waiting for fresh indexes (the service does), how any step is done.
Invariants: 1. every hit was proved against the bytes on disk during this call. 2. equal snapshots, requests and
    sources give equal outcomes, save for the times in them. 3. an abstained evidence outcome has no hits and names
    nothing.
Purity: shell (reads sources, asks the clock).
See: docs/search.md.
"""

import weakref
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from indexerd.access.rights import AccessRules
from indexerd.analysis import QueryWord
from indexerd.digests import chunk_id, document_id
from indexerd.model import Root, Settings, SourcePath
from indexerd.ports import Clock, SourceFault, Sources
from indexerd.search.abstention import Judgement, Unit, judge, share, units
from indexerd.search.bm25 import K1, idf
from indexerd.search.eligibility import ViewCache
from indexerd.search.filters import ModifiedNs, chooses_none, filtered
from indexerd.search.freshness import PROOF_SECONDS, Prover
from indexerd.search.hits import HitMaker
from indexerd.search.outcome import REASONS, AbstentionReason, Hit, Rejected, RejectionCode, SearchOutcome, Seen
from indexerd.search.rank import Candidate, Ranking, WordFigures
from indexerd.search.recall import StoredProver
from indexerd.search.recent import Recent, recent_of
from indexerd.search.request import SearchRequest
from indexerd.search.rights import Caller, hides, rights_of
from indexerd.search.selection import NAMED, Accepted, Account, Selection
from indexerd.search.suggesting import close_terms
from indexerd.search.view import Mask, SegmentView, View
from indexerd.search.words import QueryWords, query_words

if TYPE_CHECKING:
    from indexerd.store.snapshot import Snapshot

_VIEWS = ViewCache()
# Pages, retries, and evidence beside hits ask the same again: their candidates are remembered, about 100 bytes each.
_KEPT_CANDIDATES: Final = 8192
_MOST_KEPT: Final = 128


class _First(NamedTuple):
    """The first candidates of a query, and how many it has in all."""

    total: int
    candidates: Sequence[Candidate]


_FIRST: "weakref.WeakKeyDictionary[View, Recent[tuple[QueryWords, int], _First]]" = weakref.WeakKeyDictionary()
# How many places below the best candidate stands the one that abstention compares it with. Whatever `k` is, so many are
# looked for: some candidates will be duplicates, or of one document.
_PLACES_BELOW: Final = 8
# A question of hundreds of words takes a while to hold to one hit.
_JUDGED: Final = 50
# Of so many words that nothing holds, terms that are spelt like them are looked for.
_MOST_CLOSE: Final = 3
# Where blocks do not fit, how often more passages are tried, and how many at least: a budget that is nearly spent is no
# reason to prove the whole ranking.
_MORE_WALKS: Final = 3
_LEAST_MORE: Final = 8


class Surroundings(NamedTuple):
    """What a search needs beside snapshot and request.

    Attributes:
        rules: Present rules on who may see what.
        held: Documents that cannot be looked at now: not eligible.
        sources: Reads documents.
        clock: Time.
        settings: Those the snapshot was made with.
        roots: To name a hit's root.
        modified: Modification times for `since`, `until` and sorting; None to read them from the sources.
        building: Whether the first index is not complete yet.
        seen: What an earlier search of this query saw of sources; not read again where the snapshot holds just that.
        now: Where the snapshot is one of the past, the current one; then text and proof come from what is kept.
        proof_seconds: How long reading for proof may take.
    """

    rules: AccessRules
    held: frozenset[SourcePath]
    sources: Sources
    clock: Clock
    settings: Settings
    roots: Sequence[Root] = ()
    modified: ModifiedNs | None = None
    building: bool = False
    seen: Mapping[SourcePath, Seen] = MappingProxyType({})
    now: "Snapshot | None" = None
    proof_seconds: float = PROOF_SECONDS


def search(  # noqa: PLR0913 - the seam's fields are spelled out for its callers
    snapshot: "Snapshot",
    request: SearchRequest,
    *,
    rules: AccessRules,
    held: frozenset[SourcePath],
    sources: Sources,
    clock: Clock,
    settings: Settings,
    roots: Sequence[Root] = (),
    modified: ModifiedNs | None = None,
    building: bool = False,
    seen: Mapping[SourcePath, Seen] = MappingProxyType({}),
    now: "Snapshot | None" = None,
    proof_seconds: float = PROOF_SECONDS,
) -> SearchOutcome:
    """Search a snapshot and prove what is found. See `Surroundings` for the arguments.

    Returns:
        The outcome. Where `unproved` names files, index what was seen of them, and search again with that as `seen`
        to fill the gaps.

    Raises:
        BudgetError: The evidence budget cannot hold the guard.
    """
    around = Surroundings(
        rules=rules, held=held, sources=sources, clock=clock, settings=settings, roots=roots, modified=modified,
        building=building, seen=seen, now=now, proof_seconds=proof_seconds,
    )  # fmt: skip
    asked = _Search(snapshot, request, around)
    found = asked.outcome()
    if not found.candidates and chooses_none(asked.base, request, asked.modified, rules):
        return found._replace(no_document=True)
    close = asked.close_terms() if found.unmatched else {}
    if not close:
        return found
    if request.evidence or found.candidates:
        return found._replace(close_terms=close)
    text = asked.with_words({word: terms[0] for word, terms in close.items()})
    instead = _Search(snapshot, request._replace(text=text), around).outcome()
    return instead._replace(request=request, unmatched=found.unmatched, weak=True, close_terms=close, searched=text)


class _Search:
    """One search: what every step needs, and the steps."""

    def __init__(self, snapshot: "Snapshot", request: SearchRequest, around: Surroundings) -> None:
        self.snapshot, self.request, self.around = snapshot, request, around
        withholds_unsafe = request.evidence or request.safe
        self.caller = Caller(request.roles, request.as_of or around.clock.today(), withholds_unsafe)
        self.languages = around.settings.all_languages()
        self.modified = around.modified or _reading(around.sources)
        self.base = _VIEWS.base_view(snapshot, self.caller, around.rules, around.held)
        self.view = filtered(self.base, request, self.languages, self.modified, around.rules)
        self.rights = [rights_of(one.segment, around.rules) for one in self.view.segments]
        self.words = query_words(request.text, self.languages, prefix=request.prefix)
        self.ranking = Ranking(self.view, self.words)
        self.weights = [
            self._weight(word, figures) for word, figures in zip(self.words.searched, self.ranking.figures, strict=True)
        ]
        self.expected = request.k + _PLACES_BELOW if request.k else self.view.n + 1
        self.below = 0.0
        self.known_units: dict[frozenset[int], list[Unit]] = {}
        self.prover = self._prover()

    def _prover(self) -> Prover | StoredProver:
        around, bounded, caller = self.around, self.request.k > 0, self.caller

        # Not a method: what the search holds must not hold the search, or its lists, of megabytes, would wait for the
        # collector of cycles.
        def is_hidden(source_path: SourcePath, data: bytes) -> bool:
            return hides(source_path, data, around.settings, around.rules, caller)

        if around.now is None:
            seconds = around.proof_seconds if bounded else None
            return Prover(around.sources, around.clock, is_hidden, around.seen, seconds)
        return StoredProver(
            self.snapshot, around.now, sources=around.sources, clock=around.clock, settings=around.settings,
            rules=around.rules, roles=self.request.roles, bounded=bounded,
        )  # fmt: skip

    def _weight(self, word: QueryWord, figures: WordFigures) -> float:
        """Return what a word weighs in coverage: one that no passage holds, as much as one that a single holds."""
        rarest = figures.idf if figures.df or word.kind.startswith("cjk") else idf(self.view.n, min(1, self.view.n))
        return rarest * figures.weight

    def outcome(self) -> SearchOutcome:
        """Take the steps in order."""
        total, first = self._first()
        if len(first) > _PLACES_BELOW:
            score, bonus = first[_PLACES_BELOW].score, self.ranking.name_bonus
            self.below = score if score < bonus else score - bonus
        k = self.request.k
        selection = Selection(self.view, self.request, self.prover, self._share_of, self._is_unsafe)
        selection.begin(self._ordered(first), total, first[:k] if self.request.sort == "score" else ())
        may_be_more = selection.walk(k)
        self._account_withheld(selection.account)
        found = self._outcome(selection, total)
        for _ in range(_MORE_WALKS):
            missing = k - len(found.evidence.blocks) if found.evidence is not None else 0
            if not may_be_more or missing <= 0:
                break
            # A passage whose block does not fit is none of the k: a smaller one may follow.
            may_be_more = selection.walk(len(selection.accepted) + max(missing, _LEAST_MORE))
            found = self._outcome(selection, total)
        if k and self.request.trace:
            selection.name_the_rest()
            found = self._outcome(selection, total)
        return found

    def _outcome(self, selection: Selection, total: int) -> SearchOutcome:
        """Return what follows from what was selected so far."""
        present = self.ranking.present([one.candidate for one in selection.accepted])
        judgement, coverage = self._judge(present, *self._strength(selection.accepted))
        base = SearchOutcome(
            request=self.request,
            as_of=self.caller.as_of,
            hits=(),
            candidates=total - selection.hidden,
            coverage=coverage,
            answerability=judgement.answerability,
            unmatched=judgement.missing,
            weak=judgement.weak,
            abstained=False,
            abstention_reason=None,
            rejected=tuple(selection.account.named),
            rejected_counts=dict(sorted(selection.account.counts.items())),
            unproved=self.prover.unproved,
            evidence=None,
        )
        if self.request.evidence and (reason := self._abstention(base, selection, judgement)):
            return base._replace(rejected=(), abstained=True, abstention_reason=reason)
        around = self.around
        maker = HitMaker(
            self.ranking, self.languages, around.sources, around.roots, around.rules, explain=self.request.explain
        )
        hits = maker.hits(selection.accepted, present)
        return self._with_evidence(base, selection, hits) if self.request.evidence else base._replace(hits=hits)

    def close_terms(self) -> dict[str, tuple[str, ...]]:
        """Return terms that are spelt like the first of the words that no eligible passage holds."""
        pairs = zip(self.words.searched, self.ranking.figures, strict=True)
        lost = [
            word
            for word, figures in pairs
            if not figures.df and word.kind == "word" and word.surface != self.words.prefix
        ]
        surfaces = [word.surface for word in sorted(lost, key=lambda word: word.start)[:_MOST_CLOSE]]
        return {surface: terms for surface in surfaces if (terms := close_terms(self.view, surface))}

    def with_words(self, instead: Mapping[str, str]) -> str:
        """Return the text of the query with other words in the place of some."""
        text = self.request.text
        for word in sorted(self.words.asked, key=lambda word: -word.start):
            if word.kind == "word" and word.surface in instead:
                text = text[: word.start] + instead[word.surface] + text[word.end :]
        return text

    def _first(self) -> _First:
        """Return how many candidates there are, and the first of them by score."""
        limit, known = self.expected, recent_of(_FIRST, self.view, _KEPT_CANDIDATES)
        found = known.get((self.words, limit))
        if found is None:
            found = _First(self.ranking.count(), self.ranking.top(limit))
            if len(found.candidates) <= _MOST_KEPT:
                known.keep((self.words, limit), found, len(found.candidates) + 1)
        return found

    def _ordered(self, first: Sequence[Candidate]) -> Iterable[Candidate]:
        """Yield candidates in the order asked for."""
        request = self.request
        if request.sort == "score":
            return self.ranking.candidates(self.expected, first)
        every = list(self.ranking.candidates(self.view.n + 1))
        paths = {(c.segment, c.document): self._path(c) for c in every}
        if request.sort == "path":
            return sorted(every, key=lambda c: (paths[c.segment, c.document], c.chunk))
        distinct = list(set(paths.values()))
        moments = dict(zip(distinct, self.modified(distinct), strict=True))
        return sorted(every, key=lambda c: (-(moments[p := paths[c.segment, c.document]] or 0), p, c.chunk))

    def _path(self, candidate: Candidate) -> SourcePath:
        return self.view.segments[candidate.segment].segment.paths[candidate.document]

    def _is_unsafe(self, candidate: Candidate) -> bool:
        known = self.rights[candidate.segment].get(candidate.document)
        return known is not None and known.unsafe

    def _share_of(self, candidate: Candidate) -> float:
        (present,) = self.ranking.present([candidate])
        return share(self._units(present))

    def _units(self, present: Collection[int]) -> list[Unit]:
        key = frozenset(present)
        known = self.known_units.get(key)
        if known is None:
            # Many passages hold the same words of a query.
            known = self.known_units[key] = units(self.words.text, self.words.searched, self.weights, key)
        return known

    def _strength(self, accepted: Sequence[Accepted]) -> tuple[float, float]:
        """Return the score of the best hit, names and boosts aside, and that of the candidate it is compared with.

        Both as shares of what the words of the query could give at most.
        """
        most = sum(self.weights) * (K1 + 1.0)
        if not (accepted and most):
            return 0.0, 0.0
        ((parts, _),) = self.ranking.parts([max(accepted, key=lambda one: one.candidate.score).candidate])
        score = sum(score for _, _, score in parts)
        return score / most, min(score, self.below) / most

    def _judge(self, present: Sequence[frozenset[int]], strength: float, below: float) -> tuple[Judgement, float]:
        """Return the judgement, and the share of the query that the hits hold together."""
        anywhere = self._units({index for index, figures in enumerate(self.ranking.figures) if figures.df})
        best = max((share(self._units(held)) for held in self._strongest(set(present))), default=0.0)
        coverage = share(self._units(frozenset().union(*present))) if present else 0.0
        return judge(anywhere, best, coverage, strength, below), coverage

    def _strongest(self, present: Collection[frozenset[int]]) -> Collection[frozenset[int]]:
        """Return the hits that may hold most of the question: of very many those whose words weigh most."""
        if len(present) <= _JUDGED:
            return present
        return sorted(present, key=lambda held: (-sum(self.weights[index] for index in sorted(held)), sorted(held)))[
            :_JUDGED
        ]

    def _abstention(self, base: SearchOutcome, selection: Selection, judgement: Judgement) -> AbstentionReason | None:
        if not self.words.searched:
            return "no_searchable_terms"
        if not selection.accepted:
            if self.around.building:
                return "index_building"
            return "nothing_current" if base.candidates else "no_overlap"
        return "missing_topic" if judgement.refuse else None

    def _account_withheld(self, account: Account) -> None:
        """Add the visible passages that share a word with the query and are unsafe or superseded."""
        for number, view in enumerate(self.view.segments):
            withheld: tuple[tuple[RejectionCode, Mask | None], ...] = (
                ("unsafe_content", view.unsafe),
                ("superseded", view.superseded),
            )
            for code, mask in withheld:
                if mask is not None:
                    for chunk in np.flatnonzero(mask & self.ranking.holders(number)).tolist():
                        self._reject(account, view, chunk, code)

    def _reject(self, account: Account, view: SegmentView, chunk: int, code: RejectionCode) -> None:
        path = view.segment.paths[int(view.segment.document_of_chunk[chunk])]
        stored = view.segment.chunk(chunk)
        account.reject(chunk_id(document_id(path), stored.content_hash, stored.occurrence), path, code)

    def _with_evidence(self, base: SearchOutcome, selection: Selection, hits: Sequence[Hit]) -> SearchOutcome:
        """Put the hits into blocks; hits without a block are no hits."""
        request = self.request
        # With patterns of its own, 6 ms of a start: people who search need none.
        from indexerd.search.context import items_of  # noqa: PLC0415 - as said above
        from indexerd.search.evidence import evidence_set  # noqa: PLC0415 - as above

        items = items_of(self.view, selection.accepted, hits, request.context)
        made = evidence_set(
            request.text, items, base.unmatched, request.budget_chars, request.budget_tokens, most=request.k
        )
        given, unfit = {block.chunk_id for block in made.blocks}, {one.citation for one in made.omitted}
        kept = [hit._replace(n=n) for n, hit in enumerate((h for h in hits if h.chunk_id in given), start=1)]
        counts = Counter(base.rejected_counts)
        rejected = list(base.rejected)
        placed = 0
        for hit in hits:
            if request.k and placed == request.k:
                # What lies behind the last block was not asked for.
                break
            if hit.chunk_id in given:
                placed += 1
            else:
                # What is in another hit's block is there already.
                code: RejectionCode = "budget_exceeded" if hit.citation in unfit else "duplicate_evidence"
                counts[code] += 1
                rejected.append(Rejected(hit.chunk_id, hit.source_path, code, REASONS[code]))
        return base._replace(
            hits=tuple(kept),
            rejected=tuple(rejected[:NAMED]),
            rejected_counts=dict(sorted(counts.items())),
            evidence=made,
        )


def _reading(sources: Sources) -> ModifiedNs:
    """Return modification times by reading the sources: right, and slow for many."""

    def modified(paths: Sequence[SourcePath]) -> list[int | None]:
        reads = map(sources.read, paths)
        return [None if isinstance(read, SourceFault) else read.stat.mtime_ns for read in reads]

    return modified
