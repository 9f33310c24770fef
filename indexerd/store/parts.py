"""Which documents of which segment are alive, and how small segments are seen as one.

Owns: the rule "a later version or tombstone overrides", applied to arrays; the view made of at most a few parts.
Knows nothing of: files, slots, generations' numbers, queries.
Invariants: 1. values never change: a mask is copied before it is written. 2. the work for one new document is in
    proportion to that document and the small parts, never to the corpus. 3. equal keys are confirmed by the path.
Purity: pure.
See: docs/consistency.md (later wins, the view).
"""

import itertools
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from indexerd.model import SourcePath
from indexerd.store.manifest import SegmentRef
from indexerd.store.segment import Segment
from indexerd.store.segment_merge import merge_segments

Mask = npt.NDArray[np.bool_]
Keys = npt.NDArray[np.uint64]

_numbers = itertools.count(1)


class KeyIndex:
    """A segment's path keys in ascending order, made when first asked for."""

    def __init__(self, data: Segment) -> None:
        self._data = data

    @cached_property
    def order(self) -> npt.NDArray[np.int64]:
        """Document indexes by ascending path key."""
        return np.argsort(self._data.path_keys, kind="stable").astype(np.int64)

    @cached_property
    def keys(self) -> Keys:
        """The path keys, ascending."""
        return np.asarray(self._data.path_keys)[self.order]

    def among(self, keys: Keys) -> Iterable[tuple[int, int]]:
        """Yield `(document, position in keys)` for every equal key."""
        first = np.searchsorted(self.keys, keys, side="left")
        behind = np.searchsorted(self.keys, keys, side="right")
        for position in np.flatnonzero(behind > first).tolist():
            for place in range(int(first[position]), int(behind[position])):
                yield int(self.order[place]), position


@dataclass(frozen=True, slots=True, eq=False)
class LiveSegment:
    """A segment with the mask of its living documents, as queries see it.

    Attributes:
        data: The segment.
        live: One bool a document.
        key: Equal only for equal data and equal mask; for caches.
        document_count: Living documents.
        chunk_count: Their chunks.
        unsafe_chunk_count: Those of documents that the safety gate marked.
        text_bytes: Bytes of the living documents' sources.
    """

    data: Segment
    live: Mask
    key: Hashable
    document_count: int
    chunk_count: int
    unsafe_chunk_count: int
    text_bytes: int


@dataclass(frozen=True, slots=True, eq=False)
class Stored:
    """A segment that lies in the state directory.

    Attributes:
        ref: How manifests name it.
        data: Its value; the texts of a large one lie in its file.
    """

    ref: SegmentRef
    data: Segment


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """One or more stored segments, seen as one.

    Attributes:
        stored: The stored segments it stands for, oldest first.
        view: What queries see.
        index: Finds documents by path key.
        number: Distinguishes its data from any other's in this process.
    """

    stored: tuple[Stored, ...]
    view: LiveSegment
    index: KeyIndex
    number: int = field(default_factory=lambda: next(_numbers))

    @property
    def size(self) -> int:
        """Chunks in the data, dead ones included: what joining it costs."""
        return self.view.data.chunk_count


def new_part(stored: Sequence[Stored], data: Segment, live: Mask) -> Part:
    """Return a part for `data`, which stands for `stored`."""
    number = next(_numbers)
    return Part(tuple(stored), _live_segment(data, live, number), KeyIndex(data), number)


def kill(part: Part, later: Segment) -> Part:
    """Return the part without the documents that a later segment has a version or tombstone of."""
    dead = _overridden(part, later)
    if not dead:
        return part
    view, data = part.view, part.view.data
    live = view.live.copy()
    live[dead] = False
    chunks = [int(data.first_chunks[i + 1]) - int(data.first_chunks[i]) for i in dead]
    unsafe = [count for i, count in zip(dead, chunks, strict=True) if data.unsafe[i]]
    documents = view.document_count - len(dead)
    lessened = LiveSegment(
        data,
        live,
        (part.number, data.document_count - documents),
        documents,
        view.chunk_count - sum(chunks),
        view.unsafe_chunk_count - sum(unsafe),
        view.text_bytes - sum(int(data.sizes[i]) for i in dead),
    )
    return replace(part, view=lessened)


def appended(parts: Sequence[Part], stored: Stored) -> tuple[Part, ...]:
    """Return the parts with one more stored segment, later than all of them, small ones joined."""
    alive = [kill(part, stored.data) for part in parts]
    alive.append(new_part([stored], stored.data, np.ones(stored.data.document_count, dtype=np.bool_)))
    return settled(alive)


def settled(parts: Sequence[Part]) -> tuple[Part, ...]:
    """Return the parts with as many of the small ones at the end joined as `join_from` says."""
    start = join_from([part.size for part in parts])
    return (*parts[:start], join(parts[start:])) if start < len(parts) - 1 else tuple(parts)


