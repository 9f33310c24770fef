"""Opening a state directory: whose it is, in which state, and what is served of it."""

import errno

import pytest

from indexerd.errors import CorruptionError, ForeignStoreError, FormatVersionError, StoreLockedError
from indexerd.model import History, Root
from indexerd.store import form_roots, open_reader, slots
from indexerd.store.collect import QUARANTINE_FILES
from indexerd.store.layout import Kind
from indexerd.store.verify import fsck
from tests.fakes.forgetful_filesystem import Disk, ForgetfulFilesystem, Plan, killed_process
from tests.fakes.small_stores import content, opened, publish, rebuilt_content


@pytest.fixture
def disk():
    """Return a disk with two generations: 1 durable, 2 only in `latest`."""
    fs = ForgetfulFilesystem()
    store = opened(fs)
    publish(store, {"a.md": "one\n"})
    store.checkpoint()
    publish(store, {"b.md": "two\n"})
    return fs.disk.copy()


def again(disk: Disk) -> ForgetfulFilesystem:
    return ForgetfulFilesystem(disk.copy())


def damage(disk: Disk, name: str) -> None:
    data = disk.names[name].data
    disk.names[name].data = data[:-1] + bytes([data[-1] ^ 1])


def test_a_second_writer_is_refused(disk):
    """While one process writes, another is told so and changes nothing; its refusal does not free the lock."""
    opened(ForgetfulFilesystem(disk))
    for _ in range(2):
        with pytest.raises(StoreLockedError):
            opened(ForgetfulFilesystem(disk))


def test_a_store_of_other_roots_is_refused(disk):
    """Roots that share none with the store's are refused, also when the store is damaged; one in common is enough."""
    other = Root(label="other", path="/other")
    with pytest.raises(ForeignStoreError):
        opened(again(disk), roots=[other])
    opened(again(disk), roots=[other, Root(label="docs", path="/docs")])
    for name in [name for name in disk.names if name.endswith("segment")]:
        damage(disk, name)
    with pytest.raises(ForeignStoreError):
        opened(again(disk), roots=[other])


def test_a_refused_store_is_left_unlocked(disk):
    """After a refusal the right owner can open the store."""
    with pytest.raises(ForeignStoreError):
        opened(ForgetfulFilesystem(disk), roots=[Root(label="other", path="/other")])
    opened(ForgetfulFilesystem(disk))


def test_the_form_of_source_paths_is_fixed_in_the_store(disk):
    """A known root keeps its form whatever is asked for; a root that joins it is prefixed."""
    store = opened(again(disk))
    docs, more = Root(label="docs", path="/docs", prefixed=True), Root(label="more", path="/more")
    assert [root.prefixed for root in form_roots(store.known_roots, [docs, more])] == [False, True]
    assert [root.prefixed for root in form_roots((), [more])] == [False]


def test_the_newest_generation_is_opened(disk):
    """A whole store is healthy and shows what was published last."""
    store = opened(again(disk))
    assert (store.opening.state, store.opening.fell_back, store.snapshot().generation) == ("healthy", False, 2)


@pytest.mark.parametrize("change", [damage, lambda disk, name: disk.names.pop(name)], ids=["damaged", "missing"])
def test_without_the_latest_slot_the_durable_one_is_opened(disk, change):
    """A damaged or missing `latest` falls back to the durable generation."""
    change(disk, "latest")
    store = opened(again(disk))
    assert (store.opening.state, store.snapshot().generation, store.snapshot().durable) == ("healthy", 1, True)


def test_a_damaged_newest_generation_falls_back_and_says_so(disk):
    """When a file of the newest generation is damaged, the durable one is served and the report names the file."""
    [name] = [name for name in disk.names if name.startswith(newest_segment(disk))]
    damage(disk, name)
    store = opened(again(disk))
    assert (store.opening.state, store.opening.fell_back, store.snapshot().generation) == ("healthy", True, 1)
    assert name in store.opening.detail


def newest_segment(disk):
    return max(name for name in disk.names if name.endswith(".segment"))


def test_numbers_go_on_above_what_was_lost(disk):
    """After falling back no number that may have been seen is given to other content."""
    damage(disk, "latest")
    assert publish(opened(again(disk)), {"c.md": "three\n"}).generation > 2


def test_nothing_whole_is_damaged_and_nothing_is_believed(disk):
    """When no generation proves whole the store says damaged and serves nothing; a rebuild makes it good again."""
    for name in [name for name in disk.names if name.endswith("manifest")]:
        damage(disk, name)
    fs = again(disk)
    store = opened(fs)
    old_id = slots.decode_slot(disk.names["latest"].data, "latest").store_id
    assert (store.opening.state, store.snapshot().generation) == ("damaged", 0)
    assert store.store_id != old_id
    snapshot = publish(store, {"a.md": "one\n"}, replace_all=True)
    assert snapshot.generation > 2
    store.checkpoint()
    store.collect()
    assert not [finding for finding in fsck(fs) if finding.kind == "problem"]
    assert content(opened(killed_process(fs)).snapshot()) == rebuilt_content({"a.md": "one\n"})


def test_what_two_slots_have_in_common_is_said_once(disk):
    """Where both slots name one manifest its damage is one reason."""
    disk.names["durable"].data = disk.names["latest"].data
    name = max(name for name in disk.names if name.endswith("manifest"))
    damage(disk, name)
    opening = opened(again(disk)).opening
    assert (opening.state, opening.detail.count(name)) == ("damaged", 1)


