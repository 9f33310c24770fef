"""Damage under an open store: it is noticed, answers stay whole, and the files are written anew."""

import errno

import pytest

from indexerd.digests import content_hash
from indexerd.errors import CorruptionError, ForeignStoreError
from indexerd.model import LOST_HASH
from indexerd.store import open_reader
from indexerd.store.healing import SCRUB_SECONDS
from indexerd.store.layout import SlotName
from indexerd.store.recover import HELD_OPEN_BYTES
from indexerd.store.verify import fsck
from tests.fakes.forgetful_filesystem import Disk, ForgetfulFilesystem, Plan
from tests.fakes.manual_clock import ManualClock
from tests.fakes.small_stores import content, opened, publish

TEXTS = {f"{n:02}.md": f"# Title {n}\n\nword{n} " + f"filler{n} " * 2000 + "\n" for n in range(30)}


@pytest.fixture
def fs():
    return ForgetfulFilesystem()


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def store(fs, clock):
    """A store with one large segment, durable, and a small one that overrides a document of it."""
    store = opened(fs, clock)
    publish(store, TEXTS)
    publish(store, {"00.md": "new\n"})
    store.checkpoint()
    assert store.healing.look() is None
    return store


@pytest.fixture
def large(store):
    """The name of the large segment."""
    (name,) = [one.ref.name for one in store.snapshot().stored if one.ref.file.length > HELD_OPEN_BYTES]
    return name


def from_texts(path, wanted):
    data = TEXTS[path].encode()
    return data if content_hash(data) == wanted else None


def from_nowhere(path, wanted):
    return None


def flip(fs, name, at):
    data = bytearray(fs.disk.names[name].data)
    data[at] ^= 1
    fs.disk.names[name].data = bytes(data)


def cut(fs, name):
    fs.disk.names[name].data = b""


def healed(store, recover=from_texts):
    damage = store.healing.look()
    assert damage is not None
    store.healing.recover_from(recover)
    assert store.healing.heal(damage) == ()
    assert store.healing.look() is None
    return damage


def assert_whole_on_disk(store, fs):
    store.collect()
    assert not fsck(fs)
    assert content(open_reader(ForgetfulFilesystem(fs.disk))) == content(store.snapshot())


def test_a_truncated_segment_is_written_anew_from_the_sources(store, fs, large):
    """Number, content and identity of the generation stay; what is on disk proves whole and durable."""
    before, number = content(store.snapshot()), store.snapshot().generation
    cut(fs, large)
    assert healed(store).names == {large}
    assert (content(store.snapshot()), store.snapshot().generation) == (before, number)
    assert store.snapshot().durable
    assert_whole_on_disk(store, fs)


def test_a_flipped_bit_costs_no_history(store, fs, large):
    """Where every text is still to be had, older generations can be opened as before."""
    old = content(store.past().open(1))
    flip(fs, large, len(fs.disk.names[large].data) - 2000)
    healed(store)
    assert content(store.past().open(1)) == old


def test_a_text_that_only_history_has_is_lost_with_its_generation(store, fs, large):
    """A dead version whose bytes are nowhere takes the generations that show it with it, and nothing else."""
    before = content(store.snapshot())
    cut(fs, large)
    healed(store, lambda path, wanted: None if path == "00.md" else from_texts(path, wanted))
    assert [info.generation for info in store.generations()] == [2]
    assert content(store.snapshot()) == before
    assert_whole_on_disk(store, fs)


def test_living_documents_without_any_text_are_named_and_nothing_is_done(fs, clock):
    """Their sources have changed: they must be indexed anew before the segment can be written."""
    store = opened(fs, clock)
    (large,) = [one.ref.name for one in publish(store, TEXTS).stored]
    assert store.healing.look() is None
    cut(fs, large)
    assert store.healing.heal(store.healing.look()) == tuple(TEXTS)
    publish(store, dict.fromkeys(TEXTS, "changed\n"))
    healed(store, from_nowhere)
    assert_whole_on_disk(store, fs)


