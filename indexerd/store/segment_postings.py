"""Posting lists in few bytes, decoded list by list.

Owns: the packed form: gaps between chunks and codes, each in the narrowest width that its list needs.
Knows nothing of: documents, files, scores.
Invariants: 1. packing and unpacking give the same postings back. 2. row numbers are stored by how often a row is used, so that
    nearly all fit a byte; equal postings give equal bytes.
Purity: pure over bytes.
See: docs/on-disk-format.md (postings).
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from indexerd.postings import Chunks, Codes, PostingIndex, Postings
from indexerd.store.tables import BytesTable, TextTable, bytes_table

# A shape is gap width + 16 * code shape. A list of one chunk has no gaps. Code shapes 1 to 4 store one code for the whole list
# (0: the most frequent row, nothing stored), 5 to 7 one for each posting.
_ONE, _EACH = (0, 1, 2, 4), (1, 2, 4)
_CODE_WIDTHS = np.array([0, 1, 2, 4, 0, 1, 2, 4])
_EACH_SHAPE = 4


@dataclass(frozen=True, slots=True, eq=False)
class PackedPostings:
    """Posting lists over bytes.

    Attributes:
        terms: Distinct terms in UTF-8, ascending.
        counts: Chunks of each term.
        firsts: First chunk of each term.
        shapes: Widths of each list, see above.
        lists: For each term its gaps, then its codes.
        frequencies: As in `Postings`.
        ranked: Rows by how often they are used, then by number: `ranked[stored code]` is the code.
        lengths: As in `Postings`.
        offsets: Where each list begins; derived.
    """

    terms: BytesTable
    counts: npt.NDArray[np.uint32]
    firsts: npt.NDArray[np.uint32]
    shapes: npt.NDArray[np.uint8]
    lists: bytes | memoryview
    frequencies: npt.NDArray[np.uint32]
    ranked: npt.NDArray[np.uint32]
    lengths: npt.NDArray[np.uint32]
    offsets: npt.NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        offsets = np.zeros(len(self.counts) + 1, np.int64)
        np.cumsum(_list_bytes(self.counts, self.shapes), out=offsets[1:])
        if offsets[-1] != len(self.lists):
            raise ValueError(f"posting lists have {len(self.lists)} bytes, expected {offsets[-1]}")
        object.__setattr__(self, "offsets", offsets)

    @property
    def term_count(self) -> int:
        """Number of distinct terms."""
        return len(self.terms)

    def find(self, term: str) -> int:
        """Return the number of a term, -1 if it has none."""
        return self.terms.find(term.encode("utf-8", "replace"))

    def term(self, number: int) -> str:
        """Return the term with a number."""
        return str(self.terms[number], "utf-8")

    def terms_with_prefix(self, prefix: str) -> range:
        """Return the numbers of the terms that begin with `prefix`."""
        key = prefix.encode("utf-8", "replace")
        # No UTF-8 sequence has the byte FF, so it stands above every continuation.
        return range(self.terms.first_at_least(key), self.terms.first_at_least(key + b"\xff"))

    def count(self, number: int) -> int:
        """Return how many chunks hold a term."""
        return int(self.counts[number])

    def chunks_of(self, number: int) -> Chunks:
        """Return the chunks that hold a term, ascending."""
        count = int(self.counts[number])
        chunks = np.empty(count, np.int32)
        chunks[0] = self.firsts[number]
        if count > 1:
            width = int(self.shapes[number]) & 15
            chunks[1:] = np.frombuffer(self.lists, f"<u{width}", count - 1, int(self.offsets[number]))
            np.cumsum(chunks, out=chunks)
        return chunks

    def codes_of(self, number: int) -> Codes:
        """Return the code of each chunk of `chunks_of`."""
        count, shape = int(self.counts[number]), int(self.shapes[number])
        code_shape, at = shape >> 4, int(self.offsets[number]) + (count - 1) * (shape & 15)
        width = int(_CODE_WIDTHS[code_shape])
        if code_shape < _EACH_SHAPE:
            stored = int.from_bytes(self.lists[at : at + width], "little")
            return np.full(count, self.ranked[stored], np.uint32)
        return self.ranked[np.frombuffer(self.lists, f"<u{width}", count, at)]

    def plain(self) -> Postings:
        """Return everything as plain arrays."""
        starts = np.zeros(len(self.counts) + 1, np.int64)
        np.cumsum(self.counts, out=starts[1:])
        return Postings(
            terms=tuple(TextTable(self.terms)),
            starts=starts,
            chunks=_unpack_chunks(self, starts),
            codes=_unpack_codes(self, starts),
            frequencies=self.frequencies,
            lengths=self.lengths,
        )


def pack_postings(postings: PostingIndex) -> PackedPostings:
    """Return postings in packed form."""
    if isinstance(postings, PackedPostings):
        return postings
    plain = postings.plain()
    uses = np.bincount(plain.codes, minlength=len(plain.frequencies))
    ranked = np.argsort(-uses, kind="stable").astype(np.uint32)
    rank = np.empty_like(ranked)
    rank[ranked] = np.arange(len(ranked), dtype=np.uint32)
    codes = rank[plain.codes]
    counts = np.diff(plain.starts)
    gap_widths, gaps = _gap_widths(plain)
    code_shapes = _code_shapes(codes, plain.starts)
    shapes = (gap_widths | (code_shapes << 4)).astype(np.uint8)
    return PackedPostings(
        terms=bytes_table([term.encode() for term in plain.terms]),
        counts=counts.astype(np.uint32),
        firsts=plain.chunks[plain.starts[:-1]].astype(np.uint32),
        shapes=shapes,
        lists=_pack_lists(plain.starts, gaps, codes, shapes),
        frequencies=plain.frequencies,
        ranked=ranked,
        lengths=plain.lengths,
    )


def _list_bytes(counts: npt.NDArray[Any], shapes: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
    counts = counts.astype(np.int64)
    code_shapes = shapes >> 4
    codes = np.where(code_shapes < _EACH_SHAPE, 1, counts) * _CODE_WIDTHS[code_shapes]
    return (counts - 1) * (shapes & 15) + codes


def _widths(tops: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    return np.where(tops < 1 << 8, 1, np.where(tops < 1 << 16, 2, 4))


def _gap_widths(plain: Postings) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint32]]:
    """Return the width of each list's gaps, and the gap before each posting (0 before the first of a list)."""
    if not len(plain.chunks):
        return np.zeros(0, np.int64), np.zeros(0, np.uint32)
    gaps = np.diff(plain.chunks, prepend=0)
    gaps[plain.starts[:-1]] = 0
    tops = np.maximum.reduceat(gaps, plain.starts[:-1])
    return np.where(np.diff(plain.starts) == 1, 0, _widths(tops)), gaps.astype(np.uint32)


