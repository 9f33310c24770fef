"""Posting lists as arrays: which chunks hold which term, how often, in which field.

Owns: the frozen posting value, its order, and how several are merged.
Knows nothing of: text, documents, files.
Invariants: 1. terms ascend by code point, chunks ascend within a term, no pair twice. 2. `frequencies` holds each
    distinct row once, in lexicographic order, and only rows that are used: equal input gives equal arrays.
Purity: pure.
See: docs/on-disk-format.md (postings).
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

import numpy as np
import numpy.typing as npt


class Column(IntEnum):
    """Columns of a frequency row.

    Exact: the term is the word itself. Stem: the word's stem is the term, the word is not.
    """

    TEXT_EXACT = 0
    TEXT_STEM = 1
    HEADING_EXACT = 2
    HEADING_STEM = 3
    NAME_EXACT = 4
    NAME_STEM = 5
    TAG_EXACT = 6
    TAG_STEM = 7
    FOLDER_EXACT = 8
    FOLDER_STEM = 9


class Field(IntEnum):
    """Where a piece of text stands. `Column = 2 * Field` (exact) or `2 * Field + 1` (stem)."""

    TEXT = 0
    HEADING = 1
    NAME = 2
    TAG = 3
    FOLDER = 4


Chunks = npt.NDArray[np.int32]
Codes = npt.NDArray[np.uint32]


class PostingIndex(Protocol):
    """Look-up of posting lists, in memory or in a segment's bytes. Term numbers follow the order of terms."""

    @property
    def term_count(self) -> int:
        """Number of distinct terms."""
        ...

    @property
    def frequencies(self) -> npt.NDArray[np.uint32]:
        """Frequency rows that codes refer to."""
        ...

    @property
    def lengths(self) -> npt.NDArray[np.uint32]:
        """Words of each chunk."""
        ...

    def find(self, term: str) -> int:
        """Return the number of a term, -1 if it has none."""
        ...

    def term(self, number: int) -> str:
        """Return the term with a number."""
        ...

    def terms_with_prefix(self, prefix: str) -> range:
        """Return the numbers of the terms that begin with `prefix`."""
        ...

    def count(self, number: int) -> int:
        """Return how many chunks hold a term."""
        ...

    def chunks_of(self, number: int) -> Chunks:
        """Return the chunks that hold a term, ascending."""
        ...

    def codes_of(self, number: int) -> Codes:
        """Return the code of each chunk of `chunks_of`."""
        ...

    def plain(self) -> "Postings":
        """Return everything as plain arrays."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Postings:
    """Posting lists of a batch of chunks.

    Attributes:
        terms: Distinct terms, ascending by code point.
        starts: `int64[len(terms) + 1]`; list i is `chunks[starts[i]:starts[i + 1]]`.
        chunks: `int32`, chunk ordinals, ascending within a list.
        codes: `uint32`, row of `frequencies` for each posting.
        frequencies: `uint32[rows, len(Column)]`, distinct rows, lexicographic order.
        lengths: `uint32[chunk_count]`, words of each chunk over all fields (parts of identifiers not counted).
    """

    terms: tuple[str, ...]
    starts: npt.NDArray[np.int64]
    chunks: npt.NDArray[np.int32]
    codes: npt.NDArray[np.uint32]
    frequencies: npt.NDArray[np.uint32]
    lengths: npt.NDArray[np.uint32]

    @property
    def term_count(self) -> int:
        """Number of distinct terms."""
        return len(self.terms)

    def find(self, term: str) -> int:
        """Return the number of a term, -1 if it has none."""
        at = bisect_left(self.terms, term)
        return at if at < len(self.terms) and self.terms[at] == term else -1

    def term(self, number: int) -> str:
        """Return the term with a number."""
        return self.terms[number]

    def terms_with_prefix(self, prefix: str) -> range:
        """Return the numbers of the terms that begin with `prefix`."""
        first = bisect_left(self.terms, prefix)
        return range(first, bisect_left(self.terms, prefix + "\U0010ffff", first))

    def count(self, number: int) -> int:
        """Return how many chunks hold a term."""
        return int(self.starts[number + 1] - self.starts[number])

    def chunks_of(self, number: int) -> Chunks:
        """Return the chunks that hold a term, ascending."""
        return self.chunks[self.starts[number] : self.starts[number + 1]]

    def codes_of(self, number: int) -> Codes:
        """Return the code of each chunk of `chunks_of`."""
        return self.codes[self.starts[number] : self.starts[number + 1]]

    def plain(self) -> "Postings":
        """Return everything as plain arrays: itself."""
        return self


def merge_postings(parts: Sequence[tuple[PostingIndex, Chunks]], chunk_count: int) -> Postings:
    """Return the posting lists of several parts as those of one.

    Args:
        parts: Posting lists, and for each of their chunks its ordinal in the result, -1 to leave it out; ordinals
            ascend within a part, none twice.
        chunk_count: Chunks of the result.
    """
    plains = [(part.plain(), places) for part, places in parts]
    kept = [_Kept(postings, places) for postings, places in plains]
    names = sorted(set().union(*(part.names for part in kept)))
    rank = {name: number for number, name in enumerate(names)}
    rows, recoded = _merge_rows([(part.postings.frequencies, part.codes) for part in kept])
    keys = np.concatenate([np.zeros(0, np.int64), *(part.keys(rank) for part in kept)])
    chunks = np.concatenate([np.zeros(0, np.int32), *(part.chunks for part in kept)])
    codes = np.concatenate([np.zeros(0, np.uint32), *recoded])
    if len(kept) > 1:
        # Each part is one ascending run, and the stable sort merges runs: linear, however the parts interleave.
        order = np.argsort((keys << 32) | chunks, kind="stable")
        keys, chunks, codes = keys[order], chunks[order], codes[order]
    starts = np.searchsorted(keys, np.arange(len(names) + 1))
    lengths = np.zeros(chunk_count, np.uint32)
    for postings, places in plains:
        lengths[places[places >= 0]] = postings.lengths[places >= 0]
    return Postings(terms=tuple(names), starts=starts, chunks=chunks, codes=codes, frequencies=rows, lengths=lengths)


class _Kept:
    """What a merge takes from one part: its live postings, with new chunk ordinals and old term numbers."""

    def __init__(self, postings: Postings, places: Chunks) -> None:
        self.postings = postings
        moved = places[postings.chunks]
        live = np.flatnonzero(moved >= 0)
        terms = np.repeat(np.arange(len(postings.terms)), np.diff(postings.starts))[live]
        self.chunks, self.codes = moved[live], postings.codes[live]
        self._used, self._counts = np.unique(terms, return_counts=True)
        self.names = [postings.terms[number] for number in self._used.tolist()]

    def keys(self, rank: dict[str, int]) -> npt.NDArray[np.int64]:
        """Return the new term number of each posting."""
        numbers = np.fromiter(map(rank.__getitem__, self.names), np.int64, len(self.names))
        return np.repeat(numbers, self._counts)


def _merge_rows(
    parts: Sequence[tuple[npt.NDArray[np.uint32], Codes]],
) -> tuple[npt.NDArray[np.uint32], list[Codes]]:
    """Return the rows that are used, in order, and each part's codes in their numbering."""
    used = [np.flatnonzero(np.bincount(codes, minlength=len(table))) for table, codes in parts]
    rows = [[tuple(row) for row in table[numbers].tolist()] for (table, _), numbers in zip(parts, used, strict=True)]
    merged = sorted(set().union(*rows))
    rank = {row: number for number, row in enumerate(merged)}
    recoded = []
    for (table, codes), numbers, named in zip(parts, used, rows, strict=True):
        lookup = np.zeros(len(table), np.uint32)
        lookup[numbers] = [rank[row] for row in named]
        recoded.append(lookup[codes])
    return np.array(merged, np.uint32).reshape(-1, len(Column)), recoded
