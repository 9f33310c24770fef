"""What stands for the sync of a daemon until that is there.

Owns: what is said of a sync that has not begun.
Knows nothing of: how a sync works, what it is made of.
Invariants: 1. a daemon answers before the sync, a quarter of all modules, is loaded: `pending` until then, and whoever
    waits for the sync waits for its start first.
Purity: shell.
See: ARCHITECTURE.md (the composition root), docs/operations.md (start).
"""

import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from indexerd.clock import SystemClock
from indexerd.errors import ShutdownError
from indexerd.model import Root, SourcePath
from indexerd.ports import SourceFault, SourceRead
from indexerd.store import Snapshot, Store
from indexerd.sync.status import Barrier, RootStatus, SyncReport, SyncStatus, unlooked

if TYPE_CHECKING:
    from indexerd.sync.loop import SyncLoop


class Coming:
    """Implements the service's `Synchroniser` from the first call on, for a sync that is given later."""

    def __init__(self, store: Store, roots: Sequence[Root]) -> None:
        """Nothing is known yet but the store and the roots in its form."""
        self._store, self._roots, self._clock = store, tuple(roots), SystemClock()
        self._given = threading.Event()
        self._sync: SyncLoop | None = None

    def give(self, sync: "SyncLoop | None") -> None:
        """Answer by this sync from now on; None when none will come."""
        self._sync = self._sync or sync
        self._given.set()

    def barrier(self, deadline: float, earlier: Barrier | None = None) -> Barrier:
        """Wait as the sync does, for itself first."""
        began = self._clock.monotonic()
        self._given.wait(min(max(deadline - began, 0.0), threading.TIMEOUT_MAX))
        waited = self._clock.monotonic() - began
        if self._sync is None:
            return Barrier(self._state(), waited)
        found = self._sync.barrier(deadline, earlier)
        return found._replace(waited_seconds=found.waited_seconds + waited)

    def repair(self, reads: Mapping[SourcePath, SourceRead | SourceFault], deadline: float) -> Snapshot | None:
        """Return a generation that holds what was seen; None while there is nobody to make one."""
        return None if self._sync is None else self._sync.repair(reads, deadline)

    def sync_once(self, paths: Sequence[str] | None = None) -> SyncReport:
        """Have the sync look. Raises as that does."""
        return self._there().sync_once(paths)

    def status(self) -> SyncStatus:
        """Return one moment of the sync."""
        if self._sync is not None:
            return self._sync.status()
        roots = tuple(RootStatus(root.label, root.path, "ok") for root in self._roots)
        return unlooked(self._state(), self._store.snapshot().generation, roots)

    def drop_fingerprints(self) -> None:
        """Have the sync remove its file of fingerprints."""
        self._there().drop_fingerprints()

    def held(self) -> frozenset[SourcePath]:
        """Return the documents that cannot be looked at now: none before the first look."""
        return frozenset() if self._sync is None else self._sync.held()

    def may_hang(self) -> bool:
        """Return whether a look at a root may have to wait for another machine: not known before the sync is there."""
        return self._sync is None or self._sync.may_hang()

    def modified(self, paths: Sequence[SourcePath]) -> list[int | None]:
        """Return the modification times of files as they were last read."""
        return self._there().modified(paths)

    def _there(self) -> "SyncLoop":
        self._given.wait()
        if self._sync is None:
            raise ShutdownError("the daemon is stopping")
        return self._sync

    def _state(self) -> Literal["building", "pending"]:
        return "building" if self._store.is_partial or not self._store.snapshot().generation else "pending"
