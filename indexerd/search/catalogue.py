"""Which documents of a segment carry which tag or front-matter value.

Owns: how tags and values are compared (case folded), and remembering the answer.
Knows nothing of: queries, rights, masks of chunks.
Invariants: 1. a nested tag `a/b` is found under `a` and `a/b`.
Purity: pure (remembered for as long as the segment lives, for the last rules asked for).
See: docs/search.md (filters).
"""

import weakref
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from indexerd.access.rights import AccessRules, effective_metadata
from indexerd.model import Document, MetadataValue

if TYPE_CHECKING:
    from indexerd.store.segment import Segment


class Catalogue:
    """Tags and values of one segment, by document index."""

    __slots__ = ("tags", "values")

    def __init__(self, segment: "Segment", rules: AccessRules) -> None:
        self.tags: dict[str, list[int]] = {}
        self.values: dict[tuple[str, str], list[int]] = {}
        for index in range(segment.document_count):
            document = segment.document(index)
            for tag in _tag_keys(document):
                self.tags.setdefault(tag, []).append(index)
            for pair in _value_keys(effective_metadata(document, rules)):
                self.values.setdefault(pair, []).append(index)


def tag_key(tag: str) -> str:
    """Return the form in which tags are compared."""
    return tag.removeprefix("#").casefold()


def value_key(key: str, value: str) -> tuple[str, str]:
    """Return the form in which front-matter values are compared."""
    return key.casefold(), value.strip().casefold()


def _tag_keys(document: Document) -> set[str]:
    keys: set[str] = set()
    for tag in document.tags:
        steps = tag_key(tag).split("/")
        keys.update("/".join(steps[:depth]) for depth in range(1, len(steps) + 1))
    return keys


def _value_keys(metadata: Mapping[str, MetadataValue]) -> set[tuple[str, str]]:
    return {value_key(key, value) for key, values in metadata.items() for value in _each(values)}


def _each(values: MetadataValue) -> Iterator[str]:
    if isinstance(values, str):
        yield values
    else:
        yield from values


_KNOWN: "weakref.WeakKeyDictionary[Segment, tuple[AccessRules, Catalogue]]" = weakref.WeakKeyDictionary()


def catalogue_of(segment: "Segment", rules: AccessRules) -> Catalogue:
    """Return the catalogue of a segment, made once: a segment's documents are decoded one by one for it."""
    known = _KNOWN.get(segment)
    if known is None or known[0] != rules:
        known = _KNOWN[segment] = rules, Catalogue(segment, rules)
    return known[1]
