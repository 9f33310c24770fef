"""The store as its writer uses it: what it reports, what it refuses, what it keeps."""

import errno

import pytest

from indexerd.errors import GenerationError, PublishConflictError, StoreError
from indexerd.model import History, SourcePath
from indexerd.store import Change, merging
from indexerd.store.checkpoint import CHECKPOINT_SECONDS
from indexerd.store.segment import merge_segments
from indexerd.store.verify import fsck
from tests.fakes.forgetful_filesystem import ForgetfulFilesystem, Plan, killed_process
from tests.fakes.manual_clock import ManualClock
from tests.fakes.small_stores import FINGERPRINT, content, make_segment, opened, publish, rebuilt_content


@pytest.fixture
def fs():
    return ForgetfulFilesystem()


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def store(fs, clock):
    return opened(fs, clock)


def test_a_new_store_is_absent_and_empty(store, fs):
    """Opening an empty directory writes nothing and shows generation 0."""
    assert store.opening.state == "absent"
    assert (store.snapshot().generation, store.snapshot().document_count) == (0, 0)
    assert fs.disk.names == {}
    store.close()
    assert fs.disk.names == {}


def test_what_was_published_is_found(store):
    """A published document is found by its path, with its text."""
    snapshot = publish(store, {"a.md": "# A\n\nwords\n", "b.md": "more\n"})
    segment, index = snapshot.find(SourcePath("b.md"))
    assert bytes(segment.data.raw(index)) == b"more\n"
    assert snapshot.find(SourcePath("c.md")) is None
    assert (snapshot.generation, snapshot.document_count, snapshot.durable) == (1, 2, False)


def test_a_snapshot_never_changes(store):
    """A reader's view stays as it was while other generations come."""
    old = publish(store, {"a.md": "one\n"})
    before = content(old)
    publish(store, {"a.md": "two\n"})
    publish(store, {}, ["a.md"])
    store.checkpoint()
    store.collect()
    assert content(old) == before
    assert store.snapshot().document_count == 0


def test_documents_come_in_the_order_of_their_paths(store):
    """Whatever segments they lie in, living documents are walked in the order of their names' bytes."""
    publish(store, {"b.md": "b\n", "é.md": "e\n", "a.md": "a\n"})
    snapshot = publish(store, {"aa.md": "aa\n", "b.md": "b2\n", "z.md": "z\n"})
    names = [segment.data.paths[index] for segment, index in snapshot.documents()]
    assert names == ["a.md", "aa.md", "b.md", "z.md", "é.md"]


def test_an_empty_publish_is_refused(store):
    """A generation without a segment is a programmer's error."""
    with pytest.raises(ValueError):
        store.prepare([], settings=FINGERPRINT, change=Change())


def test_documents_of_two_settings_never_mix(store):
    """Other settings are accepted only for a generation that replaces everything."""
    publish(store, {"a.md": "one\n"})
    segments = [make_segment({"b.md": "two\n"})]
    with pytest.raises(ValueError):
        store.prepare(segments, settings="other", change=Change())
    prepared = store.prepare(segments, settings="other", change=Change(), replace_all=True)
    assert store.publish(prepared).settings == "other"
    assert [s.data.paths[i] for s, i in store.snapshot().documents()] == ["b.md"]


def test_a_generation_prepared_on_an_older_one_is_refused(store, fs):
    """Of two generations prepared on the same one the second is refused and leaves nothing behind."""
    one, two = (
        store.prepare([make_segment({n: "x\n"})], settings=FINGERPRINT, change=Change()) for n in ("a.md", "b.md")
    )
    store.publish(one)
    names = set(fs.disk.names)
    with pytest.raises(PublishConflictError):
        store.publish(two)
    assert set(fs.disk.names) < names
    store.checkpoint()
    store.collect()
    assert not fsck(fs)


def test_an_aborted_generation_leaves_nothing(store, fs):
    """Giving up a prepared generation removes its files and changes nothing else."""
    publish(store, {"a.md": "one\n"})
    before = dict(fs.disk.contents())
    store.abort(store.prepare([make_segment({"b.md": "two\n"})], settings=FINGERPRINT, change=Change()))
    assert fs.disk.contents() == before


def test_a_failed_publish_can_be_published_again(store, fs):
    """The same prepared generation is published once the disk is mended, with the number it would have had."""
    publish(store, {"a.md": "one\n"})
    prepared = store.prepare([make_segment({"b.md": "two\n"})], settings=FINGERPRINT, change=Change(1, 0, 0))
    fs.plan = Plan(fail_at=1, error=errno.ENOSPC, for_ever=True)
    for _ in range(3):
        with pytest.raises(OSError):
            store.publish(prepared)
    fs.plan = Plan()
    assert store.publish(prepared).generation == 2
    assert [one[0] for one in store.generations()] == [1, 2]


