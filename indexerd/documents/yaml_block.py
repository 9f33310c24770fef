"""The keys of a block of YAML, all values read as text.

Owns: which part of YAML is read; the only module that knows YAML.
Knows nothing of: where a block stands, what a key means.
Invariants: 1. anchors, aliases and tags are refused, so a block costs time and memory in proportion to its length.
    2. every key is returned, with its value or as one that cannot be read.
Purity: pure.
See: docs/operations.md (front matter).
"""

from collections.abc import Iterator

import yaml

from indexerd.model import MetadataValue

_MAX_KEYS = 64
# Real blocks nest two or three levels; the limit stops a reader before `[[[[…` costs anything.
_MAX_DEPTH = 16
_PARSER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


class RefusedError(Exception):
    """The block cannot be read, uses what is not read here, or is too big."""

    def __init__(self, problem: str) -> None:
        """`problem` is the name under which it is told."""
        self.problem = problem
        super().__init__(problem)


def read_block(block: str) -> tuple[dict[str, MetadataValue], tuple[str, ...]]:
    """Return the keys with readable values, in order, and those whose values cannot be read.

    Raises:
        RefusedError: The block is no mapping, uses what is not read here, or is too big.
    """
    try:
        return _parse(block)
    except yaml.YAMLError as error:
        raise RefusedError("bad_front_matter") from error


def _parse(block: str) -> tuple[dict[str, MetadataValue], tuple[str, ...]]:
    events = _checked_events(block)
    next(events)  # StreamStart
    first = next(events)
    if isinstance(first, yaml.StreamEndEvent):
        return {}, ()
    first = next(events)
    if not isinstance(first, yaml.MappingStartEvent):
        raise RefusedError("bad_front_matter")
    values: dict[str, MetadataValue] = {}
    unread: dict[str, None] = {}
    for event in events:
        if isinstance(event, yaml.MappingEndEvent):
            break
        if not isinstance(event, yaml.ScalarEvent):
            raise RefusedError("bad_front_matter")
        key, value = str(event.value), _value(next(events), events)
        if value is None or key in values or key in unread:
            # A key given twice has no one value.
            values.pop(key, None)
            unread[key] = None
        else:
            values[key] = value
        if len(values) + len(unread) > _MAX_KEYS:
            raise RefusedError("front_matter_too_large")
    for _ in events:
        pass
    return values, tuple(unread)


def _checked_events(block: str) -> Iterator[yaml.Event]:
    """Yield parser events, refusing what could make a small block big, or deep."""
    depth = 0
    for event in yaml.parse(block, Loader=_PARSER):
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) or getattr(event, "tag", None):
            raise RefusedError("bad_front_matter")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > _MAX_DEPTH:
            raise RefusedError("bad_front_matter")
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
