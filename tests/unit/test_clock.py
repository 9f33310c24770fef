"""The real clock tells the time."""

import datetime
import errno
import time

import pytest

from indexerd.clock import BackOff, SystemClock


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


def test_a_back_off_doubles_to_its_limit_and_starts_over():
    """Each failure doubles the wait up to the longest; a success resets it."""
    back_off = BackOff(first=1.0, longest=5.0)
    assert [back_off.failed() for _ in range(5)] == [1.0, 2.0, 4.0, 5.0, 5.0]
    back_off.succeeded()
    assert back_off.failed() == 1.0


def test_a_full_disk_is_asked_again_within_a_second():
    """Room may come at any moment: however long there was none, the next try is never far; other errors wait longer."""
    back_off = BackOff(longest=60.0)
    full = OSError(errno.ENOSPC, "No space left on device")
    assert [back_off.failed(full) for _ in range(9)] == [0.5] + [1.0] * 8
    assert back_off.failed(OSError(errno.EIO, "Input/output error")) == 60.0
