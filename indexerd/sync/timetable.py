"""When what nobody asked for is due: checking the roots, a full scan, another look at what is too recent to trust.

Owns: the intervals and the moments that follow from them.
Knows nothing of: what is done at those moments, threads; the clock is an argument.
Invariants: 1. a full scan comes at least as often as its interval says, measured from the end of the last. 2. however
    often events are lost, scans for that come further and further apart, and one stands for all.
Purity: pure.
See: docs/operations.md (what happens at idle).
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice, takewhile

from indexerd.clock import BackOff
from indexerd.model import SourcePath

ROOT_CHECK_SECONDS = 1.0
TIMER_SLACK_SECONDS = 0.005
ROOT_RETRY_SECONDS = 5.0
REFUSED_RETRY_SECONDS = 30.0
RECONCILE_SECONDS = 600.0
# A scan takes at most a thousandth of the time, however large the tree is.
RECONCILE_FACTOR = 1000.0
# 200 files an hour, in portions: choosing costs a pass over all fingerprints.
SAMPLE_SECONDS = 900.0
SAMPLE_FILES = 50
# A little more than the window in which a second write may leave the stat unchanged.
RECENT_SECONDS = 2.2
# After lost events: not before they stop coming, but not put off for ever, and ever less often.
OVERFLOW_QUIET_SECONDS = 0.5
OVERFLOW_LONGEST_SECONDS = 5.0
OVERFLOW_BACK_OFF_SECONDS = 60.0
FIRST_SAVE_SECONDS = 15.0
SAVE_SECONDS = 300.0
# One shot: files that never hold still are given up after this long and listed.
STILL_CHANGING_SECONDS = 3.0


@dataclass(slots=True)
class Overflows:
    """Decides when the scan for lost events may begin."""

    _since: float | None = None
    _last_scan: float | None = None
    _wait: float = 0.0
    _back_off: BackOff = field(default_factory=lambda: BackOff(OVERFLOW_QUIET_SECONDS, OVERFLOW_BACK_OFF_SECONDS))

    def pending(self) -> bool:
        """Return whether lost events are still to be made up for."""
        return self._since is not None

    def lost(self, now: float) -> float:
        """Note that events were lost; return the moment before which no scan should begin."""
        if self._since is None:
            self._since = now
            recent = self._last_scan is not None and now - self._last_scan < OVERFLOW_BACK_OFF_SECONDS
            if not recent:
                self._back_off.succeeded()
            self._wait = self._back_off.failed()
        quiet = now + OVERFLOW_QUIET_SECONDS
        return min(max(quiet, self._since + self._wait), self._since + self._wait + OVERFLOW_LONGEST_SECONDS)

    def scanned(self, now: float) -> None:
        """Note that a scan made up for them."""
        self._since = None
        self._last_scan = now


@dataclass(slots=True)
class Timetable:
    """The moments at which things are due. All times are of the monotonic clock."""

    poll_seconds: float | None = None
    root_check: float = 0.0
    root_retry: float = 0.0
    refused_retry: float = 0.0
    reconcile: float = float("inf")
    sample: float = float("inf")
    save: float = float("inf")
    _recent: dict[SourcePath, float] = field(default_factory=dict)

    def reconciled(self, now: float, seconds: float) -> None:
        """Note that a full scan ended and how long it took."""
        regular = max(RECONCILE_SECONDS, RECONCILE_FACTOR * seconds)
        self.reconcile = now + (self.poll_seconds if self.poll_seconds is not None else regular)
        self.sample = min(self.sample, now + SAMPLE_SECONDS)
        self.save = min(self.save, now + FIRST_SAVE_SECONDS)

    def look_again(self, paths: Iterable[SourcePath], now: float) -> None:
        """Note files whose stat is too recent to trust; of several looks at one file the latest counts."""
        for path in paths:
            # To the end: they are kept in the order in which they become due.
            self._recent.pop(path, None)
            self._recent[path] = now + RECENT_SECONDS

    def recent_due(self, now: float, most: int) -> list[SourcePath]:
        """Return files whose stat can be trusted from now on, `most` of them at most, and forget these."""
        due = list(islice(takewhile(lambda path: self._recent[path] <= now, self._recent), most))
        for path in due:
            del self._recent[path]
        return due

    def next_moment(self, *, recent: bool = True) -> float:
        """Return the earliest moment at which anything is due, with or without files too recent to trust."""
        first = next(iter(self._recent.values()), float("inf")) if recent else float("inf")
        return min(self.root_check, self.reconcile, self.sample, first)
