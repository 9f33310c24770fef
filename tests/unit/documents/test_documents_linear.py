"""Reading costs time in proportion to the bytes, whatever they are."""

import time

import pytest

from indexerd.documents import parse_document
from indexerd.model import Settings, SourcePath

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


def seconds(raw, name):
    start = time.process_time()
    parse_document(SourcePath(name), raw, Settings())
    return time.process_time() - start


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a.md", "a.rst", "a.org"])
@pytest.mark.parametrize("unit", UNITS)
def test_four_times_the_bytes_cost_about_four_times_the_time(unit, name):
    """A square law would cost sixteen times; the bound leaves room for a busy machine."""
    start = b"---\n" if unit == "front matter" else b"# "
    count = 100_000 // len(UNITS[unit])
    small = min(seconds(start + UNITS[unit] * count, name) for _ in range(2))
    # A machine that is busy elsewhere takes time from one try or two; a square law takes it from each.
    assert any(seconds(start + UNITS[unit] * (4 * count), name) < 9 * small + 0.1 for _ in range(5))
