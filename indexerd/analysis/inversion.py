"""Units of text into posting lists, a batch at a time.

Owns: how units are batched, how occurrences become counts, how batches become one set of lists.
Knows nothing of: documents, files, queries.
Invariants: 1. the result is the same however units fall into batches. 2. work is linear in the text, but for one sort
    of each batch and one of the distinct terms.
Purity: pure.
See: docs/search.md (analysis), docs/on-disk-format.md (postings).
"""

import re
from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from indexerd.analysis.hashing import Positions, SpanHasher
from indexerd.analysis.ordering import sort_numbers
from indexerd.analysis.rows import Rows
from indexerd.analysis.spans import Spans, find_spans
from indexerd.analysis.stream import Stream, read_stream
from indexerd.analysis.vocabulary import Numbers, Vocabulary
from indexerd.postings import Column, Field, Postings

# Code points in a batch: its arrays stay in the processor's second cache.
_BATCH = 1 << 18
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
    """How often each term stands in each column of each chunk.

    Attributes:
        bits: Low bits of a key that hold chunk within the batch and column; the term number stands above.
        keys: Ascending, none twice.
        counts: At least 1.
    """

    bits: int
    keys: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int64]


class _Batch(NamedTuple):
    """Postings of one batch, ascending by (term number, chunk)."""

    terms: Numbers
    chunks: npt.NDArray[np.int32]
    codes: npt.NDArray[np.uint32]


class Units:
    """Many units of one language as columns: a tuple for each would cost as much as counting its words.

    Attributes:
        language: Snowball language, or `none`.
    """

    __slots__ = ("_rows", "language")

    def __init__(self, language: str) -> None:
        self.language = language
        self._rows: list[tuple[int, int, str]] = []

    def add(self, chunk: int, field: int, text: str) -> None:
        """Add one unit of a chunk, in a `Field`; no chunk below the last one's."""
        self._rows.append((chunk, field, text))

    def columns(self) -> "_Columns":
        """Return chunk, place and text of each unit."""
        if not self._rows:
            return _Columns(np.zeros(0, np.int64), np.zeros(0, np.int64), ())
        chunks, fields, texts = zip(*self._rows, strict=True)
        count = len(texts)
        columns = np.fromiter(fields, np.int64, count) * 2
        return _Columns(np.fromiter(chunks, np.int64, count), columns, texts)


class _Columns(NamedTuple):
    """Units by column.

    Attributes:
        chunks: Chunk of each unit, ascending.
        columns: Exact column of its field.
        texts: Text of each unit.
    """

    chunks: Positions
    columns: Positions
    texts: Sequence[str]


def invert(units: Sequence[Unit], chunk_count: int, language: str, keys: Sequence[tuple[int, str]] = ()) -> Postings:
    """Return the posting lists of some units.

    Args:
        units: Ascending by chunk.
        chunk_count: Number of chunks; every unit's chunk is below it.
        language: Snowball language, or `none`.
        keys: `(chunk, term)`: terms taken as they are, counted once as a name, not part of the length.
    """
    columns = Units(language)
    for unit in units:
        columns.add(*unit)
    return invert_languages([columns], chunk_count, keys)


def invert_languages(groups: Iterable[Units], chunk_count: int, keys: Sequence[tuple[int, str]] = ()) -> Postings:
    """Return the posting lists of units of several languages, as `invert` does.

    Args:
        groups: No chunk in two groups, chunks ascending through all of them.
        chunk_count: As for `invert`.
        keys: As for `invert`.
    """
    vocabulary, rows = _kept_vocabulary(), Rows()
    lengths = np.zeros(chunk_count, np.uint32)
    batches = [_key_batch(keys, vocabulary, rows)] if keys else []
    for units in groups:
        columns = units.columns()
        batches += [
            _invert_batch(columns, batch, units.language, vocabulary, rows, lengths) for batch in _batches(columns)
        ]
    postings = _assemble([batch for batch in batches if len(batch.terms)], vocabulary, rows, lengths)
    if len(vocabulary.terms) <= _KEPT_TERMS:
        _kept.append(vocabulary)
    return postings


def _kept_vocabulary() -> Vocabulary:
    """Return the vocabulary of a build before, which no other build has now: most words of a text were in another."""
    try:
        return _kept.pop()
    except IndexError:
        return Vocabulary()