def test_a_publish_that_failed_at_the_replace_leaves_no_file(store, fs):
    """The slot on its way and the manifest are removed at once, not only by the next collection."""
    publish(store, {"a.md": "one\n"})
    before = dict(fs.disk.contents())
    fs.plan = Plan(fail_at=1, error=errno.EIO, only="replace")
    with pytest.raises(OSError):
        publish(store, {"b.md": "two\n"})
    assert fs.disk.contents() == before


def test_generations_say_what_they_changed(store, clock):
    """Each kept generation is listed with its time, its changes and whether it is durable."""
    publish(store, {"a.md": "one\n"})
    store.checkpoint()
    clock.advance(60)
    publish(store, {}, ["a.md"])
    first, second = store.generations()
    assert (first.durable, second.durable) == (True, False)
    assert (first.added, second.deleted) == (1, 1)
    assert second.published_at_ns - first.published_at_ns == 60 * 10**9


def test_a_kept_generation_can_be_opened_again(store):
    """Older generations answer as they did, also after a merge; unknown ones do not exist."""
    old = content(publish(store, {"a.md": "one\n"}))
    publish(store, {"a.md": "two\n"})
    assert content(store.past().open(1)) == old
    with pytest.raises(GenerationError, match="not kept"):
        store.past().open(3)


def test_damage_in_an_old_generation_makes_only_that_one_unreplayable(store, fs):
    """A damaged file of an older generation leaves the current one as it is."""
    publish(store, {"a.md": "one\n"})
    publish(store, {"b.md": "two\n"}, replace_all=True)
    [name] = [name for name in fs.disk.names if name.startswith(f"{1:016x}")]
    fs.disk.names[name].data = b"rubbish"
    again = opened(killed_process(fs))
    assert again.opening.state == "healthy"
    assert not again.opening.fell_back
    with pytest.raises(GenerationError, match="damaged"):
        again.past().open(1)
    assert content(again.past().open(2)) == content(again.snapshot())


def test_checkpoints_are_due_after_half_a_second(store, clock):
    """A publish is left alone for 500 ms, then a checkpoint is due, and none after it was made."""
    assert not store.checkpoint_due()
    publish(store, {"a.md": "one\n"})
    assert not store.checkpoint_due()
    clock.advance(CHECKPOINT_SECONDS)
    assert store.checkpoint_due()
    store.checkpoint()
    assert not store.checkpoint_due()
    assert store.statistics().unsynced_bytes == 0


def test_a_checkpoint_is_due_after_opening_so_that_the_first_publish_need_not_wait_for_it(fs):
    """It reserves numbers: once it is made the first publish flushes nothing, and numbers still have no gap."""
    store = opened(fs)
    publish(store, {"a.md": "one\n"})
    store.close()
    for generation in (2, 3):
        again = opened(ForgetfulFilesystem(fs.disk))
        assert again.checkpoint_due()
        again.checkpoint()
        assert not again.checkpoint_due()
        again._fs.plan = Plan(fail_at=1, error=errno.EIO, only="flush_file")
        assert publish(again, {"a.md": f"text {generation}\n"}).generation == generation
        again._fs.plan = Plan()
        again.close()


def test_a_failed_checkpoint_is_tried_again_later_and_told(store, clock, fs):
    """After a failure there is a pause that grows, the cause is shown, and success clears it."""
    publish(store, {"a.md": "one\n"})
    clock.advance(1)
    fs.plan = Plan(fail_at=1, error=errno.ENOSPC, for_ever=True)
    for pause in (0.5, 1.0, 2.0):
        with pytest.raises(OSError):
            store.checkpoint()
        assert not store.checkpoint_due()
        clock.advance(pause)
        assert store.checkpoint_due()
    assert store.statistics().checkpoint_failures == 3
    assert "injected" in store.statistics().last_error
    fs.plan = Plan()
    store.checkpoint()
    assert store.statistics().last_error == ""
    assert store.snapshot().durable


def test_always_durable_publishes_are_durable_at_once(fs):
    """With durability `always` a publish returns a durable snapshot."""
    assert publish(opened(fs, durability="always"), {"a.md": "one\n"}).durable


