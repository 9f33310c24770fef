"""The real clock, and how long to wait before what failed is tried again.

Owns: reading time; the back-off.
Knows nothing of: why anybody asks, what failed.
Invariants: 1. `monotonic` never goes back; wall time may jump and decides nothing but what people see and file ages.
Purity: shell (time); the back-off counts.
See: docs/glossary.md.
"""

import datetime
import errno
import time
from dataclasses import dataclass

# A full disk refuses at once and may have room at any moment: asking often costs little, and nobody waits long.
ROOM_SECONDS = 1.0
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT}


@dataclass(slots=True)
class BackOff:
    """Doubles from the first to the last interval with each failure; starts over after a success."""

    first: float = 0.5
    longest: float = 60.0
    _failures: int = 0

    def failed(self, error: Exception | None = None) -> float:
        """Count a failure; return the seconds to wait, which are few where the disk was full."""
        self._failures += 1
        longest = ROOM_SECONDS if isinstance(error, OSError) and error.errno in _NO_ROOM else self.longest
        return min(self.first * 2.0 ** min(self._failures - 1, 32), longest)

    def succeeded(self) -> None:
        """Start over."""
        self._failures = 0


class SystemClock:
    """The machine's clock; implements `ports.Clock`."""

    def monotonic(self) -> float:
        """Return seconds that never go back."""
        return time.monotonic()

    def now_ns(self) -> int:
        """Return wall time in nanoseconds since 1970."""
        return time.time_ns()

    def today(self) -> datetime.date:
        """Return the date in the machine's time zone, as it is set now."""
        return self.day_of(self.now_ns())

    def day_of(self, moment_ns: int) -> datetime.date:
        """Return the date of a moment in the machine's time zone."""
        return datetime.datetime.fromtimestamp(moment_ns // 1_000_000_000, datetime.UTC).astimezone().date()

    def time_zone(self) -> str:
        """Return the machine's time zone, such as `CET (UTC+0100)`."""
        return datetime.datetime.now().astimezone().strftime("%Z (UTC%z)")
