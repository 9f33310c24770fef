"""Which candidates become hits: in rank order, proved, each text once, a few a document, until k are found.

Owns: the walk down the ranking, and the account of what was looked at and not given.
Knows nothing of: how candidates are ranked or proved, evidence, abstention.
Invariants: 1. what is accepted was proved in this walk. 2. `counts` covers the candidates looked at before k were
    accepted, at most 10 k + 100. 3. at most `NAMED` rejected are named.
Purity: shell (proof reads sources).
See: docs/search.md (selection).
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from indexerd.digests import chunk_id, document_id
from indexerd.model import Chunk, ChunkId, ContentHash, SourcePath
from indexerd.search.freshness import Hidden, Proof, Proved, Unproved, is_in_place
from indexerd.search.outcome import REASONS, Rejected, RejectionCode
from indexerd.search.rank import Candidate
from indexerd.search.request import SearchRequest
from indexerd.search.view import View

NAMED: Final = 100
# Passages say the same if so few of their words differ, and none of those with a digit: that may be the very answer.
_MOST_DIFFER: Final = 0.1
_LEAST_WORDS: Final = 12
_WORD: Final = re.compile(r"[^\W_]+")


class Accepted(NamedTuple):
    """A candidate whose text was proved."""

    candidate: Candidate
    stored: Chunk
    proved: Proved
    text: str
    unsafe: bool


def say_the_same(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether passages of these words are the same but for a few of them, which are no numbers."""
    apart, together = one ^ other, len(one | other)
    return (
        together >= _LEAST_WORDS
        and len(apart) <= _MOST_DIFFER * together
        and not any(letter.isdigit() for word in apart for letter in word)
    )


class Account:
    """What was rejected: all counted, the first few named."""

    def __init__(self) -> None:
        self.counts: Counter[RejectionCode] = Counter()
        self.named: list[Rejected] = []

    def reject(self, chunk: ChunkId, source_path: SourcePath, code: RejectionCode) -> None:
        """Count a rejected passage, and name it while there is room."""
        self.counts[code] += 1
        if len(self.named) < NAMED:
            self.named.append(Rejected(chunk, source_path, code, REASONS[code]))


class Selection:
    """One walk down a ranking.

    Attributes:
        accepted: In rank order.
        account: What was not given.
        hidden: Candidates whose present bytes hide them from the caller.
    """

    def __init__(
        self,
        view: View,
        request: SearchRequest,
        prover: Proof,
        share_of: Callable[[Candidate], float],
        is_unsafe: Callable[[Candidate], bool],
    ) -> None:
        self._view, self._request, self._prover = view, request, prover
        self._candidates: Iterator[Candidate] = iter(())
        self._total = self._examined = 0
        self._outdone: frozenset[Candidate] = frozenset()
        self._share_of, self._is_unsafe = share_of, is_unsafe
        self._texts: set[ContentHash] = set()
        self._given: Counter[SourcePath] = Counter()
        self._words: dict[ContentHash, frozenset[str]] = {}
        self.accepted: list[Accepted] = []
        self.account = Account()
        self.hidden = 0

    def begin(self, candidates: Iterable[Candidate], total: int, first: Sequence[Candidate] = ()) -> None:
        """Stand before the first of some candidates, which come in rank order.

        Args:
            candidates: All of them.
            total: How many there are.
            first: Those of which a document, if it has more of them than it may give, gives the first one and then the
                ones that hold most of the question.
        """
        self._candidates, self._total, self._examined = iter(candidates), total, 0
        most, of_document = self._request.max_per_document, dict[tuple[int, int], list[Candidate]]()
        for candidate in first if most else ():
            of_document.setdefault((candidate.segment, candidate.document), []).append(candidate)
        self._outdone = frozenset(
            candidate
            for crowd in of_document.values()
            if len(crowd) > most
            for candidate in sorted(crowd[1:], key=lambda one: -self._share_of(one))[most - 1 :]
        )

    def walk(self, wanted: int) -> bool:
        """Accept candidates until there are so many (0 for all); go on where the last walk ended.

        Returns:
            Whether there are so many, so that there may be more.
        """
        while not wanted or len(self.accepted) < wanted:
            candidate = self._next()
            if candidate is None:
                return False
            code = self._examine(candidate)
            if code is not None:
                self._reject(candidate, code)
        return True

    def name_the_rest(self) -> None:
        """Account for the candidates behind the last one that was wanted."""
        while (candidate := self._next(counted=False)) is not None:
            self._reject(candidate, "top_k_reached")

    def _next(self, *, counted: bool = True) -> Candidate | None:
        """Return the next candidate; None at the end, and where enough was looked at."""
        k = self._request.k
        candidate = next(self._candidates, None)
        if candidate is None or (k and self._examined >= 10 * k + 100):
            if candidate is not None and counted:
                self.account.counts["examined_limit"] = self._total - self._examined
            return None
        self._examined += 1
        return candidate

    def _examine(self, candidate: Candidate) -> RejectionCode | None:
        """Accept a candidate, or say why not. The reasons that need no reading come first."""
        request = self._request
        path = self._view.segments[candidate.segment].segment.paths[candidate.document]
        if candidate in self._outdone or (request.max_per_document and self._given[path] >= request.max_per_document):
            return "document_limit"
        if request.min_coverage > 0 and self._share_of(candidate) < request.min_coverage:
            return "low_coverage"
        return self._prove(candidate, path)

    def _prove(self, candidate: Candidate, path: SourcePath) -> RejectionCode | None:
        segment = self._view.segments[candidate.segment].segment
        verdict = self._prover.document(path, ContentHash(segment.content_hashes[candidate.document].tobytes()))
        if isinstance(verdict, Hidden):
            self.hidden += 1
            return None
        if isinstance(verdict, Unproved):
            return verdict.code
        # Of proved bytes there is always a slice.
        text = segment.chunk_text(candidate.chunk, verdict.data) or ""
        stored = segment.chunk(candidate.chunk, text)
        if not is_in_place(verdict, stored):
            return self._prover.mismatch(path).code
        if self._request.distinct and (stored.content_hash in self._texts or self._is_one_too_many(stored, text)):
            return "duplicate_evidence"
        self._texts.add(stored.content_hash)
        self._given[path] += 1
        self.accepted.append(Accepted(candidate, stored, verdict, text, self._is_unsafe(candidate)))
        return None

    def _is_one_too_many(self, stored: Chunk, text: str) -> bool:
        """Whether as many passages as a document may give say the same already.

        Not for evidence: an answer may hang on the one word that differs.
        """
        most, size = 0 if self._request.evidence else self._request.max_per_document, len(text)
        near = [one for one in self.accepted if abs(len(one.text) - size) <= _MOST_DIFFER * size]
        if not most or len(near) < most:
            return False
        words = self._words_of(stored, text)
        return sum(say_the_same(self._words_of(one.stored, one.text), words) for one in near) >= most

    def _words_of(self, stored: Chunk, text: str) -> frozenset[str]:
        known = self._words.get(stored.content_hash)
        if known is None:
            known = self._words[stored.content_hash] = frozenset(_WORD.findall(text.casefold()))
        return known

    def _reject(self, candidate: Candidate, code: RejectionCode) -> None:
        if code == "document_limit" and not self._request.trace:
            return
        segment = self._view.segments[candidate.segment].segment
        path, stored = segment.paths[candidate.document], segment.chunk(candidate.chunk)
        self.account.reject(chunk_id(document_id(path), stored.content_hash, stored.occurrence), path, code)
