"""The rights of the documents of a segment that have any, computed once under the present rules.

Owns: which documents need a look, remembering what was computed, and who "the caller" is for search.
Knows nothing of: views, masks.
Invariants: 1. a document that is not listed is open to all, safe, and not boosted.
Purity: pure (remembered for as long as the segment lives, for the last rules asked for).
See: docs/operations.md (rules).
"""

import datetime
import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from indexerd.access.globs import matches
from indexerd.access.rights import OPEN, AccessRules, Rights, admits, rights
from indexerd.indexing import document_of
from indexerd.model import Settings, SourcePath

if TYPE_CHECKING:
    from indexerd.store.segment import Segment


class Caller(NamedTuple):
    """What decides the base view: the same for every query a caller sends on one day.

    Attributes:
        safe: Whether unsafe documents are withheld.
    """

    roles: frozenset[str]
    as_of: datetime.date
    safe: bool


_KNOWN: "weakref.WeakKeyDictionary[Segment, tuple[AccessRules, Mapping[int, Rights]]]" = weakref.WeakKeyDictionary()


def rights_of(segment: "Segment", rules: AccessRules) -> Mapping[int, Rights]:
    """Return the rights of every document that is not simply open, by its index."""
    known = _KNOWN.get(segment)
    if known is not None and (known[0] is rules or known[0] == rules):
        return known[1]
    decided = ((index, rights(segment.document(index), rules)) for index in _spoken_of(segment, rules))
    found = {index: own for index, own in decided if own != OPEN}
    _KNOWN[segment] = rules, found
    return found


def _spoken_of(segment: "Segment", rules: AccessRules) -> list[int]:
    marked = np.asarray(segment.has_metadata) | np.asarray(segment.unsafe)
    if rules.rules:
        matched = [any(matches(rule.match, path) for rule in rules.rules) for path in segment.path_table]
        marked = marked | np.array(matched, dtype=np.bool_)
    return [int(index) for index in np.flatnonzero(marked)]


def hides(source_path: SourcePath, data: bytes, settings: Settings, rules: AccessRules, caller: Caller) -> bool:
    """Whether a document with these bytes is hidden from a caller."""
    return not admits(rights(document_of(source_path, data, settings), rules), caller.roles, caller.as_of)
