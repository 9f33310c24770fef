"""The watch on the roots: the kernel's events as hints, none lost without being noticed.

Owns: the inotify descriptor, the thread that reads it, the list of folders that could not be watched.
Knows nothing of: which folders are to be watched (a scan says so, folder by folder), what a hint leads to.
Invariants: 1. reading the descriptor and handing over what was read are one step under one lock: whoever holds it and
    finds nothing unread knows that every earlier event was handed over. 2. an overflow and a refused watch are always
    on record. 3. a folder is watched before it is listed. 4. at idle the thread sleeps in the kernel.
Purity: shell (inotify, one thread).
See: docs/operations.md (watch limits), docs/adr/0004.

The watching library's own observer is not used: it loses overflows, refused watches and moved folders, and holds
every event behind a moved one for half a second. Its bindings are; a contract test pins the names.
"""

import contextlib
import ctypes
import errno
import fcntl
import logging
import os
import select
import struct
import termios
import threading
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple, Protocol

from watchdog.observers.inotify_c import InotifyFD, inotify_add_watch, inotify_rm_watch

from indexerd.sync.pending import Hint
from indexerd.sync.roots import Mount, mounts_at, parse_mounts, read_mounts
from indexerd.sync.watches import FOLDER_MASK, ROOT_MASK, Event, WatchTable, lies_below

_log = logging.getLogger(__name__)

_READ_BYTES = 1 << 18
# The kernel's queue holds 16,384 events by default, at most about 280 bytes each: this many reads empty it.
_READS = 32
# These say that the folder is not there any more, or is none: its own event tells the rest.
_GONE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP})


class HandOver(Protocol):
    """Takes what a read of the kernel's queue said; called under the watcher's lock: it must only note it down."""

    def __call__(self, hints: tuple[Hint, ...], *, overflowed: bool) -> None:
        """Note hints, and whether events were lost."""
        ...


class WatcherStatistics(NamedTuple):
    """Counters of a watcher: folders watched, overflows since the start, whether its thread lives."""

    watches: int
    overflows: int
    alive: bool


