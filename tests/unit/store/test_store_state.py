"""From one state to the next: a merge changes nothing that anybody can see."""

import random

import pytest

from indexerd.store import parts as parts_module
from indexerd.store.manifest import FileRef, SegmentRef
from indexerd.store.parts import Stored, appended
from indexerd.store.segment import merge_segments
from indexerd.store.state import merged_parts
from tests.unit.store.test_store_parts import random_history, shown


def merged(parts, plan, number):
    """Return the run of stored segments that these parts stand for, and the one that it becomes."""
    chosen = [parts[index] for index in plan]
    data = merge_segments([(part.view.data, part.view.live) for part in chosen], drop_tombstones=plan.start == 0)
    gone = [one for part in chosen for one in part.stored]
    return gone, Stored(SegmentRef(FileRef(number, bytes(16), 10), gone[-1].ref.generation), data)


@pytest.mark.parametrize(("recent", "small"), [(1, 2), (2, 8), (3, 20), (256, 2048)])
def test_a_merge_shows_what_was_there_whatever_was_published_while_it_ran(recent, small, monkeypatch):
    """Any run of parts, any number of publishes in between: they join parts at either end of the run."""
    monkeypatch.setattr(parts_module, "RECENT_CHUNKS", recent)
    monkeypatch.setattr(parts_module, "SMALL_CHUNKS", small)
    joined_before = 0
    for seed in range(150):
        choose = random.Random(seed)
        history, alive = random_history(seed, 16)
        begun = choose.randint(1, 12)
        parts = ()
        for one in history[:begun]:
            parts = appended(parts, one)
        first = choose.randrange(len(parts))
        gone, become = merged(parts, range(first, choose.randint(first, len(parts) - 1) + 1), number=1000)
        for one in history[begun:]:
            parts = appended(parts, one)
        before = [one.ref for part in parts for one in part.stored]
        at = before.index(gone[0].ref)
        joined_before += at not in {sum(len(part.stored) for part in parts[:index]) for index in range(len(parts))}
        after = merged_parts(parts, gone, become)
        assert [one.ref for part in after for one in part.stored] == [
            *before[:at],
            become.ref,
            *before[at + len(gone) :],
        ]
        assert shown(after) == shown(parts) == alive
    # What comes before the run is joined with it in some histories, else this test says less than it seems to.
    assert joined_before or small > 20
