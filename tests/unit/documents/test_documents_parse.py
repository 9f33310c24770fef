"""Whole documents: lines, bytes, names, words."""

import itertools

import pytest

from indexerd.documents.parse import parse_document
from indexerd.model import FrontMatterKeys, Settings, SourcePath


def parse(raw, name="a.md", **settings):
    return parse_document(SourcePath(name), raw, Settings(**settings))


def spans(parsed):
    return [(chunk.first_line, chunk.last_line) for chunk in parsed.chunks]


def test_only_line_feeds_count_as_lines():
    """Form feeds, NEL and U+2028 move no line number."""
    parsed = parse("a\fb\u2028c\u0085\nTARGET\n".encode(), max_chars=120)
    assert parsed.line_count == 2
    assert spans(parsed) == [(1, 2)]
    (chunk,) = parse(b"word\f" * 30 + b"\nTARGET\n", max_chars=120).chunks[1:]
    assert (chunk.first_line, chunk.last_line, chunk.text) == (2, 2, "TARGET\n")


def test_a_byte_order_mark_hides_neither_heading_nor_front_matter():
    """The mark belongs to no chunk, and lines stay what they are."""
    parsed = parse(b"\xef\xbb\xbf# Title\n\nx")
    assert parsed.chunks[0].heading_path == ("Title",)
    assert parsed.chunks[0].byte_start == 3
    assert parse(b"\xef\xbb\xbf---\nacl: [a]\n---\nx\n").metadata == {"acl": ("a",)}


def test_the_closing_line_of_front_matter_underlines_nothing():
    """Front matter is metadata; the first heading is the document's."""
    parsed = parse(b"---\na: 1\nb: 2\n---\n# H\n")
    assert [chunk.heading_path for chunk in parsed.chunks] == [("H",)]
    assert (parsed.front_matter_lines, spans(parsed)) == (4, [(5, 5)])


def test_a_higher_heading_ends_the_lower_one():
    """A sub-heading does not leak into the next section."""
    chunks = parse(b"# A\n### B\nx\n## C\ny\n").chunks
    assert [chunk.heading_path for chunk in chunks] == [("A",), ("A", "B"), ("A", "C")]


def test_lines_are_those_of_the_document():
    """The term on line 250 of 300 is cited there."""
    raw = b"".join(b"line %d of the long text that goes on\n\n" % number for number in range(1, 301))
    for chunk in parse(raw).chunks:
        lines = raw.split(b"\n")[chunk.first_line - 1 : chunk.last_line]
        assert b"\n".join(lines) + b"\n" == raw[chunk.byte_start : chunk.byte_end]


def test_undecodable_bytes_are_replaced_and_flagged():
    """A Latin-1 byte costs the flag and one character, no line and no file."""
    parsed = parse(b"caf\xe9 target\n\nnext\n")
    assert parsed.problems == ("undecodable",)
    assert parsed.chunks[0].text == "caf\ufffd target\n\nnext\n"
    assert (parsed.chunks[0].byte_start, parsed.chunks[0].byte_end) == (0, 18)


def test_long_texts_are_read_to_their_end():
    """Markers at 1, 5, 6, 50 and 199 KB are all in some chunk."""
    raw = bytearray(b"some words of text\n" * 11_000)
    for place in (1, 5, 6, 50, 199):
        raw[place * 1000 : place * 1000 + 9] = b"MARKER%03d" % place
    chunks = parse(bytes(raw)).chunks
    assert all(any(f"MARKER{place:03d}" in chunk.text for chunk in chunks) for place in (1, 5, 6, 50, 199))


def test_carriage_returns_stay_in_the_text():
    """CRLF is sliced, never rebuilt."""
    (chunk,) = parse(b"# A\r\nx\r\n").chunks
    assert chunk.text == "# A\r\nx\r\n"
    assert chunk.heading_path == ("A",)


def test_an_empty_document_has_no_chunk():
    """Nothing, blank lines and front matter alone are no text."""
    for raw in (b"", b"\n\n  \n", b"---\na: 1\n---\n"):
        assert parse(raw).chunks == ()


def test_a_document_of_one_long_text_is_cut_into_chunks():
    """Five thousand lines without a heading stay below the limit, contiguous and on whole lines."""
    chunks = parse(b"twenty letters long.\n" * 5_000).chunks
    assert all(len(chunk.text) <= 900 for chunk in chunks)
    assert all(one.last_line + 1 == other.first_line for one, other in itertools.pairwise(chunks))


