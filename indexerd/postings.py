"""Posting lists as arrays: which chunks hold which term, how often, in which field.

Owns: the frozen posting value, its order, and how several are merged.
Knows nothing of: text, documents, files.
Invariants: 1. terms ascend by code point, chunks ascend within a term, no pair twice. 2. `frequencies` holds each
    distinct row once, in lexicographic order, and only rows that are used: equal input gives equal arrays.
Purity: pure.
See: docs/on-disk-format.md (postings).
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import pairwise
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

    def names(self) -> Sequence[str]:
        """Return all terms in order."""
        ...

    def spelled(self) -> tuple[bytes | memoryview, npt.NDArray[np.int64]]:
        """Return the UTF-8 of all terms, one after the other, and where each begins and the last ends."""
        ...

    def sizes(self) -> npt.NDArray[np.int64]:
        """Return the count of each term."""
        ...

    def between(self, first: int, last: int) -> tuple[Chunks, Codes]:
        """Return chunks and codes of the terms numbered from `first` up to, not including, `last`."""
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

    def names(self) -> Sequence[str]:
        """Return all terms in order."""
        return self.terms

    def spelled(self) -> tuple[bytes | memoryview, npt.NDArray[np.int64]]:
        """Return the UTF-8 of all terms, one after the other, and where each begins and the last ends."""
        terms = [term.encode("utf-8", "replace") for term in self.terms]
        return b"".join(terms), np.cumsum([0, *map(len, terms)])

    def sizes(self) -> npt.NDArray[np.int64]:
        """Return the count of each term."""
        return self.starts[1:] - self.starts[:-1]

    def between(self, first: int, last: int) -> tuple[Chunks, Codes]:
        """Return chunks and codes of the terms numbered from `first` up to, not including, `last`."""
        span = slice(int(self.starts[first]), int(self.starts[last]))
        return self.chunks[span], self.codes[span]

    def plain(self) -> "Postings":
        """Return everything as plain arrays: itself."""
        return self


# Postings that a merge has in hand at a time: 500,000 need about 40 MB beside the parts and the result.
_SLICE = 1 << 19
# Where fewer chunks than one in so many are left of a part, most of its terms are gone with the others.
_FEW = 8


class MergedLists:
    """The posting lists of several parts as those of one, to be gone through slice by slice, as often as one likes.

    In linear time, and with little memory beside the parts.

    Attributes:
        names: All terms, ascending; of those whose chunks are left out no posting comes.
        rows: The distinct frequency rows of all parts, in order.
        sizes: `int64`, for each term how many postings it has at most.
        leaves_out: Some chunks have no place, so that some terms and rows may be of no use.
    """

    def __init__(self, parts: Sequence[tuple[PostingIndex, Chunks]]) -> None:
        """Nothing is merged yet.

        Args:
            parts: Posting lists, and for each of their chunks its ordinal in the result, -1 to leave it out; ordinals
                ascend within a part, none twice.
        """
        self.leaves_out = any(bool((places < 0).any()) for _, places in parts)
        parts = [(_without_the_rest(part, places), places) for part, places in parts]
        known: dict[str, int] = {}
        for part, _ in parts:
            known.update(dict.fromkeys(part.names(), 0))
        self.names = sorted(known)
        known.update(zip(self.names, range(len(known)), strict=True))
        self.rows, renumbered = _united_rows([part.frequencies for part, _ in parts])
        self._parts = [
            _Part(part, places, known, codes) for (part, places), codes in zip(parts, renumbered, strict=True)
        ]
        self.sizes = np.zeros(len(known), np.int64)
        for merging in self._parts:
            self.sizes[merging.ranks] += merging.sizes

    def __iter__(self) -> Iterator[tuple[npt.NDArray[np.int64], Chunks, Codes]]:
        """Yield for some terms, then for the next ones, how many postings each has, and chunk and row of all those."""
        for first, last in pairwise(slice_bounds(self.sizes, _SLICE)):
            keys, chunks, codes = _merge_slice(self._parts, first, last)
            yield np.bincount(keys - first, minlength=last - first), chunks, codes


def merge_postings(parts: Sequence[tuple[PostingIndex, Chunks]], chunk_count: int) -> Postings:
    """Return the posting lists of several parts as those of one, in memory.

    Args:
        parts: As for `MergedLists`.
        chunk_count: Chunks of the result.
    """
    merged = MergedLists(parts)
    most = int(merged.sizes.sum())
    counts = [np.zeros(0, np.int64)]
    chunks, codes = np.zeros(most, np.int32), np.zeros(most, np.uint32)
    filled, is_used = 0, np.zeros(len(merged.rows), np.bool_)
    for some_counts, some_chunks, some_codes in merged:
        counts.append(some_counts)
        span = slice(filled, filled + len(some_chunks))
        chunks[span], codes[span], is_used[some_codes] = some_chunks, some_codes, True
        filled = span.stop
    sizes = np.concatenate(counts)
    used = np.flatnonzero(sizes)
    if not is_used.all():
        numbers = (np.cumsum(is_used) - 1).astype(np.uint32)
        # Not all at once: numpy makes eight bytes of each index.
        for at in range(0, filled, _SLICE):
            codes[at : at + _SLICE] = numbers[codes[at : at + _SLICE]]
    return Postings(
        terms=tuple(map(merged.names.__getitem__, used.tolist())),
        starts=np.concatenate(([0], np.cumsum(sizes[used]))),
        chunks=chunks[:filled],
        codes=codes[:filled],
        frequencies=merged.rows[is_used],
        lengths=merged_lengths(parts, chunk_count),
    )


def slice_bounds(sizes: npt.NDArray[np.int64], limit: int) -> list[int]:
    """Cut lists of these sizes into slices of about `limit` postings; return the first list of each, and the end."""
    ends = np.cumsum(sizes)
    cuts = np.searchsorted(ends, np.arange(limit, int(ends[-1]) if len(ends) else 0, limit)) + 1
    return sorted({0, len(sizes), *cuts.tolist()})


def _without_the_rest(part: PostingIndex, places: Chunks) -> PostingIndex:
    """Return what a merge needs of a part, its chunks numbered as before: the part itself where that is much of it."""
    is_left = places >= 0
    if _FEW * np.count_nonzero(is_left) > len(places):
        return part
    sizes = part.sizes()
    left: list[tuple[npt.NDArray[np.int64], Chunks, Codes]] = []
    for first, last in pairwise(slice_bounds(sizes, _SLICE)):
        chunks, codes = part.between(first, last)
        at = np.flatnonzero(is_left[chunks])
        left.append((np.repeat(np.arange(first, last), sizes[first:last])[at], chunks[at], codes[at]))
    if not left:
        return part
    numbers, chunks, codes = (np.concatenate(column) for column in zip(*left, strict=True))
    counts = np.bincount(numbers)
    used = np.flatnonzero(counts)
    starts = np.concatenate(([0], np.cumsum(counts[used])))
    return Postings(tuple(map(part.term, used.tolist())), starts, chunks, codes, part.frequencies, part.lengths)


class _Part:
    """What a merge takes from one part."""

    def __init__(self, part: PostingIndex, places: Chunks, rank: dict[str, int], codes: Codes) -> None:
        names = part.names()
        self.ranks = np.fromiter(map(rank.__getitem__, names), np.int64, len(names))
        self.sizes = part.sizes()
        self._part, self._places, self._codes = part, places, codes

    def between(self, first: int, last: int) -> tuple[npt.NDArray[np.int64], Chunks, Codes]:
        """Return rank, new chunk and new code of each live posting whose term's rank is in a range."""
        begin, end = np.searchsorted(self.ranks, (first, last)).tolist()
        chunks, codes = self._part.between(begin, end)
        keys = np.repeat(self.ranks[begin:end], self.sizes[begin:end])
        moved = self._places[chunks]
        live = np.flatnonzero(moved >= 0)
        return keys[live], moved[live], self._codes[codes[live]]