def _batches(units: _Columns) -> Iterator[slice]:
    """Cut units into batches of at least _BATCH code points, between chunks."""
    sizes = list(accumulate(map(len, units.texts), initial=0))
    begin, count = 0, len(units.texts)
    while begin < count:
        end = min(bisect_left(sizes, sizes[begin] + _BATCH, begin + 1), count)
        end = int(np.searchsorted(units.chunks, units.chunks[end - 1], "right"))
        yield slice(begin, end)
        begin = end


def _invert_batch(  # noqa: PLR0913, PLR0917 (what is of the batch, and what is of the build)
    units: _Columns,
    batch: slice,
    language: str,
    vocabulary: Vocabulary,
    rows: Rows,
    lengths: npt.NDArray[np.uint32],
) -> _Batch:
    first = int(units.chunks[batch.start])
    places = ((units.chunks[batch] - first) << _COLUMN_BITS) | units.columns[batch]
    counted = [
        _count(pieces, places[taken], language, vocabulary, lengths[first:])
        for pieces, taken in _portions(units.texts[batch])
    ]
    occurrences = counted[0] if len(counted) == 1 else _added(counted)
    return _to_rows(occurrences, first, rows)


def _portions(texts: Sequence[str]) -> Iterator[tuple[Sequence[str], npt.NDArray[np.int64]]]:
    """Yield pieces of the texts of a batch, and which text each is of, in portions that memory holds easily.

    A batch is one portion, but for a chunk far longer than any should be (one line of megabytes): that is cut at white
    space, where no term is cut with it.
    """
    if sum(map(len, texts)) <= 2 * _BATCH:
        yield texts, np.arange(len(texts))
        return
    for number, text in enumerate(texts):
        begin = 0
        while begin < len(text):
            gap = _WHITE.search(text, begin + _BATCH)
            end = gap.start() if gap else len(text)
            yield [text[begin:end]], np.array([number])
            begin = end


def _count(
    pieces: Sequence[str],
    places: npt.NDArray[np.int64],
    language: str,
    vocabulary: Vocabulary,
    lengths: npt.NDArray[np.uint32],
) -> _Occurrences:
    """Count the terms of some pieces, and their words into `lengths`."""
    stream = read_stream(pieces)
    spans = find_spans(stream)
    _count_lengths(stream, spans, places >> _COLUMN_BITS, lengths)
    numbers, owned = _occurrences(stream, spans, places, language, vocabulary)
    if not len(numbers):
        return _Occurrences(_COLUMN_BITS, np.zeros(0, np.int64), np.zeros(0, np.int64))
    # As few bits as hold the places: each 16 bits of the keys are one pass of the sort.
    bits = max(int(places.max()).bit_length(), _COLUMN_BITS)
    keys = sort_numbers((numbers.astype(np.int64) << bits) | owned)
    heads = _heads(keys)
    return _Occurrences(bits, keys[heads], np.diff(heads, append=len(keys)))


def _added(counted: Sequence[_Occurrences]) -> _Occurrences:
    """Return the sum of some counts."""
    bits = max(some.bits for some in counted)
    masks = ((some, (1 << some.bits) - 1) for some in counted)
    keys = np.concatenate([((some.keys >> some.bits) << bits) | (some.keys & mask) for some, mask in masks])
    distinct, inverse = np.unique(keys, return_inverse=True)
    counts = np.zeros(len(distinct), np.int64)
    np.add.at(counts, inverse, np.concatenate([some.counts for some in counted]))
    return _Occurrences(bits, distinct, counts)


def _count_lengths(
    stream: Stream, spans: Spans, owners: npt.NDArray[np.int64], lengths: npt.NDArray[np.uint32]
) -> None:
    for starts in (spans.counted, spans.ideographs):
        counts = np.bincount(owners, weights=_per_piece(stream, starts))
        lengths[: len(counts)] += counts.astype(np.uint32)


def _per_piece(stream: Stream, starts: Positions) -> Positions:
    """Return how many of some ascending positions each piece has."""
    return np.diff(np.searchsorted(starts, stream.starts), append=len(starts))


