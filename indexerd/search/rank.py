"""Candidates in rank order, exactly, without scoring what cannot be among them.

Owns: the total order (score, path, line), the pruning, and the sums whose order fixes every bit.
Knows nothing of: text, proof, why a passage is eligible.
Invariants: 1. a score is the float64 sum of its parts over words in ascending order: the same bits however chunks lie
    in segments. 2. `top(n)` is a prefix of `top(m)` for n < m. 3. pruning uses bounds with slack for rounding; the
    order is decided by exact sums only.
Purity: pure (scratch arrays are reused and always handed back clean).
See: docs/search.md (ranking).
"""

from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise, repeat
from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from indexerd.search.bm25 import K1, ChunkArray, FloatArray, Tables, WordList, idf, tables_of
from indexerd.search.view import SegmentView, View
from indexerd.search.words import QueryWords, name_chunks, weights_of, word_list

if TYPE_CHECKING:
    from indexerd.model import SourcePath

# Sums in another order differ by a few units in the last place; this is a thousand times as much.
_SLACK: Final = 1.0 - 1e-12
# Below this many postings, scoring a list costs less than finding out whether it can be skipped.
_LONG_LIST: Final = 1024


class Candidate(NamedTuple):
    """A scored passage, not yet proved."""

    score: float
    segment: int
    chunk: int
    document: int


# Index of the word, weighted count and part of the score of each word that a passage holds; the name bonus, or 0.
Held = tuple[list[tuple[int, float, float]], float]


class WordFigures(NamedTuple):
    """Collection figures of one searched word; `scale` is an upper bound of its part."""

    df: int
    idf: float
    weight: float
    scale: float


class _Scorer:
    """One word in one segment. `bound` is what no part of it exceeds."""

    __slots__ = ("_average", "_tables", "bound", "list", "order", "scale")

    def __init__(self, order: int, words: WordList, scale: float, tables: Tables, average: float) -> None:
        self.order, self.list, self.scale, self._tables, self._average = order, words, scale, tables, average
        self.bound = scale * words.strongest / (words.strongest + tables.least_norm(average))

    def all_parts(self) -> FloatArray:
        return self.list.parts(self._tables, self._average, self.scale)

    def parts_at(self, positions: npt.NDArray[np.intp]) -> FloatArray:
        return self.list.parts_at(positions, self._tables, self._average, self.scale)

    def add_to(self, chunks: ChunkArray, scores: FloatArray) -> None:
        """Add this word's part to the scores of chunks that hold it."""
        positions, held = self.list.find(chunks)
        positions = positions[held]
        if len(positions):
            scores[held] += self.parts_at(positions)


_by_score = attrgetter("score")


def _by_order(scorer: _Scorer) -> int:
    return scorer.order


def _by_length(scorer: _Scorer) -> int:
    return len(scorer.list)