def _merge_slice(parts: Sequence[_Part], first: int, last: int) -> tuple[npt.NDArray[np.int64], Chunks, Codes]:
    found = [part.between(first, last) for part in parts]
    if len(found) == 1:
        return found[0]
    keys, chunks, codes = (np.concatenate(column) for column in zip(*found, strict=True))
    # Each part is one ascending run, and the stable sort merges runs: linear, however the parts interleave.
    order = np.argsort((keys << 32) | chunks, kind="stable")
    return keys[order], chunks[order], codes[order]


def _united_rows(
    tables: Sequence[npt.NDArray[np.uint32]],
) -> tuple[npt.NDArray[np.uint32], list[Codes]]:
    """Return the distinct rows of all tables in order, and for each table the new numbers of its rows."""
    rows = [list(map(tuple, table.tolist())) for table in tables]
    united = sorted(set().union(*rows))
    rank = {row: number for number, row in enumerate(united)}
    numbers = [np.array([rank[row] for row in some], np.uint32) for some in rows]
    return np.array(united, np.uint32).reshape(-1, len(Column)), numbers


def merged_lengths(parts: Sequence[tuple[PostingIndex, Chunks]], chunk_count: int) -> npt.NDArray[np.uint32]:
    """Return the lengths of a merge's chunks; arguments as for `merge_postings`."""
    lengths = np.zeros(chunk_count, np.uint32)
    for part, places in parts:
        lengths[places[places >= 0]] = part.lengths[places >= 0]
    return lengths