def test_always_durable_says_when_the_disk_did_not_confirm(fs):
    """A failing disk leaves the publish visible, not durable, and a checkpoint due."""
    clock = ManualClock()
    store = opened(fs, clock, durability="always")
    publish(store, {"a.md": "one\n"})
    fs.plan = Plan(fail_at=1, error=errno.EIO, for_ever=True, only="flush_file")
    snapshot = publish(store, {"b.md": "two\n"})
    assert (snapshot.generation, snapshot.durable) == (2, False)
    clock.advance(1)
    assert store.checkpoint_due()


def test_merging_keeps_number_and_content(store, monkeypatch):
    """After a merge the same generation lies in fewer files, and nothing that can be asked for differs."""
    monkeypatch.setattr(merging, "MAX_STORED", 3)
    for number in range(6):
        publish(store, {"a.md": f"version {number}\n", f"{number}.md": "x\n"})
    before = store.snapshot()
    assert store.merge_due()
    assert store.merge_once()
    assert store.snapshot().generation == before.generation
    assert content(store.snapshot()) == content(before)
    assert len(store.snapshot().stored) == 1
    assert not store.merge_once()


def test_a_publish_during_a_merge_loses_nothing(store, fs, monkeypatch):
    """Whatever is published while a merge is at work, both are there afterwards."""
    monkeypatch.setattr(merging, "MAX_STORED", 3)
    files = {}
    for number in range(6):
        files |= {"a.md": f"version {number}\n", f"{number}.md": "x\n"}
        publish(store, {name: files[name] for name in ("a.md", f"{number}.md")})
    monkeypatch.setattr("indexerd.store.compaction.merge_segments", publishing_meanwhile(store, files))
    assert store.merge_once()
    del files["3.md"]
    assert content(store.snapshot()) == rebuilt_content(files)
    assert content(opened(killed_process(fs)).snapshot()) == rebuilt_content(files)
    assert not [finding for finding in fsck(fs) if finding.kind == "problem"]


def publishing_meanwhile(store, files):
    def merge(parts, **options):
        merged = merge_segments(parts, **options)
        files.update({"a.md": "newer\n", "late.md": "late\n"})
        publish(store, {"a.md": "newer\n", "late.md": "late\n"}, ["3.md"])
        return merged

    return merge


def test_a_merge_that_would_lose_a_document_is_not_committed(store, fs, monkeypatch):
    """Whatever is wrong in it: the generation stays as it was, nothing is left behind, the error says what differs."""
    monkeypatch.setattr(merging, "MAX_STORED", 3)
    for number in range(6):
        publish(store, {"a.md": f"version {number}\n", f"{number}.md": "x\n"})
    before = content(store.snapshot())
    store.collect()
    files = fs.names()
    monkeypatch.setattr("indexerd.store.compaction.merged_parts", lambda parts, gone, merged: parts[:-1])
    with pytest.raises(StoreError, match=r"changed generation 6 from \(7, 7, \d+\) to \(0, 0, 0\)"):
        store.merge_once()
    assert content(store.snapshot()) == before == content(opened(killed_process(fs)).snapshot())
    assert fs.names() == files


def test_a_rebuild_during_a_merge_makes_the_merge_void(store, fs, monkeypatch):
    """A generation that replaced everything is not touched by a merge of what was there before."""
    monkeypatch.setattr(merging, "MAX_STORED", 3)
    for number in range(6):
        publish(store, {"a.md": f"version {number}\n"})

    def rebuild(parts, **options):
        publish(store, {"new.md": "new\n"}, replace_all=True)
        return merge_segments(parts, **options)

    monkeypatch.setattr("indexerd.store.compaction.merge_segments", rebuild)
    assert not store.merge_once()
    assert content(store.snapshot()) == rebuilt_content({"new.md": "new\n"})
    store.checkpoint()
    store.collect()
    assert not fsck(fs)


def test_collection_removes_what_nothing_names(fs):
    """Without history, only the current generation's files and the slots are left."""
    store = opened(fs, history=History(max_ratio=0))
    for number in range(5):
        publish(store, {"a.md": f"version {number}\n"}, replace_all=True)
    fs.disk.names["notes.txt"] = fs.disk.names["latest"]
    store.checkpoint()
    assert store.collect() > 0
    assert sorted(name.rpartition(".")[2] for name in fs.disk.names) == [
        "durable", "latest", "manifest", "segment", "txt",
    ]  # fmt: skip
    assert store.collect() == 0