def test_a_manifest_of_another_generation_is_not_taken_for_the_one_named(disk):
    """A slot that names one generation's manifest as another's is refused, whole as both are."""
    slot = slots.decode_slot(disk.names["latest"].data, "latest")
    one, two = slot.kept
    forged = (one._replace(manifest=two.manifest), two._replace(manifest=one.manifest))
    disk.names["latest"].data = slots.encode_slot(slot._replace(kept=forged))
    store = opened(again(disk))
    assert (store.snapshot().generation, store.opening.fell_back) == (1, True)


def test_lost_slots_are_damage_not_absence(disk):
    """Without slots but with generations' files the store is damaged; with nothing it is absent."""
    del disk.names["latest"], disk.names["durable"]
    assert opened(again(disk)).opening.state == "damaged"
    assert opened(ForgetfulFilesystem()).opening.state == "absent"


def test_an_older_format_is_told_from_damage(disk, monkeypatch):
    """Slots of another version say so; the store is rebuilt, and a reader gets the error that says which."""
    monkeypatch.setattr(slots, "FORMAT_VERSION", slots.FORMAT_VERSION + 1)
    store = opened(again(disk))
    assert (store.opening.state, store.snapshot().generation) == ("older_format", 0)
    with pytest.raises(FormatVersionError):
        open_reader(again(disk))


@pytest.mark.parametrize("code", [errno.EMFILE, errno.EACCES, errno.ENOMEM])
def test_the_machines_faults_are_not_damage(disk, code):
    """Without descriptors, rights or memory opening fails, decides nothing, and succeeds later."""
    fs = again(disk)
    operations = len(opened_operations(disk))
    for number in range(1, operations + 1):
        with pytest.raises(OSError):
            opened(ForgetfulFilesystem(fs.disk, Plan(fail_at=number, error=code)))
    assert opened(ForgetfulFilesystem(fs.disk)).snapshot().generation == 2


def opened_operations(disk):
    fs = again(disk)
    opened(fs)
    return fs.operations


def test_a_read_error_that_does_not_repeat_is_no_damage(disk):
    """One EIO is tried again; the newest generation is served."""
    for number in range(3, len(opened_operations(disk)) + 1):
        store = opened(ForgetfulFilesystem(disk.copy(), Plan(fail_at=number, error=errno.EIO)))
        assert (store.snapshot().generation, store.opening.fell_back) == (2, False)


def test_damaged_files_are_kept_for_a_look_but_not_many(disk):
    """Collection puts damaged files into quarantine, a few at most, and they are never read as data again."""
    fs = again(disk)
    for number in range(QUARANTINE_FILES + 3):
        name = max(name for name in fs.disk.names if name.endswith(".segment"))
        damage(fs.disk, name)
        store = opened(ForgetfulFilesystem(fs.disk))
        publish(store, {"c.md": f"three {number}\n"}, replace_all=True)
        store.checkpoint()
        store.collect()
        store._fs.close()
    held = [name for name in fs.disk.names if name.endswith(".damaged")]
    assert 1 <= len(held) <= QUARANTINE_FILES
    assert {finding.kind for finding in fsck(fs)} == {"note"}


def test_a_reader_sees_what_is_published(disk):
    """Without a lock and beside a writer a reader opens the newest generation."""
    store = opened(ForgetfulFilesystem(disk))
    assert content(open_reader(ForgetfulFilesystem(disk))) == content(store.snapshot())
    assert open_reader(ForgetfulFilesystem()) is None


def test_a_reader_of_a_damaged_store_is_told(disk):
    """A reader gets the error that names the damage, never a part of a generation."""
    for name in [name for name in disk.names if name.endswith("manifest")]:
        damage(disk, name)
    with pytest.raises(CorruptionError):
        open_reader(again(disk))


def test_a_reader_outruns_publishes_and_collections(disk):
    """However often the writer publishes and collects between a reader's steps, it sees one whole generation."""
    writer = opened(ForgetfulFilesystem(disk), history=History(max_ratio=0))
    texts = iter(range(10**6))

    class Overtaken(ForgetfulFilesystem):
        def _step(self, operation, name):
            super()._step(operation, name)
            if len(self.operations) < 60 and len(self.operations) % 5 == 0:
                publish(writer, {"a.md": f"text {next(texts)}\n"}, replace_all=True)
                writer.checkpoint()
                writer.collect()

    for _ in range(5):
        snapshot = open_reader(Overtaken(disk))
        assert snapshot.document_count == 1
        assert len(content(snapshot)) == 64
    assert not [finding for finding in fsck(Overtaken(disk)) if finding.kind == "problem"]


def test_a_generation_whose_manifest_is_damaged_is_no_longer_kept(disk):
    """It is not listed as one that can be replayed, and after the next publish nothing complains of it any more."""
    fs = again(disk)
    store = opened(fs)
    old = next(kept for kept in store.generations() if kept.generation == 1)
    name = next(kept.manifest for kept in store._ledger.state.slot.kept if kept.generation == old.generation)
    store.close()
    damage(fs.disk, name.name(Kind.MANIFEST))
    store = opened(again(fs.disk))
    assert [kept.generation for kept in store.generations()] == [2]
    new = publish(store, {"c.md": "three\n"})
    store.checkpoint()
    assert [kept.generation for kept in store.generations()] == [2, new.generation]
    assert [finding for finding in fsck(store._fs) if finding.kind == "problem"] == []
