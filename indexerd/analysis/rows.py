"""Distinct frequency rows, numbered.

Owns: the numbering of rows, and the way from counts by column to row numbers.
Knows nothing of: terms, chunks, texts.
Invariants: 1. equal rows have one number. 2. `table` and `ranks` put rows in lexicographic order, only those used.
Purity: pure.
See: docs/on-disk-format.md (postings).
"""

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from indexerd.postings import Column

_COLUMNS = len(Column)
# Counts below this are packed six bits a column into one number; larger ones go one by one.
_SMALL = 64
_BITS = 6

Row = tuple[int, ...]


class Rows:
    """Rows in order of first sight."""

    def __init__(self) -> None:
        self._numbers: dict[Row, int] = {}
        self._single: dict[int, int] = {}

    def codes(
        self, groups: npt.NDArray[np.int64], columns: npt.NDArray[np.int64], counts: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.uint32]:
        """Return the row number of each group of (column, count) entries.

        Args:
            groups: Index of each group's first entry, ascending, the first one 0.
            columns: Column of each entry; no two equal in a group.
            counts: Count of each entry, at least 1.
        """
        packed = np.add.reduceat(counts << (columns * _BITS), groups)
        large = np.unique(np.searchsorted(groups, np.flatnonzero(counts >= _SMALL), "right") - 1)
        # No small row packs to zero, so zero marks those that do not fit.
        packed[large] = 0
        codes = self._packed_codes(packed)
        ends = np.append(groups[1:], len(columns))
        for group in large.tolist():
            span = slice(groups[group], ends[group])
            codes[group] = self.number(zip(columns[span].tolist(), counts[span].tolist(), strict=True))
        return codes

    def _packed_codes(self, packed: npt.NDArray[np.int64]) -> npt.NDArray[np.uint32]:
        distinct, inverse = np.unique(packed, return_inverse=True)
        numbers = [self._packed_number(value) for value in distinct.tolist()]
        return np.array(numbers, np.uint32)[inverse]

    def _packed_number(self, packed: int) -> int:
        if packed not in self._single:
            if not packed:
                return 0
            entries = ((column, packed >> (_BITS * column) & (_SMALL - 1)) for column in range(_COLUMNS))
            self._single[packed] = self.number(entries)
        return self._single[packed]

    def number(self, entries: Iterable[tuple[int, int]]) -> int:
        """Return the number of the row with these `(column, count)` entries."""
        row = [0] * _COLUMNS
        for column, count in entries:
            row[column] = count
        return self._numbers.setdefault(tuple(row), len(self._numbers))

    def table(self) -> npt.NDArray[np.uint32]:
        """Return all rows in lexicographic order."""
        return np.array(sorted(self._numbers), np.uint32).reshape(-1, _COLUMNS)

    def ranks(self) -> npt.NDArray[np.uint32]:
        """Return for each row number its place in `table`."""
        ranks = np.zeros(len(self._numbers), np.uint32)
        for rank, row in enumerate(sorted(self._numbers)):
            ranks[self._numbers[row]] = rank
        return ranks
