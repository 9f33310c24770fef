"""Erasing one document from every kept generation, and what stays."""

import errno

import pytest

from indexerd.digests import chunk_id, content_hash, document_id, fast_digest, path_key
from indexerd.errors import DurabilityUnknownError, GenerationError, StillIndexedError
from indexerd.model import SourcePath
from indexerd.store import merging
from indexerd.store.verify import fsck
from tests.fakes.forgetful_filesystem import ForgetfulFilesystem, Killed, Plan, killed_process
from tests.fakes.manual_clock import ManualClock
from tests.fakes.small_stores import content, make_segment, opened, publish, rebuilt_content

SECRET = SourcePath("plans/xylocarp.md")
TEXT = "# Quinquereme\n\nthe zyzzyva sleeps under words\n"
NEWER = "# Quinquereme\n\nthe zyzzyva wakes\n"


@pytest.fixture
def fs():
    return ForgetfulFilesystem()


@pytest.fixture
def store(fs):
    return opened(fs, ManualClock())


def traces(path, *texts):
    """Return every byte sequence that would tell of a document, or of its having been there."""
    found = [path.encode(), document_id(path)[4:].encode(), path_key(path).to_bytes(8, "little"), b"xylocarp"]
    for text in texts:
        raw = text.encode()
        found += [
            raw,
            content_hash(raw),
            content_hash(raw).hex().encode(),
            fast_digest(raw),
            b"zyzzyva",
            b"quinquereme",
        ]
        data = make_segment({path: text})
        for number in range(data.chunk_count):
            chunk = data.chunk(number)
            found += [chunk.content_hash, chunk_id(document_id(path), chunk.content_hash, chunk.occurrence).encode()]
    return found


def remaining(fs, found):
    files = [(name, bytes(file.data)) for name, file in fs.disk.names.items()]
    return [(name, piece) for name, data in files for piece in found if piece in data or piece in data.lower()]


def remembered(store):
    """Return the content of every kept generation without the secret document."""
    return {
        one.generation: sorted(
            (data.data.paths[i], bytes(data.data.content_hashes[i]))
            for data, i in store.past().open(one.generation).documents()
            if data.data.paths[i] != SECRET
        )
        for one in store.past().generations()
    }


def history(store):
    publish(store, {"a.md": "alpha words\n", SECRET: TEXT, "z.md": "omega words\n"})
    publish(store, {"a.md": "alpha changed\n"})
    publish(store, {SECRET: NEWER})
    publish(store, {"b.md": "beta\n"}, [SECRET])
    publish(store, {"c.md": "gamma\n"})


def test_nothing_of_an_erased_document_is_left(store, fs):
    """No text, path, word or hash of an erased document is in any file; the other documents of each generation stay."""
    history(store)
    store.checkpoint()
    before, now = remembered(store), content(store.snapshot())
    assert remaining(fs, traces(SECRET, TEXT, NEWER))
    erased = store.erase(SECRET)
    assert erased == (3, 3, 0)
    assert not remaining(fs, traces(SECRET, TEXT, NEWER))
    assert remembered(store) == before
    assert content(store.snapshot()) == now == content(opened(killed_process(fs)).snapshot())
    assert not fsck(killed_process(fs))
    assert [store.past().open(number).erased for number in range(1, 6)] == [1, 1, 1, 0, 0]


def test_generations_keep_their_numbers_and_the_next_one_follows(store):
    """An erasure publishes nothing: the numbers name what they named, and the next one is the next."""
    history(store)
    kept = [one.generation for one in store.past().generations()]
    store.erase(SECRET)
    assert [one.generation for one in store.past().generations()] == kept
    assert publish(store, {"d.md": "delta\n"}).generation == kept[-1] + 1
    assert [one.generation for one in store.past().generations()] == [*kept, kept[-1] + 1]


def test_what_is_indexed_is_not_erased(store, fs):
    """A document that is indexed is refused and nothing changes."""
    publish(store, {SECRET: TEXT})
    names = set(fs.disk.names)
    with pytest.raises(StillIndexedError):
        store.erase(SECRET)
    assert set(fs.disk.names) == names


