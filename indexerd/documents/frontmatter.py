"""The block of metadata at the top of a document.

Owns: where a front-matter block ends, and reading it; the only module that knows YAML.
Knows nothing of: what a key means, chunks.
Invariants: 1. anchors, aliases and tags are refused, so a block costs time and memory in proportion to its length.
    2. a key whose value cannot be read is named in `unread_keys`, never dropped in silence: rights fail closed on it.
Purity: pure.
See: docs/operations.md (front matter).
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

import yaml

from indexerd.model import MetadataValue

FRONT_MATTER_VERSION = 1

_MAX_CHARS = 64 * 1024
_MAX_KEYS = 64
# Real blocks nest two or three levels; the limit stops a reader before `[[[[…` costs anything.
_MAX_DEPTH = 16

_OPENING = re.compile(r"---[ \t]*\r?\n")
_CLOSING = re.compile(r"\n(?:---|\.\.\.)[ \t]*+\r?(?:\n|\Z)")
# Indented ones too: a tab before `acl:` makes bad YAML, and must not make a public document.
_KEY_LINE = re.compile(
    r"^[ \t\-]*+[\"']?([^\s#\"':,\[\]{}\-][^\n\"':]{0,100}?)[\"']?[ \t]*+:(?=[ \t\r\n]|\Z)", re.MULTILINE
)
_PARSER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


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


class _RefusedError(Exception):
    """The block uses what is not read here, or is too big."""

    def __init__(self, problem: str) -> None:
        self.problem = problem
        super().__init__(problem)


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
    if _KEY_LINE.match(top) is None:
        return _NONE
    return FrontMatter(0, "", {}, _key_lines(top), "bad_front_matter")


def _read_block(block: str, end: int) -> FrontMatter:
    try:
        if len(block) > _MAX_CHARS:
            raise _RefusedError("front_matter_too_large")  # noqa: TRY301 - one way out for every refusal
        values, unread = _parse(block)
    except _RefusedError as error:
        keys = _key_lines(block)
        return FrontMatter(end, block, {}, keys, error.problem) if keys else _NONE
    except yaml.YAMLError:
        keys = _key_lines(block)
        return FrontMatter(end, block, {}, keys, "bad_front_matter") if keys else _NONE
    return FrontMatter(end, block, values, unread, "")


def _key_lines(block: str) -> tuple[str, ...]:
    """Return what look like top-level keys, for a block that cannot be parsed."""
    return tuple(dict.fromkeys(match.rstrip() for match in _KEY_LINE.findall(block)))


def _parse(block: str) -> tuple[dict[str, MetadataValue], tuple[str, ...]]:
    events = _checked_events(block)
    next(events)  # StreamStart
    first = next(events)
    if isinstance(first, yaml.StreamEndEvent):
        return {}, ()
    first = next(events)
    if not isinstance(first, yaml.MappingStartEvent):
        raise _RefusedError("bad_front_matter")
    values: dict[str, MetadataValue] = {}
    unread: dict[str, None] = {}
    for event in events:
        if isinstance(event, yaml.MappingEndEvent):
            break
        if not isinstance(event, yaml.ScalarEvent):
            raise _RefusedError("bad_front_matter")
        key, value = str(event.value), _value(next(events), events)
        if value is None or key in values or key in unread:
            # A key given twice has no one value.
            values.pop(key, None)
            unread[key] = None
        else:
            values[key] = value
        if len(values) + len(unread) > _MAX_KEYS:
            raise _RefusedError("front_matter_too_large")
    for _ in events:
        pass
    return values, tuple(unread)


def _checked_events(block: str) -> Iterator[yaml.Event]:
    """Yield parser events, refusing what could make a small block big, or deep."""
    depth = 0
    for event in yaml.parse(block, Loader=_PARSER):
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) or getattr(event, "tag", None):
            raise _RefusedError("bad_front_matter")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > _MAX_DEPTH:
            raise _RefusedError("bad_front_matter")
        yield event


def _value(first: yaml.Event, events: Iterator[yaml.Event]) -> MetadataValue | None:
    """Return a scalar as string, a list of scalars as tuple; None for anything nested, having read past it."""
    if isinstance(first, yaml.ScalarEvent):
        return str(first.value)
    items: list[str] = []
    flat = isinstance(first, yaml.SequenceStartEvent)
    depth = 1
    while depth:
        event = next(events)
        if isinstance(event, yaml.CollectionStartEvent):
            depth, flat = depth + 1, False
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        elif isinstance(event, yaml.ScalarEvent):
            items.append(str(event.value))
    return tuple(items) if flat else None
