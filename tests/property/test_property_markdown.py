"""The Markdown scanners see the headings and fences that a reference parser sees."""

import json
import re

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from tests.reference.markdown_reference import both, full, reference

# Separated by `@`: pieces of lines that open, close or look like blocks.
PIECES = (
    "# h@## h2 ##@text@> @- @* @+ @1. @2) @10. @  @    @\t@===@---@-@--@```@~~~@````@``` info@`` `@***@- - -@= =@@#@#x"
    '@\\@&@[x]@a@<div>@</div>@<!--@-->@<a>@<b@<pre>@</pre>@<?@?>@[foo]: /url@"t"'
)
MARKS = st.sampled_from(PIECES.split("@"))
LINES = st.lists(MARKS, max_size=4).map("".join)
DOCUMENTS = st.lists(LINES, max_size=9).map(lambda lines: "\n".join(lines) + "\n")
# markdown-it-py reads a `>` that is indented by four columns as the next line of an open block quote; the
# specification calls it code or the rest of a paragraph.
OUTDENTED_QUOTE = re.compile(r"^(?:    | {0,3}\t)[ \t]*>", re.MULTILINE)


@settings(max_examples=1500, deadline=None)
@given(DOCUMENTS)
@example("[foo]: /url\n===\n[foo]\n")
@example("## h2 ##\n--\n===\n")
@example("- a\n\n      # code\n\n  # heading\n")
def test_the_full_scanner_agrees_with_the_reference(text):
    """Containers, lazy lines, HTML blocks, definitions: same headings, same fences."""
    assume(not OUTDENTED_QUOTE.search(text))
    assert full(text) == reference(text)


@settings(max_examples=1500, deadline=None)
@given(DOCUMENTS)
@example("> foo\nbar\n===\n")
@example("<div>\n# no heading\n\n# heading\n")
@example("  <div>\n# no heading\n\n  ```\ncode\n\ncode\n```\n# heading\n")
def test_the_quick_scanner_and_the_full_one_together_see_what_the_full_one_sees(text):
    """Where the quick scanner reads, and where it hands over and takes back, changes nothing."""
    assume("|" not in text)
    assert both(text) == full(text)


def test_all_examples_of_the_specification_agree(data):
    """Every example of the CommonMark specification has the headings and fences of the reference."""
    found = sorted(data.rglob("spec-0.31.2.json"))
    if not found:
        pytest.skip("no CommonMark examples under --data")
    examples = json.loads(found[0].read_text())
    assert len(examples) == 652
    wrong = [
        one["example"]
        for one in examples
        if not both(one["markdown"]) == full(one["markdown"]) == reference(one["markdown"])
    ]
    assert wrong == []
