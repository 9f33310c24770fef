"""The store: generations of segments in one state directory, published atomically and read without locks."""

from indexerd.store.erasure import Erased
from indexerd.store.history import Changes, DeletedDocument, GenerationInfo, Past, no_past
from indexerd.store.manifest import Versions
from indexerd.store.merge_process import MergeProcess
from indexerd.store.opening import open_past, open_reader, open_store
from indexerd.store.parts import LiveSegment
from indexerd.store.prepared import PreparedGeneration
from indexerd.store.recover import OpeningReport
from indexerd.store.slots import Change, KnownRoot, add_roots, form_roots
from indexerd.store.snapshot import Snapshot
from indexerd.store.statistics import StoreStatistics
from indexerd.store.writer import Store

__all__ = [
    "Change",
    "Changes",
    "DeletedDocument",
    "Erased",
    "GenerationInfo",
    "KnownRoot",
    "LiveSegment",
    "MergeProcess",
    "OpeningReport",
    "Past",
    "PreparedGeneration",
    "Snapshot",
    "Store",
    "StoreStatistics",
    "Versions",
    "add_roots",
    "form_roots",
    "no_past",
    "open_past",
    "open_reader",
    "open_store",
]
