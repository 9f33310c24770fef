"""Markdown: what is a heading, a fence, a table."""

import pytest

from indexerd.documents import markdown


def titles(text):
    return [(heading.level, heading.title) for heading in markdown.outline(text).headings]


def fences(text):
    return [text[block.start : block.end] for block in markdown.outline(text).blocks if not block.header_end]


@pytest.mark.parametrize(
    ("line", "title"),
    [
        ("# Title ##", "Title"),
        ("# C#", "C#"),
        ("# foo \\#", "foo \\#"),
        ("#\tTab", "Tab"),
        ("# Setup {#setup}", "Setup"),
        ("# Setup {/*setup*/}", "Setup"),
        ("# Sets {a, b}", "Sets {a, b}"),
        ("# Braces {#a {#b}", "Braces {#a"),
        ("#", ""),
        ("# ##", ""),
    ],
)
def test_an_atx_title_loses_its_closing_marks_and_anchor(line, title):
    """A closing run of `#` counts only behind a space; anchors are no part of the title."""
    assert titles(f"{line}\n") == [(1, title)]


def test_setext_underlines_of_any_length_make_headings():
    """One character underlines; a rule behind a blank line does not."""
    assert titles("Title\n=====\n\nSub\n-\ntext\n\n---\n") == [(1, "Title"), (2, "Sub")]


def test_a_setext_heading_may_span_lines():
    """All lines of the paragraph are the title."""
    assert titles("two\nlines\n===\n") == [(1, "two lines")]


@pytest.mark.parametrize(
    "text",
    [
        "```bash\n# install deps\n```\n",
        "~~~\n```\n# no\n~~~\n",
        "````md\n```\n# no\n```\n# no\n````\n",
        "- item\n\n   ```\n   # no\n   ```\n",
        "1. item\n\n   ```\n   # no\n   ```\n",
        '```js {title="x"}\n# no\n```\n',
        "    # indented code\n",
        "\t# indented code\n",
        "<!--\n# no\n-->\n",
        "<div>\n# no\n</div>\n",
        "<pre>\n\n# no\n\n</pre>\n",
        "#no space\n",
        "####### seven\n",
        "\\# escaped\n",
        "```\n# never closed\n",
        "> ```\n> # quoted code\n",
    ],
)
def test_code_html_and_look_alikes_hold_no_heading(text):
    """What a Markdown reader shows as code, markup or words is no heading."""
    assert titles(text) == []


def test_a_fence_closes_only_with_its_own_mark():
    """Same character, at least as long, nothing behind it."""
    text = "````\n```\n~~~~\n```` x\n`````\nafter\n"
    assert fences(text) == ["````\n```\n~~~~\n```` x\n`````\n"]


def test_headings_in_containers_end_with_them():
    """A heading in a quote or list item is a heading, below what encloses the container, and ends with it."""
    outline = markdown.outline("# A\n\n> # Q\n> text\n\nafter\n")
    quoted = outline.headings[1]
    assert (quoted.title, quoted.depth) == ("Q", 1)
    assert "# A\n\n> # Q\n> text\n\nafter\n"[quoted.scope_end :].strip() == "after"


def test_a_lazy_line_cannot_be_underlined():
    """`===` behind a paragraph that continues a quote without its mark is words."""
    assert titles("> foo\nbar\n===\n") == []


def test_definitions_are_no_heading_text():
    """Link reference definitions above an underline belong to no title."""
    assert titles("[foo]: /url\nTitle\n===\n") == [(1, "Title")]
    assert titles("[foo]: /url\n===\n") == []


def test_two_hyphens_below_a_heading_are_words():
    """They are no rule and no underline, so the next line may underline them."""
    assert titles("## a\n--\n===\n") == [(2, "a"), (1, "--")]


def test_a_table_is_its_header_row_and_all_rows_with_bars():
    """The block knows where its header row ends."""
    text = "words\n\n| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n\nafter | bar\n"
    (block,) = markdown.outline(text).blocks
    assert text[block.start : block.end] == "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n"
    assert text[block.start : block.header_end] == "| a | b |\n"


def test_a_table_inside_a_fence_is_code():
    """Nothing inside a fence is a table."""
    assert all(not block.header_end for block in markdown.outline("```\n| a |\n|---|\n| 1 |\n```\n").blocks)


@pytest.mark.parametrize("text", ["", "\n", "\r\n", "   ", "#", "```", ">", "-", "|-", "<!--"])
def test_the_smallest_texts_are_read(text):
    """Nothing is too small to have an outline."""
    markdown.outline(text)


def test_carriage_returns_belong_to_line_ends():
    """CRLF changes neither titles nor fences."""
    assert titles("# A ##\r\nB\r\n===\r\n```\r\n# c\r\n```\r\n# D\r\n") == [(1, "A"), (1, "B"), (1, "D")]