def test_collection_spares_what_is_being_prepared(store, fs):
    """Files of a prepared generation stay through a collection and can be published afterwards."""
    publish(store, {"a.md": "one\n"})
    prepared = store.prepare([make_segment({"b.md": "two\n"})], settings=FINGERPRINT, change=Change())
    store.checkpoint()
    store.collect()
    assert store.publish(prepared).document_count == 2
    assert content(opened(killed_process(fs)).snapshot()) == content(store.snapshot())


def test_collection_waits_for_the_durable_slot(fs, monkeypatch):
    """Files that a merge made needless stay while the durable slot names them, and go after the next checkpoint."""
    monkeypatch.setattr(merging, "MAX_STORED", 1)
    store = opened(fs, history=History(max_ratio=0))
    publish(store, {"a.md": "one\n"})
    publish(store, {"b.md": "two\n"})
    store.checkpoint()
    assert store.merge_once()
    store.collect()
    torn = killed_process(fs)
    torn.disk.names["latest"].data = b"torn"
    assert content(opened(torn).snapshot()) == content(store.snapshot())
    store.checkpoint()
    assert store.collect() >= 3


def test_a_first_index_is_known_to_be_unfinished_until_it_is_whole(fs):
    """Its steps say so, also to the next process, until one that completes it; then they are gone at the checkpoint."""
    store = opened(fs)
    assert not store.is_partial
    publish(store, {"a.md": "one\n"}, partial=True)
    again = opened(killed_process(fs))
    assert again.is_partial
    publish(again, {"b.md": "two\n"})
    assert again.is_partial
    publish(again, {"c.md": "three\n"}, partial=False)
    again.checkpoint()
    assert not again.is_partial
    assert len(again.generations()) == 1


def test_deleted_documents_are_remembered_with_their_last_hash(store):
    """A deleted path is listed until it comes back."""
    publish(store, {"a.md": "one\n", "b.md": "two\n"})
    publish(store, {}, ["a.md"])
    [gone] = store.past().deleted()
    assert (gone.source_path, gone.generation) == ("a.md", 2)
    assert gone.content_hash is not None
    publish(store, {"a.md": "again\n"})
    assert store.past().deleted() == ()


def test_pinned_generations_outlive_the_schedule(fs, clock):
    """A generation that evidence named is kept when its neighbours are dropped, for as many days as history says."""
    store = opened(fs, clock, history=History(generations=2, minutes=0, hours=0, days=0, evidence_days=3))
    publish(store, {"a.md": "version 0\n"})
    store.pin(1)
    for number in range(1, 6):
        publish(store, {"a.md": f"version {number}\n"})
    store.checkpoint()
    assert [one.generation for one in store.generations()] == [1, 5, 6]
    clock.advance(3 * 24 * 3600)
    publish(store, {"a.md": "version 6\n"})
    store.checkpoint()
    assert [one.generation for one in store.generations()] == [6, 7]


def test_evidence_before_a_restart_pins_too(fs, clock):
    """What evidence named is written at the close if nothing was published since; once, not for each question."""
    store = opened(fs, clock, history=History(generations=1, minutes=0, hours=0, days=0))
    publish(store, {"a.md": "version 0\n"})
    store.checkpoint()
    store.pin(1)
    store.pin(99)
    store.close()
    fs = ForgetfulFilesystem(fs.disk)
    store = opened(fs, clock, history=History(generations=1, minutes=0, hours=0, days=0))
    before = len(fs.operations)
    store.pin(1)
    store.close()
    assert len(fs.operations) == before
    store = opened(ForgetfulFilesystem(fs.disk), clock, history=History(generations=1, minutes=0, hours=0, days=0))
    for number in range(1, 4):
        publish(store, {"a.md": f"version {number}\n"})
    store.checkpoint()
    assert [one.generation for one in store.generations()] == [1, 4]


def test_a_segment_may_wait_on_the_disk_for_its_generation(fs):
    """What is staged outlives collections and failed publishes, shows nowhere, and is published in the end."""
    store = opened(fs)
    publish(store, {"a.md": "old\n"})
    staged = [store.stage(make_segment({name: f"{name} anew\n"})) for name in ("a.md", "b.md")]
    store.checkpoint()
    store.collect()
    change = Change(1, 1, 0)
    for _ in range(2):
        prepared = store.prepare(
            [*staged, make_segment({"c.md": "late\n"})], settings=FINGERPRINT, change=change, replace_all=True
        )
        fs.plan = Plan(fail_at=1, error=errno.ENOSPC)
        with pytest.raises(OSError):
            store.publish(prepared)
        store.abort(prepared)
        assert content(store.snapshot()) == rebuilt_content({"a.md": "old\n"})
    fs.plan = Plan()
    store.publish(store.prepare(staged, settings=FINGERPRINT, change=change, replace_all=True))
    expected = {"a.md": "a.md anew\n", "b.md": "b.md anew\n"}
    assert content(store.snapshot()) == rebuilt_content(expected)
    assert content(opened(killed_process(fs)).snapshot()) == rebuilt_content(expected)
    assert store._staging.staged() == frozenset()


