"""The real clock.

Owns: reading time.
Knows nothing of: why anybody asks.
Invariants: 1. `monotonic` never goes back; wall time may jump and decides nothing but what people see and file ages.
Purity: shell (time).
See: docs/glossary.md.
"""

import datetime
import time


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
