"""The block of metadata at the top of a document.

Owns: where a front-matter block ends, and what becomes of one that cannot be read.
Knows nothing of: YAML, what a key means, chunks.
Invariants: 1. a key whose value cannot be read is named in `unread_keys`, never dropped in silence: rights
    fail closed on it.
Purity: pure.
See: docs/operations.md (front matter).
"""

import re
from typing import NamedTuple

from indexerd.model import MetadataValue

FRONT_MATTER_VERSION = 2

_MAX_CHARS = 64 * 1024

_OPENING = re.compile(r"---[ \t]*\r?\n")
_CLOSING = re.compile(r"\n(?:---|\.\.\.)[ \t]*+\r?(?:\n|\Z)")
# Indented ones too: a tab before `acl:` makes bad YAML, and must not make a public document.
_KEY_LINE = re.compile(
    r"^[ \t\-]*+[\"']?([^\s#\"':,\[\]{}\-][^\n\"':]{0,100}?)[\"']?[ \t]*+:(?=[ \t\r\n]|\Z)", re.MULTILINE
)
# A block may be one mapping in braces, as JSON is: there keys follow a brace or a comma, wherever they stand.
_KEY_IN_BRACES = re.compile(r"[{,]\s*+[\"']?([^\s\"':,\[\]{}][^\n\"':,\[\]{}]{0,100}?)[\"']?[ \t]*+:")


class FrontMatter(NamedTuple):
    """What stands at the top of a document.

    Attributes:
        end: Offset in the text behind the block; 0 if there is none.
        text: The block without its fences.
        values: Keys with readable values, in order.
        unread_keys: Keys whose values cannot be read.
        problem: `bad_front_matter`, `front_matter_too_large`, or empty.
    """

    end: int
    text: str
    values: dict[str, MetadataValue]
    unread_keys: tuple[str, ...]
    problem: str


_NONE = FrontMatter(0, "", {}, (), "")


def read_front_matter(text: str) -> FrontMatter:
    """Read the front matter of `text`.

    A block opens with `---` on the first line and ends at the next `---` or `...` line. Lines between two rules
    that hold no key are prose, not front matter. A block that cannot be read stays a block and names its keys.
    """
    if not text.startswith("---"):
        return _NONE
    opening = _OPENING.match(text)
    if opening is None:
        return _NONE
    # From one before, so that an empty block finds the line end it needs.
    closing = _CLOSING.search(text, opening.end() - 1)
    if closing is None:
        return _unclosed(text, opening.end())
    return _read_block(text[opening.end() : closing.start() + 1], closing.end())


def _unclosed(text: str, start: int) -> FrontMatter:
    """Treat an open block as text, but believe its keys: a half-saved acl must not show the document to everybody."""
    blank = re.compile(r"\n[ \t\r]*+\n").search(text, start)
    top = text[start : min(blank.start() if blank else len(text), start + _MAX_CHARS)]
    if _KEY_LINE.match(top) is None and _KEY_IN_BRACES.match(top) is None:
        return _NONE
    return FrontMatter(0, "", {}, _key_lines(top), "bad_front_matter")


def _read_block(block: str, end: int) -> FrontMatter:
    # The parser is loaded with the first block there is: a start on an unchanged folder needs none.
    from indexerd.documents.yaml_block import RefusedError, read_block  # noqa: PLC0415 - as said above

    try:
        if len(block) > _MAX_CHARS:
            raise RefusedError("front_matter_too_large")  # noqa: TRY301 - one way out for every refusal
        values, unread = read_block(block)
    except RefusedError as error:
        keys = _key_lines(block)
        return FrontMatter(end, block, {}, keys, error.problem) if keys else _NONE
    return FrontMatter(end, block, values, unread, "")


def _key_lines(block: str) -> tuple[str, ...]:
    """Return what look like top-level keys, for a block that cannot be parsed."""
    found = (*_KEY_LINE.findall(block), *_KEY_IN_BRACES.findall(block))
    return tuple(dict.fromkeys(match.rstrip() for match in found))
