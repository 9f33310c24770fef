"""Segments against their promises, on random documents."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from indexerd.documents.parse import parse_document
from indexerd.errors import CorruptionError, FormatVersionError
from indexerd.indexing import build_segment
from indexerd.model import Settings, SourcePath
from indexerd.store.segment import decode_segment, encode_segment, merge_segments, segment_hash, stored_hash

LINES = [
    "# One", "## Two {#b}", "word other", "getUserName row_group_size", "v6.2.8 and 6.2.8", "数据库检索", "", "```",
    "a " * 300,     "| a | b |", "|---|---|", "| 1 | 2 |", "tail #tag", "\ufeffx", "é e\u0301",
]  # fmt: skip
HEADS = [b"", b"---\ntitle: T\ntags: [x, y]\nacl: [a]\n---\n", b"---\n: broken\n---\n", b"\xef\xbb\xbf", b"\xff\xfe\n"]
names = st.sampled_from([SourcePath(name) for name in ("a.md", "b/a.md", "b/é.md", "b.txt", "c/Meeting.md", "z.rst")])
contents = st.tuples(st.sampled_from(HEADS), st.lists(st.sampled_from(LINES), max_size=12)).map(
    lambda parts: parts[0] + "\n".join(parts[1]).encode()
)
corpora = st.dictionaries(names, contents, max_size=5)
SETTINGS = Settings(max_chars=120)


def encoded(segment):
    return b"".join(encode_segment(segment))


def build(corpus, tombstones=()):
    return build_segment(list(corpus.items()), SETTINGS, tombstones)


@settings(max_examples=120, deadline=None)
@given(corpora, st.lists(names, max_size=2))
def test_a_segment_survives_its_bytes(corpus, dead):
    """Decoding the bytes of a segment gives the same documents, chunks, postings, texts, and the same bytes again."""
    dead = [name for name in dead if name not in corpus]
    built = build(corpus, dead)
    read = decode_segment(memoryview(encoded(built)), "s", verify=True)
    assert encoded(read) == encoded(built)
    assert [read.document(i) for i in range(read.document_count)] == [built.document(i) for i in range(len(corpus))]
    assert [read.chunk(i) for i in range(read.chunk_count)] == [built.chunk(i) for i in range(built.chunk_count)]
    assert read.tombstones == tuple(sorted(set(dead), key=str.encode))
    assert {path: bytes(read.raw(read.find(path))) for path in corpus} == corpus
    for number in range(read.postings.term_count):
        term = built.postings.term(number)
        assert (read.postings.term(number), read.postings.find(term)) == (term, number)
        assert read.postings.chunks_of(number).tolist() == built.postings.chunks_of(number).tolist()
        assert read.postings.codes_of(number).tolist() == built.postings.codes_of(number).tolist()


@settings(max_examples=120, deadline=None)
@given(corpora)
def test_a_segment_holds_what_was_parsed(corpus):
    """Every chunk has the lines, bytes, headings and hash that parsing gave."""
    segment = decode_segment(memoryview(encoded(build(corpus))), "s", verify=False)
    for path, raw in corpus.items():
        parsed, number = parse_document(path, raw, SETTINGS), segment.find(path)
        first = int(segment.first_chunks[number])
        for at, chunk in enumerate(parsed.chunks, first):
            stored = segment.chunk(at)
            assert stored.span == (chunk.first_line, chunk.last_line)
            assert (stored.content_hash, stored.occurrence) == (chunk.content_hash, chunk.occurrence)
            assert (stored.heading_path, stored.is_hit) == (chunk.heading_path, chunk.is_hit)
            assert segment.chunk_text(at) == chunk.text
        assert int(segment.first_chunks[number + 1]) == first + len(parsed.chunks)


@settings(max_examples=150, deadline=None)
@given(st.lists(corpora, min_size=1, max_size=4), st.booleans(), st.booleans())
@example([{SourcePath("a.md"): b"x"}, {}], False, False)
@example([{SourcePath("a.md"): b"x"}, {SourcePath("a.md"): b""}], False, True)
def test_a_merge_equals_one_build(history, through_bytes, packed):
    """Whatever the history, merging the live documents gives the bytes that one build over them gives."""
    final, parts = {}, []
    for corpus in history:
        final |= corpus
    for at, corpus in enumerate(history):
        segment = build(corpus)
        if through_bytes:
            segment = decode_segment(memoryview(encoded(segment)), "s", verify=True)
        later = set().union(*history[at + 1 :])
        live = np.array([segment.paths[i] not in later for i in range(segment.document_count)], np.bool_)
        parts.append((segment, live))
    assert encoded(merge_segments(parts, packed=packed)) == encoded(build(final))


@settings(max_examples=60, deadline=None)
@given(corpora, corpora, st.lists(names, max_size=3))
def test_merging_keeps_tombstones_of_what_is_gone(older, newer, dead):
    """A tombstone stays unless the document lives in the result or nothing earlier is left to hide."""
    dead = {name for name in dead if name not in newer}
    first, second = build(older), build(newer, sorted(dead))
    live = np.array([path not in newer and path not in dead for path in (first.paths[i] for i in range(len(older)))])
    parts = [(first, live.astype(np.bool_)), (second, np.ones(len(newer), np.bool_))]
    assert set(merge_segments(parts).tombstones) == dead
    assert merge_segments(parts, drop_tombstones=True).tombstones == ()


@settings(max_examples=60, deadline=None)
@given(corpora)
def test_the_order_of_files_does_not_show(corpus):
    """Equal files give equal bytes in any order, and the bytes have one hash that the file tells too."""
    backwards = build_segment(list(reversed(corpus.items())), SETTINGS)
    parts = encode_segment(backwards)
    assert b"".join(parts) == encoded(build(corpus))
    assert segment_hash(parts) == stored_hash(memoryview(b"".join(parts)), "s")


def test_every_changed_byte_is_noticed():
    """A flipped bit anywhere, padding included, a missing or an added byte is an error of the store's own kind."""
    data = encoded(build({SourcePath("a.md"): b"# A\n\nword\n", SourcePath("b.md"): b"other"}, [SourcePath("c.md")]))
    for at in range(len(data)):
        damaged = bytearray(data)
        damaged[at] ^= 1 << (at % 8)
        with pytest.raises((CorruptionError, FormatVersionError)):
            decode_segment(memoryview(bytes(damaged)), "s", verify=True)
    for cut in (0, 5, 40, len(data) // 2, len(data) - 1):
        with pytest.raises(CorruptionError):
            decode_segment(memoryview(data[:cut]), "s", verify=True)
    with pytest.raises(CorruptionError):
        decode_segment(memoryview(data + b"\0"), "s", verify=True)
