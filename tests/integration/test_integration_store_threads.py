"""One writer, one merger, readers in threads and beside the process: nobody ever sees half of anything."""

import itertools
import select
import subprocess
import sys
import threading

import pytest

from indexerd.clock import SystemClock
from indexerd.store import merging, open_reader
from indexerd.store.fsio import RealStoreFilesystem
from indexerd.store.verify import fsck
from tests.fakes.small_stores import ROOTS, content, opened, publish, rebuilt_content

PUBLISHES = 150
# Another process opens the store in a loop until its input ends, and prints how many generations it saw.
READER = """
import sys, threading
from indexerd.store import open_reader
from indexerd.store.fsio import RealStoreFilesystem
from tests.integration.test_integration_store_threads import FILES, stamps

ended = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
seen, last = set(), 0
while not ended.is_set():
    fs = RealStoreFilesystem.open_directory(sys.argv[1], create=False)
    snapshot = open_reader(fs)
    fs.close()
    [stamp] = stamps(snapshot)
    assert snapshot.document_count == len(FILES) and snapshot.generation >= last, snapshot.generation
    assert int(stamp) == snapshot.generation - 1, (stamp, snapshot.generation)
    last = snapshot.generation
    if last not in seen and len(seen) in (0, 19):
        print("enough" if seen else "reading", flush=True)
    seen.add(last)
print(len(seen), flush=True)
"""
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


@pytest.mark.slow
def test_a_reader_in_another_process_sees_whole_generations_while_a_thousand_pass(directory):
    """Beside 1,000 publishes with merges, checkpoints and collections each opening gives one generation, none older."""
    store = opened(hold(directory), SystemClock(), roots=ROOTS)
    publish(store, stamped(0))
    command = [sys.executable, "-c", READER, str(directory)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as reader:
        assert reader.stdout.readline() == "reading\n"
        for number in itertools.count(1):
            # A reader that hardly gets the processor sees some all the same.
            if number > 1000 and select.select([reader.stdout], [], [], 0)[0]:
                break
            publish(store, stamped(number))
            if number % 5 == 0:
                store.merge_once()
                store.checkpoint()
                store.collect()
        said, _ = reader.communicate()
    assert reader.returncode == 0
    assert said.split()[0] == "enough"
    store.close()
