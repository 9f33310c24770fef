"""What the use cases are given: the store, the sync, the engine, the sources, as they need them.

Owns: the shape of what is injected.
Knows nothing of: how any of it works, who built it.
Invariants: 1. nothing here is created or closed by the service.
Purity: pure (declarations only).
See: ARCHITECTURE.md (the composition root).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

from indexerd.access.rights import AccessRules
from indexerd.model import Root, Settings, SourcePath
from indexerd.ports import Clock, SourceFault, SourceRead, Sources
from indexerd.search.freshness import PROOF_SECONDS
from indexerd.search.outcome import SearchOutcome, Seen
from indexerd.search.request import SearchRequest
from indexerd.service.callers import Admission
from indexerd.store import Erased, Past, Snapshot, StoreStatistics, Versions
from indexerd.sync.status import Barrier, SyncReport, SyncStatus


class Engine(Protocol):
    """The search, with everything that does not change from request to request already given."""

    def __call__(  # noqa: PLR0913 - the seam's fields are spelled out
        self,
        snapshot: Snapshot,
        request: SearchRequest,
        *,
        held: frozenset[SourcePath],
        building: bool,
        seen: Mapping[SourcePath, Seen],
        now: Snapshot | None = None,
        proof_seconds: float = PROOF_SECONDS,
    ) -> SearchOutcome:
        """Search one snapshot.

        Args:
            snapshot: The current generation, or one of the past.
            request: What to search for.
            held: Documents that are not eligible.
            building: Whether the first index is not complete yet.
            seen: What was read for this query already.
            now: The current generation where the snapshot is one of the past.
            proof_seconds: How long reading for proof may take.
        """
        ...


class Generations(Protocol):
    """The store, as a reader sees it."""

    @property
    def store_id(self) -> str:
        """Identity of the store."""
        ...

    def snapshot(self) -> Snapshot:
        """Return the current generation."""
        ...

    def past(self) -> Past:
        """Return what is kept of older generations."""
        ...

    def statistics(self) -> StoreStatistics:
        """Return what the store tells about itself."""
        ...

    def erase(self, source_path: SourcePath, *, keep_current: bool = False) -> Erased:
        """Erase a document from every kept generation, or all versions of it but the current one."""
        ...

    def pin(self, generation: int) -> None:
        """Keep a generation longer, because evidence named it."""
        ...


class Synchroniser(Protocol):
    """The sync, as a caller sees it. Deadlines are moments of the monotonic clock."""

    def barrier(self, deadline: float, earlier: Barrier | None = None) -> Barrier:
        """Wait until everything written before now, or before an earlier call, is searchable, or the deadline."""
        ...

    def repair(self, reads: Mapping[SourcePath, SourceRead | SourceFault], deadline: float) -> Snapshot | None:
        """Return a generation that holds what was seen of these files; None if there is none in time."""
        ...

    def sync_once(self, paths: Sequence[str] | None = None) -> SyncReport:
        """Look at everything, or at these absolute or source paths, and publish what changed."""
        ...

    def status(self) -> SyncStatus:
        """Return one moment of the sync."""
        ...

    def drop_fingerprints(self) -> None:
        """Remove what is kept on disk of the sources' files; it is written anew without the documents that are gone."""
        ...

    def held(self) -> frozenset[SourcePath]:
        """Return the documents that cannot be looked at now."""
        ...

    def may_hang(self) -> bool:
        """Return whether a look at a root may have to wait for another machine, which may never answer."""
        ...


class Identity(NamedTuple):
    """Which daemon this is, for its owner."""

    profile: str
    state_dir: str
    socket: str | None
    pid: int


class Parts(NamedTuple):
    """Everything the service works with.

    Attributes:
        versions: Of this program, to be compared with those of a generation.
        extra_status: Further facts for the owner's `status`, such as the server's figures.
        process: Figures of this process, by the name of their metric.
        logs_text: Whether the log has what was asked as it was, and not its hash.
        stop: Asks the process to end; returns at once.
        is_ending: Whether it is ending: long work is given up.
    """

    store: Generations
    sync: Synchroniser
    engine: Engine
    sources: Sources
    clock: Clock
    settings: Settings
    access: AccessRules
    roots: tuple[Root, ...]
    admission: Admission
    identity: Identity
    stop: Callable[[], None]
    versions: Versions
    extra_status: Callable[[], Mapping[str, object]] = dict
    process: Callable[[], Mapping[str, float]] = dict
    logs_text: bool = False
    is_ending: Callable[[], bool] = lambda: False
