"""The store is stopped, cut off from power, and refused by the disk at every operation of every kind of commit."""

import errno
import random
from dataclasses import replace

import pytest

from indexerd.errors import DurabilityUnknownError
from indexerd.store import Change, merging
from indexerd.store.verify import fsck
from tests.fakes.crash_shapes import (
    ADDED,
    LARGE,
    MAX_STORED,
    OLD,
    SHAPES,
    Work,
    batch,
    before,
    killed_at,
    merge,
    plain_run,
    recovered,
    shutdown,
)
from tests.fakes.forgetful_filesystem import ForgetfulFilesystem, Killed, Plan, killed_process
from tests.fakes.small_stores import FINGERPRINT, content, make_segment, opened, publish

# At so many operations of each recovery the process is killed again; so many disks are built behind each operation.
SECOND_KILLS = 1000 if LARGE else 5
IMAGES = 500 if LARGE else 20
FSCK_EACH = 3
# The large run kills those too that wait for the disk with each publish.
KILLED = [*SHAPES, *(replace(shape, name=f"{shape}, flipped", always=not shape.always) for shape in SHAPES if LARGE)]
ERRORS = [
    errno.ENOSPC,
    errno.EIO,
    *(pytest.param(code, marks=pytest.mark.slow) for code in (errno.EACCES, errno.EMFILE, errno.EROFS)),
]


@pytest.fixture(autouse=True)
def merge_early(monkeypatch):
    monkeypatch.setattr(merging, "MAX_STORED", MAX_STORED)


def is_problem(finding):
    return finding.kind == "problem"


@pytest.mark.parametrize("shape", KILLED, ids=str)
def test_killed_at_every_operation_exactly_one_generation_loads(shape, tally):
    """After a kill the newest published generation loads, and the work comes to the same end, killed again or not."""
    plain = plain_run(shape)
    for operation in range(1, plain.operations + 1):
        fs, reported = killed_at(shape, operation)
        following = killed_process(fs)
        loaded = Work(following, plain.seen.up_to(plain.generation)).store.snapshot().generation
        assert loaded >= max(reported.durable, floor_of(shape))
        assert not list(filter(is_problem, fsck(following)))
        tally("kills in memory")
        kill_again(shape, killed_process(fs), plain.seen.up_to(loaded), random.Random(operation), tally)


def floor_of(shape):
    """Return the newest number that was published before, and can be there still."""
    seen = before(shape)[1]
    return seen.durable if shape.before.torn else seen.newest


def kill_again(shape, fs, seen, rng, tally):
    """Kill the recovery at operation after operation; each time the process after that ends where it must."""
    whole, known = killed_process(fs), seen.copy()
    end = recovered(shape, whole, known).files
    operations = range(1, len(whole.operations) + 1)
    for second in rng.sample(operations, min(len(operations), 1 if shape.act is batch else SECOND_KILLS)):
        again = ForgetfulFilesystem(fs.disk.copy(), Plan(kill_at=second))
        reported = seen.copy()
        with pytest.raises(Killed):
            recovered(shape, again, reported)
        work = recovered(shape, killed_process(again), known.up_to(known.newest))
        assert work.opened >= max(reported.durable, reported.newest)
        assert work.files == end
        tally("kills of a recovery in memory")


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_power_cut_at_every_operation_keeps_what_was_reported_durable(shape, tally):
    """After a power cut a known generation loads, never older than the durable one, and no number comes back anew."""
    checked = set()
    for operation in range(1, plain_run(shape).operations + 1):
        fs, reported = killed_at(shape, operation)
        newest = opened(killed_process(fs)).snapshot().generation
        known = plain_run(shape).seen.up_to(newest)
        for image in fs.disk.images(IMAGES, random.Random(operation)):
            key = reported.durable, newest, frozenset(image.contents().items())
            if key not in checked:
                checked.add(key)
                check_image(ForgetfulFilesystem(image), known.copy(), reported, fsck_too=len(checked) % FSCK_EACH == 0)
    tally("disks after a power cut", len(checked))


def check_image(fs, known, reported, *, fsck_too):
    """Load the disk, hold it to what is known, and publish on it."""
    problems = list(filter(is_problem, fsck(fs))) if fsck_too else []
    assert not (problems and reported.durable), problems
    work = Work(fs, known)
    assert work.opened >= reported.durable
    if not work.opened:
        # A rebuild has another identity, so that its numbers are others.
        assert work.store.store_id != reported.store_id
        known.files.clear()
    # The same bytes as those of a process that was stopped get a name of their own, whatever it has left.
    work.store.stage(make_segment(ADDED))
    # Refuses a number that was used for other files.
    work.publish({"other.md": "other words\n"})
    work.checkpoint()


