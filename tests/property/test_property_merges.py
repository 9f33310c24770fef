"""Whatever is published, made durable, collected and killed around merges: every kept generation is what it was."""

import os
import random

import pytest

from indexerd.store import compaction, merging, parts, retention
from indexerd.store.verify import fsck
from tests.fakes.forgetful_filesystem import ForgetfulFilesystem, killed_process
from tests.fakes.manual_clock import ManualClock
from tests.fakes.small_stores import opened, publish

SEEDS = 300 if os.environ.get("INDEXERD_TEST_SIZE") == "large" else 6
PATHS = [f"{letter}.md" for letter in "abcdefghijkl"]


@pytest.fixture(params=[(1, 2, 3), (6, 40, 2), (12, 60, 4)], ids=str)
def small(request, monkeypatch):
    """Let a few chunks be many: parts are joined, grow large and fall due for a merge within a few publishes."""
    recent, size, stored = request.param
    monkeypatch.setattr(parts, "RECENT_CHUNKS", recent)
    monkeypatch.setattr(parts, "SMALL_CHUNKS", size)
    monkeypatch.setattr(merging, "SMALL_CHUNKS", size)
    monkeypatch.setattr(merging, "MAX_STORED", stored)
    monkeypatch.setattr(compaction, "SMALL_CHUNKS", size)
    monkeypatch.setattr(compaction, "LOADING_SECONDS", 0.0)
    monkeypatch.setattr(retention, "MIN_LIMIT_BYTES", 1 << 20)


def documents(snapshot) -> dict[str, bytes]:
    return {
        segment.data.paths[index]: bytes(segment.data.content_hashes[index]) for segment, index in snapshot.documents()
    }


class Author:
    """Publishes random changes, and knows what each generation holds."""

    def __init__(self, store, choose) -> None:
        self.store, self.choose, self.known, self.living = store, choose, {}, set()

    def publish(self) -> None:
        # Mostly one small document, as people save; now and then so much that parts are joined.
        much = self.choose.random() < 0.25
        changed = self.choose.sample(PATHS, 6 if much else self.choose.randint(0, 1))
        deleted = [path for path in self.choose.sample(PATHS, 1) if path in self.living and path not in changed]
        lines = self.choose.randint(1, 3) if much else 1
        texts = {path: "".join(f"# {n}\n\n{self.choose.random()}\n" for n in range(lines)) for path in changed}
        self.living = (self.living | set(changed)) - set(deleted)
        snapshot = publish(self.store, texts, deleted)
        self.known[snapshot.generation] = documents(snapshot)
        assert set(self.known[snapshot.generation]) == self.living

    def newest(self) -> dict[str, bytes]:
        return self.known[max(self.known)]

    def some_kept(self, store) -> dict[int, dict[str, bytes]]:
        """Return what some of the generations that a store keeps were when they were published."""
        kept = [one.generation for one in store.generations()]
        return {number: self.known[number] for number in self.choose.sample(kept, min(len(kept), 12))}


def held(store, generations) -> dict[int, dict[str, bytes]]:
    return {number: documents(store.past().open(number)) for number in generations}


def test_no_merge_changes_what_any_generation_holds(small, monkeypatch):
    """With publishes between any two of its steps, and after a kill and a start."""
    merges = 0
    for seed in range(SEEDS):
        choose = random.Random(seed)
        fs, clock = ForgetfulFilesystem(), ManualClock()
        author = Author(opened(fs, clock), choose)

        def meanwhile(step, author=author, choose=choose):
            def act(*args, **more):
                for _ in range(choose.choice([0, 1, 3, 8])):
                    author.publish()
                if choose.random() < 0.3:
                    author.store.checkpoint()
                return step(*args, **more)

            return act

        with monkeypatch.context() as patch:
            for name in ("stretches_of", "merge_segments", "taken_back", "write_segment"):
                patch.setattr(compaction, name, meanwhile(getattr(compaction, name)))
            for _ in range(6):
                for _ in range(choose.randint(1, 6)):
                    author.publish()
                clock.advance(choose.choice([0.01, 1.0, 100.0]))
                merges += author.store.merge_once()
                assert documents(author.store.snapshot()) == author.newest(), seed
                if choose.random() < 0.5:
                    author.store.checkpoint()
                    author.store.collect()
        again = opened(killed_process(fs))
        for store in (author.store, again):
            expected = author.some_kept(store)
            assert held(store, expected) == expected, seed
        assert not [finding for finding in fsck(killed_process(fs)) if finding.kind == "problem"]
    assert merges > SEEDS, "a test without merges says nothing"
