"""Hashes, many at a time: of spans of a text in UTF-8, and their numbers.

Owns: the hash function, and the table that numbers distinct hashes.
Knows nothing of: what a span is, what becomes of its hash.
Invariants: 1. equal strings have equal hashes within a process. 2. different strings of at most eight bytes never have
    equal hashes, longer ones with a probability of 2**-64, about 2**-60 for texts made to collide: their authors cannot
    know the factors.
Purity: pure, but for the factors, which differ in each process and show in no result.
See: docs/search.md (analysis).
"""

import numpy as np
import numpy.typing as npt

Hashes = npt.NDArray[np.uint64]
Positions = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.int32]

_MASK = (1 << 64) - 1
# Python's own secret of this process (PYTHONHASHSEED): nobody who writes a document knows it.
_SEED = hash("indexerd") & _MASK
_FACTORS = [
    np.uint64((_SEED * odd | 1) & _MASK) for odd in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
]
_WINDOW = 8
_FIRST_BITS = 12
_SORTED = 1 << 14
# Slots for each hash, at least.
_ROOM = 4
# Zeros behind the text, so that the last window stays inside.
MARGIN = bytes(_WINDOW)
# What of a window belongs to a span, by how much is left of it.
_KEPT = np.array([(1 << 8 * size) - 1 for size in range(_WINDOW + 1)], np.uint64)


def hashes(data: bytes, starts: Positions, ends: Positions) -> Hashes:
    """Return the hash of each span; never 0.

    Args:
        data: A text with MARGIN behind it.
        starts: Where each span starts.
        ends: Where it ends, behind its start. A NUL may not be its last byte.
    """
    windows = np.ndarray((len(data) - _WINDOW + 1,), "<u8", data, strides=(1,))
    sizes = ends - starts
    found = mixed(windows[starts] & _KEPT.take(np.minimum(sizes, _WINDOW)))
    longer = np.flatnonzero(sizes > _WINDOW)
    at = _WINDOW
    while len(longer):
        sizes = ends[longer] - starts[longer] - at
        window = windows[starts[longer] + at] & _KEPT.take(np.minimum(sizes, _WINDOW))
        found[longer] = mixed(found[longer] ^ window)
        longer, at = longer[sizes > _WINDOW], at + _WINDOW
    return np.maximum(found, np.uint64(1), out=found)


def mixed(values: Hashes) -> Hashes:
    """Spread values over 64 bits by the factors, in place: no two values become one."""
    values *= _FACTORS[0]
    values ^= values >> np.uint64(32)
    values *= _FACTORS[1]
    values ^= values >> np.uint64(29)
    values *= _FACTORS[2]
    return values


class HashNumbers:
    """Numbers distinct hashes: a table with open addressing whose every step works on all hashes given."""

    def __init__(self) -> None:
        self._bits = _FIRST_BITS
        self._used = 0
        # Numbers by slot, -1 where it is vacant; hashes by number, so that those of words met early, and often, lie
        # close together. The last one stays 0: what a vacant slot has.
        self._numbers = np.full(1 << self._bits, -1, np.int32)
        self._hashes = np.zeros((1 << self._bits) // _ROOM + 1, np.uint64)

    def numbers(self, hashes: Hashes) -> tuple[Numbers, Positions]:
        """Return the number of each hash, and a place of each new one, in the order of their numbers."""
        numbers, missing = self._probe(hashes)
        added = [missing[:0]]
        while len(missing):
            # Some first: they are most of the rest, which need not be sorted then.
            some, missing = missing[:_SORTED], missing[_SORTED:]
            places = some[np.argsort(hashes[some])]
            is_first = np.concatenate(([True], hashes[places[1:]] != hashes[places[:-1]]))
            numbers[places] = np.cumsum(is_first) + (self._used - 1)
            added.append(places[is_first])
            self._add(hashes[added[-1]])
            if len(missing):
                numbers[missing], unknown = self._probe(hashes[missing])
                missing = missing[unknown]
        return numbers, np.concatenate(added)

    def _probe(self, hashes: Hashes) -> tuple[Numbers, Positions]:
        """Return the number of each hash, and the places of those that have none."""
        slots = self._first_slots(hashes)
        numbers = self._numbers.take(slots)
        left = np.flatnonzero(self._hashes.take(numbers) != hashes)
        slots, wanted, missing = slots.take(left), hashes.take(left), [left[:0]]
        while len(left):
            held = self._numbers.take(slots)
            met = np.flatnonzero(self._hashes.take(held) == wanted)
            numbers[left[met]] = held[met]
            vacant = held < 0
            missing.append(left[vacant])
            vacant[met] = True
            going = np.flatnonzero(~vacant)
            left, wanted, slots = left.take(going), wanted.take(going), self._next_slots(slots.take(going))
        missed = np.concatenate(missing)
        numbers[missed] = -1
        return numbers, missed

    def _add(self, hashes: Hashes) -> None:
        """Number some new hashes, none twice."""
        first, self._used = self._used, self._used + len(hashes)
        if _ROOM * self._used > 1 << self._bits:
            self._bits = (_ROOM * self._used).bit_length()
            known, first = self._hashes[:first], 0
            self._numbers = np.full(1 << self._bits, -1, np.int32)
            self._hashes = np.zeros((1 << self._bits) // _ROOM + 1, np.uint64)
            hashes = np.concatenate((known, hashes))
        self._hashes[first : self._used] = hashes
        # The last one first: of several that want one slot the last write stays, and words met early come most often.
        numbers = np.arange(self._used - 1, first - 1, -1, dtype=np.int32)
        slots = self._first_slots(hashes[::-1])
        while len(slots):
            vacant = self._numbers[slots] < 0
            self._numbers[slots[vacant]] = numbers[vacant]
            missed = self._numbers[slots] != numbers
            slots, numbers = self._next_slots(slots[missed]), numbers[missed]

    def _first_slots(self, hashes: Hashes) -> Positions:
        return (hashes >> np.uint64(64 - self._bits)).view(np.int64)

    def _next_slots(self, slots: Positions) -> Positions:
        return (slots + 1) & ((1 << self._bits) - 1)
