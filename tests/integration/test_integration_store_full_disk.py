"""A disk that is really full, of bytes and of inodes, and is then freed."""

import contextlib
import errno
import os
import subprocess

import pytest
from test_integration_cli import make_home

from indexerd.clock import SystemClock
from indexerd.model import History
from indexerd.store.fsio import RealStoreFilesystem
from indexerd.store.verify import fsck
from tests.fakes.daemon_process import wait_for
from tests.fakes.small_stores import content, opened, publish
from tests.fakes.sync_rig import Rig

LARGE = os.environ.get("INDEXERD_TEST_SIZE") == "large"
# Too little for anything, for a part of it, for nearly all; bytes and inodes.
ROOM = [
    *(f"size={4 * pages}k" for pages in (range(1, 41) if LARGE else (1, 4, 9, 14))),
    *(f"size=4m,nr_inodes={inodes}" for inodes in (range(1, 13) if LARGE else (1, 3, 4))),
]


@contextlib.contextmanager
def mounted(place, options):
    """Mount a small disk for the length of a block."""
    if os.geteuid() != 0:
        pytest.skip("mounting needs root")
    mount = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", place], check=False)
    if mount.returncode:
        pytest.skip("mounting is not allowed here")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", place], check=True)


@pytest.fixture(params=["size=128k", "size=4m,nr_inodes=12"])
def small_disk(request, tmp_path):
    with mounted(tmp_path, request.param):
        yield tmp_path


def fill(store):
    """Publish until the disk is full; return the number of the publish that failed."""
    for number in range(1000):
        try:
            publish(store, {"a.md": f"version {number}\n" * 200})
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            return number
    raise AssertionError("the disk was never full")


@pytest.mark.root
def test_a_full_disk_changes_nothing_and_heals_without_a_restart(small_disk):
    """While the disk is full answers stay as they were; once there is room the same publish succeeds."""
    ballast = [small_disk / f"ballast {number}" for number in range(4)]
    for path in ballast:
        path.write_bytes(bytes(16 << 10))
    fs = RealStoreFilesystem.open_directory(small_disk / "state", create=True)
    store = opened(fs, SystemClock(), history=History(max_ratio=0))
    number = fill(store)
    before = content(store.snapshot())
    for _ in range(3):
        with pytest.raises(OSError):
            publish(store, {"a.md": f"version {number}\n" * 200})
        assert content(store.snapshot()) == before
    for path in ballast:
        path.unlink()
    assert publish(store, {"a.md": f"version {number}\n" * 200}).generation == number + 1
    store.checkpoint()
    store.collect()
    assert store.snapshot().durable
    assert not fsck(fs)
    store.close()


@pytest.mark.root
@pytest.mark.parametrize("options", ROOM)
def test_a_sync_that_finds_too_little_room_is_whole_once_there_is_enough(tmp_path, options):
    """Whatever room there is, the sync is done or not done; with enough the same process counts what it would have."""
    (tmp_path / "ample").mkdir()
    with Rig(tmp_path / "ample", watch=False) as ample:
        for number in range(20):
            ample.write(f"{number}.md", f"# {number}\n\n" + f"words of {number}\n" * 100)
        expected = ample.loop.sync_once()
    place = tmp_path / "small"
    (place / "state").mkdir(parents=True)
    with mounted(place / "state", options):
        rig = Rig(place, ample.root, watch=False)
        with rig:
            try:
                report = rig.loop.sync_once()
            except OSError:
                assert rig.generation() == 0
                subprocess.run(["mount", "-o", "remount,size=8m,nr_inodes=100", place / "state"], check=True)
                report = rig.loop.sync_once()
            assert (report.added, report.generation, report.chunks_active) == (20, 1, expected.chunks_active)
            subprocess.run(["mount", "-o", "remount,size=8m,nr_inodes=100", place / "state"], check=True)
            rig.store.checkpoint()
            rig.store.collect()
            assert rig.digest() == ample.digest()
            assert not fsck(rig.fs)


@pytest.mark.root
@pytest.mark.slow
def test_whoever_starts_and_asks_on_a_full_disk_is_told(tmp_path):
    """A detached start and each answer name the disk and not the wait; once there is room all is found."""
    home, disk = make_home(tmp_path), tmp_path / "disk"
    disk.mkdir()
    home.write("a.md", "quokka\n")
    with mounted(disk, "size=64k"):
        with contextlib.suppress(OSError), (disk / "ballast").open("wb", 0) as ballast:
            ballast.write(bytes(1 << 20))
        started = home.run("watch", home.docs, "--detach", "--state-dir", disk / "state")
        try:
            assert (started.returncode, b"publish_failed: ENOSPC" in started.stderr) == (0, True)
            asked = home.run("query", "quokka", "--wait", 0)
            assert asked.returncode == 1
            for told in (b"first index could not be built so far", b"see `indexerd doctor`: ENOSPC", b"disk/state"):
                assert told in asked.stderr
            (disk / "ballast").unlink()
            wait_for(lambda: home.run("query", "quokka").returncode == 0)
        finally:
            home.run("stop")