def test_a_lost_text_is_no_text(fs, clock):
    """A damaged text is never returned: its chunks have no hash and no text, unless its source has it still."""
    store = opened(fs, clock)
    publish(store, TEXTS)
    (one,) = store.snapshot().stored
    data, large = one.data, one.ref.name
    assert store.healing.look() is None
    cut(fs, large)
    assert data.chunk_text(7) is None
    assert data.chunk(7).content_hash == LOST_HASH
    with pytest.raises(CorruptionError):
        data.raw(7)
    store.healing.recover_from(from_texts)
    assert bytes(data.raw(7)) == TEXTS["07.md"].encode()
    assert store.healing.look().names == {large}


@pytest.mark.parametrize("kind", ["segment", "manifest", "latest", "durable"])
@pytest.mark.parametrize("harm", [cut, lambda fs, name: fs.disk.change((name, None))], ids=["cut", "removed"])
def test_every_kind_of_file_is_made_anew(store, fs, kind, harm):
    """Small segments, manifests and slots come from memory."""
    before = content(store.snapshot())
    name = next(one for one in reversed(fs.names()) if one.endswith(kind))
    harm(fs, name)
    assert healed(store).names == {name}
    assert content(store.snapshot()) == before
    assert_whole_on_disk(store, fs)


def test_damage_at_rest_is_found_by_the_daily_reading(store, fs, clock, large):
    """Bytes that change without a trace in the stat are found when everything is read anew."""
    fs.stamp = lambda name: (1,)
    assert store.healing.look() is None
    flip(fs, large, 2000)
    assert store.healing.look() is None
    clock.advance(SCRUB_SECONDS)
    assert healed(store).names == {large}


def test_a_directory_that_is_gone_is_made_anew(store, fs):
    """Everything is published again from memory and what is still held open; the store stays the one it was."""
    before, identity, history = content(store.snapshot()), store.store_id, store.generations()
    fs.disk.is_gone = True
    assert healed(store, from_nowhere).directory
    assert (content(store.snapshot()), store.store_id) == (before, identity)
    assert [info.generation for info in store.generations()] == [info.generation for info in history]
    assert fs.disk.locked_by is fs
    assert_whole_on_disk(store, fs)


def test_a_directory_with_another_store_is_left_alone(store, fs):
    """What somebody else put there is not overwritten; memory goes on serving."""
    other = ForgetfulFilesystem(Disk())
    publish(opened(other), {"x.md": "theirs\n"})
    names = dict(other.disk.contents())

    def reopen():
        fs.disk = other.disk

    fs.disk.is_gone, fs.reopen = True, reopen
    with pytest.raises(ForeignStoreError):
        store.healing.heal(store.healing.look())
    assert other.disk.contents() == names


def test_what_cannot_be_written_is_tried_again(store, fs, large):
    """A full disk leaves memory and the damage as they are."""
    before = content(store.snapshot())
    cut(fs, large)
    damage = store.healing.look()
    fs.plan = Plan(fail_at=1, error=errno.ENOSPC, for_ever=True, only="create")
    with pytest.raises(OSError, match="injected"):
        store.healing.heal(damage)
    fs.plan = Plan()
    healed(store)
    assert content(store.snapshot()) == before


def test_slots_that_are_as_they_were_written_are_no_damage(store, fs):
    """Each commit moves them, and the look follows."""
    for n in range(3):
        publish(store, {"n.md": f"{n}\n"})
        assert store.healing.look() is None
        store.checkpoint()
        assert store.healing.look() is None
    assert set(SlotName) <= set(fs.disk.names)


def test_a_file_that_is_damaged_before_it_was_ever_looked_at_is_found(fs, clock):
    """Its first stamp is the damaged one's: so it is read once."""
    store = opened(fs, clock)
    publish(store, {"a.md": "alpha\n"})
    (name,) = [one.ref.name for one in store.snapshot().stored]
    flip(fs, name, 100)
    damage = store.healing.look()
    assert damage is not None
    assert name in damage.names
