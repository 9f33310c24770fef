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
    """Return the same from the full scanner alone."""
    found = commonmark.scan(text)
    return _in_lines(text, found.headings, found.fences)


def both(text):
    """Return the same as the room answers: the quick scanner, and the full one where containers matter."""
    outline = markdown.outline(text)
    return _in_lines(text, outline.headings, [block for block in outline.blocks if not block.header_end])


def _in_lines(text, headings, fences):
    def line(offset):
        return text.count("\n", 0, offset) + (offset > 0 and text[offset - 1] != "\n")

    return (
        [(line(h.start), line(h.end), h.level, _one_line(h.title)) for h in headings],
        [(line(block.start), line(block.end)) for block in fences],
    )


def _one_line(text):
    return " ".join(text.split())