def _code_shapes(codes: Codes, starts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    if not len(codes):
        return np.zeros(0, np.int64)
    tops, bottoms = np.maximum.reduceat(codes, starts[:-1]), np.minimum.reduceat(codes, starts[:-1])
    one = np.select([tops == 0, tops < 1 << 8, tops < 1 << 16], [0, 1, 2], 3)
    each = _EACH_SHAPE + np.select([tops < 1 << 8, tops < 1 << 16], [1, 2], 3)
    return np.where(tops == bottoms, one, each)


def _pack_lists(
    starts: npt.NDArray[np.int64], gaps: npt.NDArray[np.uint32], codes: Codes, shapes: npt.NDArray[np.uint8]
) -> bytes:
    counts = np.diff(starts)
    sizes = _list_bytes(counts, shapes)
    packed = np.zeros(int(sizes.sum()), np.uint8)
    begins = np.cumsum(sizes) - sizes
    for places, width in _gap_places(starts, begins, shapes):
        _scatter(packed, places, gaps, width)
    for places, width in _code_places(starts, begins, shapes):
        _scatter(packed, places, codes, width)
    return packed.tobytes()


_Places = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]


def _gap_places(
    starts: npt.NDArray[np.int64], begins: npt.NDArray[np.int64], shapes: npt.NDArray[np.uint8]
) -> list[tuple[_Places, int]]:
    """Return for each gap width: postings that have such a gap, and where in the bytes it stands."""
    found = []
    for width in _EACH:
        lists = np.flatnonzero((shapes & 15) == width)
        postings, within = _members(starts[lists] + 1, starts[lists + 1])
        found.append(((postings, np.repeat(begins[lists], _counts(starts, lists) - 1) + within * width), width))
    return found


