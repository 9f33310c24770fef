"""Which documents are alive: array code against the obvious dictionary."""

import random

import numpy as np

from indexerd import indexing
from indexerd.store import parts as parts_module
from indexerd.store.manifest import FileRef, SegmentRef
from indexerd.store.parts import MAX_PARTS, Stored, appended, kill, live_masks, new_part, opened
from tests.fakes.small_stores import SETTINGS, make_segment

PATHS = [f"{letter}.md" for letter in "abcdefgh"]


def stored(number, files, deleted=()):
    return Stored(SegmentRef(FileRef(number, bytes(16), 10), number), make_segment(files, deleted))


def random_history(seed, count):
    """Return stored segments and the documents that are alive after them."""
    rng, alive, history = random.Random(seed), {}, []
    for number in range(1, count + 1):
        changed = rng.sample(PATHS, rng.randint(0, 4))
        deleted = [path for path in rng.sample(PATHS, rng.randint(0, 2)) if path not in changed]
        files = {path: f"words of {path} in {number}\n" for path in changed}
        alive = {path: text for path, text in alive.items() if path not in deleted} | files
        history.append(stored(number, files, deleted))
    return history, alive


def shown(parts):
    return {
        part.view.data.paths[index]: bytes(part.view.data.raw(index)).decode()
        for part in parts
        for index in np.flatnonzero(part.view.live)
    }


def test_publishing_step_by_step_shows_what_a_dictionary_would():
    """After any history of versions and tombstones exactly the newest ones are alive."""
    for seed in range(40):
        history, alive = random_history(seed, 12)
        parts = ()
        for one in history:
            parts = appended(parts, one)
        assert shown(parts) == alive
        assert len(parts) <= MAX_PARTS


def test_opening_from_disk_shows_the_same():
    """Reading all segments at once gives the same documents and the same stored segments."""
    for seed in range(40):
        history, alive = random_history(seed, 12)
        parts = opened(history)
        assert shown(parts) == alive
        assert [one.ref for part in parts for one in part.stored] == [one.ref for one in history]


def test_counts_follow_the_mask():
    """Counts that are kept up to date by differences equal counts made anew."""
    for seed in range(40):
        history, _ = random_history(seed, 6)
        part = new_part([history[0]], history[0].data, np.ones(history[0].data.document_count, dtype=np.bool_))
        for one in history[1:]:
            part = kill(part, one.data)
        fresh = new_part([history[0]], part.view.data, part.view.live).view
        for name in ("document_count", "chunk_count", "unsafe_chunk_count", "text_bytes"):
            assert getattr(part.view, name) == getattr(fresh, name)


def test_a_mask_is_copied_before_it_changes():
    """A reader's mask stays as it was, and the key tells the two apart."""
    history = [stored(1, {"a.md": "one\n", "b.md": "two\n"}), stored(2, {"a.md": "three\n"})]
    before = new_part([history[0]], history[0].data, np.ones(2, dtype=np.bool_))
    after = kill(before, history[1].data)
    assert before.view.live.all()
    assert after.view.live.tolist() == [False, True]
    assert before.view.key != after.view.key
    assert kill(before, make_segment({"z.md": "other\n"})) is before


def test_equal_keys_of_different_paths_are_told_apart(monkeypatch):
    """Were the keys of two paths equal, only the path that was named is dead."""
    monkeypatch.setattr(indexing, "path_key", lambda _: 7)
    first, second = (
        indexing.build_segment([(path, b"text\n") for path in names], SETTINGS, dead)
        for names, dead in ((["k1.md", "k2.md", "k3.md"], []), (["k2.md"], ["k3.md"]))
    )
    masks = live_masks([first, second])
    assert masks[0].tolist() == [True, False, False]
    part = new_part([], first, np.ones(3, dtype=np.bool_))
    assert kill(part, second).view.live.tolist() == [True, False, False]


def test_a_publish_does_no_work_for_each_document_of_the_corpus(monkeypatch):
    """One new document decodes the paths of the documents it overrides and no others."""
    large = stored(1, {f"n{number:03}.md": "text\n" for number in range(300)})
    monkeypatch.setattr(parts_module, "SMALL_CHUNKS", 100)
    parts = appended((), large)
    decoded = []
    original = type(large.data.paths).__getitem__
    monkeypatch.setattr(type(large.data.paths), "__getitem__", lambda self, n: decoded.append(n) or original(self, n))
    parts = appended(parts, stored(2, {"n007.md": "new\n"}))
    assert len(decoded) == 2
    assert [part.view.document_count for part in parts] == [299, 1]
