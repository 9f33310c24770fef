"""Finding many short literals at once.

Owns: the filter that finds which of a few hundred cues a batch of texts contains, at a cost that does not grow with
    them.
Knows nothing of: what a cue stands for.
Invariants: 1. the answer is exactly the cues that occur, without regard to ASCII case. 2. time is linear in the bytes.
Purity: pure.
See: docs/threat-model.md (safety gate).

A text is looked at two bytes at a time. Of each cue a window of two or three pairs is known that begins at an even
place of the text, one for either parity, and in it the rarest pair, the anchor. A table says which pairs are anchors;
the pairs around one are looked up by their hash; only where these are a window too, the cue itself is compared. A
loop of substring searches costs one pass a cue: at a hundred cues it would cost more than reading the documents.
"""

from collections.abc import Collection, Iterator, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

_MIN_BYTES = 3
_PAIRS = 3
_ANY = range(256)
# Sets the bit that tells small from capital letters; other bytes are only mixed up by it, as in a hash.
_SMALL_PAIR = 0x2020
_SMALL_QUAD = 0x20202020
_FACTORS = np.uint32(0x9E3779B1), np.uint32(0x85EBCA6B)
_HASH_BITS = 16
# What a hash of two pairs tells: that they are a window, or the first two pairs of one.
_WHOLE, _BEGUN = 1, 2
# Letters by how often they stand in texts.
_FREQUENT = b" etaoinsrhldcumfpgwybvkxjqz"


class _Window(NamedTuple):
    """Where in a cue its window begins, how many pairs it has, and which of them is the anchor."""

    offset: int
    pairs: int
    anchor: int


class _Table:
    """The windows of which one and the same pair is the anchor, and their cues."""

    def __init__(self) -> None:
        self.quads = np.zeros(1 << _HASH_BITS, np.uint8)
        self.triples = np.zeros(1 << _HASH_BITS, np.bool_)
        # By the first two pairs in small letters: where the window begins, the cue, its name.
        self.cues: dict[int, list[tuple[int, bytes, str]]] = {}

    def likely(self, pairs: npt.NDArray[np.uint16], places: npt.NDArray[np.intp]) -> tuple[list[int], list[int]]:
        """Return at which of some places a window may begin, and the first two pairs there."""
        quads = pairs[places] | (pairs[places + 1].astype(np.uint32) << np.uint32(16)) | np.uint32(_SMALL_QUAD)
        hashes = quads * _FACTORS[0]
        known = self.quads.take(hashes >> np.uint32(32 - _HASH_BITS))
        found = np.flatnonzero(known)
        places, quads, hashes, known = places[found], quads[found], hashes[found], known[found]
        thirds = (pairs[places + 2] | np.uint16(_SMALL_PAIR)).astype(np.uint32)
        is_triple = self.triples.take((hashes + thirds * _FACTORS[1]) >> np.uint32(32 - _HASH_BITS))
        found = np.flatnonzero((known & _WHOLE).astype(np.bool_) | is_triple)
        return places[found].tolist(), quads[found].tolist()

    def add(self, data: bytes, name: str, window: _Window) -> None:
        choices = [_bytes_at(data, window.offset + at) for at in range(2 * window.pairs)]
        for quad in {int.from_bytes(bytes(quad), "little") | _SMALL_QUAD for quad in product(*choices[:4])}:
            mixed = quad * int(_FACTORS[0])
            self.quads[_place(mixed)] |= _WHOLE if window.pairs == 2 else _BEGUN
            self.cues.setdefault(quad, []).append((window.offset, data, name))
            for third in product(*choices[4:]):
                pair = int.from_bytes(bytes(third), "little") | _SMALL_PAIR
                self.triples[_place(mixed + pair * int(_FACTORS[1]))] |= window.pairs == _PAIRS


class CueFilter:
    """Finds cues in a batch of encoded texts."""

    def __init__(self, cues: Collection[str]) -> None:
        self._anchors = np.zeros(1 << 16, np.uint8)
        self._tables = [_Table() for _ in range(_PAIRS)]
        for cue in cues:
            data = cue.encode()
            assert len(data) >= _MIN_BYTES, cue
            for parity in (0, 1):
                window = _rarest_window(data, parity)
                at = window.offset + 2 * window.anchor
                for first, second in product(_bytes_at(data, at), _bytes_at(data, at + 1)):
                    self._anchors[first | second << 8] |= 1 << window.anchor
                self._tables[window.anchor].add(data, cue, window)

    def find(self, data: bytes) -> Iterator[tuple[int, str]]:
        """Yield (byte offset, cue) for every place of every cue, in no particular order."""
        # Zeros at either end, so that a window may reach over it.
        margin = 2 * _PAIRS
        padded = bytes(margin) + data + bytes(margin + len(data) % 2)
        pairs: npt.NDArray[np.uint16] = np.frombuffer(padded, "<u2")
        anchors = self._anchors.take(pairs[_PAIRS - 1 : 1 - _PAIRS])
        found = np.flatnonzero(anchors != 0)
        anchors = anchors.take(found)
        for number, table in enumerate(self._tables):
            places = found[(anchors & np.uint8(1 << number)) != 0] + (_PAIRS - 1 - number)
            for place, quad in zip(*table.likely(pairs, places), strict=True):
                for offset, cue, name in table.cues.get(quad, ()):
                    at = 2 * place - margin - offset
                    if at >= 0 and data[at : at + len(cue)].lower() == cue:
                        yield at, name


def _place(mixed: int) -> int:
    return (mixed & 0xFFFFFFFF) >> (32 - _HASH_BITS)


def _rarest_window(data: bytes, parity: int) -> _Window:
    """Return the rarest window of a cue: of three pairs inside it, else of two, else with one byte that may be any."""
    size = next((size for size in (_PAIRS, 2) if parity + 2 * size <= len(data)), 2)
    offsets: Sequence[int] = range(parity, len(data) - 2 * size + 1, 2) or ((-1,) if parity else (0,))
    chosen = min(offsets, key=lambda offset: _frequency(data[max(offset, 0) : offset + 2 * size]))
    pairs = [data[max(at, 0) : at + 2] for at in range(chosen, chosen + 2 * size, 2)]
    return _Window(chosen, size, min(range(size), key=lambda number: _frequency(pairs[number])))


def _frequency(data: bytes) -> float:
    """Return a guess how often some bytes stand together: the fewer there are the more often."""
    frequency = 1.0
    for byte in data:
        at = _FREQUENT.find(byte)
        # The bytes of other scripts: one of few begins a character, one of many ends it.
        frequency *= 0.1 * 0.88**at if at >= 0 else 0.05 if byte >= 0xC0 else 0.01
    return frequency


def _bytes_at(data: bytes, at: int) -> Sequence[int]:
    """Return which bytes may stand at a place of a cue: either case of a letter, anything outside."""
    if not 0 <= at < len(data):
        return _ANY
    return sorted({data[at], *data[at : at + 1].upper()})
