"""Distinct frequency rows, numbered.

Owns: the way from counts by column to numbers of rows.
Knows nothing of: terms, chunks, texts.
Invariants: 1. equal rows have one number. 2. `table` and `ranks` put rows in lexicographic order.
Purity: pure.
See: docs/on-disk-format.md (postings).
"""

import numpy as np
import numpy.typing as npt

from indexerd.analysis.hashing import HashNumbers, Numbers, Positions, mixed
from indexerd.postings import Column

_COLUMNS = len(Column)
# Counts below this are packed, six bits a column, into one number; rows with larger ones go one by one.
_SMALL = 64
_SHIFTS = np.arange(0, 6 * _COLUMNS, 6)
_LARGE = 1 << 60

Row = tuple[int, ...]


class Rows:
    """Rows in order of first sight."""

    def __init__(self) -> None:
        self._known = HashNumbers()
        self._rows: list[Row] = []
        self._large: dict[Row, int] = {}

    def numbers(self, groups: Positions, columns: Positions, counts: Positions) -> Numbers:
        """Return the row number of each group of (column, count) entries.

        Args:
            groups: Index of each group's first entry, ascending, the first one 0; at least one.
            columns: Column of each entry; no two equal in a group.
            counts: Count of each entry, at least 1.
        """
        packed = np.add.reduceat(counts << _SHIFTS.take(columns), groups)
        owners = np.searchsorted(groups, np.flatnonzero(counts >= _SMALL), "right") - 1
        for group in dict.fromkeys(owners.tolist()):
            row = [0] * _COLUMNS
            entries = slice(groups[group], groups[group + 1] if group + 1 < len(groups) else None)
            for column, count in zip(columns[entries].tolist(), counts[entries].tolist(), strict=True):
                row[column] = count
            packed[group] = _LARGE | self._large.setdefault(tuple(row), len(self._large))
        numbers, new = self._known.numbers(mixed(packed.astype(np.uint64)))
        if len(new):
            large = list(self._large)
            values = packed[new].tolist()
            self._rows += [_unpacked(value) if value < _LARGE else large[value ^ _LARGE] for value in values]
        return numbers

    def table(self) -> npt.NDArray[np.uint32]:
        """Return all rows in lexicographic order."""
        return np.array(sorted(self._rows), np.uint32).reshape(-1, _COLUMNS)

    def ranks(self) -> npt.NDArray[np.uint32]:
        """Return for each row number its place in `table`."""
        ranks = np.empty(len(self._rows), np.uint32)
        ranks[sorted(range(len(self._rows)), key=self._rows.__getitem__)] = np.arange(len(self._rows), dtype=np.uint32)
        return ranks


def _unpacked(value: int) -> Row:
    return tuple(value >> shift & (_SMALL - 1) for shift in _SHIFTS.tolist())
