"""Hashes of spans of a stream, many at a time.

Owns: the hash function.
Knows nothing of: what a span is, what becomes of its hash.
Invariants: 1. equal strings have equal hashes within a process. 2. different strings have equal hashes with a
    probability of 2**-64, below 2**-38 for texts made to collide: their authors cannot know the seed.
Purity: pure, but for the seed, which differs in each process and shows in no result.
See: docs/search.md (analysis).
"""

from functools import lru_cache

import numpy as np
import numpy.typing as npt

Hashes = npt.NDArray[np.uint64]
Positions = npt.NDArray[np.int64]

_MASK = (1 << 64) - 1
# Python's own secret of this process (PYTHONHASHSEED): nobody who writes a document knows it.
_SEED = hash("indexerd") & _MASK
_BASE = (_SEED * 0x9E3779B97F4A7C15 | 5) & _MASK
_BASE_INVERSE = pow(_BASE, -1, 1 << 64)
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
# Longer streams are rare (one line of a megabyte): their powers are computed anew, not kept.
_KEPT_POWERS = 1 << 19
_FIRST_POWERS = 1 << 12


class SpanHasher:
    """Hashes any span of a stream in constant time, as the difference of a running sum at its ends."""

    def __init__(self, codes: npt.NDArray[np.uint32]) -> None:
        count = len(codes)
        self._sums = np.zeros(count + 1, np.uint64)
        terms = _mixed(codes)
        terms *= _powers(_BASE, count)
        np.cumsum(terms, out=self._sums[1:])
        self._shift = _powers(_BASE_INVERSE, count)

    def hashes(self, starts: Positions, ends: Positions) -> Hashes:
        """Return the hash of each span; never 0."""
        found: Hashes = (self._sums[ends] - self._sums[starts]) * self._shift[starts]
        return np.maximum(found, np.uint64(1))


def spread(hashes: Hashes, bits: int) -> Positions:
    """Return a place below `2**bits` for each hash."""
    places: Positions = ((hashes * _SPREAD) >> np.uint64(64 - bits)).astype(np.int64)
    return places


def _mixed(codes: npt.NDArray[np.uint32]) -> Hashes:
    """Spread code points over 64 bits by a secret, so that sums of them cannot be steered."""
    mixed = codes.astype(np.uint64)
    mixed += np.uint64(_SEED >> 1)
    mixed *= np.uint64(_BASE)
    mixed ^= mixed >> np.uint64(32)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    return mixed


def _powers(base: int, count: int) -> Hashes:
    if count > _KEPT_POWERS:
        return _computed_powers(base, count)
    size = max(_FIRST_POWERS, 1 << (count - 1).bit_length()) if count else _FIRST_POWERS
    return _kept_powers(base, size)[:count]


@lru_cache(maxsize=4)
def _kept_powers(base: int, count: int) -> Hashes:
    return _computed_powers(base, count)


def _computed_powers(base: int, count: int) -> Hashes:
    powers = np.full(count, base, np.uint64)
    powers[:1] = 1
    computed: Hashes = np.multiply.accumulate(powers)
    return computed
