"""Laws of reading documents, over any bytes."""

import hashlib
import itertools

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from indexerd.documents import parse as parsing
from indexerd.documents.parse import parse_document
from indexerd.model import Settings, SourcePath

# Separated by `@`: lines and parts of lines of every format, in every kind of encoding trouble.
PIECES = (
    b"# A\n@## B {#b}\n@### C\n@Title\n=====\n@text words\n@\n@  \t\n@\r\n@a\r\n@\r@```\n@~~~\n@| a | b |\n"
    b"@|---|---|\n@| 1 | 2 |\n@> # quoted\n@- # item\n@- x\n@---\n@acl: [a]\n@key: value\n@bad: [\n@\xef\xbb\xbf"
    b"@\xff\xfe@\xe2\x80@\xe2\x80\xa8@\xc2\x85 \f\v\n@no end@#tag `#code`\n@* org\n@#+begin_src\n@#+end_src\n"
    b"@Name\n----\n@::\n\n    literal\n@+---+\n| a |\n+---+\n@\xe6\xbc\xa2\xe5\xad\x97\xe3\x80\x82\n"
    b"@\xf0\x9f\x99\x82\n"
)
LONG_LINE = b"x" * 130 + b"\n"
RAW = st.binary(max_size=200) | st.lists(st.sampled_from([*PIECES.split(b"@"), LONG_LINE]), max_size=30).map(b"".join)
NAMES = st.sampled_from(["a.md", "b/c.txt", "d.rst", "e.org", "f%2Fg.md", "noending", "x.unknown"])
BUDGETS = st.sampled_from([120, 150, 900])


def parse(name, raw, max_chars):
    return parse_document(SourcePath(name), raw, Settings(max_chars=max_chars))


@settings(max_examples=600, deadline=None)
@given(NAMES, RAW, BUDGETS)
@example("a.md", b"\xef\xbb\xbf---\nacl: [a]\n---\n\n# A\n\nx\r\n\r\n", 120)
def test_chunks_front_matter_and_blank_lines_give_the_file_back(name, raw, max_chars):
    """Every byte is in the byte-order mark, the front matter, one chunk, or a blank line between them."""
    parsed = parse(name, raw, max_chars)
    lines = raw.split(b"\n")
    lines = [line + b"\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
    assert parsed.line_count == len(lines)
    bom = 3 if raw.startswith(b"\xef\xbb\xbf") else 0
    position, line = bom + len(b"".join(lines[: parsed.front_matter_lines])[bom:]), parsed.front_matter_lines
    for chunk in parsed.chunks:
        skipped = raw[position : chunk.byte_start]
        assert skipped.strip(b" \t\r\n") == b""
        assert chunk.first_line == line + skipped.count(b"\n") + 1
        start = sum(map(len, lines[: chunk.first_line - 1]))
        assert chunk.byte_start == max(start, bom)
        assert chunk.byte_end == start + sum(map(len, lines[chunk.first_line - 1 : chunk.last_line]))
        position, line = chunk.byte_end, chunk.last_line
    assert raw[position:].strip(b" \t\r\n") == b""


@settings(max_examples=600, deadline=None)
@given(NAMES, st.lists(st.sampled_from(PIECES.split(b"@")), max_size=5).map(b"".join), BUDGETS)
@example("a.md", b"\xef\xbb\xbf# \xe6\xbc\xa2\n\nwords\n", 900)
def test_the_short_way_to_the_only_chunk_gives_what_the_long_way_gives(name, raw, max_chars):
    """A document that is one chunk is read the same, whether or not that is seen beforehand."""
    short = parse(name, raw, max_chars)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parsing, "_only_chunk", lambda *_: None)
        assert parse(name, raw, max_chars) == short


@settings(max_examples=400, deadline=None)
@given(NAMES, RAW, BUDGETS)
def test_a_chunk_is_the_exact_slice_of_the_decoded_source(name, raw, max_chars):
    """Text, hash and occurrence of a chunk follow from its bytes; blank lines stand at no edge of it."""
    parsed = parse(name, raw, max_chars)
    seen = {}
    for chunk in parsed.chunks:
        assert chunk.text == raw[chunk.byte_start : chunk.byte_end].decode(errors="replace")
        assert chunk.content_hash == hashlib.sha256(chunk.text.encode()).digest()
        assert chunk.occurrence == seen.get(chunk.content_hash, 0)
        seen[chunk.content_hash] = chunk.occurrence + 1
        lines = chunk.text.removesuffix("\n").split("\n")
        assert lines[0].strip(" \t\r")
        assert lines[-1].strip(" \t\r")
        assert len(chunk.text) <= max_chars or len(lines) == 1


@settings(max_examples=300, deadline=None)
@given(NAMES, RAW, BUDGETS)
def test_no_word_of_a_file_is_unfindable(name, raw, max_chars):
    """What a chunk says is in the searchable text of a hit: its own, or that of the chunk it lends its words to."""
    parsed = parse(name, raw, max_chars)
    findable = parsed.metadata_text.split()
    for chunk in parsed.chunks:
        if chunk.is_hit:
            findable += chunk.heading_text.split() + chunk.body_text.split()
    missing = set(" ".join(chunk.text for chunk in parsed.chunks).split()) - set(findable)
    assert missing == set()


@settings(max_examples=300, deadline=None)
@given(RAW, BUDGETS)
def test_heading_chunks_lend_only_to_a_chunk_under_them(raw, max_chars):
    """A chunk that is no hit is a heading alone, and the next chunk stands under it."""
    chunks = parse("a.md", raw, max_chars).chunks
    for chunk, following in itertools.pairwise(chunks):
        if not chunk.is_hit:
            assert chunk.body_text == ""
            assert following.heading_path[: len(chunk.heading_path)] == chunk.heading_path
    assert not chunks or chunks[-1].is_hit


@settings(max_examples=200, deadline=None)
@given(NAMES, RAW)
def test_reading_is_a_function_of_its_arguments(name, raw):
    """The same bytes give the same result, and a byte-order mark changes nothing but offsets."""
    plain = parse(name, raw, 900)
    assert parse(name, raw, 900) == plain
    if not raw.startswith(b"\xef\xbb\xbf"):
        marked = parse(name, b"\xef\xbb\xbf" + raw, 900)
        assert marked.decoded_text == plain.decoded_text
        assert [chunk._replace(byte_start=0, byte_end=0) for chunk in marked.chunks] == [
            chunk._replace(byte_start=0, byte_end=0) for chunk in plain.chunks
        ]


@settings(max_examples=200, deadline=None)
@given(RAW)
def test_the_chunk_size_changes_cuts_and_nothing_else(raw):
    """Title, tags, metadata and the words stay; only where the text is cut depends on the size."""
    small, large = parse("a.md", raw, 120), parse("a.md", raw, 900)
    assert without_chunks(small) == without_chunks(large)
    assert len(small.chunks) >= len(large.chunks)


def without_chunks(parsed):
    return parsed._replace(chunks=())
