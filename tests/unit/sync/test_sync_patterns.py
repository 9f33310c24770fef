"""One ignore file, as git reads it."""

import pytest

from indexerd.sync.patterns import parse_patterns
from tests.fakes.costs import costs_less_than


def verdict(text, path, *, is_folder=False):
    path = path.encode()
    return parse_patterns(text.encode()).verdict(path.rpartition(b"/")[2], path, is_folder=is_folder)


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("foo", "foo", True),
        ("foo", "a/b/foo", True),
        ("foo", "foo/bar", None),
        ("/foo", "foo", True),
        ("/foo", "a/foo", None),
        ("a/b", "a/b", True),
        ("a/b", "x/a/b", None),
        ("*.md", "x/y.md", True),
        ("*.md", ".md", True),
        ("a/*.md", "a/b/c.md", None),
        ("a/**", "a/b/c", True),
        ("a/**", "a", None),
        ("**/a", "a", True),
        ("**/a", "x/y/a", True),
        ("a/**/b", "a/b", True),
        ("a/**/b", "a/x/y/b", True),
        ("a**b", "axyb", True),
        ("a/x**y", "a/x/y", None),
        ("foo**/bar", "foobar", True),
        ("?.md", "é.md", None),
        ("??.md", "é.md", True),
        ("[a-c]x", "bx", True),
        ("[!a-c]x", "bx", None),
        ("[^a-c]x", "dx", True),
        ("[[:digit:]]", "7", True),
        ("[[:digit:]]", "x", None),
        ("[]a]", "]", True),
        ("[z-a]", "m", None),
        ("[z-a]", "z", True),
        ("[!]", "!", None),
        ("[!]a]x", "bx", True),
        ("[\\]]", "]", True),
        ("[a/b]c", "ac", True),
        ("[a/b]c", "x/ac", None),
        ("x/[a/b]c", "x/ac", True),
        ("x[^a]y", "x/y", None),
        ("[[:foo:]]", "f", None),
        ("[[:alpha:][:digit:]_]", "7", True),
        ("a[/]b", "a/b", None),
        ("[", "[", None),
        ("foo\\", "foo\\", None),
        ("\\#x", "#x", True),
        ("#x", "#x", None),
        ("\\!x", "!x", True),
        ("x  ", "x", True),
        ("x\\ ", "x ", True),
        ("x\r", "x", True),
        ("\ufeffx", "x", True),
        ("!x", "x", False),
        ("x\n!x", "x", False),
        ("!x\nx", "x", True),
        ("/", "x", None),
        ("//", "x", None),
        ("a/**/", "a", None),
        ("a***b/c", "axb/c", True),
        ("a/***/b", "a/x/y/b", True),
        ("x**\\/y", "x/y", True),
        ("x**\\/y", "xy", None),
        ("voil\u00e0", "voil\u00e0", True),
        ("tab\t", "tab\t", True),
        ("a", "b\nc/a", True),
        ("", "x", None),
        ("*", "a\nb", True),
    ],
)
def test_a_line_means_what_git_means(pattern, path, expected):
    """Anchors, stars, brackets, escapes, negation and trailing spaces."""
    assert verdict(pattern, path) is expected


@pytest.mark.parametrize("pattern", ["foo/", "/foo/", "**/foo/", "f*/"])
def test_a_slash_at_the_end_means_folders_only(pattern):
    """A file of that name is not meant."""
    assert verdict(pattern, "foo", is_folder=True) is True
    assert verdict(pattern, "foo") is None


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*a" * 60 + "b", "a" * 255),
        ("**/a/" * 40 + "b", "a/" * 1000 + "c"),
        ("**/*a*/" * 30 + "b", "aaaa/" * 500 + "c"),
        ("[a-z]*" * 50 + "9", "q" * 255),
        ("/".join(["**", "*a*a*a*"] * 20) + "/z", "/".join(["a" * 200] * 20)),
    ],
)
def test_no_pattern_can_hold_the_walk(pattern, path):
    """Patterns made to backtrack are answered at once, though a plain translation would take years."""
    assert verdict(pattern, path) is None
    assert costs_less_than(1.0, lambda: verdict(pattern, path))


@pytest.mark.parametrize(
    ("pattern", "may"),
    [
        ("*.log", False), ("build/", False), (".env", False), ("!a.md", False), ("a?b", False), ("*.MD", True),
        ("draft*", True), ("*", True), ("docs/**", True), ("a.md", True), ("d", True), ("[a-z].m[d]", True),
        ("\\.md", True),
    ],
)  # fmt: skip
def test_lines_that_cannot_speak_of_documents_are_known(pattern, may):
    """Only a line that could ignore a file with an indexed ending makes the walk ask about each file."""
    assert parse_patterns(pattern.encode()).may_ignore((b".md", b".txt")) is may
