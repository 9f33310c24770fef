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
        return datetime.datetime.now().astimezone().date()
