"""Headings and fences as markdown-it-py sees them, in the form the tests compare."""

from markdown_it import MarkdownIt

from indexerd.documents import commonmark, markdown

_PARSER = MarkdownIt("commonmark")


def reference(text):
    """Return ([(first, behind, level, title)], [(first, behind)]) in line numbers from 0."""
    tokens = _PARSER.parse(text)
    headings = [
        (*token.map, int(token.tag[1]), _one_line(tokens[index + 1].content))
        for index, token in enumerate(tokens)
        if token.type == "heading_open"
    ]
    return headings, [tuple(token.map) for token in tokens if token.type == "fence"]


def full(text):
    """Return the same from the full scanner."""
    return _in_lines(text, *commonmark.scan(text))


def quick(text):
    """Return the same from the quick scanner, or None where it declines."""
    found = markdown._quick(text)
    return None if found is None else _in_lines(text, *found)


def both(text):
    """Return the same as the room itself answers."""
    return quick(text) or full(text)


def _in_lines(text, headings, fences):
    def line(offset):
        return text.count("\n", 0, offset) + (offset > 0 and text[offset - 1] != "\n")

    return (
        [(line(h.start), line(h.end), h.level, _one_line(h.title)) for h in headings],
        [(line(block.start), line(block.end)) for block in fences],
    )


def _one_line(text):
    return " ".join(text.split())
