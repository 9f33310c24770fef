"""The real clock tells the time."""

import datetime
import time

import pytest

from indexerd.clock import SystemClock


def test_time_passes():
    """Monotonic time does not go back, wall time is of this century, and today is a date near it."""
    clock = SystemClock()
    assert clock.monotonic() <= clock.monotonic()
    now = datetime.datetime.fromtimestamp(clock.now_ns() / 1e9, datetime.UTC)
    assert now.year >= 2025
    assert abs(clock.today() - now.date()) <= datetime.timedelta(days=1)


@pytest.mark.parametrize(
    ("zone", "named", "day"),
    [("UTC0", "UTC (UTC+0000)", 14), ("LINT-14", "LINT (UTC+1400)", 15), ("AOE12", "AOE (UTC-1200)", 14)],
)
def test_a_day_begins_where_the_machine_stands(monkeypatch, zone, named, day):
    """The same moment is another day elsewhere; the zone that decides has a name."""
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        clock = SystemClock()
        assert clock.day_of(1_700_000_000_000_000_000) == datetime.date(2023, 11, day)
        assert clock.time_zone() == named
    finally:
        monkeypatch.undo()
        time.tzset()
