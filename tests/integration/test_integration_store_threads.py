"""One writer, one merger, readers in threads and beside the process: nobody ever sees half of anything."""

import threading

import pytest

from indexerd.clock import SystemClock
from indexerd.store import fsck, merging, open_reader
from indexerd.store.fsio import RealStoreFilesystem
from tests.fakes.small_stores import ROOTS, content, opened, publish, rebuilt_content

PUBLISHES = 150
FILES = [f"{name}.md" for name in "abcd"]


def stamped(number: int) -> dict[str, str]:
    return {path: f"stamp {number} of {path}\n" for path in FILES}


def stamps(snapshot) -> set[str]:
    return {bytes(segment.data.raw(index)).split()[1] for segment, index in snapshot.documents()}


@pytest.fixture
def directory(tmp_path, monkeypatch):
    monkeypatch.setattr(merging, "MAX_STORED", 5)
    return tmp_path / "state"


def hold(directory):
    return RealStoreFilesystem.open_directory(directory, create=True)


class Threads:
    """Runs loops until told to stop, and hands on what they raise."""

    def __init__(self) -> None:
        self._stop, self.failures, self._threads = threading.Event(), [], []

    def start(self, step) -> None:
        def loop() -> None:
            try:
                while not self._stop.is_set():
                    step()
            except BaseException as error:  # noqa: BLE001 - handed on by `stop`
                self.failures.append(error)

        self._threads.append(threading.Thread(target=loop))
        self._threads[-1].start()

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()
        assert not self.failures, self.failures


def test_every_reader_sees_one_whole_generation_while_all_else_goes_on(directory):
    """While publishes, merges, checkpoints and collections pass, each view holds one stamp in all four documents."""
    store = opened(hold(directory), SystemClock(), roots=ROOTS)
    publish(store, stamped(0))
    threads = Threads()

    def read_inside():
        snapshot = store.snapshot()
        assert len(stamps(snapshot)) == 1
        assert snapshot.document_count == len(FILES)

    def read_outside():
        fs = hold(directory)
        snapshot = open_reader(fs)
        fs.close()
        assert len(stamps(snapshot)) == 1

    def keep_up():
        store.merge_once()
        store.checkpoint()
        store.collect()

    for step in (read_inside, read_outside, keep_up):
        threads.start(step)
    for number in range(1, PUBLISHES + 1):
        publish(store, stamped(number))
    threads.stop()
    assert content(store.snapshot()) == rebuilt_content(stamped(PUBLISHES))
    store.close()
    fs = hold(directory)
    assert not [finding for finding in fsck(fs) if finding.kind == "problem"]
    fs.close()