def test_cuts_never_split_a_character():
    """Emoji and wide characters at a cut stay whole: cuts are at lines, bytes are those of lines."""
    raw = ("👩‍👩‍👧 ─── … 漢字\n" * 200).encode()
    for chunk in parse(raw, max_chars=120).chunks:
        assert raw[chunk.byte_start : chunk.byte_end].decode() == chunk.text


def test_equal_texts_are_told_apart_by_occurrence():
    """The second equal chunk is occurrence 1."""
    chunks = parse(b"# A\nsame\n# A\nsame\n").chunks
    assert [chunk.occurrence for chunk in chunks] == [0, 1]
    assert chunks[0].content_hash == chunks[1].content_hash


@pytest.mark.parametrize(
    ("raw", "title"),
    [
        (b"---\ntitle: Given\n---\n# H\n", "Given"),
        (b"---\nTitle: ' '\n---\n# H\n", "H"),
        (b"# H\n## I\n", "H"),
        (b"# H\n# I\n", "My file"),
        (b"> # quoted\n", "My file"),
        (b"text\n", "My file"),
    ],
)
def test_the_title_is_given_or_the_only_level_one_heading_or_the_name(raw, title):
    """In that order."""
    assert parse(raw, "notes/My file.md").title == title


def test_names_come_from_front_matter_text_and_path():
    """Aliases and tags are lists or one string; inline tags count outside code; the path is decoded."""
    raw = b"---\naliases: Other\ntags: a, '#b'\nkeywords: [c]\n---\nSee #d/e and `#no` and C#x #12.\n\n```\n#no\n```\n"
    parsed = parse(raw.replace(b"a, '#b'", b"'a, #b'"), "Gu%C3%AFde/my%2Fname.v2.md".replace("%C3%AF", "ï"))
    assert parsed.aliases == ("Other",)
    assert parsed.tags == ("a", "b", "c", "d/e")
    assert parsed.folders == "Guïde"
    assert "alias" not in parsed.metadata_text.splitlines()[1:]


def test_which_keys_mean_what_is_configured():
    """Another key can carry the title."""
    keys = FrontMatterKeys(title=("name",))
    assert parse(b"---\nname: N\ntitle: T\n---\n", keys=keys).title == "N"


def test_a_heading_alone_lends_its_words_to_the_next_chunk_under_it():
    """It is a chunk, but no hit; its anchor words go along."""
    alone, section = parse(b"# Setup {#install}\n\n## Linux\ntext\n").chunks
    assert (alone.is_hit, alone.body_text) == (False, "")
    assert section.is_hit
    assert "install" in section.heading_text
    assert section.heading_text.count("Setup") == 1
    assert section.body_text == "text\n"


def test_a_heading_with_nothing_under_it_is_a_hit():
    """Otherwise its words would be lost."""
    first, last = parse(b"# A\n# B\n").chunks
    assert first.is_hit
    assert last.is_hit


def test_a_split_table_repeats_its_header_row_in_the_words_only():
    """Later parts name the header's line; their text stays the exact slice."""
    rows = b"".join(b"| value %03d | other |\n" % number for number in range(60))
    first, *others = parse(b"# T\n\n| Name | Use |\n|---|---|\n" + rows, max_chars=300).chunks[1:]
    assert first.columns_line == 0
    assert others
    for part in others:
        assert part.columns_line == 3
        assert part.body_text.endswith("| Name | Use |\n")
        assert not part.text.startswith("| Name")


def test_formats_follow_the_ending():
    """The ending chooses the format without regard to case; an unknown one is plain text."""
    for name, form in {"a.MD": "markdown", "a.txt": "text", "a.rst": "rst", "a.org": "org", "a.adoc": "text"}.items():
        assert parse(b"# x\n", name).format == form


def test_a_heading_of_many_lines_costs_no_more_than_its_text():
    """Its title is cut off, its words stay findable, and no part of it carries the whole."""
    parsed = parse(b"word%05d of a long heading\n" * 2_000 % tuple(range(2_000)) + b"===\n\ntext\n")
    assert all(len(title) <= 1001 for chunk in parsed.chunks for title in chunk.heading_path)
    assert sum(len(chunk.heading_text) for chunk in parsed.chunks) < 4 * len(parsed.decoded_text)
    assert all(chunk.is_hit for chunk in parsed.chunks)
    assert any("word01999" in chunk.heading_text for chunk in parsed.chunks)
