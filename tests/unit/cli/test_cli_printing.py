"""What people read cannot move their cursor, reorder text or fail to encode."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexerd.cli.printing import count, escape, flatten, shorten, wants_colour

HOSTILE = {
    "csi": "\x1b[2J\x1b[31m",
    "title": "\x1b]0;pwned\x07",
    "link": "\x1b]8;;http://x\x1b\\text\x1b]8;;\x1b\\",
    "clipboard": "\x1b]52;c;AAAA\x07",
    "dcs and apc": "\x1bPq\x1b\\\x1b_x\x1b\\",
    "8-bit csi": "\x9b2J",
    "bell and backspace": "abc\x07\x08\x08\x08def",
    "overwrite": "safe\rdanger",
    "delete": "\x7f",
    "bidi": "\u202eevil\u202c \u2066x\u2069 \u200f\u061c",
    "separators": "a\u2028b\u2029c",
    "invisible": "a\u200bb\u2060c\ufeffd\U000e0041",
    "not UTF-8": "caf\udce9.md",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_text_is_shown_as_codes(text):
    """No control, bidi, invisible or undecodable character survives."""
    shown = escape(text)
    assert not any(char in shown for char in text if not char.isascii() or not char.isprintable())
    shown.encode()


@given(st.text(st.characters(exclude_categories=())))
def test_every_escaped_text_is_one_encodable_line(text):
    """Whatever the text, what is shown is one line of UTF-8 without control characters."""
    shown = escape(text)
    shown.encode()
    assert len(shown.splitlines()) <= 1
    assert not any(ord(char) < 32 or 127 <= ord(char) < 160 for char in shown)


def test_ordinary_text_of_any_script_is_left_alone():
    """Letters, marks and emoji of all scripts are shown as they are."""
    text = "héllo 日本語 ไทย नमस्ते שלום 👩‍🔬 e\u0301"
    assert escape(text) == text


def test_undecodable_bytes_are_shown_as_bytes():
    """A byte that is not UTF-8 is shown by its value."""
    assert escape(b"caf\xe9".decode("utf-8", "surrogateescape")) == "caf\\xe9"


def test_flatten_makes_one_line():
    """Tabs and line ends become spaces."""
    assert flatten("a\tb\r\nc\nd") == "a b c d"


@pytest.mark.parametrize(
    ("choice", "environ", "terminal", "expected"),
    [
        ("always", {"NO_COLOR": "1"}, False, True),
        ("never", {"CLICOLOR_FORCE": "1"}, True, False),
        ("auto", {"NO_COLOR": "1", "CLICOLOR_FORCE": "1"}, True, False),
        ("auto", {"NO_COLOR": ""}, True, True),
        ("auto", {"CLICOLOR_FORCE": "1"}, False, True),
        ("auto", {"CLICOLOR_FORCE": "0"}, False, False),
        ("auto", {"TERM": "dumb"}, True, False),
        ("auto", {}, False, False),
    ],
)
def test_colour_follows_the_usual_order(choice, environ, terminal, expected):
    """The flag wins, then NO_COLOR, then the forcing variables, then whether somebody looks."""
    assert wants_colour(choice, environ, is_terminal=terminal) is expected


def test_paths_are_shortened_below_the_current_directory_only():
    """A sibling that begins alike, and the directory itself, stay absolute."""
    assert shorten("/a/b/c", "/a/b") == "c"
    assert shorten("/a/bc", "/a/b") == "/a/bc"
    assert shorten("/a/b", "/a/b") == "/a/b"
    assert shorten("/a", "/") == "a"


def test_counts_have_singular_and_plural():
    """One document, two documents, 1,234 documents."""
    assert [count(n, "document") for n in (1, 0, 1234)] == ["1 document", "0 documents", "1,234 documents"]