def test_the_current_version_can_be_kept(store, fs):
    """With `keep_current` every other version goes, and none that an erased one had overridden comes back."""
    publish(store, {SECRET: TEXT})
    publish(store, {SECRET: NEWER})
    publish(store, {SECRET: TEXT, "b.md": "beta\n"})
    assert store.erase(SECRET, keep_current=True).generations == 1
    assert not remaining(fs, [NEWER.encode(), content_hash(NEWER.encode()), b"wakes"])
    assert [store.past().open(number).document_count for number in (1, 2, 3)] == [1, 0, 2]
    assert content(store.snapshot()) == rebuilt_content({SECRET: TEXT, "b.md": "beta\n"})
    assert not [one for one in fsck(killed_process(fs)) if one.kind == "problem"]


def test_erasing_again_finds_nothing_and_clears_the_disk(store, fs):
    """A document that is not there is no error: what an erasure that was cut short left is cleared."""
    history(store)
    store.erase(SECRET)
    assert store.erase(SECRET) == (0, 0, 0)
    assert store.erase(SourcePath("never.md")) == (0, 0, 0)


def test_an_erasure_after_merges_finds_every_copy(store, fs, monkeypatch):
    """Merged segments, the ones they were made of, and quarantine are cleared alike."""
    monkeypatch.setattr(merging, "MAX_STORED", 2)
    publish(store, {"a.md": "alpha\n", SECRET: TEXT})
    for number in range(5):
        publish(store, {"b.md": f"beta {number}\n"})
        store.merge_once()
    publish(store, {}, [SECRET])
    store.merge_once()
    fs.write_new(f"{9999:016x}-{'0' * 32}.segment.damaged", [TEXT.encode()])
    store.erase(SECRET)
    assert not remaining(fs, traces(SECRET, TEXT))
    assert content(store.snapshot()) == rebuilt_content({"a.md": "alpha\n", "b.md": "beta 4\n"})


def test_a_generation_that_cannot_be_read_goes_with_the_document(store, fs):
    """A damaged segment cannot be proved free of the document: its generations are kept no longer."""
    publish(store, {"a.md": "alpha\n", SECRET: TEXT})
    publish(store, {"b.md": "beta\n"}, replace_all=True)
    store.close()
    [name] = [name for name in fs.disk.names if name.startswith(f"{1:016x}")]
    fs.disk.names[name].data = b"rubbish zyzzyva"
    fs = ForgetfulFilesystem(fs.disk)
    store = opened(fs)
    assert store.erase(SECRET).dropped == 1
    assert not remaining(fs, [b"zyzzyva"])
    with pytest.raises(GenerationError, match="not kept"):
        store.past().open(1)


def test_readers_keep_what_they_hold(store):
    """A snapshot taken before an erasure stays readable; the next one has nothing of the document."""
    publish(store, {SECRET: TEXT})
    held = store.snapshot()
    publish(store, {"a.md": "alpha\n"}, [SECRET])
    store.erase(SECRET)
    assert held.find(SECRET) is not None
    assert store.past().open(1).find(SECRET) is None


def erased_until(disk, **plan):
    """Erase on a copy of a disk that stops or fails at one operation; tell whether the erasure was reported."""
    fs = ForgetfulFilesystem(disk.copy())
    store = opened(fs, ManualClock())
    fs.plan = Plan(**plan)
    try:
        store.erase(SECRET)
    except (Killed, OSError, DurabilityUnknownError):
        return fs, False
    return fs, True


@pytest.mark.parametrize("fault", ["kill", "error"])
def test_an_erasure_that_is_cut_short_is_finished_by_the_next(fault):
    """Stopped or refused at any operation, the store opens with all else in it, and erasing again clears the rest."""
    fs = ForgetfulFilesystem()
    store = opened(fs, ManualClock())
    history(store)
    store.checkpoint()
    before, now, disk = remembered(store), content(store.snapshot()), fs.disk.copy()
    reported, operation = False, 0
    while not reported:
        operation += 1
        plan = {"kill_at": operation} if fault == "kill" else {"fail_at": operation, "error": errno.EIO}
        fs, reported = erased_until(disk, **plan)
        for after in (killed_process(fs), ForgetfulFilesystem(fs.disk.after_power_cut(operation))):
            again = opened(after, ManualClock())
            assert content(again.snapshot()) == now
            assert remembered(again) == before
            assert not reported or not remaining(after, traces(SECRET, TEXT, NEWER))
            again.erase(SECRET)
            assert not remaining(after, traces(SECRET, TEXT, NEWER))
            assert not [one for one in fsck(after) if one.kind == "problem"]
    assert operation > 10
