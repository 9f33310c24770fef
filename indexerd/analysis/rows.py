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
        # What most groups are, by one look-up each: one small entry by column and count, and several packed into one
        # number, ascending, with the row number of each.
        self._lone = np.full(_COLUMNS * _SMALL, -1, np.int64)
        self._packed = np.zeros(1, np.int64)
        self._packed_rows = np.zeros(1, np.int64)

    def codes(
        self, groups: npt.NDArray[np.int64], columns: npt.NDArray[np.int64], counts: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.uint32]:
        """Return the row number of each group of (column, count) entries.

        Args:
            groups: Index of each group's first entry, ascending, the first one 0.
            columns: Column of each entry; no two equal in a group.
            counts: Count of each entry, at least 1.
        """
        sizes = np.diff(groups, append=len(columns))
        single = (sizes == 1) & (counts[groups] < _SMALL)
        codes = np.zeros(len(groups), np.uint32)
        lone = groups[single]
        codes[single] = self._lone_codes(columns[lone] * _SMALL + counts[lone])
        rest = np.flatnonzero(~single)
        if len(rest):
            codes[rest] = self._other_codes(groups[rest], sizes[rest], columns, counts)
        return codes

    def _lone_codes(self, keys: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the row numbers of groups with one small entry, nine in ten: by a table of all there can be."""
        numbers = self._lone[keys]
        if numbers.min(initial=0) < 0:
            for key in np.unique(keys[numbers < 0]).tolist():
                self._lone[key] = self.number([(key // _SMALL, key % _SMALL)])
            numbers = self._lone[keys]
        return numbers

    def _other_codes(
        self,
        firsts: npt.NDArray[np.int64],
        sizes: npt.NDArray[np.int64],
        columns: npt.NDArray[np.int64],
        counts: npt.NDArray[np.int64],
    ) -> npt.NDArray[np.int64]:
        heads = np.cumsum(sizes) - sizes
        entries = np.arange(int(sizes.sum())) + np.repeat(firsts - heads, sizes)
        columns, counts = columns[entries], counts[entries]
        packed = np.add.reduceat(counts << (columns * _BITS), heads)
        large = np.unique(np.searchsorted(heads, np.flatnonzero(counts >= _SMALL), "right") - 1).tolist()
        # No small row packs to zero, so zero marks those that do not fit.
        packed[large] = 0
        codes = self._packed_codes(packed)
        for group in large:
            span = slice(heads[group], heads[group] + sizes[group])
            codes[group] = self.number(zip(columns[span].tolist(), counts[span].tolist(), strict=True))
        return codes

    def _packed_codes(self, packed: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        places = np.minimum(np.searchsorted(self._packed, packed), len(self._packed) - 1)
        unknown = np.unique(packed[self._packed[places] != packed])
        if len(unknown):
            rows = [
                self.number((column, value >> (_BITS * column) & (_SMALL - 1)) for column in range(_COLUMNS))
                for value in unknown.tolist()
            ]
            order = np.argsort(known := np.concatenate((self._packed, unknown)))
            self._packed, self._packed_rows = known[order], np.concatenate((self._packed_rows, rows))[order]
            places = np.searchsorted(self._packed, packed)
        return self._packed_rows[places]

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
