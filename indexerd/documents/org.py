"""Org: headlines, blocks, tables, `#+TITLE:` and `#+FILETAGS:`.

Owns: how an Org text is divided.
Knows nothing of: chunks, bytes, front matter.
Invariants: 1. a headline ends every block, as in Org itself. 2. linear time.
Purity: pure.
See: docs/search.md (chunks).
"""

import re

from indexerd.documents.outline import Block, Heading, Outline, clean_title

_EVENT = re.compile(
    r"\n(?:"
    r"(?P<stars>\*++)[ ]"
    r"|[ \t]*+(?:"
    r"\#\+begin_(?P<begin>\w++)|\#\+end_(?P<end>\w++)"
    r"|\#\+(?P<key>title|filetags):[ \t]*+(?P<value>[^\n]*)"
    r"|(?P<table>\|)))",
    re.IGNORECASE,
)
_TAGS = re.compile(r"[ \t]:([\w@#%:]+):\Z")
_HEADER_RULE = re.compile(r"[ \t]*+\|-")


def outline(text: str) -> Outline:
    """Return headlines and blocks of an Org text."""
    scan = f"\n{text}\n"
    headings: list[Heading] = []
    blocks: list[Block] = []
    tags: list[str] = []
    title = opened = ""
    opened_at = position = 0
    while (event := _EVENT.search(scan, position)) is not None:
        position = event.end()
        kind = event.lastgroup
        if kind == "stars":
            position = scan.index("\n", position)
            name, own_tags = _headline(scan[event.end() : position])
            headings.append(Heading(event.start(), min(position, len(text)), len(event["stars"]), name))
            tags += own_tags
            opened = ""
        elif kind == "begin":
            if not opened:
                opened, opened_at = event["begin"].lower(), event.start()
        elif kind == "end":
            if opened and event["end"].lower() == opened:
                blocks.append(Block(opened_at, min(scan.index("\n", position), len(text))))
                opened = ""
        elif kind == "value":
            if event["key"].lower() == "title":
                title = title or event["value"].strip()
            else:
                tags += event["value"].strip().strip(":").split(":")
        elif not opened:
            position = _table(scan, event.start(), blocks, len(text))
    return Outline(headings, blocks, title, tuple(tag for tag in tags if tag))


def _headline(content: str) -> tuple[str, list[str]]:
    content = content.strip(" \t\r")
    match = _TAGS.search(content)
    if match is None:
        return clean_title(content), []
    return clean_title(content[: match.start()]), match[1].split(":")


def _table(scan: str, start: int, blocks: list[Block], length: int) -> int:
    """Record the table that begins at `start`; return where to go on."""
    row_end = scan.index("\n", start + 1)
    header_end = row_end if _HEADER_RULE.match(scan, row_end + 1) else 0
    position = row_end
    while scan.startswith("|", _text_start(scan, position + 1)):
        position = scan.index("\n", position + 1)
    blocks.append(Block(start, min(position, length), header_end))
    return position


_INDENT = re.compile(r"[ \t]*+")


def _text_start(scan: str, position: int) -> int:
    return _INDENT.match(scan, position).end()  # type: ignore[union-attr]  # an empty match always exists