def threshold(scores: FloatArray, count: int) -> float:
    """Return a value that `count` scores reach, 0 if there are fewer: exact for few, a lower bound for many."""
    n = len(scores)
    if n < count:
        return 0.0
    if n > 16 * count and n > _LONG_LIST:
        # The count-th largest of column maxima is reached by count scores; maxima over rows are one fast pass.
        rows = max(2, n // (8 * count))
        width = n // rows
        scores = scores[: rows * width].reshape(rows, width).max(axis=0)
        n = width
    return float(np.partition(scores, n - count)[n - count])


class Ranking:
    """The ranked candidates of one query over one view. `figures` are those of `words.searched`, in that order."""

    def __init__(self, view: View, words: QueryWords) -> None:
        self.view, self.words = view, words
        self._tables = [tables_of(one.segment) for one in view.segments]
        self._lists = [
            [word_list(one.segment, tables, word, words.prefix) for word in words.searched]
            for one, tables in zip(view.segments, self._tables, strict=True)
        ]
        self._names = [self._eligible_names(segment) for segment in view.segments]
        dfs = [self._df(index) for index in range(len(words.searched))]
        self.figures = tuple(map(self._figures, dfs, weights_of(words, dfs)))
        # Above any sum of parts times any boost: a passage with the name comes first.
        self.name_bonus = (1.0 + sum(figures.scale for figures in self.figures)) * view.max_boost

    def _eligible_names(self, segment: SegmentView) -> ChunkArray | None:
        chunks = name_chunks(segment.segment, self.words.name)
        if chunks is None:
            return None
        chunks = chunks[segment.eligible[chunks]]
        return chunks if len(chunks) else None

    def _df(self, index: int) -> int:
        segments = zip(self.view.segments, self._lists, strict=True)
        return sum(view.count(found.chunks) for view, lists in segments if (found := lists[index]) is not None)

    def _figures(self, df: int, weight: float) -> WordFigures:
        word_idf = idf(self.view.n, df)
        return WordFigures(df, word_idf, weight, weight * word_idf * (K1 + 1.0))

    def count(self) -> int:
        """Return how many eligible passages hold a searched word or have the query for a name."""
        if len(self.figures) == 1 and all(names is None for names in self._names):
            return self.figures[0].df
        return sum(
            int(np.count_nonzero(self.holders(index) & segment.eligible))
            for index, segment in enumerate(self.view.segments)
        )

    def holders(self, segment: int) -> npt.NDArray[np.bool_]:
        """Return which chunks of a segment hold a searched word, eligible or not."""
        mask = np.zeros(self.view.segments[segment].segment.chunk_count, dtype=np.bool_)
        for words in self._lists[segment]:
            if words is not None:
                mask[words.chunks] = True
        names = self._names[segment]
        if names is not None:
            mask[names] = True
        return mask

    def candidates(self, first: int, known: Sequence[Candidate] | None = None) -> Iterator[Candidate]:
        """Yield every candidate in rank order.

        Args:
            first: How many will probably be looked at, at least 1.
            known: `top(first)`, where it is known.
        """
        given, limit = 0, first
        while True:
            found = known if known is not None else self.top(limit)
            known = None
            yield from found[given:]
            if len(found) < limit:
                return
            given, limit = len(found), limit * 8

    def top(self, limit: int) -> list[Candidate]:
        """Return the first `limit` candidates in rank order."""
        if len(self.view.segments) == 1:
            return self._top_of(0, limit, 0.0)
        ranked: list[Candidate] = []
        floor = 0.0
        # The largest segment first: its scores prune the others.
        for index in sorted(range(len(self.view.segments)), key=lambda i: -self.view.segments[i].n):
            # Each segment's come in order, and sorting keeps the order of equals.
            ranked += self._top_of(index, limit, floor)
            ranked.sort(key=_by_score, reverse=True)
            if len(ranked) >= limit:
                floor = ranked[limit - 1].score
        if any(a.score == b.score and a.segment != b.segment for a, b in pairwise(ranked)):
            runs = (list(run) for _, run in groupby(ranked, _by_score))
            ranked = [one for run in runs for one in (sorted(run, key=self._place) if len(run) > 1 else run)]
        return ranked[:limit]

    def _place(self, candidate: Candidate) -> tuple["SourcePath", int]:
        return self.view.segments[candidate.segment].segment.paths[candidate.document], candidate.chunk

    def _scorers(self, index: int) -> list[_Scorer]:
        """Return the words of a segment, rarest first."""
        tables, average = self._tables[index], self.view.average_length
        scorers = [
            _Scorer(order, words, self.figures[order].scale, tables, average)
            for order, words in enumerate(self._lists[index])
            if words is not None
        ]
        return sorted(scorers, key=_by_length) if len(scorers) > 1 else scorers

    def _top_of(self, index: int, limit: int, floor: float) -> list[Candidate]:
        """Return at least those of the first `limit` candidates that lie in a segment, in order, exact."""
        view = self.view.segments[index]
        scorers = self._scorers(index)
        names = self._names[index]
        if not view.n or not (scorers or names is not None):
            return []
        plain = view.boosts is None
        if plain and names is None and sum(scorer.bound for scorer in scorers) < floor * _SLACK:
            return []
        chunks, scores = _gather(view, scorers, limit, floor, prune=plain)
        # The sum of two parts is the same in either order; of more it is not.
        if len(scorers) > 2 or not plain:
            if plain:
                chunks = chunks[scores >= max(floor, threshold(scores, limit)) * _SLACK]
            chunks, scores = self._exact(index, chunks, scorers)
        chunks, scores = _first(chunks, scores, limit, floor)
        if names is not None:
            chunks, scores = self._with_names(index, names, scorers, chunks, scores)
            chunks, scores = _first(chunks, scores, limit, floor)
        documents = view.segment.document_of_chunk[chunks].tolist()
        rows = zip(scores.tolist(), repeat(index), chunks.tolist(), documents)
        return list(map(Candidate._make, rows))

    def _exact(self, index: int, chunks: ChunkArray, scorers: Sequence[_Scorer]) -> tuple[ChunkArray, FloatArray]:
        """Return chunks ascending, and their scores as sums over words in ascending order, boost included."""
        chunks = np.sort(chunks)
        scores = np.zeros(len(chunks))
        for scorer in sorted(scorers, key=_by_order):
            scorer.add_to(chunks, scores)
        boosts = self.view.segments[index].boosts
        if boosts is not None:
            scores *= boosts[chunks]
        return chunks, scores

    def _with_names(
        self, index: int, names: ChunkArray, scorers: Sequence[_Scorer], chunks: ChunkArray, scores: FloatArray
    ) -> tuple[ChunkArray, FloatArray]:
        """Add the chunks that have the query for a name, before all others: few, so they need no pruning."""
        named, named_scores = self._exact(index, names, scorers)
        places = named.searchsorted(chunks)
        places[places == len(named)] = 0
        others = named[places] != chunks
        return (
            np.concatenate((named, chunks[others])),
            np.concatenate((named_scores + self.name_bonus, scores[others])),
        )

    def present(self, candidates: Sequence[Candidate]) -> list[frozenset[int]]:
        """Return for each candidate which of the searched words it holds, as indexes."""
        words: list[set[int]] = [set() for _ in candidates]
        for index in {candidate.segment for candidate in candidates}:
            places = [at for at, candidate in enumerate(candidates) if candidate.segment == index]
            chunks = np.array([candidates[at].chunk for at in places], dtype=np.int32)
            for order, found in enumerate(self._lists[index]):
                if found is not None:
                    for at in np.flatnonzero(found.find(chunks)[1]).tolist():
                        words[places[at]].add(order)
        return [frozenset(some) for some in words]

    def parts(self, candidates: Sequence[Candidate]) -> list[Held]:
        """Return what makes up the score of each passage."""
        found: list[list[tuple[int, float, float]]] = [[] for _ in candidates]
        bonus = [0.0] * len(candidates)
        for index in {candidate.segment for candidate in candidates}:
            places = [at for at, candidate in enumerate(candidates) if candidate.segment == index]
            chunks = np.array([candidates[at].chunk for at in places], dtype=np.int32)
            for scorer in sorted(self._scorers(index), key=_by_order):
                positions, held = scorer.list.find(chunks)
                rows = np.flatnonzero(held)
                counts, scores = scorer.list.counts[positions[rows]], scorer.parts_at(positions[rows])
                for row, count, score in zip(rows.tolist(), counts.tolist(), scores.tolist(), strict=True):
                    found[places[row]].append((scorer.order, count, score))
            names = self._names[index]
            if names is not None:
                named = set(names.tolist())
                for at in places:
                    bonus[at] = self.name_bonus if candidates[at].chunk in named else 0.0
        return list(zip(found, bonus, strict=True))


def _eligible_parts(view: SegmentView, scorer: _Scorer) -> tuple[ChunkArray, FloatArray]:
    chunks, parts = scorer.list.chunks, scorer.all_parts()
    if view.is_whole:
        return chunks, parts
    kept = view.eligible[chunks]
    return chunks[kept], parts[kept]


def _gather(
    view: SegmentView, scorers: list[_Scorer], limit: int, floor: float, *, prune: bool
) -> tuple[ChunkArray, FloatArray]:
    """Return a superset of the chunks of the first `limit`, with scores that may be off by rounding.

    Rarest words first. Once the limit-th score so far exceeds what the remaining words can add, no new chunk can enter:
    from then on only the candidates are looked up in the remaining, longer lists.
    """
    if not scorers:
        return np.zeros(0, dtype=np.int32), np.zeros(0)
    remaining = [0.0] * (len(scorers) + 1)
    for at in range(len(scorers) - 1, -1, -1):
        remaining[at] = remaining[at + 1] + scorers[at].bound
    chunks, scores = _eligible_parts(view, scorers[0])
    if len(scorers) == 1:
        return chunks, scores
    at = 1
    with _scratch(view.segment.chunk_count) as accumulator:
        filled: ChunkArray | None = None
        while at < len(scorers):
            if prune and len(scorers[at].list) > _LONG_LIST // 4:
                if filled is not None:
                    scores = accumulator[chunks]
                if max(floor, threshold(scores, limit)) * _SLACK > remaining[at]:
                    break
            if filled is None:
                accumulator[chunks] = scores
            chunks = filled = _merge(view, scorers[at], accumulator, chunks)
            at += 1
        if filled is not None:
            scores = accumulator[chunks]
            accumulator[chunks] = 0.0
    for later in range(at, len(scorers)):
        reached = max(floor, threshold(scores, limit)) * _SLACK
        kept = scores + remaining[later] >= reached
        chunks, scores = chunks[kept], scores[kept]
        scorers[later].add_to(chunks, scores)
    return chunks, scores


def _merge(view: SegmentView, scorer: _Scorer, accumulator: FloatArray, chunks: ChunkArray) -> ChunkArray:
    """Add a list to the accumulator; return the chunks that now have a score (parts are never 0)."""
    added, parts = _eligible_parts(view, scorer)
    before = accumulator[added]
    accumulator[added] = before + parts
    return np.concatenate((chunks, added[before == 0.0]))


def _first(chunks: ChunkArray, scores: FloatArray, limit: int, floor: float) -> tuple[ChunkArray, FloatArray]:
    """Return the first `limit` by score, ties by ordinal (which is path, then line, within a segment)."""
    if len(scores) > limit or floor > 0.0:
        kept = scores >= max(floor, threshold(scores, limit))
        chunks, scores = chunks[kept], scores[kept]
    if len(scores) > 4 * limit:
        border = float(np.partition(scores, len(scores) - limit)[len(scores) - limit])
        above = scores > border
        # Many equal scores at the border: only the first of them in order are needed.
        ties = np.sort(chunks[scores == border])[: limit - int(np.count_nonzero(above))]
        chunks = np.concatenate((chunks[above], ties))
        scores = np.concatenate((scores[above], np.full(len(ties), border)))
    order = np.lexsort((chunks, -scores))[:limit]
    return chunks[order], scores[order]


class _scratch:  # noqa: N801 - reads as the context manager it is
    """A zeroed float64 array from a few kept ones; its user leaves it zeroed. Thread-safe, as list methods are."""

    _kept: list[FloatArray] = []  # noqa: RUF012 - shared on purpose
    _MOST = 4

    def __init__(self, size: int) -> None:
        self._size = size

    def __enter__(self) -> FloatArray:
        try:
            self._array = self._kept.pop()
        except IndexError:
            self._array = np.zeros(self._size)
        if len(self._array) < self._size:
            self._array = np.zeros(self._size)
        return self._array

    def __exit__(self, kind: object, *_: object) -> None:
        # After an exception the array may hold scores: it is not kept.
        if kind is None and len(self._kept) < self._MOST:
            self._kept.append(self._array)
