"""The sync of a command that works without a daemon: whoever asks does the work.

Owns: when such a command looks at the disk: once, before its first answer, and again where a proof fails.
Knows nothing of: how looking is done.
Invariants: 1. nothing is answered from an index that was not compared with the disk by this process. 2. what a sync
    that was asked for reports as durable outlives a power cut.
Purity: shell (through the sync).
See: docs/operations.md (without a daemon).
"""

from collections.abc import Callable, Mapping, Sequence

from indexerd.errors import StoreError
from indexerd.model import SourcePath
from indexerd.ports import SourceFault, SourceRead
from indexerd.store import Snapshot
from indexerd.sync.loop import SyncLoop
from indexerd.sync.status import Barrier, SyncReport, SyncStatus


class OneShot:
    """Implements the service's `Synchroniser` without a thread. Used by one thread."""

    def __init__(self, sync: SyncLoop, checkpoint: Callable[[], None]) -> None:
        self._sync, self._checkpoint = sync, checkpoint
        self._compared = False

    def barrier(
        self,
        deadline: float,  # noqa: ARG002 - there is nobody else to wait for
        earlier: Barrier | None = None,  # noqa: ARG002 - as above
    ) -> Barrier:
        """Compare everything with the disk, if that was not done yet."""
        if not self._compared:
            self._look(None)
        return Barrier("current", 0.0, named=True)

    def repair(self, reads: Mapping[SourcePath, SourceRead | SourceFault], deadline: float) -> Snapshot | None:
        """Index what was seen of some files."""
        return self._sync.repair(reads, deadline)

    def sync_once(self, paths: Sequence[str] | None = None) -> SyncReport:
        """Look at everything, or at these paths, publish what changed, and make it durable.

        A query does not wait for the disk; who asks for a sync does. What the disk refuses is reported as not durable.
        """
        report = self._look(paths)
        try:
            self._checkpoint()
        except (OSError, StoreError):
            return report
        return report._replace(durable=True)

    def _look(self, paths: Sequence[str] | None) -> SyncReport:
        report = self._sync.sync_once(paths)
        self._compared = self._compared or paths is None
        return report

    def status(self) -> SyncStatus:
        """Return one moment of the sync."""
        return self._sync.status()

    def drop_fingerprints(self) -> None:
        """Remove the file of fingerprints; closing writes it anew."""
        self._sync.drop_fingerprints()

    def held(self) -> frozenset[SourcePath]:
        """Return the documents that cannot be looked at now."""
        return self._sync.held()

    def may_hang(self) -> bool:
        """Return whether a look at a root may hang: a process that answers one call has nobody else to hold up."""
        return False
