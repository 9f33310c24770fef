"""Real processes end, and real file systems lose what was not flushed, in the middle of every kind of commit.

A power cut is made by the file system's own shutdown call on a loop-mounted image: what was not flushed is gone, and
the next mount replays the journal.
"""

import errno
import fcntl
import gc
import json
import os
import random
import shutil
import struct
import subprocess
import traceback
from contextlib import ExitStack, contextmanager

import pytest

from indexerd.clock import SystemClock
from indexerd.store import merging
from indexerd.store.fsio import RealStoreFilesystem
from indexerd.store.verify import fsck
from tests.conftest import NEEDS_KERNEL
from tests.fakes.crash_shapes import LARGE, MAX_STORED, SHAPES, Work, batch, before, killed_at, plain_run, recovered
from tests.fakes.daemon_process import wait_for
from tests.fakes.forgetful_filesystem import killed_process
from tests.fakes.small_stores import content, opened, publish
from tests.fakes.stopping_filesystem import StoppingFilesystem

EACH = 1 if LARGE else 6
FILE_SYSTEMS = {"ext4": (64, 500 if LARGE else 20), "xfs": (320, 300 if LARGE else 6)}
# _IOR('X', 125, __u32): 2 asks for a shutdown that does not flush the journal.
SHUTDOWN, NO_LOG_FLUSH = 0x8004587D, struct.pack("I", 2)


@pytest.fixture(autouse=True)
def merge_early(monkeypatch):
    monkeypatch.setattr(merging, "MAX_STORED", MAX_STORED)


def stopped_child(place, shape, operation, stop):
    """Run a shape in a child on a real directory, where `stop` ends it at an operation; return what it had reported."""
    receiving, sending = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            play(place, shape, operation, sending, stop)
        finally:
            # A child must never return to the tests.
            traceback.print_exc()
            os._exit(1)
    os.close(sending)
    with os.fdopen(receiving, "rb") as pipe:
        said = pipe.read()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    return json.loads(said)


def play(place, shape, operation, sending, stop):
    fs = RealStoreFilesystem.open_directory(os.fsencode(place), create=True)
    seen = shape.before.play(fs)
    fs.close()
    if shape.before.torn:
        (place / "latest").write_bytes(b"torn")
    stopping = StoppingFilesystem.open_directory(os.fsencode(place), create=True)
    work = shape.open(stopping, seen)

    def report_and_stop():
        work.heard()
        os.write(sending, json.dumps([seen.durable, seen.store_id]).encode())
        stop()
        os._exit(0)

    stopping.stop_at(operation, report_and_stop)
    shape.act(work)


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_process_that_ends_at_an_operation_leaves_the_newest_generation(shape, tmp_path, tally):
    """On a real directory too the newest published generation loads, and the same work comes to its end."""
    plain = plain_run(shape)
    for operation in range(1, plain.operations + 1, EACH * (3 if shape.act is batch else 1)):
        place = tmp_path / str(operation)
        durable, _ = stopped_child(place, shape, operation, lambda: None)
        fs = RealStoreFilesystem.open_directory(os.fsencode(place), create=False)
        assert not problems(fs)
        work = recovered(shape, fs, plain.seen.up_to(plain.generation))
        floor = 0 if shape.before.torn else before(shape)[1].newest
        assert work.opened >= max(durable, floor)
        fs.close()
        shutil.rmtree(place)
        tally("kills on a real directory")


def problems(fs):
    return [finding for finding in fsck(fs) if finding.kind == "problem"]


@contextmanager
def image(kind, folder, mount_point):
    """Yield a function that mounts a new file system, again and again; unmount it at the end."""
    if os.geteuid() != 0:
        pytest.skip("mounting needs root")
    path = folder / f"{kind}.img"
    with path.open("wb") as file:
        file.truncate(FILE_SYSTEMS[kind][0] << 20)
    journal = ("-J", "size=4") if kind == "ext4" else ()
    subprocess.run([f"mkfs.{kind}", "-q", *journal, path], check=True)
    mount_point.mkdir()

    def mount():
        done = subprocess.run(["mount", "-o", "loop", path, mount_point], check=False, capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"{NEEDS_KERNEL} loop-mounted {kind}: {done.stderr.strip()}")

    try:
        yield mount
    finally:
        subprocess.run(["umount", "-l", mount_point], check=False, capture_output=True)


def unmount(mount_point):
    """Unmount, once nothing that a store maps holds the mount any more."""

    def is_unmounted():
        gc.collect()
        return subprocess.run(["umount", mount_point], check=False, capture_output=True).returncode == 0

    wait_for(is_unmounted)


