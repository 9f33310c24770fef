"""The rights of the documents of a segment that have any, computed once under the present rules.

Owns: which documents need a look, remembering what was computed, and who "the caller" is for search.
Knows nothing of: views, masks.
Invariants: 1. a document that is not listed is open to all, safe, and not boosted.
Purity: pure (remembered for as long as the segment lives, for the last rules asked for).
See: docs/operations.md (rules).
"""

import datetime
import weakref
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from indexerd.access.globs import matches
from indexerd.access.rights import OPEN, AccessRules, Age, Rights, Version, admits, deciding_keys, rights, version_of
from indexerd.model import Settings, SourcePath
from indexerd.search.bm25 import FloatArray
from indexerd.search.view import Mask

if TYPE_CHECKING:
    from indexerd.store.segment import Segment


DocumentIndexes = npt.NDArray[np.intp]


class Caller(NamedTuple):
    """What decides the base view: the same for every query a caller sends on one day.

    Attributes:
        safe: Whether unsafe documents are withheld.
    """

    roles: frozenset[str]
    as_of: datetime.date
    safe: bool


class Versions:
    """The documents of a segment that a newer version may replace, so that thousands are compared at once.

    Attributes:
        indexes: Of those documents.
    """

    __slots__ = ("_ages", "_ranks", "_series", "_series_numbers", "indexes")

    def __init__(self, known: Mapping[int, Rights]) -> None:
        found = {index: version for index, own in known.items() if (version := version_of(own)) is not None}
        self.indexes = _indexes(found)
        self._series = sorted({series for series, _ in found.values()})
        self._ages = sorted({age for _, age in found.values()})
        numbers = {series: number for number, series in enumerate(self._series)}
        ranks = {age: rank for rank, age in enumerate(self._ages)}
        self._series_numbers = _indexes(numbers[series] for series, _ in found.values())
        self._ranks = _indexes(ranks[age] for _, age in found.values())

    def newest(self, seen: Mask) -> Iterator[Version]:
        """Yield the newest version of each series among those documents for which `seen` is set."""
        best = np.full(len(self._series), -1, dtype=np.intp)
        np.maximum.at(best, self._series_numbers[seen], self._ranks[seen])
        for series, rank in zip(self._series, best.tolist(), strict=True):
            if rank >= 0:
                yield Version(series, self._ages[rank])

    def older(self, seen: Mask, newest: Mapping[str, Age]) -> Mask:
        """Return which of the seen documents are older than the newest version of their series."""
        least = [bisect_left(self._ages, newest[series]) if series in newest else 0 for series in self._series]
        return seen & (self._ranks < np.array(least, dtype=np.intp)[self._series_numbers])


# Callers of which the hidden documents are remembered: several sets of roles, on one day or two.
_MOST_CALLERS: Final = 16


class Decided:
    """What the present rules say of the documents of a segment, dead ones too, in the forms that queries need.

    Attributes:
        rules: Those rules.
        rights: Of every document that is not simply open, by its index.
        unsafe: Indexes of the documents that the safety gate holds back.
        boosts: Factor of each document; None when all are 1.
        ruled: Indexes of the documents that path rules speak of, by the numbers of those rules.
        versions: The documents that a newer version may replace.
    """

    __slots__ = ("_hidden", "boosts", "rights", "ruled", "rules", "unsafe", "versions")

    def __init__(self, segment: "Segment", rules: AccessRules) -> None:
        self.rules = rules
        fitting = [_fitting(path, rules) for path in segment.path_table] if rules.rules else []
        self.ruled = _grouped(fitting)
        self.rights: Mapping[int, Rights] = {i: own for i, own in _decide(segment, rules, fitting) if own != OPEN}
        self.unsafe = _indexes(index for index, own in self.rights.items() if own.unsafe)
        self.boosts = _boosts(segment.document_count, self.rights)
        self.versions = Versions(self.rights)
        self._hidden: dict[tuple[frozenset[str], datetime.date], DocumentIndexes] = {}

    def hidden(self, roles: frozenset[str], day: datetime.date) -> DocumentIndexes:
        """Return the indexes of the documents that a caller does not see on a day."""
        known = self._hidden.get((roles, day))
        if known is None:
            known = _indexes(index for index, own in self.rights.items() if not admits(own, roles, day))
            if len(self._hidden) >= _MOST_CALLERS:
                self._hidden.clear()
            self._hidden[roles, day] = known
        return known


