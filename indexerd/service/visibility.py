"""What somebody sees of a generation who may not see everything: a number for it, and how much is kept from him.

Owns: the number that other users are told as generation; the count of documents that need a role.
Knows nothing of: who they are, queries.
Invariants: 1. the number told to some roles is a function of the documents that they admit, and of nothing else: not of
    hidden documents, nor of how often anything was published, nor of when the daemon started.
Purity: pure, save for its caches.
See: docs/threat-model.md (what the generation tells), docs/adr/0018.
"""

import datetime
import threading
from collections.abc import Callable, Hashable, Iterable, Iterator
from itertools import islice

import numpy as np
import numpy.typing as npt

from indexerd.access.rights import AccessRules, admits, rights, why_withheld
from indexerd.model import SourcePath
from indexerd.search.rights import decided_of, rights_of
from indexerd.store import LiveSegment, Snapshot

UInt64s = npt.NDArray[np.uint64]

_BITS = (1 << 64) - 1
# SplitMix64 (Steele, Lea, Flood 2014): the odd number between its states, and the steps that mix one.
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_STEPS = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1))
_MOST_SUMS = 4096
# What every reader of JSON keeps exactly.
_NUMBER_BITS = 53


class Visibility:
    """Sums up what each set of roles sees of a snapshot. Safe for threads."""

    def __init__(self, access: AccessRules) -> None:
        self._access = access
        self._sums: dict[Hashable, int] = {}
        # Guards the cache; held while a segment is summed, so that callers of the same roles do not sum it twice.
        self._lock = threading.Lock()

    def number(self, snapshot: Snapshot, roles: frozenset[str], day: datetime.date) -> int:
        """Return what callers who have these roles are told as generation.

        Two snapshots have the same number if these callers see the same documents in both, and another, but for one
        chance in 2^53, if they do not; 0 stands for none. It tells nothing of which came first.
        """
        with self._lock:
            total = self._total(snapshot, (roles, day), lambda one: _content(one, self._access, roles, day))
        return total >> (64 - _NUMBER_BITS)

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

    def idle_rules(self, snapshot: Snapshot) -> list[str]:
        """Return the globs of the path rules that speak of no document. For owners only."""
        spoken: set[int] = set()
        for segment in snapshot.segments:
            for numbers, indexes in decided_of(segment.data, self._access).ruled.items():
                if not spoken.issuperset(numbers) and segment.live[indexes].any():
                    spoken.update(numbers)
        return [rule.match for number, rule in enumerate(self._access.rules) if number not in spoken]

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
    return int(_mixed(_mixed(keys + _GOLDEN) ^ contents).sum(dtype=np.uint64))


def _mixed(words: UInt64s) -> UInt64s:
    """Scatter 64-bit words, so that sums of such that have something in common have nothing in common."""
    for shift, factor in _STEPS:
        words = (words ^ (words >> np.uint64(shift))) * np.uint64(factor)
    return words


def _withheld(segment: LiveSegment, access: AccessRules) -> Iterator[int]:
    rights = rights_of(segment.data, access).items()
    return (index for index, own in rights if own.withheld and segment.live[index])


def _closed(segment: LiveSegment, access: AccessRules, roles: frozenset[str]) -> int:
    rights = rights_of(segment.data, access).items()
    return sum(bool(segment.live[index]) and any(roles.isdisjoint(entry) for entry in own.acl) for index, own in rights)
