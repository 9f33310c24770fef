"""Problems stand with cause, since and count, and clear themselves."""

from indexerd.sync.problems import Standing
from indexerd.sync.status import state_of
from tests.fakes.manual_clock import ManualClock


def test_a_repeated_problem_is_one_entry():
    """It keeps the moment of its first report, counts, and shows the newest detail."""
    clock = ManualClock()
    standing, since = Standing(clock), clock.now_ns()
    standing.report("a", "first")
    clock.advance(5)
    standing.report("a", "second")
    (entry,) = standing.entries
    assert (entry.since_ns, entry.count, entry.detail) == (since, 2, "second")


def test_a_cleared_problem_begins_anew():
    """After it went, its next report is a new one."""
    clock = ManualClock()
    standing = Standing(clock)
    standing.report("a", "x")
    standing.clear("a")
    assert standing.entries == ()
    clock.advance(5)
    standing.report("a", "y")
    assert (standing.entries[0].since_ns, standing.entries[0].count) == (clock.now_ns(), 1)
    standing.clear("never")


def test_a_condition_counts_when_it_comes_or_changes():
    """Set again with the same words it is not counted; None clears it."""
    standing = Standing(ManualClock())
    standing.set("a", "three folders")
    standing.set("a", "three folders")
    assert standing.entries[0].count == 1
    standing.set("a", "four folders")
    assert standing.entries[0].count == 2
    standing.set("a", None)
    assert standing.entries == ()


def test_the_weakest_promise_names_the_state():
    """Building before degraded before pending before current."""
    standing = Standing(ManualClock())
    standing.report("a", "x")
    problems = standing.entries
    assert state_of(building=True, pending=1, problems=problems) == "building"
    assert state_of(building=False, pending=1, problems=problems) == "degraded"
    assert state_of(building=False, pending=1, problems=()) == "pending"
    assert state_of(building=False, pending=0, problems=()) == "current"
