"""Units of text into posting lists, a batch at a time.

Owns: how units are batched, how occurrences become counts, how batches become one set of lists.
Knows nothing of: documents, files, queries.
Invariants: 1. the result is the same however units fall into batches. 2. work is linear in the text, but for one sort of each
    batch and one of the distinct terms.
Purity: pure.
See: docs/search.md (analysis), docs/on-disk-format.md (postings).
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from indexerd.analysis.rows import Rows
from indexerd.analysis.spans import Spans, find_spans
from indexerd.analysis.stream import Stream, read_stream
from indexerd.analysis.vocabulary import Numbers, SpanHasher, Vocabulary
from indexerd.postings import Column, Field, Postings

# Code points in a batch: its arrays stay in the processor's second cache.
_BATCH = 1 << 18
_COLUMN_BITS = 4
_COLUMN_MASK = (1 << _COLUMN_BITS) - 1
# A key is term number, chunk within the batch, column. 36 bits leave 2**27 terms and hold 2**32 chunks.
_PLACE_BITS = 36
_PLACE_MASK = (1 << _PLACE_BITS) - 1


class Unit(NamedTuple):
    """A piece of searchable text: the ordinal of its chunk, where it stands, and any text."""

    chunk: int
    field: Field
    text: str


class _Batch(NamedTuple):
    """Postings of one batch, ascending by (term number, chunk)."""

    terms: Numbers
    chunks: npt.NDArray[np.int32]
    codes: npt.NDArray[np.uint32]


def invert(units: Sequence[Unit], chunk_count: int, language: str, keys: Sequence[tuple[int, str]] = ()) -> Postings:
    """Return the posting lists of some units.

    Args:
        units: Ascending by chunk.
        chunk_count: Number of chunks; every unit's chunk is below it.
        language: Snowball language, or `none`.
        keys: `(chunk, term)`: terms taken as they are, counted once as a name, not part of the length; ascending by chunk.
    """
    return invert_languages([(language, units)], chunk_count, keys)


def invert_languages(
    groups: Iterable[tuple[str, Sequence[Unit]]], chunk_count: int, keys: Sequence[tuple[int, str]] = ()
) -> Postings:
    """Return the posting lists of units of several languages, as `invert` does.

    Args:
        groups: `(language, units)`; no chunk in two groups, chunks ascending through all of them.
        chunk_count: As for `invert`.
        keys: As for `invert`.
    """
    vocabulary, rows = Vocabulary(), Rows()
    lengths = np.zeros(chunk_count, np.uint32)
    batches = [_key_batch(keys, vocabulary, rows)] if keys else []
    for language, units in groups:
        batches += [_invert_batch(batch, language, vocabulary, rows, lengths) for batch in _batches(units)]
    return _assemble([batch for batch in batches if len(batch.terms)], vocabulary, rows, lengths)


def _batches(units: Sequence[Unit]) -> Iterator[Sequence[Unit]]:
    """Cut units into batches of at least _BATCH code points, between chunks."""
    begin, size = 0, 0
    for at, unit in enumerate(units):
        if size >= _BATCH and unit.chunk != units[at - 1].chunk:
            yield units[begin:at]
            begin, size = at, 0
        size += len(unit.text)
    if begin < len(units):
        yield units[begin:]


def _invert_batch(
    units: Sequence[Unit], language: str, vocabulary: Vocabulary, rows: Rows, lengths: npt.NDArray[np.uint32]
) -> _Batch:
    chunks, fields, texts = zip(*units, strict=True)
    stream = read_stream(texts)
    spans = find_spans(stream)
    first = chunks[0]
    owners = np.array(chunks, np.int64) - first
    _count_lengths(stream, spans, owners, lengths[first:])
    column = np.array(fields, np.int64) * 2
    keys = _occurrences(stream, spans, (owners << _COLUMN_BITS) | column, language, vocabulary)
    return _aggregate(keys, first, rows)


def _count_lengths(
    stream: Stream, spans: Spans, owners: npt.NDArray[np.int64], lengths: npt.NDArray[np.uint32]
) -> None:
    for starts in (spans.counted, spans.ideographs):
        pieces = np.diff(np.searchsorted(starts, stream.starts), append=len(starts))
        counts = np.bincount(owners, weights=pieces)
        lengths[: len(counts)] += counts.astype(np.uint32)


def _occurrences(
    stream: Stream, spans: Spans, places: npt.NDArray[np.int64], language: str, vocabulary: Vocabulary
) -> npt.NDArray[np.int64]:
    """Return one key for each occurrence: term number, chunk within the batch, column; unordered."""
    hasher = SpanHasher(stream.codes)
    text = stream.codes.tobytes().decode("utf-32-le")
    kinds = (
        (spans.word_starts, spans.word_ends),
        (spans.whole_starts, spans.whole_ends),
        (spans.ideographs, spans.ideographs + 1),
        (spans.pairs, spans.pairs + 2),
    )
    found = []
    for kind, (starts, ends) in enumerate(kinds):
        if not len(starts):
            continue
        numbers = vocabulary.numbers(hasher.hashes(starts, ends), starts, ends, text)
        place = places[np.searchsorted(stream.starts, starts, "right") - 1]
        found.append((numbers.astype(np.int64) << _PLACE_BITS) | place)
        if kind == 0:
            stems = vocabulary.stem_numbers(numbers, language)
            stemmed = np.flatnonzero(stems >= 0)
            found.append((stems[stemmed].astype(np.int64) << _PLACE_BITS) | place[stemmed] | 1)
    return np.concatenate(found) if found else np.zeros(0, np.int64)


def _aggregate(keys: npt.NDArray[np.int64], first: int, rows: Rows) -> _Batch:
    """Count equal keys, and turn the counts of each (term, chunk) into a row."""
    keys = np.sort(keys)
    entries = np.flatnonzero(np.diff(keys, prepend=-1))
    counts = np.diff(entries, append=len(keys))
    values = keys[entries]
    pairs = values >> _COLUMN_BITS
    groups = np.flatnonzero(np.diff(pairs, prepend=-1))
    codes = rows.codes(groups, values & _COLUMN_MASK, counts) if len(groups) else np.zeros(0, np.uint32)
    pairs = pairs[groups]
    terms = (pairs >> (_PLACE_BITS - _COLUMN_BITS)).astype(np.int32)
    chunks = ((pairs & (_PLACE_MASK >> _COLUMN_BITS)) + first).astype(np.int32)
    return _Batch(terms, chunks, codes)


def _key_batch(keys: Sequence[tuple[int, str]], vocabulary: Vocabulary, rows: Rows) -> _Batch:
    distinct = sorted({(vocabulary.number(term), chunk) for chunk, term in keys})
    terms, chunks = (np.array(side, np.int32) for side in zip(*distinct, strict=True))
    code = rows.number([(Column.NAME_EXACT, 1)])
    return _Batch(terms, chunks, np.full(len(distinct), code, np.uint32))


def _assemble(
    batches: Sequence[_Batch], vocabulary: Vocabulary, rows: Rows, lengths: npt.NDArray[np.uint32]
) -> Postings:
    """Scatter the batches' postings to their places: by term in string order, by batch within a term."""
    order = sorted(range(len(vocabulary.terms)), key=vocabulary.terms.__getitem__)
    rank = np.zeros(len(order), np.int64)
    rank[order] = np.arange(len(order))
    sizes = np.zeros(len(order), np.int64)
    for batch in batches:
        sizes += np.bincount(rank[batch.terms], minlength=len(order))
    starts = np.concatenate(([0], np.cumsum(sizes)))
    chunks, codes = np.zeros(starts[-1], np.int32), np.zeros(starts[-1], np.uint32)
    free, ranks = starts[:-1].copy(), rows.ranks()
    for batch in batches:
        heads = np.flatnonzero(np.diff(batch.terms, prepend=-1))
        counts = np.diff(heads, append=len(batch.terms))
        terms = rank[batch.terms[heads]]
        places = np.arange(len(batch.terms)) + np.repeat(free[terms] - heads, counts)
        free[terms] += counts
        chunks[places], codes[places] = batch.chunks, ranks[batch.codes]
    terms = tuple(map(vocabulary.terms.__getitem__, order))
    return Postings(terms=terms, starts=starts, chunks=chunks, codes=codes, frequencies=rows.table(), lengths=lengths)
