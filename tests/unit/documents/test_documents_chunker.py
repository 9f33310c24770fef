"""Where sections are cut."""

from indexerd.documents import markdown
from indexerd.documents.chunker import cut_chunks


def texts(text, max_chars):
    return [text[cut.start : cut.end] for cut in cut_chunks(text, markdown.outline(text), max_chars)]


def paths(text, max_chars=900):
    return [cut.section.path for cut in cut_chunks(text, markdown.outline(text), max_chars)]


def test_a_section_that_fits_is_one_chunk():
    """Blank lines inside stay, those at the edges go."""
    assert texts("\n\na\n\nb\n\n\n", 120) == ["a\n\nb\n"]


def test_the_last_blank_line_is_the_preferred_cut():
    """As much as fits, up to the last blank line."""
    one, two = "a" * 50 + "\n", "b" * 50 + "\n"
    assert texts(f"{one}\n{two}\n{one}", 120) == [f"{one}\n{two}", one]


def test_without_a_blank_line_the_cut_is_between_lines():
    """Never inside one."""
    line = "a" * 50 + "\n"
    assert texts(line * 5, 120) == [line * 2, line * 2, line]


def test_a_longer_line_stays_whole():
    """The limit is a target."""
    long = "x" * 500 + "\n"
    assert texts(f"a\n{long}b\n", 120) == ["a\n", long, "b\n"]


def test_a_fence_that_fits_is_kept_whole():
    """Its blank lines are no place to cut, and it goes to the next chunk if need be."""
    fence = "```\n" + "code\n\n" * 12 + "```\n"
    words = "w" * 60 + "\n"
    assert texts(words + fence, 120) == [words, fence]


def test_a_fence_that_does_not_fit_is_cut_like_text():
    """At its blank lines, else between lines."""
    parts = texts("```\n" + "code code code\n\n" * 30 + "```\n", 120)
    assert len(parts) > 2
    assert all(len(part) <= 120 for part in parts)


def test_a_table_that_fits_is_kept_whole():
    """Rows are not parted from their header without need."""
    table = "| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 5
    words = "w" * 80 + "\n"
    assert texts(words + table, 120)[-1] == table


def test_paths_follow_the_stack_of_headings():
    """Each section stands under the open headings."""
    assert paths("x\n# A\na\n## B\nb\n#### C\nc\n## D\nd\n# E\ne\n") == [
        (), ("A",), ("A", "B"), ("A", "B", "C"), ("A", "D"), ("E",),
    ]  # fmt: skip


def test_a_heading_in_a_container_holds_until_the_container_ends():
    """Behind the quote the path is what it was before it."""
    assert paths("# A\na\n\n> ## Q\n> q\n\nb\n\n- # I\n\n  i\n- j\n\nc\n") == [
        ("A",), ("A", "Q"), ("A",), ("A", "I"), ("A",),
    ]  # fmt: skip


def test_a_heading_inside_may_outrank_the_one_outside():
    """A level-1 heading in a quote under a level-2 section stands below it and ends nothing outside."""
    assert paths("## A\n\n> # Q\n> q\n\nb\n") == [("A",), ("A", "Q"), ("A",)]
