"""What is remembered of earlier queries: bounded, and never another answer."""

import gc

import pytest

from indexerd.search.rank import Ranking
from indexerd.search.recent import Recent
from tests.fakes.searching import Library


def test_the_latest_things_are_kept():
    """As many of the latest as there is room for are there."""
    recent = Recent(10)
    for number in range(100):
        recent.keep(number, str(number))
        assert all(recent.get(known) == str(known) for known in range(max(0, number - 9), number + 1))


def test_no_more_than_twice_the_room_is_kept():
    """However much is kept, the rest is forgotten."""
    recent = Recent(10)
    for number in range(1000):
        recent.keep(number, str(number), cost=1 + number % 3)
        assert sum(1 + known % 3 for known in range(number + 1) if recent.get(known)) <= 20


def test_what_is_used_stays():
    """A thing that is kept again and again outlives those that are not."""
    recent = Recent(10)
    recent.keep("used", "first")
    for number in range(100):
        assert recent.get("used") == "first"
        recent.keep("used", "first")
        recent.keep(number, str(number))


def test_one_thing_beyond_the_room_is_kept_alone():
    """Something larger than the room displaces the rest, and is there until the next."""
    recent = Recent(10)
    recent.keep("large", 1, cost=100)
    assert recent.get("large") == 1


@pytest.mark.parametrize("kind", ["query", "evidence"])
def test_what_a_search_worked_with_goes_with_it(kind):
    """Without the collector of cycles no ranking outlives its search: each may hold lists of megabytes."""
    library = Library({"a.md": "# A\n\nThe backup job runs every night.\n"})
    gc.collect()
    gc.disable()
    try:
        assert getattr(library, kind)("backup job").hits
        assert not [one for one in gc.get_objects() if isinstance(one, Ranking)]
    finally:
        gc.enable()
