"""How kept generations are told anew when a merge replaces segments that they name.

Owns: which of a generation's segments the merged one can stand for, and what has to come behind it.
Knows nothing of: files, slots, when and why something is merged.
Invariants: 1. number and content of a generation stay. 2. what history needs beside the merged segment is in proportion
    to what has changed since, not to what was merged. 3. a generation names at most `MAX_TOLD` segments and what was
    published since the last merge.
Purity: pure.
See: docs/consistency.md (merge).
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from indexerd.store.manifest import Manifest, SegmentRef
from indexerd.store.segment import Segment, merge_segments, with_tombstones

# A smaller file costs history less than telling its generations anew does.
LARGE_BYTES = 64 << 10
# What a manifest that is written anew may save at least; most are a few hundred bytes to two kilobytes.
WORTH_BYTES = 512
# Each merge puts one more segment before what an old generation names. Beyond this many they become one.
MAX_TOLD = 128


class Stretch(NamedTuple):
    """Where the merged segment fits into kept generations.

    Attributes:
        before: The segments before it.
        taken: The segments whose place it takes, together with one that takes back what has changed since.
    """

    before: tuple[SegmentRef, ...]
    taken: tuple[SegmentRef, ...]


def stretch_of(manifest: Manifest, run: Sequence[SegmentRef]) -> Stretch | None:
    """Return where a run of merged segments fits; None if the generation names no large file of it."""
    refs = manifest.segments
    if run[0] not in refs:
        return None
    first = refs.index(run[0])
    behind = first
    for at, (mine, merged) in enumerate(zip(refs[first:], run, strict=False), first):
        if mine != merged:
            break
        if mine.file.length >= LARGE_BYTES:
            behind = at + 1
    if behind == first:
        return None
    return Stretch(refs[:first], refs[first:] if len(refs) > MAX_TOLD else refs[first:behind])


def stretches_of(manifests: Sequence[Manifest], run: Sequence[SegmentRef]) -> tuple[Stretch, ...]:
    """Return every distinct stretch of some generations; none where that is not worth the manifests."""
    found = [stretch for one in manifests if (stretch := stretch_of(one, run)) is not None]
    large = {ref.file for stretch in found for ref in stretch.taken if ref in run}
    if sum(file.length for file in large) < WORTH_BYTES * len(found):
        return ()
    return tuple(dict.fromkeys(found))


def taken_back(before: Sequence[Segment], taken: Sequence[Segment], merged: Segment) -> Segment | None:
    """Return what `before`, the merged segment and this give together: what `before` and `taken` gave; None if nothing.

    Args:
        before: Oldest first, as all.
        taken: At least one.
        merged: Of the same settings.
    """
    segments = [*before, *taken, merged]
    was, now = _versions(taken, len(before)), _versions([merged], len(segments) - 1)
    keep = [np.zeros(segment.document_count, dtype=np.bool_) for segment in segments]
    dead: list[bytes] = []
    for path in was.keys() | now.keys():
        old = was[path] if path in was else _version(before, path)
        new = now[path] if path in now else _version(before, path)
        if old is None:
            dead += [path] if new is not None else []
        elif new is None or _hash(segments, old) != _hash(segments, new):
            keep[old[0]][old[1]] = True
    kept = [(segment, mask) for segment, mask in zip(segments, keep, strict=True) if mask.any()]
    if not dead and not kept:
        return None
    changed = merge_segments(kept or [(merged, keep[-1])], drop_tombstones=True)
    return with_tombstones(changed, dead)


def retold(
    manifest: Manifest, run: Sequence[SegmentRef], merged: SegmentRef, back: Mapping[Stretch, tuple[SegmentRef, ...]]
) -> Manifest:
    """Return the generation's new manifest, or the one it has if the merged segment does not fit into it.

    Args:
        manifest: The generation.
        run: What was merged.
        merged: What it became.
        back: What takes back what has changed since, for each stretch.
    """
    stretch = stretch_of(manifest, run)
    if stretch is None or stretch not in back:
        return manifest
    rest = manifest.segments[len(stretch.before) + len(stretch.taken) :]
    return manifest._replace(segments=(*stretch.before, merged, *back[stretch], *rest))


_Version = tuple[int, int] | None


def _versions(segments: Sequence[Segment], first: int) -> dict[bytes, _Version]:
    """Return where the last version of each document is that the segments mention; None for one that is dead."""
    found: dict[bytes, _Version] = {}
    for number, segment in enumerate(segments, first):
        found |= dict.fromkeys(segment.tombstone_table.table.all(), None)
        found |= {path: (number, at) for at, path in enumerate(segment.path_table.table.all())}
    return found


def _version(segments: Sequence[Segment], path: bytes) -> _Version:
    for number in reversed(range(len(segments))):
        if (at := segments[number].path_table.table.find(path)) >= 0:
            return number, at
        if segments[number].tombstone_table.table.find(path) >= 0:
            return None
    return None


def _hash(segments: Sequence[Segment], version: tuple[int, int]) -> bytes:
    return bytes(segments[version[0]].content_hashes[version[1]])
