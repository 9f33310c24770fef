"""What somebody sees of a generation who may not see everything: its number, and how much is kept from him.

Owns: the generation numbers that other users are told; the count of documents that need a role.
Knows nothing of: who they are, queries.
Invariants: 1. publishing a document that some roles do not admit changes no number told to those roles. 2. a number
    told is one that was current when something visible changed, or 0 while none has since they were first told one.
Purity: pure, save for its caches.
See: docs/threat-model.md (what the generation tells).
"""

import datetime
import threading
from collections.abc import Callable, Hashable, Iterable, Iterator
from itertools import islice

import numpy as np

from indexerd.access.rights import AccessRules, admits, rights, why_withheld
from indexerd.model import SourcePath
from indexerd.search.rights import decided_of, rights_of
from indexerd.store import LiveSegment, Snapshot

_BITS = (1 << 64) - 1
# An odd multiplier mixes path and content, so that two documents that swap their contents do not cancel out.
_MIX = np.uint64(0x9E3779B97F4A7C15)
_MOST_SUMS = 4096


class Visibility:
    """Remembers, for each set of roles, when something visible to it last changed. Safe for threads."""

    def __init__(self, access: AccessRules) -> None:
        self._access = access
        self._sums: dict[Hashable, int] = {}
        # By the roles that somebody has, of which a configuration names few: narrowing them, or the next day, must
        # not show a number that other people's publishes have moved.
        self._numbers: dict[frozenset[str], tuple[int, int]] = {}
        # Guards the two caches; held while a segment is summed, so that callers of the same roles do not sum it twice.
        self._lock = threading.Lock()

    def number(self, snapshot: Snapshot, roles: frozenset[str], day: datetime.date) -> int:
        """Return the generation that callers who have these roles are told for a snapshot; 0 at first."""
        with self._lock:
            total = self._total(snapshot, (roles, day), lambda one: _content(one, self._access, roles, day))
            known = self._numbers.get(roles)
            if known is not None and (known[0] == total or snapshot.generation < known[1]):
                return min(known[1], snapshot.generation)
            # When it last changed before that is not known, and the present number would tell of hidden publishes.
            number = snapshot.generation if known is not None else 0
            self._numbers[roles] = (total, number)
            return number

    def admitted(
        self, snapshot: Snapshot, paths: Iterable[SourcePath], roles: frozenset[str], day: datetime.date
    ) -> int:
        """Return how many of these documents callers with these roles see on a day."""
        found = (snapshot.find(path) for path in paths)
        documents = (one[0].data.document(one[1]) for one in found if one is not None)
        return sum(admits(rights(document, self._access), roles, day) for document in documents)

    def needing_role(self, snapshot: Snapshot, roles: frozenset[str]) -> int:
        """Return how many documents need a role that is not among these. For owners only."""
        with self._lock:
            return self._total(snapshot, roles, lambda one: _closed(one, self._access, roles))

    def withheld(self, snapshot: Snapshot) -> int:
        """Return how many documents nobody sees, by a key that is missing or cannot be read. For owners only."""
        with self._lock:
            return self._total(snapshot, "withheld", lambda one: sum(1 for _ in _withheld(one, self._access)))

    def why_withheld(self, snapshot: Snapshot, most: int) -> Iterator[tuple[SourcePath, str]]:
        """Give the first of those documents, in no order that means anything, with the reason. For owners only."""
        found = (
            segment.data.document(index) for segment in snapshot.segments for index in _withheld(segment, self._access)
        )
        for document in islice(found, most):
            yield document.source_path, why_withheld(document, self._access) or ""

    def _total(self, snapshot: Snapshot, key: Hashable, sum_of: Callable[[LiveSegment], int]) -> int:
        """Add up a figure of the segments, each computed once."""
        total = 0
        for segment in snapshot.segments:
            name = (segment.key, key)
            if name not in self._sums:
                if len(self._sums) >= _MOST_SUMS:
                    self._sums.clear()
                self._sums[name] = sum_of(segment)
            total += self._sums[name]
        return total & _BITS


def _content(segment: LiveSegment, access: AccessRules, roles: frozenset[str], day: datetime.date) -> int:
    """Return a sum that stands for the visible documents: order and segmentation make no difference."""
    data, visible = segment.data, segment.live.copy()
    visible[decided_of(data, access).hidden(roles, day)] = False
    contents = np.ascontiguousarray(np.asarray(data.content_hashes)[visible, :8]).view(np.uint64).ravel()
    keys = np.asarray(data.path_keys)[visible].astype(np.uint64)
    return int(((keys * _MIX ^ contents) * _MIX).sum(dtype=np.uint64))


def _withheld(segment: LiveSegment, access: AccessRules) -> Iterator[int]:
    rights = rights_of(segment.data, access).items()
    return (index for index, own in rights if own.withheld and segment.live[index])


def _closed(segment: LiveSegment, access: AccessRules, roles: frozenset[str]) -> int:
    rights = rights_of(segment.data, access).items()
    return sum(bool(segment.live[index]) and any(roles.isdisjoint(entry) for entry in own.acl) for index, own in rights)
