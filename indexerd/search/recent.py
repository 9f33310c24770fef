"""What was worked out lately, within a bound.

Owns: the rule by which things are kept and forgotten.
Knows nothing of: what they are.
Invariants: 1. the things kept cost at most twice `room`. 2. those of the latest `room` are all kept.
Purity: pure (mutable; safe under threads: a lost update costs working out again).
See: docs/search.md (what is remembered).
"""

from collections.abc import Hashable
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    import weakref

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Recent(Generic[K, V]):
    """A mapping that forgets: two halves, of which the older one is dropped whenever the younger is full."""

    __slots__ = ("_older", "_room", "_used", "_younger")

    def __init__(self, room: int) -> None:
        self._room, self._used = room, 0
        self._younger: dict[K, V] = {}
        self._older: dict[K, V] = {}

    def get(self, key: K) -> V | None:
        """Return what is kept under a key."""
        found = self._younger.get(key)
        return found if found is not None else self._older.get(key)

    def keep(self, key: K, value: V, cost: int = 1) -> V:
        """Keep a value, as the latest; return it."""
        if key not in self._younger:
            self._used += cost
            if self._used > self._room:
                self._older, self._younger, self._used = self._younger, {}, cost
        self._younger[key] = value
        return value


Owner = TypeVar("Owner")


def recent_of(known: "weakref.WeakKeyDictionary[Owner, Recent[K, V]]", owner: Owner, room: int) -> Recent[K, V]:
    """Return what is remembered with an owner, for as long as the owner lives."""
    found = known.get(owner)
    if found is None:
        found = known[owner] = Recent(room)
    return found
