"""Distinct frequency rows, numbered.

Owns: the way from counts by column to numbers of rows.
Knows nothing of: terms, chunks, texts.
Invariants: 1. equal rows have one number. 2. numbers follow the lexicographic order of rows.
Purity: pure.
See: docs/on-disk-format.md (postings).
"""

import numpy as np
import numpy.typing as npt

from indexerd.analysis.hashing import HashNumbers, Positions, mixed
from indexerd.postings import Column

_COLUMNS = len(Column)
# Counts below this are packed, six bits a column, into one number; rows with larger ones go one by one.
_SMALL = 64
_SHIFTS = np.arange(0, 6 * _COLUMNS, 6)
_LARGE = 1 << 60

Row = tuple[int, ...]


def number_rows(
    groups: Positions, columns: Positions, counts: Positions
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
    """Return the row number of each group of (column, count) entries, and the distinct rows.

    Args:
        groups: Index of each group's first entry, ascending, the first one 0.
        columns: Column of each entry; no two equal in a group.
        counts: Count of each entry, at least 1.
    """
    if not len(groups):
        return np.zeros(0, np.uint32), np.zeros((0, _COLUMNS), np.uint32)
    packed = np.add.reduceat(counts << _SHIFTS.take(columns), groups)
    large: dict[Row, int] = {}
    owners = np.searchsorted(groups, np.flatnonzero(counts >= _SMALL), "right") - 1
    for group in dict.fromkeys(owners.tolist()):
        row = [0] * _COLUMNS
        entries = slice(groups[group], groups[group + 1] if group + 1 < len(groups) else None)
        for column, count in zip(columns[entries].tolist(), counts[entries].tolist(), strict=True):
            row[column] = count
        packed[group] = _LARGE | large.setdefault(tuple(row), len(large))
    numbers, firsts = HashNumbers().numbers(mixed(packed.view(np.uint64).copy()))
    largest = list(large)
    rows = [_unpacked(value) if value < _LARGE else largest[value ^ _LARGE] for value in packed[firsts].tolist()]
    order = sorted(range(len(rows)), key=rows.__getitem__)
    ranks = np.empty(len(rows), np.uint32)
    ranks[order] = np.arange(len(rows), dtype=np.uint32)
    return ranks.take(numbers), np.array(sorted(rows), np.uint32)


def _unpacked(value: int) -> Row:
    return tuple(value >> shift & (_SMALL - 1) for shift in _SHIFTS.tolist())
