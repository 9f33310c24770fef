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
from typing import TYPE_CHECKING, Final

import numpy as np

from indexerd.access.rights import AccessRules, Rights, admits, superseded
from indexerd.model import SourcePath
from indexerd.search.bm25 import ChunkArray, FloatArray
from indexerd.search.rights import Caller, rights_of
from indexerd.search.view import Mask, SegmentView, View, segment_view

if TYPE_CHECKING:
    from indexerd.store.parts import LiveSegment
    from indexerd.store.snapshot import Snapshot


@dataclass(frozen=True, slots=True, eq=False)
class _Known:
    keys: tuple[object, ...]
    rules: AccessRules
    held: frozenset[SourcePath]
    view: View


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
        parts = {part.live.key: part for part in known.view.segments} if known is not None and is_usable else {}
        view = base_view(snapshot.segments, caller, rules, held, parts)
        self._known[caller] = _Known(keys, rules, held, view)
        while len(self._known) > self._MOST:
            self._known.popitem(last=False)
        return view


def base_view(
    segments: Sequence["LiveSegment"],
    caller: Caller,
    rules: AccessRules,
    held: frozenset[SourcePath],
    known: Mapping[Hashable, SegmentView] = MappingProxyType({}),
) -> View:
    """Return what a caller may see of some segments: live, not held, admitted, valid, newest, and safe for evidence.

    Args:
        segments: Those of a snapshot.
        caller: Who asks.
        rules: Present rules.
        held: Documents that cannot be looked at.
        known: What an earlier view for the same caller, rules and held documents had of segments, by their keys: a
            publish leaves the large ones as they are.
    """
    if known and not any(rule.supersede_by for rule in rules.rules):
        # Without series no segment decides about another one's documents.
        return View([known.get(one.key) or base_view([one], caller, rules, held).segments[0] for one in segments])
    visible = [_visible_documents(segment, caller, rules, held) for segment in segments]
    replaced = _superseded(segments, visible, rules)
    views = []
    for segment, documents, older in zip(segments, visible, replaced, strict=True):
        views.append(_segment_view(segment, documents, older, caller, rules))
    return View(views)


def _visible_documents(segment: "LiveSegment", caller: Caller, rules: AccessRules, held: frozenset[SourcePath]) -> Mask:
    documents = segment.live.copy()
    for source_path in held:
        index = segment.data.find(source_path)
        if index >= 0:
            documents[index] = False
    for index, rights in rights_of(segment.data, rules).items():
        if documents[index] and not admits(rights, caller.roles, caller.as_of):
            documents[index] = False
    return documents


def _superseded(segments: Sequence["LiveSegment"], visible: Sequence[Mask], rules: AccessRules) -> list[Mask]:
    """Return for each segment the visible documents that a newer visible version of their series replaces."""
    masks = [np.zeros(len(mask), dtype=np.bool_) for mask in visible]
    in_series = _in_series(segments, visible, rules)
    for source_path in superseded({path: rights for path, (_, _, rights) in in_series.items()}):
        number, index, _ = in_series[source_path]
        masks[number][index] = True
    return masks


def _in_series(
    segments: Sequence["LiveSegment"], visible: Sequence[Mask], rules: AccessRules
) -> Mapping[SourcePath, tuple[int, int, Rights]]:
    in_series: dict[SourcePath, tuple[int, int, Rights]] = {}
    for number, segment in enumerate(segments):
        for index, rights in rights_of(segment.data, rules).items():
            if rights.series is not None and visible[number][index]:
                in_series[segment.data.paths[index]] = number, index, rights
    return in_series


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
    visible = [_visible_documents(segment, caller, rules, held) for segment in snapshot.segments]
    others = _in_series(snapshot.segments, visible, rules)
    return source_path in superseded({path: rights for path, (_, _, rights) in others.items()} | {source_path: own})


def _segment_view(live: "LiveSegment", documents: Mask, older: Mask, caller: Caller, rules: AccessRules) -> SegmentView:
    segment = live.data
    known = rights_of(segment, rules)
    unsafe = np.zeros(len(documents), dtype=np.bool_)
    if caller.safe:
        unsafe[[index for index, rights in known.items() if rights.unsafe]] = True
        unsafe &= documents
    given = documents & ~unsafe & ~older
    of_chunk, hit = np.asarray(segment.document_of_chunk), np.asarray(segment.chunk_hit)
    return segment_view(
        live,
        given[of_chunk] & hit,
        boosts=_boosts(segment.document_count, known, of_chunk),
        unsafe=unsafe[of_chunk] & hit if unsafe.any() else None,
        superseded=(older & documents & ~unsafe)[of_chunk] & hit if older.any() else None,
    )


def _boosts(document_count: int, known: Mapping[int, Rights], of_chunk: ChunkArray) -> FloatArray | None:
    boosted = {index: rights.boost for index, rights in known.items() if rights.boost != 1.0}
    if not boosted:
        return None
    factors = np.ones(document_count)
    factors[list(boosted)] = list(boosted.values())
    chunks: FloatArray = factors[of_chunk]
    return chunks