class Watcher:
    """Watches folders one by one as a scan enters them; hands hints over as they come.

    Attributes:
        polled: Roots that are not to be watched, since events would not tell of all that happens in them.
    """

    def __init__(self) -> None:
        self.polled: frozenset[bytes] = frozenset()
        # Guards the descriptor, the table and the hand-over together; without it a barrier could fall between
        # "read from the kernel" and "on the list".
        self._lock = threading.Lock()
        self._table = WatchTable()
        self._refused: dict[bytes, int] = {}
        self._roots: frozenset[bytes] = frozenset()
        self._hand_over: HandOver = _nobody
        self._descriptor = -1
        self._wake_read, self._wake_write = -1, -1
        self._mounts = -1
        self._mounted: Mapping[bytes, tuple[Mount, ...]] = {}
        self._overflows = 0
        self._thread: threading.Thread | None = None
        self._stopping = False

    def start(self, roots: frozenset[bytes], hand_over: HandOver) -> None:
        """Open the descriptor and start reading it.

        Args:
            roots: Absolute paths of the roots; a link there is followed, below it none is.
            hand_over: Gets the hints of each read, and whether events were lost. Called under the watcher's lock: it
                must only note them down.

        Raises:
            OSError: No descriptor to be had (EMFILE: the limit of inotify instances). Work without a watcher.
        """
        self._roots = roots
        self._hand_over = hand_over
        self._descriptor = _open_descriptor()
        self._wake_read, self._wake_write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._mounted = _mounted(roots)
        with contextlib.suppress(OSError):
            self._mounts = os.open("/proc/self/mountinfo", os.O_RDONLY | os.O_CLOEXEC)
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="indexerd-watch", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread and close everything, so that `start` begins anew; harmless when not started.

        The kernel queues a record for every watch it removes, so after an overflow on many folders the old descriptor
        would overflow again by itself; closing it discards all that. Scan everything after the next start.
        """
        thread, self._thread = self._thread, None
        if thread is None:
            return
        self._stopping = True
        self._wake()
        thread.join()
        with self._lock:
            for descriptor in (self._descriptor, self._wake_read, self._wake_write, self._mounts):
                if descriptor >= 0:
                    os.close(descriptor)
            self._descriptor = self._wake_read = self._wake_write = self._mounts = -1
            self._table = WatchTable()
            self._refused.clear()

    def watch(self, folder: bytes, names: frozenset[bytes] = frozenset()) -> None:
        """Watch one folder (not below it); a refusal is put on record, never raised.

        Args:
            folder: Absolute path.
            names: Of the folder's entries only these matter, unless it is watched for all of them; empty for all.
        """
        mask = ROOT_MASK if folder in self._roots else FOLDER_MASK
        with self._lock:
            if self._descriptor < 0:
                return
            wd = inotify_add_watch(self._descriptor, folder, mask)
            if wd != -1:
                self._table.add(wd, folder, names)
                self._refused.pop(folder, None)
                return
            cause = ctypes.get_errno()
            # Of a folder that is gone its parent tells; of a root nobody does, and it may be back already.
            if cause not in _GONE or folder in self._roots:
                self._refused[folder] = cause

    def keep_only(self, tops: frozenset[bytes], folders: frozenset[bytes]) -> None:
        """After a complete walk of these trees: drop every watch and refusal in them that the walk did not enter."""
        with self._lock:
            # A root in one of these trees belongs to itself: nobody went into it.
            others = self._roots - tops
            self._remove(self._table.keep_only(tops, folders, others))
            for folder in [
                known for known in self._refused if known not in folders and lies_below(known, tops, others)
            ]:
                del self._refused[folder]

    def drain(self) -> None:
        """Hand over everything the kernel has for us now, from whatever thread asks."""
        with self._lock:
            for _ in range(_READS):
                if not self._unread() or not self._read_once():
                    return

    def refused(self) -> Mapping[bytes, int]:
        """Return the folders that could not be watched, each with the errno."""
        with self._lock:
            return MappingProxyType(dict(self._refused))

    def statistics(self) -> WatcherStatistics:
        """Return the counters."""
        thread = self._thread
        return WatcherStatistics(len(self._table), self._overflows, thread is not None and thread.is_alive())

    def _unread(self) -> int:
        if self._descriptor < 0:
            return 0
        answer = fcntl.ioctl(self._descriptor, termios.FIONREAD, b"\0\0\0\0")
        return int(struct.unpack("i", answer)[0])

    def _read_once(self) -> bool:
        try:
            data = os.read(self._descriptor, _READ_BYTES)
        except BlockingIOError:
            return False
        events = (Event(wd, mask, name) for wd, mask, _, name in InotifyFD._parse_event_buffer(data))  # noqa: SLF001
        harvest = self._table.read(events)
        self._remove(harvest.dropped)
        self._overflows += harvest.overflowed
        if harvest.hints or harvest.overflowed:
            self._hand_over(harvest.hints, overflowed=harvest.overflowed)
        return True

    def _remove(self, descriptors: tuple[int, ...]) -> None:
        for wd in descriptors:
            # EINVAL: the kernel was quicker. Either way it is gone.
            inotify_rm_watch(self._descriptor, wd)  # type: ignore[arg-type]

    def _run(self) -> None:
        while not self._stopping:
            try:
                self._wait_and_read()
            except Exception:  # noqa: BLE001 -- a thread's border
                # The loop sees that the thread is gone, starts over and scans: late, not wrong.
                _log.exception("watch_ended: everything is scanned and watched anew")
                return

    def _wait_and_read(self) -> None:
        poller = select.poll()
        poller.register(self._descriptor, select.POLLIN)
        poller.register(self._wake_read, select.POLLIN)
        if self._mounts >= 0:
            poller.register(self._mounts, select.POLLPRI | select.POLLERR)
        ready = {descriptor for descriptor, _ in poller.poll()}
        if self._wake_read in ready:
            with contextlib.suppress(BlockingIOError):
                os.read(self._wake_read, 4096)
        if self._mounts in ready:
            self._mounts_changed()
        self.drain()

    def _mounts_changed(self) -> None:
        """Somewhere a file system came or went, which no event tells: ask for a look at the roots it concerns."""
        before, self._mounted = self._mounted, _mounted(self._roots)
        concerned = tuple(Hint(root, tree=True) for root in sorted(self._roots) if before[root] != self._mounted[root])
        if concerned:
            with self._lock:
                self._hand_over(concerned, overflowed=False)

    def _wake(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.write(self._wake_write, b"!")


def _nobody(hints: tuple[Hint, ...], *, overflowed: bool) -> None:
    """Stand in until `start` names somebody."""


def _mounted(roots: frozenset[bytes]) -> Mapping[bytes, tuple[Mount, ...]]:
    """Return for each root the mounts that can change what is seen in it."""
    mounts = parse_mounts(read_mounts())
    return {root: mounts_at(mounts, os.path.realpath(root)) for root in roots}


def _open_descriptor() -> int:
    descriptor: int = InotifyFD._create_inotify_fd()  # noqa: SLF001
    os.set_inheritable(descriptor, False)
    os.set_blocking(descriptor, False)
    return descriptor