@pytest.mark.parametrize("for_ever", [False, True], ids=["once", "for ever"])
@pytest.mark.parametrize("code", ERRORS, ids=["ENOSPC", "EIO", "EACCES", "EMFILE", "EROFS"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_an_error_at_every_operation_changes_nothing(shape, code, for_ever, tally):
    """After an error memory answers as before or as after, never between; once it is mended the same work succeeds."""
    plain = plain_run(shape)
    end = plain.content, plain.generation
    # A thousand files take long to look through: by default each operation meets one or two of the causes.
    step = 3 if shape.name == "batch" and not LARGE else 1
    for operation in range(1 + code % step, plain.operations + 1, step):
        fs, seen = before(shape)
        work = shape.open(fs, seen)
        was = state_of(work)
        fs.plan = Plan(fail_at=operation, error=code, for_ever=for_ever)
        failed = fails(shape, work)
        fs.plan = Plan()
        assert state_of(work) in (was, end)
        tally("I/O errors")
        if shape.act is shutdown:
            continue
        if failed and state_of(work) == was:
            retry(shape, work)
            assert state_of(work) == end
        work.store.checkpoint()
        assert work.store.snapshot().durable
        work.collect()
        assert (
            Work(killed_process(fs), plain.seen.up_to(plain.generation)).store.snapshot().generation >= plain.generation
        )
        assert not fsck(killed_process(fs)), operation


def state_of(work):
    return content(work.store.snapshot()), work.store.snapshot().generation


def fails(shape, work):
    try:
        shape.act(work)
    except (OSError, DurabilityUnknownError):
        return True
    return False


def retry(shape, work):
    if shape.act is not merge or work.store.merge_due():
        shape.act(work)


@pytest.mark.parametrize("seed", range(12))
def test_a_failed_flush_is_never_trusted_afterwards(seed):
    """A disk that says EIO once and OK ever after loses nothing that is later reported durable."""
    fs = ForgetfulFilesystem()
    store = opened(fs)
    publish(store, OLD)
    fs.plan = Plan(fail_at=1 + seed % 4, error=errno.EIO, only="flush_file" if seed % 2 else "flush_directory")
    for _ in range(3):
        try:
            store.checkpoint()
        except (OSError, DurabilityUnknownError):
            continue
    assert store.snapshot().durable
    expected = content(store.snapshot())
    for cut in range(20):
        store = opened(ForgetfulFilesystem(fs.disk.after_power_cut(seed * 100 + cut)))
        assert content(store.snapshot()) == expected


def test_a_flush_that_failed_before_a_kill_is_not_trusted_after_it():
    """What an earlier process could not flush is written anew by the next one before it is called durable."""
    fs = ForgetfulFilesystem()
    store = opened(fs)
    publish(store, OLD)
    fs.plan = Plan(fail_at=1, error=errno.EIO, only="flush_file")
    with pytest.raises(OSError):
        store.checkpoint()
    following = killed_process(fs)
    store = opened(following)
    store.checkpoint()
    expected = content(store.snapshot())
    for cut in range(20):
        assert content(opened(ForgetfulFilesystem(following.disk.after_power_cut(cut))).snapshot()) == expected


@pytest.mark.parametrize("left", [None, b"torn"], ids=["gone", "torn"])
def test_an_older_generation_that_a_power_cut_took_is_let_go(left):
    """A file that only an older generation names is lost: that one is kept no longer, and publishing goes on."""
    fs = ForgetfulFilesystem()
    store = opened(fs)
    publish(store, OLD)
    store.checkpoint()
    name = publish(store, {"a.md": "only for a while\n"}).stored[-1].ref.name
    publish(store, {"new.md": "all there is\n"}, replace_all=True)
    following = killed_process(fs)
    if left is None:
        del following.disk.names[name]
    else:
        following.disk.names[name].data = left
    store = opened(following)
    assert publish(store, {"d.md": "delta\n"}).document_count == 2
    assert [one.generation for one in store.generations()][:2] == [1, 3]
    store.checkpoint()
    assert store.snapshot().durable
    assert not list(filter(is_problem, fsck(following)))


def test_two_segments_in_one_generation_are_published_together():
    """A generation of several segments is there whole or not at all."""
    fs = ForgetfulFilesystem()
    store = opened(fs)
    segments = [make_segment({"a.md": "one\n", "b.md": "two\n"}), make_segment({"a.md": "three\n"}, ["b.md"])]
    snapshot = store.publish(store.prepare(segments, settings=FINGERPRINT, change=Change(2, 0, 0)))
    assert [segment.data.paths[index] for segment, index in snapshot.documents()] == ["a.md"]
    assert content(snapshot) == content(opened(killed_process(fs)).snapshot())
