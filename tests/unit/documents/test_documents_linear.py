"""Reading costs time in proportion to the bytes, whatever they are."""

import pytest

from indexerd.documents.parse import parse_document
from indexerd.model import Settings, SourcePath
from tests.fakes.costs import is_linear

UNITS = {
    "words": b"some words of text here\n",
    "one line": b"x",
    "blank line": b" ",
    "headings": b"# h\n",
    "underlines": b"a\n===\n",
    "fences": b"```\n~~~~~\n",
    "fences in lists": b"- x\n\n  ```\n  a\n  ```\n",
    "quotes": b"> ",
    "lists": b"- ",
    "rules": b"- - ",
    "delimiter rows": b"|-|\n",
    "open tags": b'<a b="',
    "comments": b"<!--\n\n",
    "brackets": b"[",
    "definitions": b"[a]: /u\n",
    "tags": b"` #t `",
    "backticks": b"` `` ",
    "anchors": b"{#a}",
    "undecodable": b"\xff\n",
    "front matter": b"b: [\n",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a.md", "a.rst", "a.org"])
@pytest.mark.parametrize("unit", UNITS)
def test_four_times_the_bytes_cost_about_four_times_the_time(unit, name):
    """Whatever unit a document is made of, in each format."""
    start = b"---\n" if unit == "front matter" else b"# "

    def parse(count):
        parse_document(SourcePath(name), start + UNITS[unit] * count, Settings())

    assert is_linear(parse, 100_000 // len(UNITS[unit]))
