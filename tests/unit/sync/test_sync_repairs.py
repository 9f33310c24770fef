"""The queue of wishes for repair: which are answered together, and that every one is answered."""

import threading

import pytest

from indexerd.ports import SourceFault, SourceRead, SourceStat
from indexerd.sync.apply import Tally
from indexerd.sync.pending import Pending
from indexerd.sync.repair import Repaired
from indexerd.sync.repairs import Repairs
from tests.fakes.manual_clock import ManualClock
from tests.fakes.memory_sources import MemorySources


def read(text, tick=1):
    return SourceRead(text.encode(), SourceStat(1, tick, len(text), tick, tick))


class Desk:
    """A queue over hints that nobody resolves, and a publisher that counts generations."""

    def __init__(self) -> None:
        lock = threading.Lock()
        self.pending, self.clock, self.lock = Pending(), ManualClock(), lock
        self.repairs = Repairs(
            self.pending, MemorySources(), self.clock, threading.Condition(lock), threading.Condition(lock)
        )
        self.published, self.told, self.left = [], [], frozenset()

    def ask(self, **texts):
        with self.lock:
            return self.repairs.ask({f"{name}.md": read(text) for name, text in texts.items()})

    def publish(self, reads):
        self.published.append({path: one.data.decode() for path, one in reads.items()})
        done = tuple(path for path in reads if path not in self.left)
        return Repaired(len(self.published), Tally(), done, self.left.intersection(reads))

    def serve(self, publish=None):
        self.repairs.serve(publish or self.publish, self.told.append)

    def hinted(self):
        batch = self.pending.take(self.clock.monotonic(), 100)
        return [hint.path for hint in batch.hints] if batch else []


def test_wishes_that_agree_are_answered_by_one_generation():
    """Different files, and one file seen alike, go together."""
    desk = Desk()
    wishes = [desk.ask(a="first"), desk.ask(b="other"), desk.ask(a="first", b="other")]
    assert desk.repairs
    desk.serve()
    assert desk.published == [{"a.md": "first", "b.md": "other"}]
    assert [(wish.done, wish.snapshot) for wish in wishes] == [(True, 1)] * 3
    assert (desk.told, bool(desk.repairs)) == ([1], False)


def test_wishes_that_contradict_each_get_their_generation_in_the_order_they_came():
    """Whoever saw a file in another state is answered from a generation of that state."""
    desk = Desk()
    wishes = [desk.ask(a="first"), desk.ask(a="second", b="other"), desk.ask(b="other")]
    desk.serve()
    assert desk.published == [{"a.md": "first"}, {"a.md": "second", "b.md": "other"}]
    assert [wish.snapshot for wish in wishes] == [1, 2, 2]


def test_what_was_published_is_looked_at_again():
    """The bytes may be older than the file by then, and no further event may come."""
    desk = Desk()
    desk.ask(a="first")
    desk.serve()
    assert desk.hinted() == [b"/docs/a.md"]


def test_what_is_left_is_looked_at_and_can_be_waited_for():
    """The number stands for the look; those who did not ask for these files have nothing to wait for."""
    desk = Desk()
    desk.left = frozenset({"a.md"})
    one, other = desk.ask(a="half"), desk.ask(b="whole")
    desk.serve()
    assert (one.left, other.left) == ({"a.md"}, frozenset())
    assert desk.pending.resolved_through() < one.number
    batch = desk.pending.take(desk.clock.monotonic(), 100)
    assert [hint.path for hint in batch.hints] == [b"/docs/a.md"], "what is urgent comes first and alone"


def test_when_publishing_fails_everybody_is_answered_and_every_file_is_looked_at():
    """Nobody waits for a store that refuses, and nothing is forgotten."""
    desk = Desk()
    wishes = [desk.ask(a="first"), desk.ask(a="second"), desk.ask(b="other")]

    def failing(reads):
        desk.published.append(reads)
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        desk.serve(failing)
    assert len(desk.published) == 1
    assert [(wish.done, wish.snapshot) for wish in wishes] == [(True, None)] * 3
    assert sorted(desk.hinted()) == [b"/docs/a.md", b"/docs/b.md"]
    assert desk.told == []


def test_when_nothing_can_be_published_now_everybody_is_answered():
    """While a set is redone, or after a failure, there is nothing to wait for."""
    desk = Desk()
    wish = desk.ask(a="first")
    desk.serve(lambda reads: None)
    assert (wish.done, wish.snapshot, desk.hinted()) == (True, None, [b"/docs/a.md"])


def test_a_wish_withdrawn_is_not_published_but_looked_at():
    """Who stopped waiting leaves a hint, that is all."""
    desk = Desk()
    wish = desk.ask(a="first")
    with desk.lock:
        desk.repairs.withdraw(wish)
        desk.repairs.withdraw(wish)
    desk.serve()
    assert (desk.published, wish.done, desk.hinted()) == ([], False, [b"/docs/a.md"])


def test_a_fault_seen_twice_in_two_ways_is_two_states():
    """Gone and unreadable are not the same."""
    desk = Desk()
    with desk.lock:
        for code in ("source_missing", "source_unreadable", "source_unreadable"):
            desk.repairs.ask({"a.md": SourceFault(code, "x")})
    groups = []
    desk.serve(lambda reads: groups.append(reads["a.md"].code))
    assert groups == ["source_missing", "source_unreadable"]
