"""The invariants of one segment, derived anew from its text.

Owns: what must be true inside a segment.
Knows nothing of: files, manifests, how a segment is made.
Invariants: 1. every stored hash, key, span and count that follows from other stored values is computed again.
Purity: pure.
See: docs/on-disk-format.md (segments).
"""

import itertools
from collections.abc import Callable, Iterator

import numpy as np

from indexerd.digests import content_hash, fast_digest, path_key
from indexerd.store.segment import Segment


def segment_problems(data: Segment) -> Iterator[str]:
    """Yield every broken invariant of a segment that decodes, one for each document, chunk or list concerned."""
    for check in (_path_problems, _document_problems, _chunk_problems, _posting_problems):
        yield from guarded(check, data)


def guarded(check: Callable[[Segment], Iterator[str]], data: Segment) -> Iterator[str]:
    """Run a check on values that may be anything: what cannot even be decoded is a problem too."""
    try:
        yield from check(data)
    except (ValueError, IndexError, KeyError, OverflowError, TypeError) as error:
        yield f"cannot be decoded: {error}"


def _path_problems(data: Segment) -> Iterator[str]:
    paths = [data.paths[index].encode() for index in range(data.document_count)]
    tombstones = [path.encode() for path in data.tombstones]
    for kind, names, keys in (("path", paths, data.path_keys), ("tombstone", tombstones, data.tombstone_keys)):
        if any(a >= b for a, b in itertools.pairwise(names)):
            yield f"{kind}s do not ascend"
        if len(keys) != len(names):
            yield f"{len(names)} {kind}s have {len(keys)} keys"
    for index in range(data.document_count):
        if path_key(data.paths[index]) != int(data.path_keys[index]):
            yield f"document {index} has the key of another path"
    if set(paths) & set(tombstones):
        yield "holds a document and its tombstone"


def _document_problems(data: Segment) -> Iterator[str]:
    firsts = data.first_chunks.astype(np.int64)
    if firsts[0] != 0 or firsts[-1] != data.chunk_count or (np.diff(firsts) < 0).any():
        yield "chunks are not shared out among the documents"
    for index in range(data.document_count):
        raw, document = data.raw(index), data.document(index)
        if content_hash(raw) != document.content_hash or fast_digest(raw) != document.digest:
            yield f"document {index}: its text has another hash"
        if len(raw) != document.size_bytes:
            yield f"document {index}: {len(raw)} bytes of text, {document.size_bytes} said"
        if bool(data.unsafe[index]) != bool(document.unsafe):
            yield f"document {index}: marked unsafe without a finding, or the other way round"


def _chunk_problems(data: Segment) -> Iterator[str]:
    for index in range(data.document_count):
        size, lines = int(data.sizes[index]), data.document(index).line_count
        line = byte = 0
        for number in range(int(data.first_chunks[index]), int(data.first_chunks[index + 1])):
            chunk = data.chunk(number)
            in_order = line < chunk.span.first <= chunk.span.last <= lines
            if not (in_order and byte <= chunk.byte_start < chunk.byte_end <= size):
                yield f"chunk {number} lies outside its document or overlaps the one before"
            line, byte = chunk.span.last, chunk.byte_end


def _posting_problems(data: Segment) -> Iterator[str]:
    plain = data.postings.plain()
    encoded = [term.encode() for term in plain.terms]
    if any(a >= b for a, b in itertools.pairwise(encoded)):
        yield "terms do not ascend"
    if len(plain.lengths) != data.chunk_count:
        yield f"lengths of {len(plain.lengths)} chunks, {data.chunk_count} are there"
    if len(plain.chunks) and (int(plain.chunks.min()) < 0 or int(plain.chunks.max()) >= data.chunk_count):
        yield "a posting names a chunk that is not there"
    if len(plain.codes) and int(plain.codes.max()) >= len(plain.frequencies):
        yield "a posting names a frequency row that is not there"
    owners = np.repeat(np.arange(plain.term_count), np.diff(plain.starts))
    same = owners[1:] == owners[:-1]
    if (np.diff(plain.chunks.astype(np.int64))[same] <= 0).any():
        yield "chunks do not ascend within a list"
    if (np.diff(plain.starts) <= 0).any():
        yield "a term has no posting"
    if len(plain.frequencies) and not plain.frequencies.any(axis=1).all():
        yield "a frequency row is empty"
