"""Problems stand with cause, since and count, and clear themselves."""

from indexerd.sync.problems import Problems, Standing
from indexerd.sync.status import state_of
from tests.fakes.manual_clock import ManualClock


def test_a_repeated_problem_is_one_entry():
    """It keeps the moment of its first report, counts, and shows the newest detail."""
    problems = Problems().report("a", "first", 5).report("a", "second", 9)
    (entry,) = problems.entries
    assert (entry.since_ns, entry.count, entry.detail) == (5, 2, "second")


def test_a_cleared_problem_begins_anew():
    """After it went, its next report is a new one."""
    problems = Problems().report("a", "x", 5).clear("a")
    assert problems.entries == ()
    assert problems.report("a", "y", 9).entries[0].since_ns == 9
    assert problems.clear("never") is problems


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
    problems = Problems().report("a", "x", 5).entries
    assert state_of(building=True, pending=1, problems=problems) == "building"
    assert state_of(building=False, pending=1, problems=problems) == "degraded"
    assert state_of(building=False, pending=1, problems=()) == "pending"
    assert state_of(building=False, pending=0, problems=()) == "current"