def _code_places(
    starts: npt.NDArray[np.int64], begins: npt.NDArray[np.int64], shapes: npt.NDArray[np.uint8]
) -> list[tuple[_Places, int]]:
    """The same for codes: of one posting where the whole list has one code, of all where they differ."""
    found = []
    code_shapes = shapes >> 4
    behind = begins + (np.diff(starts) - 1) * (shapes & 15)
    for width in _EACH:
        one = np.flatnonzero((code_shapes < _EACH_SHAPE) & (_CODE_WIDTHS[code_shapes] == width))
        found.append(((starts[one], behind[one]), width))
        lists = np.flatnonzero((code_shapes >= _EACH_SHAPE) & (_CODE_WIDTHS[code_shapes] == width))
        postings, within = _members(starts[lists], starts[lists + 1])
        found.append(((postings, np.repeat(behind[lists], _counts(starts, lists)) + within * width), width))
    return found


def _counts(starts: npt.NDArray[np.int64], lists: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return starts[lists + 1] - starts[lists]


def _members(begins: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]) -> _Places:
    """Return all numbers of some ranges, and the place of each within its range."""
    counts = ends - begins
    within = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.repeat(begins, counts) + within, within


def _scatter(packed: npt.NDArray[np.uint8], places: _Places, values: npt.NDArray[np.uint32], width: int) -> None:
    postings, at = places
    chosen = values[postings]
    for byte in range(width):
        packed[at + byte] = (chosen >> np.uint32(8 * byte)).astype(np.uint8)


def _gather(packed: npt.NDArray[np.uint8], at: npt.NDArray[np.int64], width: int) -> npt.NDArray[np.uint32]:
    values = packed[at].astype(np.uint32)
    for byte in range(1, width):
        values |= packed[at + byte].astype(np.uint32) << np.uint32(8 * byte)
    return values


def _unpack_chunks(packed: PackedPostings, starts: npt.NDArray[np.int64]) -> Chunks:
    data = np.frombuffer(packed.lists, np.uint8)
    steps = np.zeros(int(starts[-1]), np.int64)
    for (postings, at), width in _gap_places(starts, packed.offsets[:-1], packed.shapes):
        steps[postings] = _gather(data, at, width)
    # One running sum over all lists: at the head of each list, step back to its first chunk.
    firsts = packed.firsts.astype(np.int64)
    heads = starts[:-1]
    lasts = firsts + (np.add.reduceat(steps, heads) if len(heads) else 0)
    steps[heads] = firsts - np.concatenate(([0], lasts[:-1]))[: len(heads)]
    return np.cumsum(steps).astype(np.int32)


def _unpack_codes(packed: PackedPostings, starts: npt.NDArray[np.int64]) -> Codes:
    data = np.frombuffer(packed.lists, np.uint8)
    stored = np.zeros(int(starts[-1]), np.uint32)
    for (postings, at), width in _code_places(starts, packed.offsets[:-1], packed.shapes):
        stored[postings] = _gather(data, at, width)
    one = np.flatnonzero((packed.shapes >> 4) < _EACH_SHAPE)
    stored[_members(starts[one], starts[one + 1])[0]] = np.repeat(stored[starts[one]], _counts(starts, one))
    return packed.ranked[stored]
