"""The wishes for repair that wait for the writer: who asked for what, and how each is answered.

Owns: the queue of wishes, and that every wish taken from it is answered, whatever happens.
Knows nothing of: how bytes are published, how long anybody waits.
Invariants: 1. a wish goes before everything else. 2. each repaired file is looked at again afterwards: the bytes that
    were seen may be older than the file is by then. 3. a wish that nobody waits for any more leads to a look, not to a
    publish.
Purity: shell (threads, through the conditions given).
See: docs/adr/0011.
"""

import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from indexerd.model import SourcePath
from indexerd.ports import Clock, Sources
from indexerd.sync.pending import Hint, Kind, Pending
from indexerd.sync.repair import Asked, Group, Reads, Repaired, grouped

if TYPE_CHECKING:
    from indexerd.store import Snapshot


class Repairs:
    """The queue. `ask` and `withdraw` are for all threads, `serve` for the one that steps."""

    def __init__(
        self, pending: Pending, sources: Sources, clock: Clock, wake: threading.Condition, resolved: threading.Condition
    ) -> None:
        """Make an empty queue.

        Args:
            pending: The hints, guarded by the lock of the conditions.
            sources: Names the place of a document.
            clock: Time.
            wake: Told when there is something to serve.
            resolved: Told when wishes were answered; has the same lock.
        """
        self._pending, self._sources, self._clock = pending, sources, clock
        self._wake, self._resolved = wake, resolved
        self._waiting: list[Asked] = []

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def ask(self, reads: Reads) -> Asked:
        """Wish for a generation that holds what was seen. Call with the lock held."""
        asked = Asked(reads)
        self._waiting.append(asked)
        self._wake.notify_all()
        return asked

    def withdraw(self, asked: Asked) -> None:
        """Wait no longer; the files are still looked at, soon. Call with the lock held."""
        if asked in self._waiting:
            self._waiting.remove(asked)
            self._look_at(asked.reads, urgent=True)
            self._wake.notify_all()

    def serve(self, publish: Callable[[Reads], Repaired | None], tell: Callable[["Snapshot"], None]) -> None:
        """Answer every wish that waits.

        Args:
            publish: Publishes what was seen; None if that cannot be done now.
            tell: Given each new generation, after those who wait for it.

        Raises:
            Exception: As `publish`; the wishes that were left then are answered with nothing.
        """
        with self._resolved:
            wishes, self._waiting = self._waiting, []
        try:
            for group in grouped(wishes):
                repaired = publish(group.reads)
                self._answer(group, repaired)
                if repaired is not None and repaired.published:
                    tell(repaired.snapshot)
        finally:
            unanswered = [asked for asked in wishes if not asked.done]
            for asked in unanswered:
                self._answer(Group([asked], dict(asked.reads)), None)

    def _answer(self, group: Group, repaired: Repaired | None) -> None:
        with self._resolved:
            if repaired is None:
                self._look_at(group.reads, urgent=True)
            else:
                self._look_at(repaired.published, urgent=False)
            left = repaired.left if repaired is not None else frozenset()
            number = self._look_at(left, urgent=True)
            for asked in group.asked:
                asked.snapshot = repaired.snapshot if repaired is not None else None
                asked.left = left.intersection(asked.reads)
                asked.number = number
                asked.done = True
            self._resolved.notify_all()

    def _look_at(self, paths: Iterable[SourcePath], *, urgent: bool) -> int:
        places = [place for place in map(self._sources.absolute, paths) if place is not None]
        # `touched`: a writer that is at work on one of them right now is still waited for, if shortly.
        hints = [Hint(place, Kind.TOUCHED) for place in places]
        return self._pending.add(hints, self._clock.monotonic(), urgent=urgent)
