"""What is looked at because time has passed: roots that may be others now, samples, folders that are not watched.

Owns: which hints follow from the timetable, and that a root is noticed to have gone, come back or been replaced, or
    that other rules hold for it.
Knows nothing of: threads, how a look is done, what it leads to.
Invariants: 1. what only time asks for is never waited for; a root that is not the folder it was is. 2. amid a bulk run
    nothing is read again for its age alone.
Purity: shell (asks for the stat of each root and of what rules it from outside).
See: docs/operations.md (what happens at idle).
"""

import os
import threading
from collections.abc import Sequence

from indexerd.model import Root
from indexerd.sync.cycle import Cycle
from indexerd.sync.outside import OutsideRules
from indexerd.sync.pending import Hint, Kind, Pending
from indexerd.sync.roots import RootIdentities, identity_of
from indexerd.sync.timetable import (
    ROOT_CHECK_SECONDS,
    ROOT_RETRY_SECONDS,
    SAMPLE_FILES,
    SAMPLE_SECONDS,
    Timetable,
)
from indexerd.sync.watching import Watching

# A bulk run leaves many files whose times are too recent to trust: so many of them become hints in one step.
_RECENT_AT_ONCE = 500


class Timers:
    """Adds hints when they are due. Call every method with the lock of the hints held.

    Attributes:
        on: Off for one shot, which does what is asked and ends.
    """

    def __init__(
        self, timetable: Timetable, pending: Pending, cycle: Cycle, watching: Watching, wake: threading.Condition
    ) -> None:
        self.on = False
        self._timetable, self._pending, self._cycle, self._watching = timetable, pending, cycle, watching
        self._wake = wake
        self._identities = RootIdentities(root.path for root in cycle.roots)
        scanner = cycle.scanner
        self._outside = OutsideRules(
            cycle.roots, scanner.outside_rule_files, cycle.clock, met_in=scanner.ruled_elsewhere
        )

    def check_roots(self, now: float) -> bool:
        """Note the roots that are not the folders they were, or ruled otherwise from outside; return whether any is."""
        changed = [Hint(os.fsencode(path), tree=True) for path in self._identities.changed()]
        changed += map(_tree, self._outside.changed())
        # It may have come back as the folder it was, and was looked for in between alone: no event, no other identity.
        changed += [_tree(root) for root in self._roots("missing") if identity_of(root.path) is not None]
        if changed:
            self._watching.choose()
            self._pending.add(changed, now, urgent=True)
            self._wake.notify_all()
        return bool(changed)

    def tick(self, now: float, *, in_bulk: bool) -> None:
        """Add what is due, with a bulk run under way or not."""
        table = self._timetable
        if now >= table.root_check:
            table.root_check = now + ROOT_CHECK_SECONDS
            self.check_roots(now)
            self._retry(now)
        if now >= table.reconcile:
            table.reconcile = float("inf")
            self._pending.survey()
        # Not amid a bulk run: it would only make that longer, and somebody may be waiting for its end.
        again = [] if in_bulk else table.recent_due(now, _RECENT_AT_ONCE)
        if now >= table.sample:
            table.sample = now + SAMPLE_SECONDS
            ledger = self._cycle.ledger
            again += ledger.cache.sample(ledger.indexed, SAMPLE_FILES)
        self._pending.add([Hint(self._cycle.absolute(path), Kind.TOUCHED) for path in again], now, idle=True)

    def look_at_unwatched(self, folders: Sequence[bytes], now: float) -> None:
        """Look from time to time into folders whose changes nobody reports; entering them tries to watch them again."""
        if now >= self._timetable.refused_retry:
            self._timetable.refused_retry = now + self._watching.look_seconds()
            self._pending.add([Hint(folder, tree=True) for folder in folders], now, idle=True)

    def _retry(self, now: float) -> None:
        """Look again at roots that were not there, and at everything when the watch has died."""
        table = self._timetable
        if now >= table.root_retry:
            table.root_retry = now + ROOT_RETRY_SECONDS
            self._pending.add(map(_tree, self._roots()), now, idle=True)
        if self._watching.is_dead():
            self._pending.doubt()

    def _roots(self, state: str | None = None) -> list[Root]:
        """Return the roots that cannot be looked at, or those in one state."""
        states = self._cycle.ledger.roots
        found = [(root, states.get(root.label, "ok")) for root in self._cycle.roots]
        return [root for root, at in found if at == state or (state is None and at != "ok")]


def _tree(root: Root) -> Hint:
    return Hint(os.fsencode(root.path), tree=True)
