"""The BM25 arithmetic: weights, saturation, length norms, and one word's list in one segment.

Owns: every constant of ranking and the one expression that turns counts into a score.
Knows nothing of: eligibility, top-k, documents, text.
Invariants: 1. a part depends on the posting row, the chunk's length, and collection figures only, never on where the
    chunk lies. 2. all weights are dyadic fractions, so weighted counts are exact sums in any order. 3. a part is
    positive and below `scale`.
Purity: pure (derived tables are remembered for as long as their segment lives).
See: docs/search.md (ranking).
"""

import math
import weakref
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from indexerd.postings import Column

if TYPE_CHECKING:
    from indexerd.store.segment import Segment

FloatArray = npt.NDArray[np.float64]
ChunkArray = npt.NDArray[np.int32]

K1: Final = 1.5
B: Final = 0.75

# Tuned on scifact, cranfield and cmrc2018-zh with benchmarks/bench_quality.py; dyadic, see invariant 2.
TEXT_WEIGHT: Final = 1.0
HEADING_WEIGHT: Final = 1.5
NAME_WEIGHT: Final = 2.0
TAG_WEIGHT: Final = 1.0
FOLDER_WEIGHT: Final = 0.25
EXACT_BONUS: Final = 0.25

_FIELD_WEIGHTS: Final = (TEXT_WEIGHT, HEADING_WEIGHT, NAME_WEIGHT, TAG_WEIGHT, FOLDER_WEIGHT)

# How much a word of each kind says: a single Han character or a part of an identifier also stands in unrelated words.
KIND_WEIGHTS: Final = {"word": 1.0, "identifier": 1.0, "part": 0.5, "cjk2": 1.0, "cjk1": 0.25}


def idf(total: int, holding: int) -> float:
    """Return ln(1 + (N - df + 0.5) / (df + 0.5)): always positive."""
    return math.log(1.0 + (total - holding + 0.5) / (holding + 0.5))


