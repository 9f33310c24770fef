"""Units of text into posting lists.

Owns: how texts are batched, how occurrences become counts and posting lists.
Knows nothing of: documents, files, queries.
Invariants: 1. the result is the same however texts fall into batches. 2. work is linear in the text, but for one sort
    of all occurrences and one of the distinct terms.
Purity: pure.
See: docs/search.md (analysis), docs/on-disk-format.md (postings).
"""

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import compress, pairwise
from operator import not_
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from indexerd.analysis.hashing import Numbers, Positions
from indexerd.analysis.rows import Rows
from indexerd.analysis.spans import find_spans
from indexerd.analysis.stream import Stream, read_stream
from indexerd.analysis.vocabulary import Vocabulary, distinct
from indexerd.postings import Column, Field, Postings

# Code points in a batch: its arrays stay in the processor's second cache.
_BATCH = 1 << 18
# Occurrences counted at a time, likewise.
_SLICE = 1 << 15
_COLUMN_BITS = 4
_WHITE = re.compile(r"[ \t\n\r]")

# About 15 MB when full. Each build has it for itself; where two run at a time, one begins anew.
_KEPT_TERMS = 1 << 17
_kept: deque[Vocabulary] = deque(maxlen=1)


class Unit(NamedTuple):
    """A piece of searchable text: the ordinal of its chunk, where it stands, and any text."""

    chunk: int
    field: Field
    text: str


class _Occurrences(NamedTuple):
    """Term and place of each occurrence, in no order.

    Attributes:
        numbers: Of the terms.
        places: Chunk and column: the column in the low `_COLUMN_BITS`.
    """

    numbers: Numbers
    places: npt.NDArray[np.uint32]


class Units:
    """Many units of one language as columns: a tuple for each would cost as much as counting its words.

    Attributes:
        language: Snowball language, or `none`.
    """

    __slots__ = ("_places", "_texts", "language")

    def __init__(self, language: str) -> None:
        self.language = language
        self._places: list[int] = []
        self._texts: list[str] = []

    def add(self, chunk: int, field: int, text: str) -> None:
        """Add one unit of a chunk, in a `Field`."""
        self._places.append(chunk << _COLUMN_BITS | field << 1)
        self._texts.append(text)

    def batches(self) -> "Iterator[_Batch]":
        """Yield all units in batches, those in ASCII apart: there each character is a byte."""
        is_ascii = list(map(str.isascii, self._texts))
        places, mask = np.array(self._places, np.uint32), np.array(is_ascii, np.bool_)
        for chosen, among in ((is_ascii, mask), (map(not_, is_ascii), ~mask)):
            texts = list(compress(self._texts, chosen))
            if texts:
                yield from _batches(_Batch(texts, places[among]))


class _Batch(NamedTuple):
    """Texts, and the place of each."""

    texts: Sequence[str]
    places: npt.NDArray[np.uint32]


def invert(units: Sequence[Unit], chunk_count: int, language: str, keys: Sequence[tuple[int, str]] = ()) -> Postings:
    """Return the posting lists of some units.

    Args:
        units: In any order.
        chunk_count: Number of chunks; every unit's chunk is below it.
        language: Snowball language, or `none`.
        keys: `(chunk, term)`, none twice: terms taken as they are, counted as a name, not part of the length.
    """
    columns = Units(language)
    for unit in units:
        columns.add(*unit)
    return invert_languages([columns], chunk_count, keys)


def invert_languages(groups: Iterable[Units], chunk_count: int, keys: Sequence[tuple[int, str]] = ()) -> Postings:
    """Return the posting lists of units of several languages, as `invert` does.

    Args:
        groups: For each language.
        chunk_count: As for `invert`.
        keys: As for `invert`.
    """
    vocabulary = _kept_vocabulary()
    lengths = np.zeros(chunk_count, np.uint32)
    found = [_key_occurrences(keys, vocabulary)] if keys else []
    found += [_count(batch, units.language, vocabulary, lengths) for units in groups for batch in units.batches()]
    postings = _assemble(found, vocabulary, lengths)
    if len(vocabulary.terms) <= _KEPT_TERMS:
        _kept.append(vocabulary)
    return postings


def _kept_vocabulary() -> Vocabulary:
    """Return the vocabulary of a build before, which no other build has now: most words of a text were in another."""
    try:
        return _kept.pop()
    except IndexError:
        return Vocabulary()


def _batches(units: _Batch) -> Iterator[_Batch]:
    """Cut units into batches of about _BATCH code points; a far longer text at white space, where no term is cut."""
    texts, places = units
    sizes = np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)))
    cuts = np.searchsorted(sizes, np.arange(_BATCH, sizes[-1], _BATCH)) + 1
    for first, last in pairwise(sorted({0, *cuts.tolist(), len(texts)})):
        if len(texts[last - 1]) <= _BATCH:
            yield _Batch(texts[first:last], places[first:last])
            continue
        # Only the last text of a batch can be so long.
        yield _Batch(texts[first : last - 1], places[first : last - 1])
        for piece in _pieces(texts[last - 1]):
            yield _Batch([piece], places[last - 1 : last])


