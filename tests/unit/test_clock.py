"""The real clock tells the time."""

import datetime

from indexerd.clock import SystemClock


def test_time_passes():
    """Monotonic time does not go back, wall time is of this century, and today is a date near it."""
    clock = SystemClock()
    assert clock.monotonic() <= clock.monotonic()
    now = datetime.datetime.fromtimestamp(clock.now_ns() / 1e9, datetime.UTC)
    assert now.year >= 2025
    assert abs(clock.today() - now.date()) <= datetime.timedelta(days=1)