def _occurrences(
    stream: Stream, spans: Spans, places: npt.NDArray[np.int64], language: str, vocabulary: Vocabulary
) -> tuple[Numbers, npt.NDArray[np.int64]]:
    """Return the term number of each occurrence, and its place: chunk within the batch and column; unordered."""
    starts = np.concatenate((spans.word_starts, spans.whole_starts, spans.ideographs, spans.pairs))
    ends = np.concatenate((spans.word_ends, spans.whole_ends, spans.ideographs + 1, spans.pairs + 2))
    hashes = SpanHasher(stream.codes).hashes(starts, ends)
    numbers = vocabulary.numbers(hashes, starts, ends, stream.codes)
    owned = np.concatenate(
        (
            np.repeat(places, _per_piece(stream, spans.word_starts)),
            places[np.searchsorted(stream.starts, spans.whole_starts, "right") - 1],
            np.repeat(places, _per_piece(stream, spans.ideographs)),
            np.repeat(places, _per_piece(stream, spans.pairs)),
        )
    )
    words = len(spans.word_starts)
    stems = vocabulary.stem_numbers(numbers[:words], language)
    stemmed = np.flatnonzero(stems >= 0)
    return np.concatenate((numbers, stems[stemmed])), np.concatenate((owned, owned[stemmed] | 1))


def _to_rows(occurrences: _Occurrences, first: int, rows: Rows) -> _Batch:
    """Turn the counts of each (term, chunk) into a row."""
    bits, values, counts = occurrences
    if not len(values):
        return _Batch(np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0, np.uint32))
    pairs = values >> _COLUMN_BITS
    groups = _heads(pairs)
    codes = rows.codes(groups, values & ((1 << _COLUMN_BITS) - 1), counts)
    pairs = pairs[groups]
    bits -= _COLUMN_BITS
    chunks = (pairs & ((1 << bits) - 1)) + first
    return _Batch((pairs >> bits).astype(np.int32), chunks.astype(np.int32), codes)


def _heads(values: npt.NDArray[Any]) -> Positions:
    """Return where each run of equal values begins; there is at least one value."""
    return np.concatenate(([0], np.flatnonzero(values[1:] != values[:-1]) + 1))


def _key_batch(keys: Sequence[tuple[int, str]], vocabulary: Vocabulary, rows: Rows) -> _Batch:
    chunks, terms = zip(*keys, strict=True)
    numbers = vocabulary.numbers_of(terms).astype(np.int64)
    distinct = np.unique((numbers << 32) | np.array(chunks, np.int64))
    code = rows.number([(Column.NAME_EXACT, 1)])
    return _Batch(
        (distinct >> 32).astype(np.int32),
        (distinct & 0xFFFFFFFF).astype(np.int32),
        np.full(len(distinct), code, np.uint32),
    )


def _assemble(
    batches: Sequence[_Batch], vocabulary: Vocabulary, rows: Rows, lengths: npt.NDArray[np.uint32]
) -> Postings:
    """Scatter the batches' postings to their places: by term in string order, by batch within a term."""
    size = len(vocabulary.terms)
    used = np.zeros(size, np.bool_)
    for batch in batches:
        used[batch.terms] = True
    order = vocabulary.in_order(np.flatnonzero(used))
    rank = np.empty(size, np.int64)
    rank[order] = np.arange(len(order))
    runs = [_run(batch, rank) for batch in batches]
    sizes = np.zeros(len(order), np.int64)
    for terms, _, counts in runs:
        sizes[terms] += counts
    starts = np.concatenate(([0], np.cumsum(sizes)))
    chunks, codes = np.zeros(starts[-1], np.int32), np.zeros(starts[-1], np.uint32)
    free, ranks = starts[:-1].copy(), rows.ranks()
    for batch, (terms, heads, counts) in zip(batches, runs, strict=True):
        places = np.arange(len(batch.terms)) + np.repeat(free[terms] - heads, counts)
        free[terms] += counts
        chunks[places], codes[places] = batch.chunks, ranks[batch.codes]
    names = tuple(map(vocabulary.terms.__getitem__, order.tolist()))
    return Postings(terms=names, starts=starts, chunks=chunks, codes=codes, frequencies=rows.table(), lengths=lengths)


def _run(batch: _Batch, rank: npt.NDArray[np.int64]) -> tuple[Positions, Positions, Positions]:
    """Return for each term of a batch: its rank, where its postings begin, how many they are."""
    heads = _heads(batch.terms)
    return rank[batch.terms[heads]], heads, np.diff(heads, append=len(batch.terms))
