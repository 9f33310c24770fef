"""Posting lists over the bytes of a segment, decoded list by list.

Owns: look-up of terms and lists in packed form.
Knows nothing of: documents, files, scores.
Invariants: 1. packing and unpacking give the same postings back. 2. rows are numbered in lists by how often they are
    used, so that nearly all fit half a byte; equal postings give equal bytes.
Purity: pure over bytes.
See: docs/on-disk-format.md (postings), posting_lists.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from indexerd.postings import Chunks, Codes, MergedLists, PostingIndex, Postings, merged_lengths, slice_bounds
from indexerd.store.posting_lists import (
    CODE_ESCAPE,
    CODE_ESCAPE_WIDTH,
    CODE_WIDTH,
    EACH_1,
    GAP_ESCAPE,
    GAP_ESCAPE_WIDTH,
    GAP_WIDTH,
    HALF_1,
    pack_lists,
    unpack_lists,
)
from indexerd.store.tables import BytesTable, TextTable, text_table

# How rare one more occurrence in each column makes a row, found by trial on 7.3 million postings (2026-11-30).
_RARITY = np.array([2, 4, 4, 6, 8, 9, 12, 12, 7, 8])
# Postings packed or unpacked at a time, so that neither needs much memory beside its result.
_SLICE = 1 << 19
# As Python numbers: indexing an array for one of them costs more than decoding a short list.
_GAP_WIDTH, _GAP_ESCAPE_WIDTH = GAP_WIDTH.tolist(), GAP_ESCAPE_WIDTH.tolist()
_CODE_WIDTH, _CODE_ESCAPE_WIDTH = CODE_WIDTH.tolist(), CODE_ESCAPE_WIDTH.tolist()


@dataclass(frozen=True, slots=True, eq=False)
class PackedPostings:
    """Posting lists over bytes.

    Attributes:
        terms: Distinct terms in UTF-8, ascending.
        counts: Chunks of each term.
        firsts: First chunk of each term.
        shapes: Form of each list, see `posting_lists`.
        lists: The bytes of each list.
        frequencies: As in `Postings`.
        ranked: Rows by how rare such rows are: `ranked[stored code]` is the code.
        lengths: As in `Postings`.
    """

    terms: BytesTable
    counts: npt.NDArray[np.uint32]
    firsts: npt.NDArray[np.uint32]
    shapes: npt.NDArray[np.uint8]
    lists: BytesTable
    frequencies: npt.NDArray[np.uint32]
    ranked: npt.NDArray[np.uint32]
    lengths: npt.NDArray[np.uint32]
    _bytes: npt.NDArray[np.uint8] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_bytes", np.frombuffer(self.lists.blob, np.uint8))

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
            form, at = int(self.shapes[number]) & 15, int(self.lists.offsets[number])
            gaps = np.frombuffer(self.lists.blob, f"<u{_GAP_WIDTH[form]}", count - 1, at)
            chunks[1:] = gaps
            width = _GAP_ESCAPE_WIDTH[form]
            if width:
                escaped = np.flatnonzero(gaps == GAP_ESCAPE) + 1
                chunks[escaped] = np.frombuffer(self.lists.blob, f"<u{width}", len(escaped), at + count - 1)
            np.cumsum(chunks, out=chunks)
        return chunks

    def codes_of(self, number: int) -> Codes:
        """Return the code of each chunk of `chunks_of`."""
        count, shape = int(self.counts[number]), int(self.shapes[number])
        at, form = int(self.lists.offsets[number]) + self._gap_bytes(number, count, shape & 15), shape >> 4
        width, blob = _CODE_WIDTH[form], self.lists.blob
        if form < HALF_1:
            stored = int.from_bytes(blob[at : at + width], "little")
            return np.full(count, self.ranked[stored], np.uint32)
        if form >= EACH_1:
            each: Codes = self.ranked[np.frombuffer(blob, f"<u{width}", count, at)]
            return each
        return self._half_codes(at, count, _CODE_ESCAPE_WIDTH[form])

    def _half_codes(self, at: int, count: int, escape_width: int) -> Codes:
        pairs = self._bytes[at : at + (count + 1) // 2]
        halves = np.empty((len(pairs), 2), np.uint8)
        np.bitwise_and(pairs, 15, out=halves[:, 0])
        np.right_shift(pairs, 4, out=halves[:, 1])
        ranks = halves.reshape(-1)[:count]
        escaped = np.flatnonzero(ranks == CODE_ESCAPE)
        # Clipped: where there are fewer rows than ESCAPE, it names none, and is replaced below.
        codes = self.ranked.take(ranks, mode="clip")
        if len(escaped):
            ranks = np.frombuffer(self.lists.blob, f"<u{escape_width}", len(escaped), at + len(pairs))
            codes[escaped] = self.ranked[ranks]
        return codes

    def _gap_bytes(self, number: int, count: int, form: int) -> int:
        size = (count - 1) * int(_GAP_WIDTH[form])
        if not _GAP_ESCAPE_WIDTH[form]:
            return size
        at = int(self.lists.offsets[number])
        escapes = int(np.count_nonzero(self._bytes[at : at + count - 1] == GAP_ESCAPE))
        return size + int(_GAP_ESCAPE_WIDTH[form]) * escapes

    def names(self) -> Sequence[str]:
        """Return all terms in order."""
        return list(TextTable(self.terms))

    def spelled(self) -> tuple[bytes | memoryview, npt.NDArray[np.int64]]:
        """Return the UTF-8 of all terms, one after the other, and where each begins and the last ends."""
        return self.terms.blob, self.terms.offsets

    def sizes(self) -> npt.NDArray[np.int64]:
        """Return the count of each term."""
        return self.counts.astype(np.int64)

    def between(self, first: int, last: int) -> tuple[Chunks, Codes]:
        """Return chunks and codes of the terms numbered from `first` up to, not including, `last`."""
        span = slice(first, last)
        chunks, codes = unpack_lists(
            self.counts[span].astype(np.int64),
            self.firsts[span].astype(np.int64),
            self.shapes[span],
            self.lists.offsets[first:last],
            self._bytes,
        )
        return chunks, self.ranked[codes]

    def plain(self) -> Postings:
        """Return everything as plain arrays."""
        starts = np.concatenate(([0], np.cumsum(self.sizes())))
        chunks, codes = np.zeros(starts[-1], np.int32), np.zeros(starts[-1], np.uint32)
        for first, last in pairwise(slice_bounds(self.sizes(), _SLICE)):
            chunks[starts[first] : starts[last]], codes[starts[first] : starts[last]] = self.between(first, last)
        return Postings(
            terms=tuple(self.names()),
            starts=starts,
            chunks=chunks,
            codes=codes,
            frequencies=self.frequencies,
            lengths=self.lengths,
        )


def pack_postings(postings: PostingIndex) -> PackedPostings:
    """Return postings in packed form."""
    if isinstance(postings, PackedPostings):
        return postings
    plain = postings.plain()
    ranked = _by_likelihood(plain.frequencies)
    rank = np.empty_like(ranked)
    rank[ranked] = np.arange(len(ranked), dtype=np.uint32)
    packer = _Packer(rank)
    for first, last in pairwise(slice_bounds(plain.sizes(), _SLICE)):
        packer.add(plain.sizes()[first:last], *plain.between(first, last))
    return packer.packed(plain.terms, plain.frequencies, ranked, plain.lengths)


def merge_packed(parts: Sequence[tuple[PostingIndex, Chunks]], chunk_count: int) -> PackedPostings:
    """Return what `pack_postings` gives for `merge_postings`, with no list of all postings in memory at any time."""
    merged = MergedLists(parts)
    is_used = np.full(len(merged.rows), not merged.leaves_out)
    if merged.leaves_out:
        for _, _, codes in merged:
            is_used[codes] = True
    rows = merged.rows[is_used]
    ranked = _by_likelihood(rows)
    rank = np.zeros(len(is_used), np.uint32)
    rank[np.flatnonzero(is_used)[ranked]] = np.arange(len(ranked), dtype=np.uint32)
    packer = _Packer(rank)
    for counts, chunks, codes in merged:
        packer.add(counts, chunks, codes)
    return packer.packed(merged.names, rows, ranked, merged_lengths(parts, chunk_count))


class _Packer:
    """Lists on their way into packed form, some terms at a time."""

    def __init__(self, rank: npt.NDArray[np.uint32]) -> None:
        """Begin with no list; `rank` gives what is stored for each row."""
        self._rank = rank
        self._counts, self._sizes = [np.zeros(0, np.int64)], [np.zeros(1, np.int64)]
        self._firsts, self._shapes = [np.zeros(0, np.int32)], [np.zeros(0, np.uint8)]
        self._blob = bytearray()

    def add(self, counts: npt.NDArray[np.int64], chunks: Chunks, codes: Codes) -> None:
        """Add the lists of the next terms: how many postings each has, maybe none; chunk and row of all those."""
        starts = np.concatenate(([0], np.cumsum(counts[counts > 0])))
        packed = pack_lists(starts, chunks, self._rank[codes])
        self._counts.append(counts)
        self._firsts.append(chunks[starts[:-1]])
        self._shapes.append(packed.shapes)
        self._sizes.append(packed.sizes)
        self._blob += packed.blob

    def packed(
        self,
        terms: Sequence[str],
        frequencies: npt.NDArray[np.uint32],
        ranked: npt.NDArray[np.uint32],
        lengths: npt.NDArray[np.uint32],
    ) -> PackedPostings:
        """Return the lists of all terms that have postings."""
        counts = np.concatenate(self._counts)
        used = np.flatnonzero(counts)
        return PackedPostings(
            terms=text_table(terms if len(used) == len(terms) else [terms[at] for at in used.tolist()]).table,
            counts=counts[used].astype(np.uint32),
            firsts=np.concatenate(self._firsts).astype(np.uint32),
            shapes=np.concatenate(self._shapes),
            lists=BytesTable(np.cumsum(np.concatenate(self._sizes)), memoryview(self._blob)),
            frequencies=frequencies,
            ranked=ranked,
            lengths=lengths,
        )


def _by_likelihood(frequencies: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    """Return the rows by how rare such rows are in general, then by number.

    Ranks by true use would be 2 % smaller, but known only after all postings were seen.
    """
    columns = np.count_nonzero(frequencies, axis=1)
    rarity = frequencies.astype(np.int64) @ _RARITY + 2 * columns
    return np.argsort(rarity, kind="stable").astype(np.uint32)