def _weighted(frequencies: npt.NDArray[np.uint32], columns: Sequence[int]) -> FloatArray:
    rows = np.zeros(len(frequencies), dtype=np.float64)
    for column in columns:
        rows += frequencies[:, column] * _FIELD_WEIGHTS[column // 2]
    return rows


_EXACT_COLUMNS: Final = tuple(column for column in Column if column % 2 == 0)


# Lists this long are wanted by many queries and cost more to prepare than to score; of a segment, at most this many
# postings are kept ready (32 bytes each).
_LONG_LIST: Final = 1024
_KEPT_POSTINGS: Final = 1 << 19


class Tables:
    """Weighted counts of each frequency row of a segment, length norms for the last averages asked for, ready lists.

    Attributes:
        every: Exact and stem counts.
        exact: Exact counts alone.
        bonus: What being exact adds.
        every_and_bonus: For a word that is its own stem.
    """

    __slots__ = ("_kept", "_lengths", "_norms", "_room", "_shortest", "bonus", "every", "every_and_bonus", "exact")

    def __init__(self, segment: "Segment") -> None:
        frequencies = segment.postings.frequencies
        self.every = _weighted(frequencies, tuple(Column))
        self.exact = _weighted(frequencies, _EXACT_COLUMNS)
        self.bonus = self.exact * EXACT_BONUS
        self.every_and_bonus = self.every + self.bonus
        self._kept: dict[Hashable, WordList] = {}
        self._room = _KEPT_POSTINGS
        self._lengths = segment.lengths
        holding = self._lengths[self._lengths > 0]
        self._shortest = float(holding.min()) if len(holding) else 0.0
        self._norms: dict[float, FloatArray] = {}

    def kept(self, key: Hashable) -> "WordList | None":
        """Return a list that was kept."""
        return self._kept.get(key)

    def keep(self, key: Hashable, words: "WordList") -> None:
        """Keep a list ready if it is long and there is room."""
        if _LONG_LIST <= len(words) <= self._room:
            self._room -= len(words)
            words.prepare()
            self._kept[key] = words

    def norms(self, average: float) -> FloatArray:
        """Return k1 (1 - b + b dl / average) of every chunk."""
        known = self._norms.get(average)
        if known is None:
            known = K1 * (1.0 - B + B * (self._lengths / average))
            # Two views at a time is what one query needs; each array is 8 bytes a chunk.
            self._norms = {average: known, **dict(list(self._norms.items())[:1])}
        return known

    def least_norm(self, average: float) -> float:
        """Return the smallest norm of a chunk that has words."""
        return K1 * (1.0 - B + B * (self._shortest / average))


_TABLES: "weakref.WeakKeyDictionary[Segment, Tables]" = weakref.WeakKeyDictionary()


def tables_of(segment: "Segment") -> Tables:
    """Return the tables of a segment, made once."""
    known = _TABLES.get(segment)
    if known is None:
        known = _TABLES[segment] = Tables(segment)
    return known


class WordList:
    """The chunks of one segment that hold a word, with weighted counts on demand.

    Attributes:
        chunks: Ordinals, ascending, eligible or not.
    """

    __slots__ = ("_codes", "_counts", "_exact", "_strongest", "_table", "chunks")

    def __init__(
        self,
        chunks: ChunkArray,
        codes: npt.NDArray[np.unsignedinteger | np.signedinteger],
        table: FloatArray,
        exact: tuple[npt.NDArray[np.intp], FloatArray] | None = None,
    ) -> None:
        """Make a list.

        Args:
            chunks: The chunks.
            codes: For each its row in `table`.
            table: Weighted counts.
            exact: Positions in the list, ascending, and what is added there.
        """
        self.chunks, self._codes, self._table, self._exact = chunks, codes, table, exact
        self._counts: FloatArray | None = None
        self._strongest: float | None = None

    def __len__(self) -> int:
        return len(self.chunks)

    def prepare(self) -> None:
        """Compute all counts once, for a list that is kept."""
        counts = self.frequencies()
        self._strongest, self._counts = float(counts.max()), counts

    def strongest(self) -> float | None:
        """Return the largest count of a prepared list."""
        return self._strongest

    def frequencies(self) -> FloatArray:
        """Return the weighted count in every chunk of the list; not to be changed."""
        if self._counts is not None:
            return self._counts
        counts: FloatArray = self._table[self._codes]
        if self._exact is not None:
            places, bonus = self._exact
            counts[places] += bonus
        return counts

    def frequencies_at(self, positions: npt.NDArray[np.intp]) -> FloatArray:
        """Return the weighted counts at some positions of the list."""
        if self._counts is not None:
            return self._counts[positions]
        counts: FloatArray = self._table[self._codes[positions]]
        if self._exact is not None:
            places, bonus = self._exact
            found = places.searchsorted(positions)
            found[found == len(places)] = 0
            counts += np.where(places[found] == positions, bonus[found], 0.0)
        return counts

    def find(self, chunks: ChunkArray) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.bool_]]:
        """Return for each chunk its position in the list and whether it is there."""
        positions = self.chunks.searchsorted(chunks)
        positions[positions == len(self.chunks)] = 0
        return positions, self.chunks[positions] == chunks


def part(frequencies: FloatArray, norms: FloatArray, scale: float) -> FloatArray:
    """Return scale f / (f + norm), where scale is weight x idf x (k1 + 1): what one word adds to each score."""
    scores: FloatArray = frequencies * scale / (frequencies + norms)
    return scores


def union(lists: Sequence[tuple[ChunkArray, FloatArray]]) -> WordList:
    """Join lists of (chunks, weighted counts) into one; counts of a chunk that is in several are added."""
    chunks = np.concatenate([chunks for chunks, _ in lists])
    counts = np.concatenate([counts for _, counts in lists])
    distinct, places = np.unique(chunks, return_inverse=True)
    # Exact by invariant 2, whatever the order of addition.
    totals: FloatArray = np.bincount(places, weights=counts, minlength=len(distinct)).astype(np.float64)
    return WordList(distinct.astype(np.int32), np.arange(len(distinct)), totals)
