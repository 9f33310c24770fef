"""The store's upkeep beside the writer: mend, flush and collect on one thread, merge on another.

Owns: when upkeep is tried again after it failed.
Knows nothing of: sources, hints, what a flush or a merge is.
Invariants: 1. no query and no publish waits for a flush or a merge, and no flush for a merge, which takes seconds.
    2. a failure is reported, backed off and tried again; it ends nothing. 3. with nothing due each thread looks every
    two seconds, and sleeps.
Purity: shell (two threads).
See: docs/consistency.md (checkpoint, merge).
"""

import ctypes
import logging
import threading
from collections.abc import Callable
from typing import Protocol

from indexerd.clock import BackOff

_log = logging.getLogger(__name__)

# A checkpoint is at most 500 ms behind: looking this often while something is unsynced keeps that with room to spare.
_LOOK_SECONDS = 0.1
# At idle: soon enough for what happens to the store's files, and for a bulk load that has settled and is merged.
_IDLE_SECONDS = 2.0
# Long enough for a thread that waits for the interpreter to get it.
_PAUSE_SECONDS = 0.0005
# glibc keeps what a bulk run and its merges have freed, in a heap for each thread. After a first index of 40,925
# files, 43 MB of text (2026-11-30): 325 MB resident; 150 MB when asked to give back; 130 MB with one heap for all
# threads.
_libc = ctypes.CDLL(None)
malloc_trim: Callable[[int], int] = getattr(_libc, "malloc_trim", lambda _: 0)
mallopt: Callable[[int, int], int] = getattr(_libc, "mallopt", lambda _option, _value: 0)
_M_ARENA_MAX = -8


class Upkept(Protocol):
    """The part of the store that upkeep drives."""

    def checkpoint_due(self) -> bool:
        """Return whether a checkpoint is due."""
        ...

    def checkpoint(self) -> None:
        """Make the latest generation durable."""
        ...

    def merge_due(self) -> bool:
        """Return whether segments are to be merged."""
        ...

    def merge_once(self) -> bool:
        """Merge once; return whether anything was merged."""
        ...

    def stop_merging(self) -> None:
        """End a merge under way in another process, and begin no other there."""
        ...

    def collect(self) -> int:
        """Remove what nothing references; return how many files."""
        ...


class Upkeep:
    """Runs the upkeep; `wake` after each publish: it costs nothing while the threads look by themselves anyway."""

    def __init__(
        self,
        store: Upkept,
        unsynced: Callable[[], bool],
        report: Callable[[str, Exception | None], None],
        mend: Callable[[], bool] = lambda: False,
        besides: Callable[[Callable[[], object]], None] = lambda _: None,
    ) -> None:
        """Make the upkeep of a store; nothing runs yet.

        Args:
            store: What is kept up.
            unsynced: Tells whether a flush will be due soon.
            report: Told what failed, by the code of the problem, or that it has not.
            mend: Looks, when it is time, whether the store's files are as they were; True if it wrote some anew.
            besides: Called now and then by the merging thread, with what it is to call every millisecond of its work.
        """
        self._store, self._mend, self._besides = store, mend, besides
        self._stopping = threading.Event()
        self._merged = False
        self._report = report
        work = (
            ("indexerd-upkeep", self.flush_once, self._say_flushed),
            ("indexerd-merge", self.merge_once, self._say_merged),
        )
        self._chores = [_Chore(*each, unsynced=unsynced, stopping=self._stopping) for each in work]

    def start(self) -> None:
        """Start the threads."""
        mallopt(_M_ARENA_MAX, 1)
        for chore in self._chores:
            chore.start()

    def stop(self) -> None:
        """End the threads, after what they are doing now; the last checkpoint is the caller's."""
        self._stopping.set()
        self._store.stop_merging()
        for chore in self._chores:
            chore.join()

    def wake(self) -> None:
        """Look soon whether something is due."""
        for chore in self._chores:
            chore.wake()

    def flush_once(self) -> bool:
        """Mend and flush if that is due now; return whether anything was done.

        Raises:
            OSError: As the store raises it; nothing is lost, try again later.
        """
        done = self._mend()
        if self._store.checkpoint_due():
            self._store.checkpoint()
            done = True
        if done:
            self._store.collect()
        return done

    def merge_once(self) -> bool:
        """Merge if that is due now, and do what is done besides; return whether anything was merged.

        Raises:
            OSError: As the store raises it; nothing is lost, try again later.
        """
        done = self._store.merge_due() and self._store.merge_once()
        if done:
            self._merged = True
            self._store.collect()
        elif self._merged:
            self._merged = False
            malloc_trim(0)
        self._besides(lambda: self._stopping.wait(_PAUSE_SECONDS))
        return done

    def _say_flushed(self, error: Exception | None) -> None:
        if error is not None:
            _log.warning("upkeep_failed: it is tried again (%s)", error)
        self._report("upkeep_failed", error)

    def _say_merged(self, error: Exception | None) -> None:
        if error is not None:
            _log.warning("merge_failed: it is tried again (%s)", error)
        self._report("merge_failed", error)


class _Chore:
    """One thread that does one thing over and over, when it is due."""

    def __init__(
        self,
        name: str,
        once: Callable[[], bool],
        tell: Callable[[Exception | None], None],
        *,
        unsynced: Callable[[], bool],
        stopping: threading.Event,
    ) -> None:
        self._once, self._tell, self._unsynced = once, tell, unsynced
        self._stopping, self._woken = stopping, threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._back_off = BackOff()
        self._sleeps = False

    def start(self) -> None:
        self._thread.start()

    def join(self) -> None:
        self._woken.set()
        if self._thread.is_alive():
            self._thread.join()

    def wake(self) -> None:
        # Each thread that runs beside a publish makes it wait for the interpreter.
        if self._sleeps:
            self._woken.set()

    def _run(self) -> None:
        while True:
            self._woken.clear()
            # Asked after the clear: `stop` sets this first, so a wake that was just cleared is not missed.
            if self._stopping.is_set():
                return
            try:
                busy = self._once()
            except Exception as error:  # noqa: BLE001 -- a thread's border
                if self._stopping.is_set():
                    return
                self._tell(error)
                self._stopping.wait(self._back_off.failed(error))
                continue
            self._tell(None)
            self._back_off.succeeded()
            # Set before the question: a publish that comes after the answer finds it set.
            self._sleeps = True
            if busy or self._unsynced():
                self._sleeps = False
                self._stopping.wait(_LOOK_SECONDS)
            else:
                self._woken.wait(_IDLE_SECONDS)
