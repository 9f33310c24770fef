"""The sync: keeps one store in step with its roots, event by event, with the scan as the truth."""

from indexerd.sync.loop import SyncLoop
from indexerd.sync.options import SyncOptions
from indexerd.sync.status import Barrier, Named, Progress, RootStatus, SyncReport, SyncStatus
from indexerd.sync.watcher import Watcher

__all__ = [
    "Barrier",
    "Named",
    "Progress",
    "RootStatus",
    "SyncLoop",
    "SyncOptions",
    "SyncReport",
    "SyncStatus",
    "Watcher",
]