def test_evidence_outlives_a_kill_and_a_power_cut_once_the_upkeep_was_there(fs, clock):
    """A pin that no publish took along makes a checkpoint due, and is on disk after it."""
    options = {"history": History(generations=1, minutes=0, hours=0, days=0)}
    store = opened(fs, clock, **options)
    publish(store, {"a.md": "version 0\n"})
    store.checkpoint()
    assert not store.checkpoint_due()
    store.pin(1)
    assert store.checkpoint_due()
    store.checkpoint()
    assert not store.checkpoint_due()
    for disk in (fs.disk.copy(), fs.disk.after_power_cut(1)):
        again = opened(ForgetfulFilesystem(disk), clock, **options)
        publish(again, {"a.md": "version 1\n"})
        publish(again, {"a.md": "version 2\n"})
        again.checkpoint()
        assert len(again.generations()) == 2
        assert again.generations()[0].generation == 1


def test_closing_makes_durable_and_releases_the_lock(fs):
    """After close the newest generation is durable, numbers go on without a gap, and another process may write."""
    store = opened(fs)
    publish(store, {"a.md": "one\n"})
    store.close()
    again = opened(ForgetfulFilesystem(fs.disk))
    assert (again.snapshot().generation, again.snapshot().durable) == (1, True)
    assert publish(again, {"b.md": "two\n"}).generation == 2


def test_reopening_without_change_writes_nothing(fs):
    """Opening and closing a store that is up to date leaves every byte as it was."""
    store = opened(fs)
    publish(store, {"a.md": "one\n"})
    store.close()
    before = fs.disk.contents()
    opened(ForgetfulFilesystem(fs.disk)).close()
    assert fs.disk.contents() == before


def test_processes_of_one_publish_each_keep_the_store_small(fs):
    """A hundred openings with one publish each leave few segments and no garbage."""
    for number in range(100):
        store = opened(ForgetfulFilesystem(fs.disk), history=History(max_ratio=0))
        publish(store, {f"{number % 7}.md": f"version {number}\n"})
        store.close()
    assert len(fs.disk.names) <= merging.MAX_STORED + 5
    assert store.snapshot().generation == 100
    assert not fsck(fs)


def test_numbers_are_reserved_in_advance(fs):
    """Hundreds of publishes without a checkpoint of their own pass the reserve and lose nothing."""
    store = opened(fs)
    for number in range(300):
        publish(store, {"a.md": f"version {number % 3}\n"})
    assert store.snapshot().generation == 300
    assert opened(killed_process(fs)).snapshot().generation == 300


def test_a_file_written_while_collection_lists_is_spared(store, fs, monkeypatch):
    """A publish that slips in between collection's two looks loses nothing."""
    publish(store, {"a.md": "one\n"})
    original = ForgetfulFilesystem.names

    def names(self):
        monkeypatch.setattr(ForgetfulFilesystem, "names", original)
        publish(store, {"b.md": "two\n"})
        return original(self)

    for hook in (names, lambda self: publish_after(original(self), store, monkeypatch, original)):
        monkeypatch.setattr(ForgetfulFilesystem, "names", hook)
        store.collect()
        assert content(opened(killed_process(fs)).snapshot()) == content(store.snapshot())


def publish_after(listed, store, monkeypatch, original):
    monkeypatch.setattr(ForgetfulFilesystem, "names", original)
    publish(store, {"c.md": "three\n"})
    return listed


def test_closing_writes_anew_what_could_not_be_flushed(store, fs):
    """A file that was lost or replaced beside the running process costs nothing: its content is still in memory."""
    publish(store, {"a.md": "one\n"})
    expected = content(publish(store, {"b.md": "two\n"}))
    lost = min(name for name in fs.names() if name.endswith("segment"))
    fs.remove(lost)
    store.close()
    again = opened(ForgetfulFilesystem(fs.disk.copy()))
    assert again.opening.state == "healthy"
    assert not again.opening.fell_back
    assert (content(again.snapshot()), again.snapshot().durable) == (expected, True)