def join(parts: Sequence[Part]) -> Part:
    """Return one part that stands for several neighbours; its dead documents are gone, its tombstones are kept."""
    data = merge_segments([(part.view.data, part.view.live) for part in parts], drop_tombstones=False)
    stored = [stored for part in parts for stored in part.stored]
    return new_part(stored, data, np.ones(data.document_count, dtype=np.bool_))


# A query walks every part for every term, and joining costs in proportion to what is joined. Two joined parts (one that
# takes each publish, one that takes it when full) keep both small; see docs/consistency.md.
RECENT_CHUNKS = 256
SMALL_CHUNKS = 2048
MAX_PARTS = 4


def join_from(sizes: Sequence[int]) -> int:
    """Return from which part on all are to be joined into one; the last index if none are.

    Only the run of small parts at the end is ever joined here: the cost of a publish is bounded by `SMALL_CHUNKS`.

    Args:
        sizes: Chunks of each part, oldest first.
    """
    last = len(sizes) - 1
    tail = len(sizes)
    while tail > 0 and sizes[tail - 1] <= SMALL_CHUNKS:
        tail -= 1
    if last - tail < 1:
        return max(last, 0)
    recent = last
    while recent > tail and sum(sizes[recent - 1 :]) <= RECENT_CHUNKS:
        recent -= 1
    kept = recent + 1
    return recent if kept - tail <= 2 and kept <= MAX_PARTS else tail


def opened(stored: Sequence[Stored]) -> tuple[Part, ...]:
    """Return the parts of a generation read from disk, joined as if it had been published step by step."""
    masks = live_masks([one.data for one in stored])
    single = [new_part([one], one.data, mask) for one, mask in zip(stored, masks, strict=True)]
    parts: list[list[Part]] = []
    for part in single:
        parts.append([part])
        start = join_from([sum(one.size for one in group) for group in parts])
        parts[start:] = [[one for group in parts[start:] for one in group]]
    return tuple(join(group) if len(group) > 1 else group[0] for group in parts)


def live_masks(segments: Sequence[Segment]) -> list[Mask]:
    """Return for each segment, oldest first, which of its documents no later segment overrides."""
    masks = [np.ones(segment.document_count, dtype=np.bool_) for segment in segments]
    if len(segments) < 2:
        return masks
    keys = [_all_keys(segment) for segment in segments[1:]]
    owners = np.concatenate([np.full(len(some), i + 1) for i, some in enumerate(keys)])
    unique, inverse = np.unique(np.concatenate(keys), return_inverse=True)
    newest = np.zeros(len(unique), dtype=np.int64)
    np.maximum.at(newest, inverse, owners)
    mentions = [_Mentions(segment) for segment in segments]
    for i, segment in enumerate(segments[:-1]):
        place = np.minimum(np.searchsorted(unique, segment.path_keys), max(len(unique) - 1, 0))
        suspects = np.flatnonzero((unique[place] == segment.path_keys) & (newest[place] > i)) if len(unique) else ()
        for document in map(int, suspects):
            owner = int(newest[place[document]])
            later = (owner, *range(len(segments) - 1, i, -1))
            masks[i][document] = not any(segment.paths[document] in mentions[other] for other in later)
    return masks


class _Mentions:
    """What a segment overrides in earlier ones, by path."""

    def __init__(self, segment: Segment) -> None:
        self._segment, self._tombstones = segment, frozenset(segment.tombstones)

    def __contains__(self, path: SourcePath) -> bool:
        return path in self._tombstones or self._segment.find(path) >= 0


def _overridden(part: Part, later: Segment) -> list[int]:
    data, live = part.view.data, part.view.live
    hits = [(i, position) for i, position in part.index.among(_all_keys(later)) if live[i]]
    if not hits:
        return []
    tombstones, count = later.tombstones, later.document_count
    return sorted(
        {
            i
            for i, position in hits
            if data.paths[i] == (later.paths[position] if position < count else tombstones[position - count])
        }
    )


def _all_keys(segment: Segment) -> Keys:
    return np.concatenate([np.asarray(segment.path_keys), np.asarray(segment.tombstone_keys)])


def _live_segment(data: Segment, live: Mask, number: int) -> LiveSegment:
    chunks = np.diff(np.asarray(data.first_chunks).astype(np.int64))
    unsafe = np.asarray(data.unsafe)
    documents = int(np.count_nonzero(live))
    return LiveSegment(
        data,
        live,
        (number, data.document_count - documents),
        documents,
        int(chunks[live].sum()),
        int(chunks[live & unsafe].sum()),
        int(np.asarray(data.sizes)[live].sum()),
    )
