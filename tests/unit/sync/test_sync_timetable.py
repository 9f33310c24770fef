"""When things are due that nobody asked for."""

from indexerd.sync.timetable import (
    OVERFLOW_BACK_OFF_SECONDS,
    OVERFLOW_LONGEST_SECONDS,
    OVERFLOW_QUIET_SECONDS,
    RECENT_SECONDS,
    RECONCILE_SECONDS,
    Overflows,
    Timetable,
)


def test_a_full_scan_comes_every_ten_minutes_or_a_thousand_times_its_length():
    """A quick scan is repeated after ten minutes, a slow one later."""
    table = Timetable()
    table.reconciled(100.0, 0.1)
    assert table.reconcile == 100.0 + RECONCILE_SECONDS
    table.reconciled(100.0, 3.0)
    assert table.reconcile == 100.0 + 3000.0


def test_polling_has_its_own_interval():
    """Where events cannot be had, the interval asked for counts."""
    table = Timetable(poll_seconds=7.0)
    table.reconciled(100.0, 3.0)
    assert table.reconcile == 107.0


def test_a_file_too_recent_to_trust_is_due_once_and_later():
    """It is looked at again after the window; several changes lead to one look after the last."""
    table = Timetable()
    table.look_again(["n.md"], 100.0)
    table.look_again(["n.md"], 101.0)
    assert table.recent_due(100.0 + RECENT_SECONDS, 10) == []
    assert table.recent_due(101.0 + RECENT_SECONDS, 10) == ["n.md"]
    assert table.recent_due(200.0, 10) == []


def test_of_many_files_too_recent_to_trust_a_portion_is_due_at_once():
    """The rest is due in the same moment, but handed out later."""
    table = Timetable()
    table.look_again(["a.md", "b.md", "c.md"], 100.0)
    assert table.recent_due(200.0, 2) == ["a.md", "b.md"]
    assert table.next_moment() <= 200.0
    assert table.recent_due(200.0, 2) == ["c.md"]


def test_the_next_moment_is_the_earliest():
    """The thread may sleep until the first of all timers."""
    table = Timetable(root_check=105.0, reconcile=103.0)
    assert table.next_moment() == 103.0
    table.look_again(["n.md"], 100.0)
    assert table.next_moment() == 100.0 + RECENT_SECONDS


def test_the_scan_after_an_overflow_waits_for_quiet():
    """Each further overflow puts the scan off by the quiet time, but not for ever."""
    overflows = Overflows()
    assert overflows.lost(100.0) == 100.0 + OVERFLOW_QUIET_SECONDS
    assert overflows.lost(100.4) == 100.4 + OVERFLOW_QUIET_SECONDS
    latest = max(overflows.lost(100.0 + step / 10) for step in range(200))
    assert latest <= 100.0 + OVERFLOW_QUIET_SECONDS + OVERFLOW_LONGEST_SECONDS


def test_scans_for_overflows_come_further_and_further_apart():
    """Overflow after overflow, the waits double up to a minute; after a quiet time they are short again."""
    overflows, now, waits = Overflows(), 100.0, []
    for _ in range(12):
        waits.append(overflows.lost(now) - now)
        now += waits[-1]
        overflows.scanned(now)
    assert waits == sorted(waits)
    assert waits[-1] == OVERFLOW_BACK_OFF_SECONDS
    now += OVERFLOW_BACK_OFF_SECONDS + 1
    assert overflows.lost(now) - now == OVERFLOW_QUIET_SECONDS


def test_lost_events_are_pending_until_a_scan():
    """Between the loss and the scan the loss stands."""
    overflows = Overflows()
    assert not overflows.pending()
    overflows.lost(100.0)
    assert overflows.pending()
    overflows.scanned(101.0)
    assert not overflows.pending()
