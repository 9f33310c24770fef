"""A disk that is really full, of bytes and of inodes, and is then freed."""

import errno
import os
import subprocess

import pytest

from indexerd.clock import SystemClock
from indexerd.store import History, fsck
from indexerd.store.fsio import RealStoreFilesystem
from tests.fakes.small_stores import content, opened, publish


@pytest.fixture(params=["size=128k", "size=4m,nr_inodes=12"])
def small_disk(request, tmp_path):
    if os.geteuid() != 0:
        pytest.skip("mounting needs root")
    mount = subprocess.run(["mount", "-t", "tmpfs", "-o", request.param, "none", tmp_path], check=False)
    if mount.returncode:
        pytest.skip("mounting is not allowed here")
    yield tmp_path
    subprocess.run(["umount", "-l", tmp_path], check=True)


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
