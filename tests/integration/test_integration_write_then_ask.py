"""Save, then ask with the default wait: the new text is there, wherever it was saved, and nothing else is left."""

import os
import random

import pytest

from tests.fakes.inotify_limits import few_watches, may_have_few_watches
from tests.fakes.watched_notes import Notes

IS_LARGE = os.environ.get("INDEXERD_TEST_SIZE") == "large"
PAIRS = 20_000 if IS_LARGE else 300
PATIENT_MS = 20_000
pytestmark = pytest.mark.slow


def pair(notes, number, chance) -> str:
    """Save one document in some place and some way, ask for its new word; return what is wrong with the answer."""
    place = chance.choice(("n.md", "sub/n.md", f"new{number}/a/b/n.md", f"known{number % 20}/n.md"))
    save = chance.choice((notes.save, notes.write))
    word = f"pairword{number}x"
    save(place, f"# Note\n\n{word} in its text\n")
    reply = notes.daemon.call("query", text=word, wait_ms=None)
    if reply["freshness"]["state"] != "current":
        # Only a machine with too much to do may use the default wait up: then it is said, and a longer one finds it.
        reply = notes.daemon.call("query", text=word, wait_ms=PATIENT_MS)
    found = [hit["source_path"] for hit in reply["hits"]]
    told = (reply["freshness"], reply["rejected_counts"], found)
    return "" if found == [place] else f"{place} by {save.__name__}: {told}"


def assert_nothing_left(notes):
    """Every file below the root is one that was saved."""
    strange = [path for path in notes.root.rglob("*") if path.is_file() and path.name != "n.md"]
    assert strange == []


def test_what_was_saved_is_found_by_the_next_question(tmp_path):
    """In old folders and in new nested ones, by rename and in place: no question misses the save before it."""
    notes, chance = Notes(tmp_path), random.Random(8)
    try:
        notes.start()
        assert [wrong for number in range(PAIRS) if (wrong := pair(notes, number, chance))] == []
        assert_nothing_left(notes)
    finally:
        notes.close()


@pytest.mark.skipif(not may_have_few_watches(), reason="needs user namespaces")
def test_what_was_saved_where_nothing_is_watched_is_found_too(tmp_path):
    """With the limit of watches reached, the question itself looks into the folders that report nothing."""
    notes, chance = Notes(tmp_path), random.Random(9)
    for number in range(20):
        notes.write(f"known{number}/n.md", "text\n")
    try:
        notes.start(through=few_watches(8))
        assert [wrong for number in range(PAIRS // 10) if (wrong := pair(notes, number, chance))] == []
        assert {problem["code"] for problem in notes.status()["problems"]} == {"watch_limit"}
        assert_nothing_left(notes)
    finally:
        notes.close()