def _pieces(text: str) -> Iterator[str]:
    begin = 0
    while begin < len(text):
        gap = _WHITE.search(text, begin + _BATCH)
        end = gap.start() if gap else len(text)
        yield text[begin:end]
        begin = end


def _count(batch: _Batch, language: str, vocabulary: Vocabulary, lengths: npt.NDArray[np.uint32]) -> _Occurrences:
    """Return the terms of a batch, and count its words into `lengths`."""
    stream, places = read_stream(batch.texts), batch.places
    spans = find_spans(stream)
    per_piece = [_per_piece(stream, some) for some in (spans.word_starts, spans.ideographs, spans.pairs)]
    np.add.at(lengths, places >> _COLUMN_BITS, _per_piece(stream, spans.counted) + per_piece[1])
    starts = np.concatenate((spans.word_starts, spans.ideographs, spans.pairs, spans.whole_starts))
    ends = np.concatenate((spans.word_ends, spans.ideographs + 1, spans.pairs + 2, spans.whole_ends))
    text, offsets = stream.encoded()
    if offsets is not None:
        starts, ends = offsets.take(starts), offsets.take(ends)
    numbers = vocabulary.numbers(text, starts, ends)
    owners = [np.repeat(places, counts) for counts in per_piece]
    owners.append(places[np.searchsorted(stream.starts, spans.whole_starts, "right") - 1])
    stems = vocabulary.stem_numbers(numbers[: len(spans.word_starts)], language)
    stemmed = np.flatnonzero(stems >= 0)
    owners.append(owners[0][stemmed] | np.uint32(1))
    return _Occurrences(np.concatenate((numbers, stems[stemmed])), np.concatenate(owners))


def _per_piece(stream: Stream, starts: Positions) -> npt.NDArray[np.int64]:
    """Return how many of some ascending positions each piece has."""
    return np.diff(np.searchsorted(starts, stream.starts), append=len(starts))


def _key_occurrences(keys: Sequence[tuple[int, str]], vocabulary: Vocabulary) -> _Occurrences:
    chunks, terms = zip(*keys, strict=True)
    numbers = vocabulary.numbers_of([term.encode("utf-8", "replace") for term in terms])
    return _Occurrences(numbers, np.array(chunks, np.uint32) << np.uint32(_COLUMN_BITS) | np.uint32(Column.NAME_EXACT))


def _assemble(found: Sequence[_Occurrences], vocabulary: Vocabulary, lengths: npt.NDArray[np.uint32]) -> Postings:
    """Sort all occurrences by term in string order, chunk and column, and count the equal ones."""
    order = vocabulary.in_order(distinct([some.numbers for some in found], len(vocabulary.terms)))
    rank = np.empty(len(vocabulary.terms), np.int64)
    rank[order] = np.arange(len(order))
    bits = max(len(lengths) - 1, 1).bit_length() + _COLUMN_BITS
    keys = np.concatenate([np.zeros(0, np.int64), *(rank.take(some.numbers) << bits | some.places for some in found)])
    keys.sort()
    # Slice by slice, for arrays of all would not stay in the cache; no chunk of a term goes over two.
    cuts = np.searchsorted(keys, keys[_SLICE::_SLICE] >> _COLUMN_BITS << _COLUMN_BITS)
    rows, pairs, codes = Rows(), [keys[:0]], [np.zeros(0, np.int32)]
    for first, last in pairwise(sorted({0, *cuts.tolist(), len(keys)})):
        entries = _heads(keys[first:last])
        counts = np.diff(entries, append=last - first)
        columns = keys[first + entries]
        some = columns >> _COLUMN_BITS
        groups = _heads(some)
        codes.append(rows.numbers(groups, columns & ((1 << _COLUMN_BITS) - 1), counts))
        pairs.append(some[groups])
    posted = np.concatenate(pairs)
    bits -= _COLUMN_BITS
    return Postings(
        terms=tuple(vocabulary.texts(order)),
        starts=np.append(_heads(posted >> bits), len(posted)),
        chunks=(posted & ((1 << bits) - 1)).astype(np.int32),
        codes=rows.ranks().take(np.concatenate(codes)),
        frequencies=rows.table(),
        lengths=lengths,
    )


def _heads(values: npt.NDArray[Any]) -> Positions:
    """Return where each run of equal values begins."""
    return np.flatnonzero(np.concatenate((values[:1] == values[:1], values[1:] != values[:-1])))
