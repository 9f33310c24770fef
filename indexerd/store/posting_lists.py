"""The bytes of posting lists, many lists at a time.

Owns: how gaps between chunks and codes are laid out in a list.
Knows nothing of: terms, documents, where the bytes lie.
Invariants: 1. unpacking gives back what was packed. 2. of the forms a list can have the shortest is taken, the first
    of equals: equal lists give equal bytes.
Purity: pure.
See: docs/on-disk-format.md (postings).
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
Shapes = npt.NDArray[np.uint8]

# A shape is the form of the gaps + 16 * the form of the codes. The first chunk of a list stands elsewhere, so a list
# of n chunks has n - 1 gaps. Lists of neighbouring documents have short gaps with a few long ones between: a byte
# each, the long ones (ESCAPE) behind. Measured on 7.3 million postings in many languages: 1.13 bytes a gap, against
# 1.88 with one width a list.
NO_GAPS, BYTE_GAPS, ESCAPED_GAPS_2, ESCAPED_GAPS_4, WIDE_GAPS_2, WIDE_GAPS_4 = range(6)
GAP_WIDTH = np.array([0, 1, 1, 1, 2, 4])
GAP_ESCAPE_WIDTH = np.array([0, 0, 2, 4, 0, 0])
GAP_ESCAPE = 255
# Codes are ranks by likelihood: nine in ten are below 15. ONE_*: one code for the whole list (0: the likeliest, no
# byte); HALF_*: half a byte each, larger ones (ESCAPE) behind; EACH_*: as they are.
ONE_0, ONE_1, ONE_2, ONE_4, HALF_1, HALF_2, HALF_4, EACH_1, EACH_2, EACH_4 = range(10)
CODE_WIDTH = np.array([0, 1, 2, 4, 0, 0, 0, 1, 2, 4])
CODE_ESCAPE_WIDTH = np.array([0, 0, 0, 0, 1, 2, 4, 0, 0, 0])
CODE_ESCAPE = 15


class PackedLists(NamedTuple):
    """Lists as bytes.

    Attributes:
        shapes: Form of each list.
        sizes: Bytes of each list.
        blob: All lists, one after the other.
    """

    shapes: Shapes
    sizes: Integers
    blob: bytes


def pack_lists(starts: Integers, chunks: npt.NDArray[np.int32], codes: npt.NDArray[np.uint32]) -> PackedLists:
    """Return the bytes of some lists, none of them empty, without their first chunks.

    Args:
        starts: Where each list begins in `chunks`, and where the last one ends.
        chunks: Chunk ordinals, ascending within a list.
        codes: Code of each posting.
    """
    if len(starts) < 2:
        return PackedLists(np.zeros(0, np.uint8), np.zeros(0, np.int64), b"")
    counts = np.diff(starts)
    gaps = np.diff(chunks, prepend=np.int32(0)).astype(np.uint32)
    gaps[starts[:-1]] = 0
    gap_forms, gap_sizes = _gap_forms(starts, counts, gaps)
    code_forms, code_sizes = _code_forms(starts, counts, codes)
    sizes = gap_sizes + code_sizes
    begins = np.cumsum(sizes) - sizes
    packed = np.zeros(int(sizes.sum()), np.uint8)
    _put_gaps(packed, gap_forms, begins, starts, gaps)
    _put_codes(packed, code_forms, begins + gap_sizes, starts, codes)
    return PackedLists((gap_forms | (code_forms << 4)).astype(np.uint8), sizes, packed.tobytes())


def unpack_lists(
    counts: Integers, firsts: Integers, shapes: Shapes, begins: Integers, data: npt.NDArray[np.uint8]
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint32]]:
    """Return chunks and codes of some lists.

    Args:
        counts: Postings of each list, at least one.
        firsts: First chunk of each list.
        shapes: Form of each list.
        begins: Where each list begins in `data`.
        data: Bytes that hold the lists.
    """
    starts = np.concatenate(([0], np.cumsum(counts)))
    gaps, gap_sizes = _take_gaps(data, shapes & np.uint8(15), begins, starts)
    codes = _take_codes(data, shapes >> np.uint8(4), begins + gap_sizes, starts)
    return _running(gaps, firsts, starts), codes


def members(begins: Integers, ends: Integers) -> tuple[Integers, Integers]:
    """Return all numbers of some ranges, and the place of each within its range."""
    counts = ends - begins
    within = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.repeat(begins, counts) + within, within


def _width_form(tops: npt.NDArray[Any]) -> Integers:
    """Return 0, 1 or 2 for values that fit one, two or four bytes."""
    return (tops >= 1 << 8).astype(np.int64) + (tops >= 1 << 16)


def _gap_forms(starts: Integers, counts: Integers, gaps: npt.NDArray[np.uint32]) -> tuple[Integers, Integers]:
    heads = starts[:-1]
    long_ = np.maximum.reduceat(gaps, heads) >= 1 << 16
    escapes = np.add.reduceat(gaps >= GAP_ESCAPE, heads, dtype=np.int64)
    width = np.where(long_, 4, 2)
    escaped, wide = counts - 1 + escapes * width, (counts - 1) * width
    forms = np.where(escaped <= wide, ESCAPED_GAPS_2, WIDE_GAPS_2) + long_
    forms[escapes == 0] = BYTE_GAPS
    forms[counts == 1] = NO_GAPS
    return forms, np.minimum(escaped, wide)


def _code_forms(starts: Integers, counts: Integers, codes: npt.NDArray[np.uint32]) -> tuple[Integers, Integers]:
    heads = starts[:-1]
    tops, bottoms = np.maximum.reduceat(codes, heads), np.minimum.reduceat(codes, heads)
    escapes = np.add.reduceat(codes >= CODE_ESCAPE, heads, dtype=np.int64)
    width_form = _width_form(tops)
    width = 1 << width_form
    half, each = (counts + 1) // 2 + escapes * width, counts * width
    forms = np.where(half <= each, HALF_1, EACH_1) + width_form
    one = tops == bottoms
    forms[one] = np.where(tops[one] == 0, ONE_0, ONE_1 + width_form[one])
    return forms, np.where(one, CODE_WIDTH[forms], np.minimum(half, each))


def _put_gaps(
    packed: npt.NDArray[np.uint8], forms: Integers, begins: Integers, starts: Integers, gaps: npt.NDArray[np.uint32]
) -> None:
    counts, heads = np.diff(starts), starts[:-1]
    # Nearly all are a byte each: those of all lists are put at once.
    narrow = np.repeat(GAP_WIDTH.take(forms) == 1, counts)
    narrow[heads] = False
    at = np.arange(len(gaps)) + np.repeat(begins - heads - 1, counts)
    packed[at[narrow]] = np.minimum(gaps[narrow], GAP_ESCAPE)
    escaped = np.flatnonzero(narrow & (gaps >= GAP_ESCAPE))
    _put_escapes(packed, escaped, gaps, (starts, begins + counts - 1, GAP_ESCAPE_WIDTH.take(forms)))
    for form in (WIDE_GAPS_2, WIDE_GAPS_4):
        lists, width = np.flatnonzero(forms == form), int(GAP_WIDTH[form])
        postings, within = members(heads[lists] + 1, starts[lists + 1])
        _put(packed, np.repeat(begins[lists], counts[lists] - 1) + within * width, gaps[postings], width)


def _put_codes(
    packed: npt.NDArray[np.uint8], forms: Integers, begins: Integers, starts: Integers, codes: npt.NDArray[np.uint32]
) -> None:
    counts, heads = np.diff(starts), starts[:-1]
    for form in (ONE_1, ONE_2, ONE_4, EACH_1, EACH_2, EACH_4):
        lists, width = np.flatnonzero(forms == form), int(CODE_WIDTH[form])
        postings, within = members(heads[lists], heads[lists] + 1 if form < HALF_1 else starts[lists + 1])
        _put(
            packed,
            np.repeat(begins[lists], 1 if form < HALF_1 else counts[lists]) + within * width,
            codes[postings],
            width,
        )
    halved = np.repeat((forms >= HALF_1) & (forms < EACH_1), counts)
    halves = np.minimum(codes[halved], CODE_ESCAPE).astype(np.uint8)
    # In halves of bytes.
    at = (np.arange(len(codes)) + np.repeat(2 * begins - heads, counts))[halved]
    low = at & 1 == 0
    packed[at[low] >> 1] = halves[low]
    packed[at[~low] >> 1] |= halves[~low] << 4
    escaped = np.flatnonzero(halved & (codes >= CODE_ESCAPE))
    _put_escapes(packed, escaped, codes, (starts, begins + (counts + 1) // 2, CODE_ESCAPE_WIDTH.take(forms)))


def _put_escapes(
    packed: npt.NDArray[np.uint8],
    escaped: Integers,
    values: npt.NDArray[np.uint32],
    lists: tuple[Integers, Integers, Integers],
) -> None:
    """Put values that were too large behind the other bytes of their list.

    Args:
        packed: Where to put them.
        escaped: Which of the values.
        values: Values of all lists, one list after the other.
        lists: For each list, where its values begin (and the last one's end), where its other bytes end, and the bytes
            of each of its escaped values.
    """
    starts, behind, widths = lists
    owners = np.searchsorted(starts, escaped, "right") - 1
    numbers = np.arange(len(owners)) - np.searchsorted(owners, owners)
    for width in (1, 2, 4):
        some = np.flatnonzero(widths[owners] == width)
        _put(packed, behind[owners[some]] + numbers[some] * width, values[escaped[some]], width)


def _escape_places(escaped: npt.NDArray[np.bool_], behind: Integers, counts: Integers, width: int) -> Integers:
    """Return where the escaped values stand: in order, from `behind` of their list on."""
    owners = np.repeat(np.arange(len(counts)), counts)[escaped]
    numbers = np.arange(len(owners)) - np.searchsorted(owners, owners)
    return behind[owners] + numbers * width


def _put(packed: npt.NDArray[np.uint8], at: Integers, values: npt.NDArray[np.uint32], width: int) -> None:
    for byte in range(width):
        packed[at + byte] = (values >> np.uint32(8 * byte)).astype(np.uint8)


def _take(data: npt.NDArray[np.uint8], at: Integers, width: int) -> npt.NDArray[np.uint32]:
    values = data[at].astype(np.uint32)
    for byte in range(1, width):
        values |= data[at + byte].astype(np.uint32) << np.uint32(8 * byte)
    return values


def _take_gaps(
    data: npt.NDArray[np.uint8], forms: Shapes, begins: Integers, starts: Integers
) -> tuple[npt.NDArray[np.uint32], Integers]:
    """Return the gap before each posting (0 before the first of a list), and the bytes that each list's gaps take."""
    gaps = np.zeros(int(starts[-1]), np.uint32)
    sizes = (np.diff(starts) - 1) * GAP_WIDTH[forms]
    for form in np.flatnonzero(np.bincount(forms)).tolist():
        if form == NO_GAPS:
            continue
        lists = np.flatnonzero(forms == form)
        postings, within = members(starts[lists] + 1, starts[lists + 1])
        counts = starts[lists + 1] - starts[lists] - 1
        width, escape_width = int(GAP_WIDTH[form]), int(GAP_ESCAPE_WIDTH[form])
        values = _take(data, np.repeat(begins[lists], counts) + within * width, width)
        if escape_width:
            escaped = values == GAP_ESCAPE
            values[escaped] = _take(
                data, _escape_places(escaped, begins[lists] + counts, counts, escape_width), escape_width
            )
            heads = np.cumsum(counts) - counts
            sizes[lists] += np.add.reduceat(escaped, heads, dtype=np.int64) * escape_width
        gaps[postings] = values
    return gaps, sizes


def _take_codes(
    data: npt.NDArray[np.uint8], forms: Shapes, begins: Integers, starts: Integers
) -> npt.NDArray[np.uint32]:
    codes = np.zeros(int(starts[-1]), np.uint32)
    for form in np.flatnonzero(np.bincount(forms)).tolist():
        if form == ONE_0:
            continue
        lists = np.flatnonzero(forms == form)
        postings, within = members(starts[lists], starts[lists + 1])
        counts = starts[lists + 1] - starts[lists]
        width = int(CODE_WIDTH[form])
        if form < HALF_1:
            codes[postings] = np.repeat(_take(data, begins[lists], width), counts)
        elif form >= EACH_1:
            codes[postings] = _take(data, np.repeat(begins[lists], counts) + within * width, width)
        else:
            halves = data[np.repeat(begins[lists], counts) + within // 2] >> ((within % 2) * 4).astype(np.uint8)
            values = (halves & 15).astype(np.uint32)
            escaped = values == CODE_ESCAPE
            escape_width = int(CODE_ESCAPE_WIDTH[form])
            places = _escape_places(escaped, begins[lists] + (counts + 1) // 2, counts, escape_width)
            values[escaped] = _take(data, places, escape_width)
            codes[postings] = values
    return codes


def _running(gaps: npt.NDArray[np.uint32], firsts: Integers, starts: Integers) -> npt.NDArray[np.int32]:
    """Return the chunks: one running sum over all lists that steps back to each list's first chunk."""
    if not len(gaps):
        return np.zeros(0, np.int32)
    heads = starts[:-1]
    lasts = firsts + np.add.reduceat(gaps, heads, dtype=np.int64)
    steps = gaps.astype(np.int64)
    steps[heads] = firsts
    steps[heads[1:]] -= lasts[:-1]
    return np.cumsum(steps).astype(np.int32)
