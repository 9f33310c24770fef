"""The generation as somebody sees it who may not see everything: it moves only when something visible to him moved.

Owns: the numbers that other users are told.
Knows nothing of: who they are, queries.
Invariants: 1. publishing a document that some roles do not admit changes no number told to those roles. 2. a number
    told is one that was current when something visible changed, or when this daemon was first asked.
Purity: pure, save for its caches.
See: docs/threat-model.md (what the generation tells).
"""

import datetime
import threading
from collections.abc import Hashable  # noqa: TC003 - kept with the other annotations, which are read at run time

import numpy as np

from indexerd.access.rights import AccessRules, admits, rights
from indexerd.store import LiveSegment, Snapshot

_MASK = (1 << 64) - 1
# An odd multiplier mixes path and content, so that two documents that swap their contents do not cancel out.
_MIX = 0x9E3779B97F4A7C15
_MOST_SUMS, _MOST_NUMBERS = 4096, 256

Standing = tuple[frozenset[str], datetime.date]


class VisibleGenerations:
    """Remembers, for each set of roles, when something visible to it last changed. Safe for threads."""

    def __init__(self, access: AccessRules) -> None:
        self._access = access
        self._sums: dict[tuple[Hashable, Standing], int] = {}
        self._numbers: dict[Standing, tuple[int, int]] = {}
        # Guards the two caches; held while a segment is summed, so that callers of the same roles do not sum it twice.
        self._lock = threading.Lock()

    def number(self, snapshot: Snapshot, roles: frozenset[str], day: datetime.date) -> int:
        """Return the generation that callers with these roles are told for a snapshot."""
        standing = (roles, day)
        with self._lock:
            total = sum(self._sum(segment, standing) for segment in snapshot.segments) & _MASK
            known = self._numbers.get(standing)
            if known is not None and (known[0] == total or snapshot.generation < known[1]):
                return min(known[1], snapshot.generation)
            if len(self._numbers) >= _MOST_NUMBERS:
                self._numbers.clear()
            self._numbers[standing] = (total, snapshot.generation)
            return snapshot.generation

    def _sum(self, segment: LiveSegment, standing: Standing) -> int:
        key = (segment.key, standing)
        if key not in self._sums:
            if len(self._sums) >= _MOST_SUMS:
                self._sums.clear()
            self._sums[key] = _sum_of(segment, self._access, *standing)
        return self._sums[key]


def _sum_of(segment: LiveSegment, access: AccessRules, roles: frozenset[str], day: datetime.date) -> int:
    """Add up what stands for each visible document: order and segmentation make no difference."""
    data, total = segment.data, 0
    for index in np.flatnonzero(segment.live).tolist():
        if admits(rights(data.document(index), access), roles, day):
            content = int.from_bytes(bytes(data.content_hashes[index][:8]), "big")
            total += (int(data.path_keys[index]) * _MIX ^ content) * _MIX
    return total & _MASK
