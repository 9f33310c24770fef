"""Which passages one request may be given: rights, validity, safety and filters as one mask per segment.

Owns: everything that decides "may this passage count", before any statistic.
Knows nothing of: scores, proof, text of hits.
Invariants: 1. a passage outside the mask changes no figure and appears nowhere. 2. withheld for safety or superseded
    is told only of passages the caller could see otherwise. 3. a plain view is made once per generation.
Purity: pure (views are remembered per caller's rights, replaced when the generation moves).
See: docs/operations.md (rules), ARCHITECTURE.md (eligibility).
"""

from collections import OrderedDict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from indexerd.access.rights import AccessRules, Rights, newest_of, superseded
from indexerd.model import SourcePath
from indexerd.search.rights import Caller, decided_of
from indexerd.search.view import Mask, SegmentView, View, segment_view

if TYPE_CHECKING:
    from indexerd.store.parts import LiveSegment
    from indexerd.store.snapshot import Snapshot


class _Part(NamedTuple):
    """One segment of a view, and the documents of it that a newer version replaces."""

    view: SegmentView
    older: Mask


@dataclass(frozen=True, slots=True, eq=False)
class _Known:
    keys: tuple[object, ...]
    rules: AccessRules
    held: frozenset[SourcePath]
    parts: Mapping[Hashable, _Part]
    view: View


_NO_PARTS: Final[Mapping[Hashable, _Part]] = MappingProxyType({})


class ViewCache:
    """The last view of each kind of caller. Safe under threads: a lost update costs a recomputation."""

    _MOST: Final = 8

    def __init__(self) -> None:
        self._known: OrderedDict[Caller, _Known] = OrderedDict()

    def base_view(self, snapshot: "Snapshot", caller: Caller, rules: AccessRules, held: frozenset[SourcePath]) -> View:
        """Return what a caller may see of a snapshot, without filters."""
        keys = tuple(segment.key for segment in snapshot.segments)
        known = self._known.get(caller)
        is_usable = known is not None and known.rules == rules and known.held == held
        if known is not None and is_usable and known.keys == keys:
            return known.view
        parts = _parts(
            snapshot.segments, caller, rules, held, known.parts if known is not None and is_usable else _NO_PARTS
        )
        view = View([part.view for part in parts])
        self._known[caller] = _Known(keys, rules, held, dict(zip(keys, parts, strict=True)), view)
        while len(self._known) > self._MOST:
            self._known.popitem(last=False)
        return view


def base_view(
    segments: Sequence["LiveSegment"], caller: Caller, rules: AccessRules, held: frozenset[SourcePath]
) -> View:
    """Return what a caller may see of some segments: live, not held, admitted, valid, newest, and safe if asked for."""
    return View([part.view for part in _parts(segments, caller, rules, held, _NO_PARTS)])


def _parts(
    segments: Sequence["LiveSegment"],
    caller: Caller,
    rules: AccessRules,
    held: frozenset[SourcePath],
    known: Mapping[Hashable, _Part],
) -> list[_Part]:
    """Return the parts of a view.

    Args:
        segments: Those of a snapshot.
        caller: Who asks.
        rules: Present rules.
        held: Documents that cannot be looked at.
        known: What an earlier view for the same caller, rules and held documents had of segments, by their keys: a
            publish leaves the large ones as they are.
    """
    visible = [_visible_documents(segment, caller, rules, held) for segment in segments]
    parts = []
    for segment, documents, older in zip(segments, visible, _superseded(segments, visible, rules), strict=True):
        part = known.get(segment.key)
        # A version in another segment may have become the newest, or have gone.
        if part is None or not np.array_equal(part.older, older):
            part = _Part(_segment_view(segment, documents, older, caller, rules), older)
        parts.append(part)
    return parts


def _visible_documents(segment: "LiveSegment", caller: Caller, rules: AccessRules, held: frozenset[SourcePath]) -> Mask:
    documents = segment.live.copy()
    for source_path in held:
        index = segment.data.find(source_path)
        if index >= 0:
            documents[index] = False
    documents[decided_of(segment.data, rules).hidden(caller.roles, caller.as_of)] = False
    return documents


def _superseded(segments: Sequence["LiveSegment"], visible: Sequence[Mask], rules: AccessRules) -> list[Mask]:
    """Return for each segment the visible documents that a newer visible version of their series replaces."""
    decided = [decided_of(segment.data, rules) for segment in segments]
    seen = [mask[one.versions.indexes] for mask, one in zip(visible, decided, strict=True)]
    newest = newest_of(
        version for one, flags in zip(decided, seen, strict=True) for version in one.versions.newest(flags)
    )
    masks = [np.zeros(len(mask), dtype=np.bool_) for mask in visible]
    for mask, one, flags in zip(masks, decided, seen, strict=True):
        mask[one.versions.indexes] = one.versions.older(flags, newest)
    return masks


def is_superseded(  # noqa: PLR0913 - all that decides it
    source_path: SourcePath,
    own: Rights,
    snapshot: "Snapshot",
    caller: Caller,
    rules: AccessRules,
    *,
    held: frozenset[SourcePath],
) -> bool:
    """Tell whether a newer version that the caller may see replaces a document whose bytes give it these rights."""
    if own.series is None:
        return False
    others: dict[SourcePath, Rights] = {}
    for segment in snapshot.segments:
        decided, documents = decided_of(segment.data, rules), _visible_documents(segment, caller, rules, held)
        in_series = decided.versions.indexes
        seen = in_series[documents[in_series]].tolist()
        others.update((segment.data.paths[index], decided.rights[index]) for index in seen)
    return source_path in superseded({**others, source_path: own})


def _segment_view(live: "LiveSegment", documents: Mask, older: Mask, caller: Caller, rules: AccessRules) -> SegmentView:
    segment = live.data
    decided = decided_of(segment, rules)
    unsafe = np.zeros(len(documents), dtype=np.bool_)
    if caller.safe:
        unsafe[decided.unsafe] = True
        unsafe &= documents
    given = documents & ~unsafe & ~older
    of_chunk, hit = np.asarray(segment.document_of_chunk), np.asarray(segment.chunk_hit)
    return segment_view(
        live,
        given[of_chunk] & hit,
        boosts=None if decided.boosts is None else decided.boosts[of_chunk],
        unsafe=unsafe[of_chunk] & hit if unsafe.any() else None,
        superseded=(older & documents & ~unsafe)[of_chunk] & hit if older.any() else None,
    )