_KNOWN: "weakref.WeakKeyDictionary[Segment, Decided]" = weakref.WeakKeyDictionary()


def decided_of(segment: "Segment", rules: AccessRules) -> Decided:
    """Return what the rules say of a segment's documents, made once: a publish changes none of it."""
    known = _KNOWN.get(segment)
    if known is None or not (known.rules is rules or known.rules == rules):
        known = _KNOWN[segment] = Decided(segment, rules)
    return known


def rights_of(segment: "Segment", rules: AccessRules) -> Mapping[int, Rights]:
    """Return the rights of every document that is not simply open, by its index."""
    return decided_of(segment, rules).rights


def _indexes(indexes: Iterable[int]) -> DocumentIndexes:
    return np.fromiter(indexes, dtype=np.intp)


def _boosts(document_count: int, known: Mapping[int, Rights]) -> FloatArray | None:
    boosted = {index: own.boost for index, own in known.items() if own.boost != 1.0}
    if not boosted:
        return None
    factors = np.ones(document_count)
    factors[list(boosted)] = list(boosted.values())
    return factors


def _grouped(fitting: Iterable[tuple[int, ...]]) -> Mapping[tuple[int, ...], DocumentIndexes]:
    groups: dict[tuple[int, ...], list[int]] = {}
    for index, numbers in enumerate(fitting):
        if numbers:
            groups.setdefault(numbers, []).append(index)
    return {numbers: _indexes(indexes) for numbers, indexes in groups.items()}


def _decide(segment: "Segment", rules: AccessRules, fitting: Sequence[tuple[int, ...]]) -> Iterator[tuple[int, Rights]]:
    """Yield the rights of every document that has metadata or findings, or that a path rule speaks of.

    `fitting` holds the numbers of these rules for each document; empty where there are no rules.
    """
    speaks = np.asarray(segment.has_metadata) | np.asarray(segment.unsafe)
    spoken_of = speaks | np.array([bool(numbers) for numbers in fitting], dtype=np.bool_) if fitting else speaks
    deciding = deciding_keys(rules.keys)
    # Of documents that say nothing themselves, those that the same rules speak of have the same rights.
    silent: dict[tuple[int, ...], Rights] = {}
    for index in np.flatnonzero(spoken_of).tolist():
        if not segment.unsafe[index] and not (fitting and fitting[index]) and not _may_say(segment, index, deciding):
            continue
        own = None if speaks[index] else silent.get(fitting[index])
        if own is None:
            own = rights(segment.document(index), rules)
            if not speaks[index]:
                silent[fitting[index]] = own
        yield index, own


def _may_say(segment: "Segment", index: int, deciding: frozenset[str]) -> bool:
    """Whether a key may be among a document's: where it is nowhere in the record, that need not be taken apart."""
    # Folding goes by characters, so that a folded key is found in the folded record; what no character is breaks none.
    record = str(segment.records[index], "utf-8", "replace").casefold()
    return any(key in record for key in deciding)


def _fitting(path: str, rules: AccessRules) -> tuple[int, ...]:
    return tuple(number for number, rule in enumerate(rules.rules) if matches(rule.match, path))


def hides(source_path: SourcePath, data: bytes, settings: Settings, rules: AccessRules, caller: Caller) -> bool:
    """Whether a document with these bytes is hidden from a caller."""
    return not admits(rights_of_bytes(source_path, data, settings, rules), caller.roles, caller.as_of)


def rights_of_bytes(source_path: SourcePath, data: bytes, settings: Settings, rules: AccessRules) -> Rights:
    """Return the rights of a document with these bytes."""
    from indexerd.indexing import document_of  # noqa: PLC0415 - 30 ms of a start: where nothing has changed, none needs it

    return rights(document_of(source_path, data, settings), rules)
