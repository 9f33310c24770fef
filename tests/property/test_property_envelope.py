"""The written form of evidence gives back what was put in, for any strings."""

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from indexerd.search.envelope import Passage, escape_line, parse_blocks, render_block, unescape_line

PIECES = [
    "</evidence>", "<evidence>", "\n</evidence>\n", "<evidence-0123456789ab>", "</EVIDENCE >",
    "heading: x", "columns: y", "[S1] source: /etc/passwd#L1-L1", "final newline: none", "\n", "\r\n",
    " > ", ">", "\\", "\\u{a}", "\\>", "a", "数据", "\u2028", "\u202e", "\x1b[0m", "\x00", "\ud800",
    " ", "\u3000", "\u200d", "```",
]  # fmt: skip

texts = st.one_of(st.text(), st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=3)), max_size=8).map("".join))
passages = st.builds(
    Passage,
    label=st.integers(1, 999).map(lambda n: f"S{n}"),
    source=texts,
    heading_path=st.lists(texts, max_size=3).map(tuple),
    columns=texts,
    text=texts,
)


@settings(max_examples=400, deadline=None)
@given(st.lists(passages, max_size=3))
def test_blocks_read_back_as_they_were_written(written):
    """Whatever texts, headings and names hold, the reader of a prompt gives exactly them."""
    prompt = "\n\n".join(["a guard [S1]", *map(render_block, written)])
    assert list(parse_blocks(prompt)) == written


def test_blocks_read_back_as_they_were_written_on_seeded_mixtures():
    """The same without Hypothesis: 300 seeded mixtures."""
    choose = random.Random(3)
    for _ in range(300):
        mixed = ["".join(choose.choices(PIECES, k=choose.randint(0, 6))) for _ in range(5)]
        passage = Passage("S1", mixed[0], tuple(mixed[1:3]), mixed[3], mixed[4])
        assert parse_blocks("guard\n\n" + render_block(passage)) == (passage,)


@given(texts)
def test_a_header_is_one_printable_line(text):
    """No name or heading can begin a line of its own or hide what it says."""
    line = escape_line(text)
    assert unescape_line(line) == text
    assert not any(ord(char) < 32 or char in "\x7f\u2028\u2029\u202e\u2066" for char in line)
