"""What a format tells the chunker about a text: headings, and blocks better kept whole.

Owns: the values between the format modules and the chunker, and the form of a title.
Knows nothing of: any format, bytes, line numbers.
Invariants: 1. offsets are in characters of the body and stand at line starts. 2. headings and blocks are in
    document order.
Purity: pure.
See: docs/glossary.md.
"""

import re
from typing import NamedTuple

# Makes a named tuple from a tuple of all its fields, in half the time of its own constructor: for those of which every
# document has several.
new_tuple = tuple.__new__


class Heading(NamedTuple):
    """One heading.

    Attributes:
        start: Offset of its first line.
        end: Offset behind its last line, line end included.
        level: 1 is outermost.
        title: Its text without markers and anchors, on one line.
        depth: How many containers (block quotes, list items) enclose it.
        scope_end: Offset where the innermost container ends, and the heading with it; -1 at the top level.
    """

    start: int
    end: int
    level: int
    title: str
    depth: int = 0
    scope_end: int = -1


class Block(NamedTuple):
    """Lines that are kept whole where they fit: a fence (`header_end` is 0) or a table.

    Attributes:
        start: Offset of its first line.
        end: Offset behind its last line.
        header_end: Offset behind the header row of a table, which its later parts repeat; 0 for a fence.
    """

    start: int
    end: int
    header_end: int = 0


class Outline(NamedTuple):
    """All that a format module says about one text.

    Attributes:
        headings: In document order.
        blocks: In document order, not overlapping.
        title: What the format itself calls the document's title; empty if nothing.
        tags: Tags that the format itself declares.
    """

    headings: list[Heading]
    blocks: list[Block]
    title: str = ""
    tags: tuple[str, ...] = ()


# `{#id}` (Pandoc, Hugo, Docusaurus) and `{/*id*/}` (MDX) name a target; they are no part of the title.
_ANCHOR = re.compile(r"\{(?:#[^{}\s]*|/\*[^{}]*\*/)\}")


# A "heading" of a megabyte is legal Markdown, and its title stands in the path of every chunk below it.
_MAX_TITLE_CHARS = 1000


def clean_title(text: str) -> str:
    """Return a heading's text as one line without its anchor, cut off where no reader would go on."""
    title = text.strip()
    if title.endswith("}"):
        # From the last brace only, so that a line of a million braces is still read once.
        brace = title.rfind("{")
        if brace >= 0 and _ANCHOR.fullmatch(title, brace):
            title = title[:brace].rstrip()
    if "\n" in title:
        title = " ".join(title.split())
    return title if len(title) <= _MAX_TITLE_CHARS else title[:_MAX_TITLE_CHARS].rstrip() + "…"
