"""Bulk reading: many files in slices, by worker processes, while the one writer goes on with what is urgent.

Owns: the cutting into slices, the worker processes, which files are under way.
Knows nothing of: the store, the order in which things are published.
Invariants: 1. every file given comes back in exactly one slice, also when a worker dies. 2. slices come back in any
    order; none holds a file of another. 3. after `stop` no process is left.
Purity: shell (processes, threads that wait for them).
See: docs/adr/0010.
"""

import contextlib
import logging
import queue
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

from indexerd.model import SourcePath
from indexerd.ports import Sources
from indexerd.sync.reading import Slice, Wanted, read_slice
from indexerd.sync.worker import Brief, decode_slice, encode_brief, encode_wanted, read_frame, write_frames

_log = logging.getLogger(__name__)

# One slice is one segment: small enough to come back within a fraction of a second, large enough for the array code
# and not to be joined with others in the writer at each publish (store/parts.py).
SLICE_BYTES = 2 << 20
SLICE_FILES = 4000
# Starting a worker costs about 0.3 s of imports: this process does half a second's work by itself, in slices that take
# a hundredth of a second, since a save waits for the one that is being read.
WORTH_A_WORKER_BYTES = 1 << 20
SLICE_BYTES_HERE = 1 << 16
SLICE_FILES_HERE = 64
_BOOT = "import sys; sys.path[:] = sys.argv[1:]; from indexerd.sync.worker import main; main()"


class Sized(NamedTuple):
    """A file to read and its size as the scan saw it."""

    want: Wanted
    size_bytes: int


def cut_slices(
    files: Iterable[Sized], most_files: int = SLICE_FILES, most_bytes: int = SLICE_BYTES
) -> Iterator[tuple[Wanted, ...]]:
    """Cut files into slices in their order, by bytes and by count."""
    part: list[Wanted] = []
    size = 0
    for file in files:
        if part and (size + file.size_bytes > most_bytes or len(part) >= most_files):
            yield tuple(part)
            part, size = [], 0
        part.append(file.want)
        size += file.size_bytes
    if part:
        yield tuple(part)


class Bulk:
    """One run over many files. Used by one thread; `notify` is called from others when a slice is ready."""

    def __init__(self, brief: Brief, sources: Sources, notify: Callable[[], None], *, workers: int) -> None:
        self._brief = brief
        self._sources = sources
        self._notify = notify
        self._workers = workers
        self._slices: deque[tuple[Wanted, ...]] = deque()
        self._flying: dict[Future[Slice], tuple[Wanted, ...]] = {}
        self._pool: ThreadPoolExecutor | None = None
        self._idle: queue.SimpleQueue[_Worker] = queue.SimpleQueue()
        self._started: list[_Worker] = []
        self.total_files = 0
        self.done_files = 0

    def add(self, files: Sequence[Sized]) -> None:
        """Put files at the end of the run; workers start when there is enough to do."""
        self.total_files += len(files)
        total_bytes = sum(file.size_bytes for file in files)
        if self._pool is None and self._workers and total_bytes >= WORTH_A_WORKER_BYTES:
            self._pool = ThreadPoolExecutor(self._workers, thread_name_prefix="indexerd-bulk")
            for _ in range(self._workers):
                self._idle.put(_Worker(self._brief, self._started))
        here = self._pool is None
        most = (SLICE_FILES_HERE, SLICE_BYTES_HERE) if here else (SLICE_FILES, SLICE_BYTES)
        self._slices.extend(cut_slices(files, *most))
        self._submit()

    def running(self) -> bool:
        """Return whether files are still to come back."""
        return bool(self._slices or self._flying)

    def busy(self) -> frozenset[SourcePath]:
        """Return the files that are being read right now: a newer read of one must wait for the older."""
        return frozenset(want.source_path for part in self._flying.values() for want in part)

    def collect(self) -> Slice | None:
        """Return a slice that came back, None if none did; reads one itself where there are no workers."""
        if self._pool is None:
            return self._read_here(self._slices.popleft()) if self._slices else None
        ready = next((future for future in self._flying if future.done()), None)
        part = self._finish(ready) if ready is not None else None
        self._submit()
        return part

    def ready(self) -> bool:
        """Return whether `collect` would return something now; where workers read, `notify` tells when."""
        return bool(self._slices) if self._pool is None else any(future.done() for future in self._flying)

    def stop(self) -> None:
        """End the workers; files not yet back are lost to this run."""
        self._slices.clear()
        for worker in self._started:
            worker.stop()
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None
        # Only now: no thread reads from them any more.
        for worker in self._started:
            worker.reap()
        self._flying.clear()

    def _submit(self) -> None:
        # One slice in work and one waiting for each worker: none is idle, and few files are under way.
        while self._pool is not None and self._slices and len(self._flying) < 2 * self._workers:
            part = self._slices.popleft()
            future = self._pool.submit(self._read_there, part)
            self._flying[future] = part
            future.add_done_callback(lambda _: self._notify())

    def _read_there(self, part: tuple[Wanted, ...]) -> Slice:
        worker = self._idle.get()
        try:
            return worker.read(part)
        finally:
            self._idle.put(worker)

    def _finish(self, future: "Future[Slice]") -> Slice:
        part = self._flying.pop(future)
        try:
            done = future.result()
        except (OSError, EOFError) as error:
            _log.warning("worker_ended: its files are read here (%s)", error)
            return self._read_here(part)
        self.done_files += len(part)
        return done

    def _read_here(self, part: tuple[Wanted, ...]) -> Slice:
        self.done_files += len(part)
        return read_slice(part, self._sources, self._brief.settings)


class _Worker:
    """One worker process, started when first used and again after it ended."""

    def __init__(self, brief: Brief, started: "list[_Worker]") -> None:
        self._brief = brief
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = False
        started.append(self)

    def read(self, part: tuple[Wanted, ...]) -> Slice:
        """Have a slice read.

        Raises:
            OSError: The process cannot be started or is gone.
            EOFError: It ended in the middle of its answer.
        """
        process = self._process or self._start()
        if process.stdin is None or process.stdout is None:
            raise EOFError("no pipes")
        try:
            write_frames(process.stdin, [[encode_wanted(part)]])
            outcomes, segment = read_frame(process.stdout), read_frame(process.stdout)
        except OSError:
            self.reap()
            raise
        if outcomes is None or segment is None:
            self.reap()
            raise EOFError("the answer is cut off")
        return decode_slice(outcomes, segment)

    def stop(self) -> None:
        """End the process at once; a read under way fails."""
        self._stopped = True
        if self._process is not None:
            self._process.kill()

    def _start(self) -> "subprocess.Popen[bytes]":
        if self._stopped:
            raise EOFError("stopped")
        # Its own session: Ctrl-C at the terminal is for the daemon, which ends its workers itself.
        process = subprocess.Popen(  # noqa: S603 (our own interpreter and module)
            [sys.executable, "-c", _BOOT, *sys.path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        self._process = process
        if process.stdin is not None:
            write_frames(process.stdin, [[encode_brief(self._brief)]])
        return process

    def reap(self) -> None:
        """End the process and give back what it held here."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        for pipe in (process.stdin, process.stdout):
            # Closing flushes; what it flushes nobody reads any more.
            with contextlib.suppress(OSError):
                if pipe is not None:
                    pipe.close()
        process.wait()
