"""Whether the roots are watched, and what stands in for it where they cannot be.

Owns: the watch's beginning, its renewal, giving it up and trying again; which roots are polled, and which folders need
    a look instead of events.
Knows nothing of: hints, batches, the index.
Invariants: 1. what is not watched is looked at by whoever asks, and by a timer. 2. a watch that could not be had is
    tried again, and its problem goes with the first success.
Purity: shell (through the watcher).
See: docs/operations.md (watch limits, network mounts).
"""

import errno
import os
from collections.abc import Callable, Sequence

from indexerd.model import Root
from indexerd.sync.options import SyncOptions
from indexerd.sync.problems import Standing
from indexerd.sync.roots import is_remote, parse_mounts, read_mounts
from indexerd.sync.timetable import REFUSED_RETRY_SECONDS, Timetable
from indexerd.sync.watcher import HandOver, Watcher


class Watching:
    """The watch of some roots.

    Attributes:
        watcher: Started, or about to be; None where scans are relied on.
        may_hang: Whether a look at a root may have to wait for another machine, as far as is known.
    """

    def __init__(  # noqa: PLR0913 (its owner names each)
        self,
        watcher: Watcher | None,
        *,
        roots: Sequence[Root],
        options: SyncOptions,
        timetable: Timetable,
        problems: Standing,
        note: HandOver,
    ) -> None:
        self.watcher, self.may_hang = watcher, True
        self._roots = {os.fsencode(root.path): root.label for root in roots}
        self._options, self._timetable, self._problems, self._note = options, timetable, problems, note
        # One for which the machine had no descriptor left.
        self._unstarted: Watcher | None = None
        timetable.poll_seconds = options.poll_seconds if watcher is None else None

    def start(self, begun: Callable[[], None] = lambda: None) -> None:
        """Start the watch; where none is to be had the roots are scanned instead, and it is tried again later.

        Args:
            begun: Called when there is one, before anybody relies on it: nothing is watched yet.
        """
        watcher = self.watcher or self._unstarted
        if watcher is None:
            return
        try:
            watcher.start(frozenset(self._roots), self._note)
        except OSError as error:
            self._unstarted = watcher
            self.give_up(f"no watch to be had ({error}); the roots are scanned instead, and it is tried again")
            return
        begun()
        self.watcher, self._unstarted = watcher, None
        self._timetable.poll_seconds = None
        self._problems.clear("polling")
        self.choose()

    def choose(self) -> None:
        """Find out in which roots events cannot tell of every change: those are polled, the others watched."""
        watcher = self.watcher
        if watcher is None:
            return
        mounts = parse_mounts(read_mounts())
        remote = {root: label for root, label in self._roots.items() if is_remote(mounts, os.path.realpath(root))}
        self.may_hang, names = bool(remote), ", ".join(remote.values())
        if self._options.trust_events:
            detail = f"{names}: what other machines change is seen by the next full scan only, since polling is off"
            self._problems.set("events_only", detail if remote else None)
            return
        watcher.polled = frozenset(remote)
        detail = f"{names}: a network file system reports no changes made elsewhere"
        self._problems.set("polling", detail if remote else None)

    def look_seconds(self) -> float:
        """Return how long what is not watched may go without a look."""
        polled = self.watcher is not None and self.watcher.polled
        return self._options.poll_seconds if polled else REFUSED_RETRY_SECONDS

    def give_up(self, why: str) -> None:
        """Rely on scans from now on, and say so."""
        watcher, self.watcher = self.watcher, None
        if watcher is not None:
            watcher.stop()
        self._timetable.poll_seconds = self._options.poll_seconds
        self._problems.clear("watch_limit")
        self._problems.report("polling", why)

    def renew(self) -> None:
        """Begin anew with nothing watched; scan everything afterwards."""
        if self.watcher is not None:
            self.watcher.stop()
            self.start()

    def try_again(self, begun: Callable[[], None]) -> None:
        """Try to start where no watch was to be had; `begun` has everything scanned."""
        if self._unstarted is not None:
            self.start(begun)

    def is_dead(self) -> bool:
        """Return whether there should be a watch and its thread has ended."""
        return self.watcher is not None and not self.watcher.statistics().alive

    def unwatched(self) -> tuple[bytes, ...]:
        """Return the topmost folders in which changes are not reported: they need a look instead."""
        if self.watcher is None:
            return tuple(sorted(self._roots))
        # Not folded into one another: a root in another one is looked at for itself.
        return (*sorted(self.watcher.polled), *self._refused(self.watcher))

    def name_refused(self) -> None:
        """Let the status say which folders could not be watched."""
        if self.watcher is None:
            return
        refused = self._refused(self.watcher)
        names = ", ".join(os.fsdecode(folder) for folder in refused[:3])
        detail = f"{len(refused)} folders are not watched ({names}); raise fs.inotify.max_user_watches"
        self._problems.set("watch_limit", detail if refused else None)

    @staticmethod
    def _refused(watcher: Watcher) -> tuple[bytes, ...]:
        """Return the topmost folders that the kernel would not watch."""
        # A folder that may not be read is held, and its parent reports when that changes.
        folders = sorted(f for f, cause in watcher.refused().items() if cause not in (errno.EACCES, errno.EPERM))
        tops: list[bytes] = []
        for folder in folders:
            if not tops or not folder.startswith(tops[-1] + b"/"):
                tops.append(folder)
        return tuple(tops)