def cut_power(mount_point):
    fd = os.open(mount_point, os.O_RDONLY)
    fcntl.ioctl(fd, SHUTDOWN, NO_LOG_FLUSH)
    os.close(fd)


@pytest.mark.slow
@pytest.mark.root
@pytest.mark.parametrize("kind", [kind for kind in FILE_SYSTEMS if kind == "ext4" or shutil.which(f"mkfs.{kind}")])
def test_a_real_power_cut_keeps_what_was_reported_durable(kind, tmp_path, tally):
    """What a mounted file system has after its power went is a known generation, never older than the durable one."""
    rng, mounted = random.Random(kind), tmp_path / "mounted"
    with image(kind, tmp_path, mounted) as mount:
        for cut in range(FILE_SYSTEMS[kind][1]):
            shape = rng.choice(SHAPES)
            operation = rng.randint(1, plain_run(shape).operations)
            mount()
            place = mounted / f"state{cut}"
            reported = stopped_child(place, shape, operation, lambda: cut_power(mounted))
            unmount(mounted)
            mount()
            check_after_cut(place, shape, operation, reported)
            shutil.rmtree(place, ignore_errors=True)
            unmount(mounted)
            tally(f"real power cuts on {kind}")


def check_after_cut(place, shape, operation, reported):
    durable, store_id = reported
    newest = opened(killed_process(killed_at(shape, operation)[0])).snapshot().generation
    known = plain_run(shape).seen.up_to(newest)
    fs = RealStoreFilesystem.open_directory(os.fsencode(place), create=True)
    assert not (problems(fs) and durable)
    work = Work(fs, known)
    assert work.opened >= durable
    if not work.opened:
        assert work.store.store_id != store_id
        known.files.clear()
    work.publish({"other.md": "other words\n"})
    fs.close()


@pytest.mark.slow
@pytest.mark.root
def test_a_flush_that_really_failed_is_never_tried_again_on_that_file(tmp_path, tally):
    """The disk behind the file system is full: flushing says EIO once; what is reported durable later really is."""
    with ExitStack() as stack:
        mounted = tmp_path / "mounted"
        small = stack.enter_context(small_disk(tmp_path / "small"))
        mount = stack.enter_context(image("ext4", small, mounted))
        mount()
        fs = StoppingFilesystem.open_directory(os.fsencode(mounted / "state"), create=True)
        store = opened(fs, SystemClock())
        publish(store, {"a.md": "alpha\n"})
        store.checkpoint()
        wear_in(mounted)
        ballast = fill(small)
        publish(store, {"b.md": "".join(f"word{number} " for number in range(60_000)) + "\n"})
        with pytest.raises(OSError) as failed:
            store.checkpoint()
        assert failed.value.errno in (errno.EIO, errno.ENOSPC)
        dead, asked = fs.flushed[-1], len(fs.flushed)
        assert not store.snapshot().durable
        ballast.unlink()
        tally("lying flushes met", says_ok(mounted / "state" / dead))
        store.checkpoint()
        assert store.snapshot().durable
        assert dead not in fs.flushed[asked:]
        expected = content(store.snapshot())
        fs.close()
        del store, fs, failed
        cut_power(mounted)
        unmount(mounted)
        mount()
        fs = RealStoreFilesystem.open_directory(os.fsencode(mounted / "state"), create=False)
        assert content(opened(fs).snapshot()) == expected


def says_ok(path):
    """Ask the kernel for the flush again that the store must not ask for: tell whether it says that all is well."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fdatasync(fd)
    except OSError:
        return False
    finally:
        os.close(fd)
    return True


@contextmanager
def small_disk(place):
    if os.geteuid() != 0:
        pytest.skip("mounting needs root")
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "none", place], check=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", place], check=True)


def wear_in(mounted):
    """Have every block of the journal written once, so that a full disk fails the data and not the file system."""
    for number in range(600):
        path = mounted / f"worn{number % 8}"
        fd = os.open(path, os.O_WRONLY | os.O_CREAT)
        os.fsync(fd)
        os.close(fd)
        path.unlink()
    subprocess.run(["sync", "-f", mounted], check=True)


def fill(folder):
    """Write until there is hardly any room, and return the file."""
    path = folder / "ballast"
    room = os.statvfs(folder)
    path.write_bytes(bytes(room.f_bavail * room.f_bsize - (64 << 10)))
    return path
