"""The store's upkeep beside the writer: mend, flush, merge, collect, on a thread of its own.

Owns: when upkeep is tried again after it failed.
Knows nothing of: sources, hints, what a flush or a merge is.
Invariants: 1. no query and no publish waits for a flush or a merge. 2. a failure is reported, backed off and tried
    again; it ends nothing. 3. with nothing due the thread looks at the
    files every two seconds, and sleeps.
Purity: shell (one thread).
See: docs/consistency.md (checkpoint, merge).
"""

import ctypes
import logging
import threading
from collections.abc import Callable
from typing import Protocol

_log = logging.getLogger(__name__)

# A checkpoint is at most 500 ms behind: looking this often while something is unsynced keeps that with room to spare.
_LOOK_SECONDS = 0.1
# At idle: soon enough for what happens to the store's files, and for a bulk load that has settled and is merged.
_IDLE_SECONDS = 2.0
_BACK_OFF_SECONDS = (0.5, 60.0)
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
    """Runs the upkeep; `wake` after each publish: it costs nothing while the thread looks by itself anyway."""

    def __init__(
        self,
        store: Upkept,
        unsynced: Callable[[], bool],
        report: Callable[[str, Exception | None], None],
        mend: Callable[[], bool] = lambda: False,
    ) -> None:
        """`mend` looks, when it is time, whether the store's files are as they were; True if it wrote some anew."""
        self._store = store
        self._unsynced = unsynced
        self._report = report
        self._mend = mend
        self._woken = threading.Event()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._back_off = _BACK_OFF_SECONDS[0]
        self._merged = False
        self._sleeps = False

    def start(self) -> None:
        """Start the thread."""
        mallopt(_M_ARENA_MAX, 1)
        self._thread = threading.Thread(target=self._run, name="indexerd-upkeep", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread, after what it is doing now; the last checkpoint is the caller's."""
        self._stopping.set()
        self._store.stop_merging()
        self._woken.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def wake(self) -> None:
        """Look soon whether something is due."""
        # Each thread that runs beside a publish makes it wait for the interpreter.
        if self._sleeps:
            self._woken.set()

    def once(self) -> bool:
        """Do what is due now; return whether anything was done.

        Raises:
            OSError: As the store raises it; nothing is lost, try again later.
        """
        # First: a merge of damaged segments would fail.
        done = self._mend()
        if self._store.checkpoint_due():
            self._store.checkpoint()
            done = True
        if self._store.merge_due() and self._store.merge_once():
            done = self._merged = True
        if done:
            self._store.collect()
        return done

    def _run(self) -> None:
        while True:
            self._woken.clear()
            # Asked after the clear: `stop` sets this first, so a wake that was just cleared is not missed.
            if self._stopping.is_set():
                return
            try:
                busy = self.once()
            except Exception as error:  # noqa: BLE001 -- a thread's border
                if self._stopping.is_set():
                    return
                _log.warning("upkeep_failed: it is tried again (%s)", error)
                self._report("upkeep_failed", error)
                self._stopping.wait(self._back_off)
                self._back_off = min(2 * self._back_off, _BACK_OFF_SECONDS[1])
                continue
            self._report("upkeep_failed", None)
            self._back_off = _BACK_OFF_SECONDS[0]
            # Set before the question: a publish that comes after the answer finds it set.
            self._sleeps = True
            if busy or self._unsynced():
                self._sleeps = False
                self._stopping.wait(_LOOK_SECONDS)
            elif not self._woken.wait(_IDLE_SECONDS):
                self._give_back_memory()

    def _give_back_memory(self) -> None:
        if self._merged:
            self._merged = False
            malloc_trim(0)
