"""One spelling for each name."""

import pytest

from indexerd.model import Root, SourcePath
from indexerd.naming import decode_name, encode_name, root_of, source_path, split_source_path

ONE = Root(label="docs", path="/srv/docs")
DOCS = Root(label="docs", path="/srv/docs", prefixed=True)
NOTES = Root(label="notes", path="/srv/notes", prefixed=True)


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"guide/setup.md", "guide/setup.md"),
        ("résumé 日本.md".encode(), "résumé 日本.md"),
        (b"\xcf\xf0.md", "%CF%F0.md"),
        (b"a\nb.md", "a%0Ab.md"),
        (b"a\x1b[31m.md", "a%1B[31m.md"),
        (b"\x7f", "%7F"),
        ("\x9b".encode(), "%C2%9B"),
        ("a\u2028b".encode(), "a%E2%80%A8b"),
        ("a\u202eb".encode(), "a%E2%80%AEb"),
        (b"100%.md", "100%.md"),
        (b"100%41.md", "100%2541.md"),
        (b"%2f", "%252f"),
        (b"%4\xff", "%4%FF"),
        (b"%%41", "%%2541"),
        ("\ud800".encode("utf-8", "surrogatepass"), "%ED%A0%80"),
    ],
)
def test_a_name_has_one_printable_spelling(raw, text):
    """Odd bytes are percent-encoded, all others stay as they are, and the spelling leads back."""
    assert encode_name(raw) == text
    assert decode_name(text) == raw


@pytest.mark.parametrize("text", ["%41", "%c3", "%C3%A9", "a\nb", "%0a", "x\u202e", "%e2%80%a8", "\udcff"])
def test_a_second_spelling_is_refused(text):
    """What encoding would never write names no file, so that a file has exactly one name."""
    with pytest.raises(ValueError):
        decode_name(text)


def test_a_single_root_needs_no_prefix():
    """Below an unprefixed root a source path is the relative path."""
    assert source_path(ONE, b"a/b.md") == "a/b.md"
    assert source_path(ONE, b"") == ""
    assert split_source_path([ONE], SourcePath("a/b.md")) == (ONE, b"a/b.md")


def test_a_prefix_tells_the_roots_apart():
    """Below prefixed roots the label leads, and no other label is accepted."""
    assert source_path(NOTES, b"a.md") == "notes/a.md"
    assert source_path(NOTES, b"") == "notes"
    assert split_source_path([DOCS, NOTES], SourcePath("notes/a.md")) == (NOTES, b"a.md")
    assert split_source_path([DOCS, NOTES], SourcePath("other/a.md")) is None
    assert split_source_path([DOCS, NOTES], SourcePath("notes")) is None
    assert root_of([DOCS, NOTES], SourcePath("docs/x")) == DOCS


@pytest.mark.parametrize(
    "text", ["", "/etc/passwd", "../x", "a/../x", "a/..", ".", "a/./b", "a//b", "a/", "a%00b", "%41"]
)
def test_a_request_cannot_name_what_a_scan_would_not(text):
    """Dots, empty components and NUL lead nowhere."""
    assert split_source_path([ONE], SourcePath(text)) is None


@pytest.mark.parametrize("text", ["..a", "a..", "...", ".hidden", "a/..b/c"])
def test_dots_inside_a_name_are_only_characters(text):
    """Only a component that is nothing but one or two dots is odd."""
    assert split_source_path([ONE], SourcePath(text)) == (ONE, text.encode())
