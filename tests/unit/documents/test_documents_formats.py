"""reStructuredText and Org."""

from indexerd.documents import org, rst


def test_org_headlines_blocks_and_keywords():
    """Stars give the level; tags, title and blocks are read."""
    text = "#+TITLE: T\n#+FILETAGS: :f:g:\n* One :x:y:\ntext\n** Two\n#+BEGIN_SRC c\n#+TITLE: no\n** \n"
    outline = org.outline(text)
    assert [(heading.level, heading.title) for heading in outline.headings] == [(1, "One"), (2, "Two"), (2, "")]
    assert outline.tags == ("f", "g", "x", "y")
    assert outline.title == "T"


def test_org_blocks_and_tables_are_kept_whole():
    """A block runs to its own end line; a table knows its header row."""
    text = "#+begin_src c\n| no |\n#+end_src\n| a |\n|---|\n| 1 |\nx\n"
    block, table = org.outline(text).blocks
    assert text[block.start : block.end] == "#+begin_src c\n| no |\n#+end_src\n"
    assert text[table.start : table.end] == "| a |\n|---|\n| 1 |\n"
    assert text[table.start : table.header_end] == "| a |\n"


def test_rst_levels_follow_the_first_use_of_a_style():
    """Character and overline make a style; styles rank in order of appearance."""
    text = "=====\nTitle\n=====\n\nPart\n====\n\nSub\n---\n\nPart 2\n======\n"
    assert [(heading.level, heading.title) for heading in rst.outline(text).headings] == [
        (1, "Title"), (2, "Part"), (3, "Sub"), (2, "Part 2"),
    ]  # fmt: skip


def test_rst_words_transitions_and_literals_are_no_titles():
    """Text above, short underlines, rules and indented blocks make no section."""
    text = "a line\nanother\n-------\n\nshort title\n--\n\n----------\n\n::\n\n    Code\n    ====\n\n  Quote\n  -----\n"
    assert rst.outline(text).headings == []


def test_rst_literal_blocks_and_tables_are_kept_whole():
    """Indented blocks behind `::`, grid tables and simple tables."""
    literal = "Run::\n\n    a\n\n    b\n"
    grid = "+---+\n| a |\n+===+\n| 1 |\n+---+\n"
    simple = "=== ===\na   b\n=== ===\n1   2\n=== ===\n"
    text = f"{literal}\n{grid}\n{simple}"
    assert [text[block.start : block.end] for block in rst.outline(text).blocks] == [literal, grid, simple]
