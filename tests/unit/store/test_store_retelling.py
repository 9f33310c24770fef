"""A merge tells the kept generations anew: what history holds beside the living files is what has changed since."""

import random

import pytest

from indexerd.model import History
from indexerd.store import merging, retelling, retention
from indexerd.store.compaction import Compaction
from indexerd.store.manifest import FileRef, Manifest, SegmentRef
from indexerd.store.verify import fsck
from tests.fakes.forgetful_filesystem import ForgetfulFilesystem, killed_process
from tests.fakes.manual_clock import ManualClock
from tests.fakes.small_stores import content, opened, publish

WORDS = [f"word{number}" for number in range(400)]


def text(seed: object, words: int = 800) -> str:
    return f"# Note {seed}\n\n" + " ".join(random.Random(str(seed)).choices(WORDS, k=words)) + "\n"


CORPUS = {f"{number:02}.md": text(number) for number in range(40)}


@pytest.fixture
def small(monkeypatch):
    """Merge after a few publishes; let the limit of history be the live text and nothing else."""
    monkeypatch.setattr(merging, "MAX_STORED", 8)
    monkeypatch.setattr(retention, "MIN_LIMIT_BYTES", 0)


def history_of(store):
    return {one.generation: content(store.past().open(one.generation)) for one in store.generations()}


def published(store, rounds):
    """Edit, add and delete one document in each of so many publishes; return what each generation holds."""
    known = {}
    for number in range(rounds):
        edit = text((store.snapshot().generation, "edited"), 60)
        changed = {f"{number % 3:02}.md": edit, f"new{number}.md": f"added in {number}\n"}
        snapshot = publish(store, changed, [f"new{number - 3}.md"] if number >= 3 else [])
        known[snapshot.generation] = content(snapshot)
    return known


def test_a_merge_of_everything_pushes_nothing_out_of_history(small):
    """With dead text within the live text, pins and the last 64 generations stay, and replay as they were."""
    fs, clock = ForgetfulFilesystem(), ManualClock()
    store = opened(fs, clock)
    snapshot = publish(store, CORPUS)
    store.pin(snapshot.generation)
    # So far back that nothing but the pin keeps it.
    clock.advance(86_400 * 2)
    known = {snapshot.generation: content(snapshot)} | published(store, 24)
    for _ in range(3):
        assert store.merge_once()
        store.checkpoint()
        store.collect()
        assert known.keys() <= {one.generation for one in store.generations()}
        known |= published(store, 9)
    assert history_of(opened(killed_process(fs))) == known
    statistics = store.statistics()
    assert statistics.history_bytes <= statistics.live_text_bytes
    assert sum(len(inode.data) for inode in fs.disk.names.values()) < 3 * statistics.live_text_bytes
    assert not fsck(killed_process(fs))


def test_what_is_published_while_it_merges_is_told_anew_too(small, monkeypatch):
    """A generation that became an old one while the merge ran costs no copy of all either."""
    store = opened(ForgetfulFilesystem())
    snapshot = publish(store, CORPUS)
    known = {snapshot.generation: content(snapshot)} | published(store, 10)
    merge = retelling.taken_back
    meanwhile = {}

    def publish_meanwhile(*segments):
        if not meanwhile:
            meanwhile.update(published(store, 2))
        return merge(*segments)

    monkeypatch.setattr("indexerd.store.compaction.taken_back", publish_meanwhile)
    assert store.merge_once()
    store.checkpoint()
    assert history_of(store) == known | meanwhile
    statistics = store.statistics()
    assert statistics.history_bytes < statistics.live_text_bytes


def test_an_old_generation_names_few_segments_however_many_merges_came(small, monkeypatch):
    """What merges have put before its own segments is made one from time to time."""
    monkeypatch.setattr(retelling, "MAX_TOLD", 6)
    monkeypatch.setattr("indexerd.store.compaction.plan_merge", lambda sizes, loading: range(len(sizes)))
    store = opened(ForgetfulFilesystem(), history=History(max_ratio=20))
    snapshot = publish(store, CORPUS)
    known = {snapshot.generation: content(snapshot)}
    for _ in range(9):
        known |= published(store, 3)
        assert store.merge_once()
        store.checkpoint()
    state = store._ledger.state
    assert 4 < max(len(one.segments) for one in state.manifests.values()) <= 6 + merging.MAX_STORED
    assert history_of(store) == known


def test_few_bytes_are_not_worth_many_manifests():
    """Where telling anew would write more than it saves, old generations keep their files."""
    run = [SegmentRef(FileRef(1, bytes(16), retelling.LARGE_BYTES), 1)]
    named = Manifest(generation=1, settings="s", segments=tuple(run), documents=1, chunks=1, text_bytes=1)
    enough = retelling.LARGE_BYTES // retelling.WORTH_BYTES
    assert retelling.stretches_of([named] * enough, run) == (retelling.Stretch((), tuple(run)),)
    assert retelling.stretches_of([named] * (enough + 1), run) == ()


def test_publishes_wait_for_one_manifest_and_one_slot_however_much_is_merged(small, monkeypatch):
    """What a merge does under the lock that publishes take is the same for any number of generations told anew."""
    fs = ForgetfulFilesystem()
    store = opened(fs)
    publish(store, CORPUS)
    published(store, 20)
    waited = []
    commit = Compaction._commit

    def counted(self, *given):
        before = len(fs.operations)
        try:
            return commit(self, *given)
        finally:
            waited.extend(name for name, _ in fs.operations[before:])

    monkeypatch.setattr(Compaction, "_commit", counted)
    assert store.merge_once()
    assert waited == ["create", "write", "create", "write", "replace"]
