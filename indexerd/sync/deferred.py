"""A value that is made when it is first asked for.

Owns: that it is made once, whichever thread comes first.
Knows nothing of: what the value is.
Invariants: 1. everybody gets the same value. 2. if making it fails, the next who asks tries again.
Purity: shell (a lock).
See: docs/operations.md (start).
"""

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Deferred(Generic[T]):
    """Call it for the value."""

    __slots__ = ("_lock", "_made", "_make")

    def __init__(self, make: Callable[[], T]) -> None:
        """`make` is called at most once with success, and dropped with all that it holds."""
        self._make: Callable[[], T] | None = make
        self._made: tuple[T] | None = None
        # Held while the value is made: who else asks meanwhile waits for it.
        self._lock = threading.Lock()

    def __call__(self) -> T:
        """Return the value, made now if it was not yet."""
        made = self._made
        if made is None:
            with self._lock:
                if self._make is not None:
                    self._made = (self._make(),)
                    self._make = None
                made = self._made
        assert made is not None
        return made[0]
