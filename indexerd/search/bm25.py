"""The BM25 arithmetic: weights, saturation, length norms, and one word's list in one segment.

Owns: every constant of ranking and the one expression that turns counts into a score (`WordList.parts`).
Knows nothing of: eligibility, top-k, documents, text.
Invariants: 1. a part depends on the posting row, the chunk's length, and collection figures only, never on where the
    chunk lies. 2. all weights are dyadic fractions, so weighted counts are exact sums in any order. 3. a part is
    positive and below `scale`.
Purity: pure (derived tables are remembered for as long as their segment lives).
See: docs/search.md (ranking).
"""

import math
import weakref
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from indexerd.postings import Column
from indexerd.search.recent import Recent

if TYPE_CHECKING:
    from indexerd.store.segment import Segment

FloatArray = npt.NDArray[np.float64]
ChunkArray = npt.NDArray[np.int32]

K1: Final = 1.5
B: Final = 0.75

# Chosen on every second query of scifact, nfcorpus-ecir, cranfield, cmrc2018-zh and rgb-zh with
# benchmarks/bench_quality.py, which reports the others apart; dyadic, see invariant 2.
TEXT_WEIGHT: Final = 0.75
HEADING_WEIGHT: Final = 0.875
NAME_WEIGHT: Final = 1.125
TAG_WEIGHT: Final = 0.75
FOLDER_WEIGHT: Final = 0.25
EXACT_BONUS: Final = 0.25
# Characters and their pairs count so often: a chunk repeats them less than words that have stems.
CHARACTER_COUNT: Final = 1.5

_FIELD_WEIGHTS: Final = (TEXT_WEIGHT, HEADING_WEIGHT, NAME_WEIGHT, TAG_WEIGHT, FOLDER_WEIGHT)


def idf(total: int, holding: int) -> float:
    """Return ln(1 + (N - df + 0.5) / (df + 0.5)): always positive."""
    return math.log(1.0 + (total - holding + 0.5) / (holding + 0.5))


def _weighted(frequencies: npt.NDArray[np.uint32], columns: Sequence[int]) -> FloatArray:
    rows = np.zeros(len(frequencies), dtype=np.float64)
    for column in columns:
        rows += frequencies[:, column] * _FIELD_WEIGHTS[column // 2]
    return rows


_EXACT_COLUMNS: Final = tuple(column for column in Column if column % 2 == 0)


# Queries repeat words, and preparing a list costs more than scoring it. Of a segment, between one and two times this
# many postings are kept ready (20 bytes each), those of the latest queries; a list counts as `_LIST_COST` more. The 200
# queries of benchmarks/ use 600,000 on the 84,000 passages of its corpus.
_KEPT_POSTINGS: Final = 3 << 18
_LIST_COST: Final = 32


class Tables:
    """Weighted counts of each frequency row of a segment, length norms for the last averages asked for, ready lists.

    Attributes:
        every: Exact and stem counts.
        exact: Exact counts alone.
        bonus: What being exact adds.
        every_and_bonus: For a word that is its own stem.
        characters: The same, for characters and their pairs.
    """

    __slots__ = (
        "_lengths", "_lists", "_norms", "_shortest", "bonus", "characters", "every", "every_and_bonus", "exact",
    )  # fmt: skip

    def __init__(self, segment: "Segment") -> None:
        frequencies = segment.postings.frequencies
        self.every = _weighted(frequencies, tuple(Column))
        self.exact = _weighted(frequencies, _EXACT_COLUMNS)
        self.bonus = self.exact * EXACT_BONUS
        self.every_and_bonus = self.every + self.bonus
        self.characters = self.every_and_bonus * CHARACTER_COUNT
        self._lists: Recent[Hashable, WordList] = Recent(_KEPT_POSTINGS)
        self._lengths = segment.lengths
        holding = self._lengths[self._lengths > 0]
        self._shortest = float(holding.min()) if len(holding) else 0.0
        self._norms: dict[float, FloatArray] = {}

    def list_of(self, key: Hashable, make: Callable[[], "WordList | None"]) -> "WordList | None":
        """Return the list of a word, None if no chunk holds it, and keep it ready for the next queries."""
        found = self._lists.get(key)
        if found is None:
            found = make() or _NO_CHUNKS
        self._lists.keep(key, found, _LIST_COST + len(found))
        return found if len(found) else None

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
    """The chunks of one segment that hold a word, with weighted counts.

    Attributes:
        chunks: Ordinals, ascending, eligible or not.
        counts: Weighted counts; not to be changed.
        strongest: The largest of them.
    """

    __slots__ = ("_sums", "chunks", "counts", "strongest")

    def __init__(self, chunks: ChunkArray, counts: FloatArray) -> None:
        self.chunks, self.counts = chunks, counts
        self.strongest = float(counts.max()) if len(counts) else 0.0
        self._sums: tuple[float, FloatArray] = -1.0, counts

    def __len__(self) -> int:
        return len(self.chunks)

    def parts(self, tables: Tables, average: float, scale: float) -> FloatArray:
        """Return what the word adds to the score of each chunk: scale f / (f + norm).

        Args:
            tables: Those of the segment.
            average: Mean length that norms refer to.
            scale: Weight x idf x (k1 + 1).
        """
        scores: FloatArray = self.counts * scale
        scores /= self._sums_for(tables, average)
        return scores

    def parts_at(self, positions: npt.NDArray[np.intp], tables: Tables, average: float, scale: float) -> FloatArray:
        """Return some of `parts`, by their positions in the list."""
        counts: FloatArray = self.counts[positions]
        known, sums = self._sums
        # The sums of a list of a million chunks take longer than all else of a query that looks up a few in it.
        divisors = sums[positions] if known == average else counts + tables.norms(average)[self.chunks[positions]]
        counts *= scale
        counts /= divisors
        return counts

    def _sums_for(self, tables: Tables, average: float) -> FloatArray:
        """Return count + norm of every chunk; those for the last average are kept."""
        known, sums = self._sums
        if known != average:
            sums = self.counts + tables.norms(average)[self.chunks]
            self._sums = average, sums
        return sums

    def find(self, chunks: ChunkArray) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.bool_]]:
        """Return for each chunk its position in the list and whether it is there."""
        positions = self.chunks.searchsorted(chunks)
        positions[positions == len(self.chunks)] = 0
        return positions, self.chunks[positions] == chunks


_NO_CHUNKS: Final = WordList(np.zeros(0, dtype=np.int32), np.zeros(0))


def union(lists: Sequence[tuple[ChunkArray, FloatArray]]) -> WordList:
    """Join lists of (chunks, weighted counts) into one; counts of a chunk that is in several are added."""
    chunks = np.concatenate([chunks for chunks, _ in lists])
    counts = np.concatenate([counts for _, counts in lists])
    distinct, places = np.unique(chunks, return_inverse=True)
    # Exact by invariant 2, whatever the order of addition.
    totals: FloatArray = np.bincount(places, weights=counts, minlength=len(distinct)).astype(np.float64)
    return WordList(distinct.astype(np.int32), totals)
