"""Many small byte strings in one buffer.

Owns: the table of strings, its look-up and its gathering.
Knows nothing of: what the strings mean.
Invariants: 1. entry i is `blob[offsets[i]:offsets[i + 1]]`.
Purity: pure.
See: docs/on-disk-format.md (segments).
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

# A search compares with the samples in one call, then with six entries. 320,000 terms make 5,000 samples, about 0.4 MB.
_SAMPLED_EVERY = 64


@dataclass(frozen=True, slots=True, eq=False)
class BytesTable:
    """Byte strings by number.

    Attributes:
        offsets: `int64[n + 1]`, ascending.
        blob: The bytes of all, in order.
    """

    offsets: npt.NDArray[np.int64]
    blob: bytes | memoryview
    # Every so many entries of a table that is searched, made at the first search.
    _samples: list[bytes] = field(default_factory=list, init=False, repr=False)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, number: int) -> bytes | memoryview:
        return self.blob[self.offsets.item(number) : self.offsets.item(number + 1)]

    def lengths(self) -> npt.NDArray[np.int64]:
        """Return the length of each entry."""
        return np.diff(self.offsets)

    def slices(self, numbers: npt.NDArray[np.int64]) -> list[bytes | memoryview]:
        """Return some entries."""
        begins, ends = self.offsets[numbers].tolist(), self.offsets[numbers + 1].tolist()
        blob = self.blob
        return [blob[begin:end] for begin, end in zip(begins, ends, strict=True)]

    def first_at_least(self, key: bytes) -> int:
        """Return the number of the first entry that is not below `key`, of a table in ascending order."""
        samples = self._samples or self._sampled()
        block = bisect_left(samples, key)
        low, high = max(block - 1, 0) * _SAMPLED_EVERY, min(block * _SAMPLED_EVERY, len(self))
        # One conversion for the block: indexing an array for single numbers costs more than comparing the entries.
        blob, first, bounds = self.blob, low, self.offsets[low : high + 1].tolist()
        while low < high:
            middle = (low + high) >> 1
            if bytes(blob[bounds[middle - first] : bounds[middle - first + 1]]) < key:
                low = middle + 1
            else:
                high = middle
        return low

    def _sampled(self) -> list[bytes]:
        samples = [bytes(entry) for entry in self.slices(np.arange(0, len(self), _SAMPLED_EVERY))]
        object.__setattr__(self, "_samples", samples)
        return samples

    def find(self, key: bytes) -> int:
        """Return the number of an entry of a table in ascending order, -1 if it is not there."""
        at = self.first_at_least(key)
        return at if at < len(self) and bytes(self[at]) == key else -1


@dataclass(frozen=True, slots=True, eq=False)
class TextTable(Sequence[str]):
    """The same as a sequence of strings in UTF-8."""

    table: BytesTable

    def __len__(self) -> int:
        return len(self.table)

    def __getitem__(self, number: int) -> str:  # type: ignore[override]  # no slices: nobody needs them
        if number >= len(self.table):
            raise IndexError(number)
        return str(self.table[number], "utf-8")

    def __iter__(self) -> Iterator[str]:
        for piece in self.table.slices(np.arange(len(self.table))):
            yield str(piece, "utf-8")


def bytes_table(pieces: Sequence[bytes | memoryview]) -> BytesTable:
    """Return a table of some byte strings."""
    return table_of(b"".join(pieces), np.fromiter(map(len, pieces), np.int64, len(pieces)))


def table_of(blob: bytes | memoryview, lengths: npt.NDArray[np.integer]) -> BytesTable:
    """Return the table of a buffer and the lengths of its entries."""
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return BytesTable(offsets, blob)


def text_table(texts: Sequence[str]) -> TextTable:
    """Return a table of some strings, none with a line feed in it."""
    # One encoding for all, and the lengths from where the line feeds stand: a call for each costs five times as much.
    blob = "\n".join(texts).encode() + b"\n" if texts else b""
    ends = np.flatnonzero(np.frombuffer(blob, np.uint8) == ord("\n"))
    assert len(ends) == len(texts), "a line feed in a text of a table"
    return TextTable(table_of(blob.replace(b"\n", b""), np.diff(ends, prepend=-1) - 1))
