"""Where sentences end, in English and Chinese."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexerd.grounding.sentences import sentences


def parted(text):
    return [text[span.start : span.end] for span in sentences(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("Dr. Smith met J. Doe in the U.S. on Jan. 5.", ["Dr. Smith met J. Doe in the U.S. on Jan. 5."]),
        ("It costs 3.50 a month, e.g. in May.", ["It costs 3.50 a month, e.g. in May."]),
        ("Version 6.2.8 is out. Use it.", ["Version 6.2.8 is out.", "Use it."]),
        ('He said "stop." Then he left.', ['He said "stop."', "Then he left."]),
        ("第一句。第二句！“第三句？”第四句", ["第一句。", "第二句！", "“第三句？”", "第四句"]),
        ("A line that was\nbroken. Next.", ["A line that was\nbroken.", "Next."]),
        ("A paragraph\n\nAnother", ["A paragraph", "Another"]),
        ("- one\n- two. Three", ["- one", "- two.", "Three"]),
        ("1. first\n2. second", ["1. first", "2. second"]),
        ("# Title\nText", ["# Title", "Text"]),
        ("| a | b |\n|---|---|\n| c. d | e |", ["| a | b |", "|---|---|", "| c. d | e |"]),
        ("Before.\n```\nx = 1. y\n\nz\n```\nAfter.", ["Before.", "```\nx = 1. y\n\nz\n```", "After."]),
        ("```\nnever closed. x", ["```\nnever closed. x"]),
        ("   \n\n ", []),
    ],
)
def test_a_text_is_parted_where_a_reader_would(text, expected):
    """Abbreviations, decimals, versions, quotes, broken lines, lists, tables and code."""
    assert parted(text) == expected


@given(st.text(alphabet="aB1 .!?。\n`-#|\u3000中\"'", max_size=60))
def test_spans_are_disjoint_and_lose_nothing_but_white_space(text):
    """Together they hold every character that is not white space, in order."""
    spans = sentences(text)
    assert all(one.end <= other.start for one, other in pairwise(spans))
    assert all(text[span.start : span.end] == text[span.start : span.end].strip() != "" for span in spans)
    assert "".join("".join(parted(text)).split()) == "".join(text.split())
