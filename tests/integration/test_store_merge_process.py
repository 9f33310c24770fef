"""A heavy merge is carried out by a process of its own, and one that fails is a merge that did not happen."""

import os
import subprocess
import sys
import threading

import pytest

from indexerd.clock import SystemClock
from indexerd.errors import CorruptionError
from indexerd.model import History
from indexerd.store import MergeProcess, compaction, merging, open_store
from indexerd.store.codec import pack
from indexerd.store.fsio import RealStoreFilesystem
from indexerd.store.merge_process import _BOOT, Order
from indexerd.store.verify import fsck
from tests.fakes.daemon_process import wait_for
from tests.fakes.small_stores import ROOTS, content, publish, rebuilt_content

FILES = {f"{number}.md": f"# Note {number}\n\ntext of the note {number}\n" for number in range(6)}


@pytest.fixture(autouse=True)
def small_is_heavy(monkeypatch):
    """Merge early, and call every merge heavy."""
    monkeypatch.setattr(merging, "MAX_STORED", 3)
    monkeypatch.setattr(compaction, "HEAVY_BYTES", 0)


@pytest.fixture
def opened_in(tmp_path):
    """Open stores below one folder; close them at the end."""
    stores = []

    def begin(name, **options):
        fs = RealStoreFilesystem.open_directory(str(tmp_path / name), create=True)
        stores.append(open_store(fs, SystemClock(), roots=ROOTS, history=History(max_ratio=0), **options))
        return stores[-1]

    yield begin
    for store in stores:
        store.close()


def filled(store):
    """Publish every file by itself, one of them twice, and delete one."""
    for name, text in FILES.items():
        publish(store, {"0.md": f"overridden by {name}\n", name: text})
    publish(store, {}, ["5.md"])
    return {
        "0.md": "overridden by 5.md\n",
        **{name: text for name, text in FILES.items() if name not in ("0.md", "5.md")},
    }


def merged_file(store):
    """Return the one segment that a store lies in, as bytes."""
    (stored,) = store.snapshot().stored
    return store._fs.read(stored.ref.name)


def test_the_file_is_the_one_that_a_merge_in_this_process_makes(opened_in, tmp_path):
    """Same bytes, same generation, same content, and nothing is left staged."""
    there, here = opened_in("there", merger=MergeProcess(str(tmp_path / "there"))), opened_in("here")
    for store in (there, here):
        expected = filled(store)
        before = store.snapshot().generation
        assert store.merge_once()
        assert store.snapshot().generation == before
        assert content(store.snapshot()) == rebuilt_content(expected)
    assert merged_file(there) == merged_file(here)
    assert there._staging.staged() == here._staging.staged()
    there.checkpoint()
    there.collect()
    assert not [finding for finding in fsck(there._fs) if finding.kind == "problem"]


def test_what_is_published_meanwhile_is_not_lost(opened_in, tmp_path):
    """Publishes do not wait for the process, and override what it merged."""
    store = opened_in("state", merger=MergeProcess(str(tmp_path / "state")))
    expected = filled(store)
    merge = threading.Thread(target=store.merge_once)
    merge.start()
    wait_for(lambda: store._compaction._merger._process is not None or not merge.is_alive())
    publish(store, {"1.md": "newer\n", "late.md": "late\n"}, ["2.md"])
    merge.join()
    del expected["2.md"]
    assert content(store.snapshot()) == rebuilt_content(expected | {"1.md": "newer\n", "late.md": "late\n"})
    assert store.statistics().merges == 1


def test_a_process_that_is_killed_is_a_merge_that_did_not_happen(opened_in, tmp_path):
    """The generation is as it was, no file of the attempt is left, and the next attempt merges."""
    store = opened_in("state", merger=MergeProcess(str(tmp_path / "state")))
    expected = filled(store)
    before = sorted(os.listdir(tmp_path / "state"))
    failures = []

    def merge():
        try:
            store.merge_once()
        except OSError as error:
            failures.append(error)

    merger = store._compaction._merger
    start = merger._start

    def start_and_kill():
        process = start()
        process.kill()
        return process

    merger._start = start_and_kill
    merge()
    merger._start = start
    assert "the merging process ended" in str(failures[0])
    assert (content(store.snapshot()), sorted(os.listdir(tmp_path / "state"))) == (rebuilt_content(expected), before)
    assert store._staging.staged() == frozenset()
    assert store.merge_once()
    assert content(store.snapshot()) == rebuilt_content(expected)


def test_after_the_stop_no_process_is_started(opened_in, tmp_path):
    """Whoever closes the store does not wait for a merge."""
    store = opened_in("state", merger=MergeProcess(str(tmp_path / "state")))
    filled(store)
    store.stop_merging()
    with pytest.raises(OSError, match="closed"):
        store.merge_once()


def test_damage_is_named_and_never_merged(opened_in, tmp_path):
    """A segment whose bytes are not what was written is not made part of another with a checksum that fits."""
    store = opened_in("state", merger=MergeProcess(str(tmp_path / "state")))
    expected = filled(store)
    name = store.snapshot().stored[0].ref.name
    file = tmp_path / "state" / name
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 0xFF
    file.chmod(0o600)
    file.write_bytes(data)
    with pytest.raises(CorruptionError, match=name):
        store.merge_once()
    assert content(store.snapshot()) == rebuilt_content(expected)
    assert store._staging.staged() == frozenset()


def test_a_process_whose_daemon_was_killed_says_nothing(opened_in, tmp_path):
    """Half an order is no order, and an answer that nobody reads no error: a person would see either."""
    store = opened_in("state")
    filled(store)
    names = [one.ref.name for one in store.snapshot().stored]
    order = pack([str(tmp_path / "state"), 0, Order(names, [], True), ["target"]])
    reading, writing = os.pipe()
    os.close(reading)
    for said in (order[: len(order) // 2], order):
        ended = subprocess.run(
            [sys.executable, "-c", _BOOT, *sys.path], input=said, stdout=writing, stderr=subprocess.PIPE, check=False
        )
        assert (ended.returncode, ended.stderr) == (0, b"")
    os.close(writing)
