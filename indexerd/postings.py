"""Posting lists as arrays: which chunks hold which term, how often, in which field.

Owns: the frozen posting value, its order, and how several are merged.
Knows nothing of: text, documents, files.
Invariants: 1. terms ascend by code point, chunks ascend within a term, no pair twice. 2. `frequencies` holds each distinct
    row once, in lexicographic order, and only rows that are used: equal input gives equal arrays.
Purity: pure.
See: docs/on-disk-format.md (postings).
"""

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import numpy.typing as npt


class Column(IntEnum):
    """Columns of a frequency row. Exact: the term is the word itself. Stem: the word's stem is the term, the word is not."""

    TEXT_EXACT = 0
    TEXT_STEM = 1
    HEADING_EXACT = 2
    HEADING_STEM = 3
    NAME_EXACT = 4
    NAME_STEM = 5
    TAG_EXACT = 6
    TAG_STEM = 7
    FOLDER_EXACT = 8
    FOLDER_STEM = 9


class Field(IntEnum):
    """Where a piece of text stands. `Column = 2 * Field` (exact) or `2 * Field + 1` (stem)."""

    TEXT = 0
    HEADING = 1
    NAME = 2
    TAG = 3
    FOLDER = 4


@dataclass(frozen=True, slots=True, eq=False)
class Postings:
    """Posting lists of a batch of chunks.

    Attributes:
        terms: Distinct terms, ascending by code point.
        starts: `int64[len(terms) + 1]`; list i is `chunks[starts[i]:starts[i + 1]]`.
        chunks: `int32`, chunk ordinals, ascending within a list.
        codes: `uint32`, row of `frequencies` for each posting.
        frequencies: `uint32[rows, len(Column)]`, distinct rows, lexicographic order.
        lengths: `uint32[chunk_count]`, words of each chunk over all fields (parts of identifiers not counted).
    """

    terms: tuple[str, ...]
    starts: npt.NDArray[np.int64]
    chunks: npt.NDArray[np.int32]
    codes: npt.NDArray[np.uint32]
    frequencies: npt.NDArray[np.uint32]
    lengths: npt.NDArray[np.uint32]
