"""Answers from a state directory that another process writes to, without its lock.

Owns: the form of a watch set that only reads.
Knows nothing of: how the other process works, sockets.
Invariants: 1. nothing is written. 2. it never claims to be current: only the writer knows.
Purity: shell (reads the state directory and the sources).
See: docs/operations.md (without a daemon).
"""

from collections.abc import Mapping, Sequence

from indexerd.clock import SystemClock
from indexerd.config import Config
from indexerd.errors import ConfigError, StoreLockedError
from indexerd.model import Root, SourcePath
from indexerd.ports import SourceFault, SourceRead
from indexerd.service.dispatch import Service
from indexerd.service.parts import Identity, Parts
from indexerd.sources import SourceTree
from indexerd.store import Erased, Past, Snapshot, StoreStatistics, no_past, open_past, open_reader
from indexerd.store.fsio import RealStoreFilesystem
from indexerd.store.snapshot import empty_snapshot
from indexerd.sync.status import Barrier, RootStatus, SyncReport, SyncStatus, unlooked
from indexerd.wiring.ground import stored_roots
from indexerd.wiring.house import VERSIONS, engine_of, owner_of
from indexerd.wiring.people import admission_of

_LOCKED = "another process writes to this state directory: ask its daemon, or try again later"


class Reading:
    """Answers the methods that need no writer."""

    def __init__(self, config: Config, snapshot: Snapshot, fs: RealStoreFilesystem | None = None) -> None:
        """Answer from a snapshot, and from the older generations in `fs`, which is closed in the end."""
        self._fs = fs
        roots = formed_roots(config)
        sources = SourceTree(roots, config.max_file_bytes)
        admission = admission_of(config)
        self._owner = owner_of(admission)
        self._service = Service(
            Parts(
                store=_Fixed(snapshot, fs),
                sync=_Elsewhere(snapshot, tuple(RootStatus(root.label, root.path, "ok") for root in roots)),
                engine=engine_of(config, roots, sources),
                sources=sources,
                clock=SystemClock(),
                settings=config.settings,
                access=config.access,
                roots=roots,
                admission=admission,
                identity=Identity(profile=config.profile, state_dir=config.state_dir, socket=None, pid=0),
                stop=lambda: None,
                versions=VERSIONS,
            )
        )

    def call(self, method: str, params: Mapping[str, object] | None = None) -> dict[str, object]:
        """Answer as the socket would, for the owner.

        Raises:
            StoreLockedError: The method needs the writer.
            IndexerdError: As the socket's methods.
        """
        return self._service.call(self._owner, method, params or {})

    def close(self) -> None:
        """Let go of the state directory; the files of the snapshot are held by that."""
        if self._fs is not None:
            self._fs.close()


def open_reading(config: Config) -> Reading | None:
    """Open the current generation beside its writer; None if nothing was published yet.

    Raises:
        ConfigError: There is no such state directory.
        CorruptionError: No generation proves whole.
        FormatVersionError: It is of another format version.
    """
    try:
        fs = RealStoreFilesystem.open_directory(config.state_dir, create=False)
    except OSError as error:
        raise ConfigError([f"state directory {config.state_dir}: {error.strerror}"]) from error
    try:
        snapshot = open_reader(fs)
    except BaseException:
        fs.close()
        raise
    if snapshot is not None:
        return Reading(config, snapshot, fs)
    fs.close()
    return None


def open_sources(config: Config) -> Reading:
    """Answer what needs the sources and no index (`verify`): nothing of the store is read but the form of its paths."""
    return Reading(config, empty_snapshot())


def formed_roots(config: Config) -> tuple[Root, ...]:
    """Return the roots that the store knows, and those configured that it has not seen yet."""
    known = stored_roots(config.state_dir)
    paths = {root.path for root in known}
    new = tuple(root for root in config.roots if root.path not in paths)
    return (*known, *(root._replace(prefixed=root.prefixed or bool(known)) for root in new))


class _Fixed:
    """One generation as the current one, and those that are kept beside it."""

    def __init__(self, snapshot: Snapshot, fs: RealStoreFilesystem | None) -> None:
        self._snapshot, self._fs = snapshot, fs

    @property
    def store_id(self) -> str:
        return self._snapshot.store_id

    def snapshot(self) -> Snapshot:
        return self._snapshot

    def past(self) -> Past:
        past = open_past(self._fs) if self._fs is not None else None
        return past or no_past(self._snapshot)

    def statistics(self) -> StoreStatistics:
        raise StoreLockedError(_LOCKED)

    def erase(self, source_path: SourcePath, *, keep_current: bool = False) -> Erased:  # noqa: ARG002 - whatever it is
        raise StoreLockedError(_LOCKED)

    def pin(self, generation: int) -> None:
        """Leave it: only the writer can keep a generation."""


class _Elsewhere:
    """A sync that somebody else does: nothing is known of how far it is."""

    def __init__(self, snapshot: Snapshot, roots: tuple[RootStatus, ...]) -> None:
        self._snapshot, self._roots = snapshot, roots

    def barrier(
        self,
        deadline: float,  # noqa: ARG002 - waiting would change nothing
        earlier: Barrier | None = None,  # noqa: ARG002 - as above
    ) -> Barrier:
        return Barrier("pending", 0.0)

    def repair(
        self,
        reads: Mapping[SourcePath, SourceRead | SourceFault],  # noqa: ARG002 - as above
        deadline: float,  # noqa: ARG002 - as above
    ) -> Snapshot | None:
        return None

    def sync_once(self, paths: Sequence[str] | None = None) -> SyncReport:  # noqa: ARG002 - whatever they are
        raise StoreLockedError(_LOCKED)

    def status(self) -> SyncStatus:
        return unlooked("pending", self._snapshot.generation, self._roots)

    def drop_fingerprints(self) -> None:
        raise StoreLockedError(_LOCKED)

    def may_hang(self) -> bool:
        return False

    def held(self) -> frozenset[SourcePath]:
        return frozenset()
