"""Many small byte strings in one buffer.

Owns: the table of strings, its look-up and its gathering.
Knows nothing of: what the strings mean.
Invariants: 1. entry i is `blob[offsets[i]:offsets[i + 1]]`. 2. what is read from a file is proved before it is used.
Purity: pure, save that `FileTexts` reads its file.
See: docs/on-disk-format.md (segments).
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from indexerd.digests import fast_digest
from indexerd.errors import CorruptionError
from indexerd.ports import StoreFile

# A search compares with the samples in one call, then with six entries. 320,000 terms make 5,000 samples, about 0.4 MB.
_SAMPLED_EVERY = 64
_AT_ONCE = 4096
_PIECE_BYTES = 1 << 20


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

    def all(self) -> list[bytes]:
        """Return every entry, in order."""
        return list(map(bytes, self.slices(np.arange(len(self)))))

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


class FileTexts:
    """Byte strings that lie in a file, one after the other: read when asked for, and proved by their digests.

    Reads fail and files are cut short; what this returns is what was written, or an error.

    Attributes:
        is_damaged: An entry was found to be other than it was written, or could not be read.
        recover: Where such an entry may still be had; None for nowhere.
    """

    __slots__ = ("_digests", "_file", "_last", "_start", "_where", "is_damaged", "offsets", "recover")

    def __init__(
        self, file: StoreFile, start: int, sizes: npt.NDArray[np.uint64], digests: npt.NDArray[np.uint8], where: str
    ) -> None:
        """Nothing is read yet.

        Args:
            file: Where they lie.
            start: Offset of the first.
            sizes: Length of each.
            digests: `fast_digest` of each, 16 bytes a row.
            where: Name of the file, for the error.
        """
        self._file, self._start, self._digests, self._where = file, start, digests, where
        self.offsets = table_of(b"", sizes.astype(np.int64)).offsets
        # Passages of one document are asked for one after the other.
        self._last: tuple[int, bytes] = (-1, b"")
        self.is_damaged = False
        self.recover: Callable[[int], bytes | None] | None = None

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, number: int) -> bytes:
        """Return an entry.

        Raises:
            CorruptionError: The file does not have it any more.
        """
        last, text = self._last
        if last == number:
            return text
        found = self._read(number)
        if found is None:
            self.is_damaged = True
            found = self.recover(number) if self.recover is not None else None
        if found is None or not self._is_whole(number, found):
            raise CorruptionError(self._where, f"text {number} is not what was written")
        self._last = (number, found)
        return found

    def _read(self, number: int) -> bytes | None:
        begin, end = self.offsets.item(number), self.offsets.item(number + 1)
        try:
            text = self._file.read_at(self._start + begin, end - begin)
        except OSError:
            return None
        return text if self._is_whole(number, text) else None

    def _is_whole(self, number: int, text: bytes) -> bool:
        return bytes(self._digests[number]) == fast_digest(text)

    def slices(self, numbers: npt.NDArray[np.int64]) -> list[bytes]:
        """Return some entries. Raises as `[]`."""
        return [self[number] for number in numbers.tolist()]

    @property
    def blob(self) -> bytes:
        """All entries, in order. Raises as `[]`."""
        return b"".join(self.slices(np.arange(len(self))))


class GatheredTexts:
    """Byte strings of several tables in an order of their own: each is read when asked for, as its table reads it."""

    __slots__ = ("_number", "_table", "_tables", "offsets")

    def __init__(
        self,
        tables: Sequence["Texts"],
        table: npt.NDArray[np.int64],
        number: npt.NDArray[np.int64],
        lengths: npt.NDArray[np.integer],
    ) -> None:
        """Nothing is read yet.

        Args:
            tables: Where they lie.
            table: Which of the tables each lies in.
            number: Its number there.
            lengths: Its length.
        """
        self._tables, self._table, self._number = tables, table, number
        self.offsets = table_of(b"", lengths).offsets

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, number: int) -> bytes | memoryview:
        return self._tables[self._table.item(number)][self._number.item(number)]

    def slices(self, numbers: npt.NDArray[np.int64]) -> list[bytes | memoryview]:
        """Return some entries."""
        return [self[number] for number in numbers.tolist()]

    @property
    def blob(self) -> bytes:
        """All entries, in order."""
        return b"".join(self.slices(np.arange(len(self))))


Texts = BytesTable | FileTexts | GatheredTexts


class Pieces(Sequence[bytes | memoryview]):
    """Parts of a file, then the entries of a table, many to a piece and read each time it is asked for, then an end."""

    def __init__(self, parts: Sequence[bytes | memoryview], texts: FileTexts | GatheredTexts, end: bytes) -> None:
        self._parts, self._texts, self._end = parts, texts, end
        cuts = np.arange(_PIECE_BYTES, texts.offsets.item(-1), _PIECE_BYTES)
        self._bounds = sorted({0, len(texts), *(np.searchsorted(texts.offsets[1:], cuts) + 1).tolist()})

    def __len__(self) -> int:
        return len(self._parts) + len(self._bounds)

    def __getitem__(self, number: int) -> bytes | memoryview:  # type: ignore[override]  # no slices: nobody needs them
        at = number - len(self._parts)
        if at < 0:
            return self._parts[number]
        if at + 1 < len(self._bounds):
            return b"".join(self._texts.slices(np.arange(self._bounds[at], self._bounds[at + 1])))
        if at < len(self._bounds):
            return self._end
        raise IndexError(number)


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
        # Not all at once: a view of an entry is many times as large as the entry.
        for first in range(0, len(self.table), _AT_ONCE):
            for piece in self.table.slices(np.arange(first, min(first + _AT_ONCE, len(self.table)))):
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
