"""Finding many short literals at once.

Owns: the filter that finds which of a hundred cues a batch of texts contains, at a cost that does not grow with them.
Knows nothing of: what a cue stands for.
Invariants: 1. the answer is exactly the cues that occur, without regard to ASCII case. 2. time is linear in the bytes.
Purity: pure.
See: docs/threat-model.md (safety gate).

Three table look-ups a byte tell where the first six bytes of some cue may stand; only there the cue itself is compared.
A loop of substring searches costs one pass a cue: at a hundred cues it would cost more than reading the documents.
"""

from collections.abc import Collection, Iterator, Sequence
from itertools import product

import numpy as np
import numpy.typing as npt

_BUCKETS = 32
_PAIRS = 4
_HEAD = 2 * _PAIRS
_MIN_BYTES = 3


class CueFilter:
    """Finds cues in a batch of encoded texts."""

    def __init__(self, cues: Collection[str]) -> None:
        self._tables = [np.zeros(1 << 16, dtype=np.uint32) for _ in range(_PAIRS)]
        self._by_head: dict[bytes, list[tuple[bytes, str]]] = {}
        # Short cues leave the last pairs open, so they share no bucket with long ones; sorted, so that those with one
        # beginning do and the tables stay sparse.
        short = sorted({cue for cue in cues if len(cue.encode()) < _HEAD})
        long = sorted({cue for cue in cues if len(cue.encode()) >= _HEAD})
        for first_bucket, ordered in ((0, short), (_BUCKETS // 2, long)):
            for index, cue in enumerate(ordered):
                self._add(cue, first_bucket + index * (_BUCKETS // 2) // len(ordered))
        self._first = self._tables[0] != 0
        self._head_lengths = sorted({len(head) for head in self._by_head})

    def _add(self, cue: str, bucket: int) -> None:
        data = cue.encode()
        assert len(data) >= _MIN_BYTES, cue
        self._by_head.setdefault(data[:_HEAD], []).append((data, cue))
        for pair, table in enumerate(self._tables):
            table[_codes(data[2 * pair : 2 * pair + 2])] |= np.uint32(1 << bucket)

    def find(self, data: bytes) -> Iterator[tuple[int, str]]:
        """Yield (byte offset, cue) for every place of every cue, in no particular order."""
        for at in (*self._candidates(data, 0), *self._candidates(data, 1)):
            head = data[at : at + _HEAD].lower()
            for length in self._head_lengths:
                for cue, name in self._by_head.get(head[:length], ()):
                    if length < _HEAD or data[at : at + len(cue)].lower() == cue:
                        yield at, name

    def _candidates(self, data: bytes, offset: int) -> list[int]:
        """Return where a cue may begin, at even (`offset` 0) or odd (1) places."""
        # Zeros behind the end, so that a cue at the very end has its eight bytes.
        padded = data + bytes(_HEAD)
        pairs: npt.NDArray[np.uint16] = np.frombuffer(padded, "<u2", (len(padded) - offset) // 2, offset)
        places = np.flatnonzero(self._first[pairs[: len(pairs) - _PAIRS + 1]])
        masks = self._tables[0][pairs[places]]
        for pair in range(1, _PAIRS):
            masks &= self._tables[pair][pairs[places + pair]]
            places, masks = places[masks != 0], masks[masks != 0]
        candidates: list[int] = (2 * places + offset).tolist()
        return candidates


def _codes(two: bytes) -> Sequence[int] | slice:
    """Return the table places for two bytes of a cue in either case; for fewer, all that may follow its end."""
    if not two:
        return slice(None)
    choices = [{byte, *chr(byte).upper().encode()} if byte < 0x80 else {byte} for byte in two]
    if len(choices) == 1:
        choices.append(set(range(256)))
    return [first | second << 8 for first, second in product(*choices)]
