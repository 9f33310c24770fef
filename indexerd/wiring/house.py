"""One watch set put together: store, sources, sync, search, service; and the form of it that works without a daemon.

Owns: the order in which the parts are opened and closed.
Knows nothing of: sockets, signals, the command line.
Invariants: 1. the store's lock is held before anything else is done, and let go last. 2. the forms of source paths are
    those that the store fixed when it was made.
Purity: shell.
See: ARCHITECTURE.md (the composition root).
"""

import functools
import logging
import os
import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple, Self

from indexerd.analysis import ANALYZER_VERSION, STEMMER_VERSION, UNICODE_VERSION
from indexerd.clock import SystemClock
from indexerd.config import Config
from indexerd.errors import ConfigError, StoreLockedError
from indexerd.model import Root
from indexerd.ports import Sources
from indexerd.search import RANKING_VERSION, search
from indexerd.search.filters import ModifiedNs
from indexerd.service.callers import Admission, Caller
from indexerd.service.dispatch import Service
from indexerd.service.parts import Engine, Identity, Parts
from indexerd.sources import SourceTree
from indexerd.store import (
    MergeProcess,
    OpeningReport,
    Snapshot,
    Store,
    Versions,
    add_roots,
    form_roots,
    open_store,
)
from indexerd.store.fsio import RealStoreFilesystem
from indexerd.wiring.coming import Coming
from indexerd.wiring.ground import check_ground, stored_roots
from indexerd.wiring.people import admission_of
from indexerd.wiring.process import process_figures

if TYPE_CHECKING:
    from indexerd.sync.loop import SyncLoop

# What a generation keeps of the program that published it: by equals it is answered from exactly as then.
VERSIONS = Versions(f"{ANALYZER_VERSION} ({STEMMER_VERSION}, Unicode {UNICODE_VERSION})", RANKING_VERSION)

_log = logging.getLogger(__name__)

# How often whoever waits for a store that another process holds looks again.
_LOOK_SECONDS = 0.05


class Patience(NamedTuple):
    """How a store is waited for that another process holds.

    Attributes:
        seconds: For so long.
        in_vain: Tells, each time, that waiting longer is of no use: a daemon keeps it.
    """

    seconds: float = 0.0
    in_vain: Callable[[], bool] = lambda: False


_AT_ONCE = Patience()
# Of a command: another one may be indexing much. Of a daemon: whoever asks while it starts may have come first.
OF_COMMANDS, OF_DAEMONS = 30.0, 5.0


class House:
    """The parts of one watch set, open. Close it, or use it as a context."""

    def __init__(self, config: Config, ground: "_Ground") -> None:
        """Put the parts together over an open store. Nothing is looked at yet."""
        self.config, self._ground = config, ground
        self._hearers: list[Callable[[Snapshot], None]] = []
        self._sync: SyncLoop | None = None
        self._furniture = ground.furnish(config)
        self.service = Service(self._furniture.parts)
        self.on_close: Callable[[], None] = lambda: None

    @property
    def sync(self) -> "SyncLoop":
        """Return the sync that is in force, once it was started."""
        assert self._sync is not None, "not started"
        return self._sync

    @property
    def owner(self) -> Caller:
        """Return the caller that a command of the store's own user is."""
        return owner_of(self.service.admission)

    def work_alone(self) -> None:
        """Have whoever asks do the work of the sync: for a command without a daemon."""
        from indexerd.wiring.oneshot import OneShot  # noqa: PLC0415 - with the sync

        self._sync = self._furniture.make_sync()
        self._furniture.coming.give(self._sync)
        alone = OneShot(self._sync, self._ground.store.checkpoint)
        self.service.adopt(self._furniture.parts._replace(sync=alone))

    def start_sync(self) -> None:
        """Watch, scan, and keep the index current from now on."""
        self._sync = self._furniture.make_sync()
        for hearer in self._hearers:
            self._sync.on_publish(hearer)
        self._sync.start()
        self._furniture.coming.give(self._sync)

    def stop_sync(self) -> None:
        """Stop the sync that is in force by then; none will come any more."""
        self._furniture.coming.give(None)
        if self._sync is not None:
            self._sync.stop()

    def on_publish(self, callback: Callable[[Snapshot], None]) -> None:
        """Have each new snapshot told, whichever sync publishes it; to be said before the first one starts."""
        self._hearers.append(callback)

    def report_socket(self, detail: str | None) -> None:
        """Let the status say why the socket cannot be reached; None when it can."""
        if self._sync is not None:
            self._sync.problems.set("socket_lost", detail)

    def refurnish(self, config: Config) -> None:
        """Go on with other roots or rules over the same store and socket; documents of roots that stay are not redone.

        What is fixed while a daemon runs (state directory, socket, history, durability) stays as it is. Who asks
        meanwhile is told `pending`.

        Raises:
            ConfigError: Roots cannot be used; nothing has changed. Lists every problem.
        """
        check_ground(config, stored_roots(config.state_dir))
        self.sync.stop()
        self._furniture = self._ground.furnish(config)
        self.service.adopt(self._furniture.parts)
        self.config = config
        self.start_sync()

    def call(self, method: str, params: Mapping[str, object] | None = None) -> dict[str, object]:
        """Answer as the socket would, for the owner.

        Raises:
            IndexerdError: As the socket's methods.
        """
        return self.service.call(self.owner, method, params or {})

    def give_up(self) -> None:
        """Let long calls end: what they would answer comes too late."""
        self._ground.ending.set()

    def close(self) -> None:
        """Stop the sync, make the store durable, and let go of it."""
        self.on_close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def open_local(config: Config, in_vain: Callable[[], bool] = lambda: False) -> House:
    """Open a watch set for a command that works without a daemon; nothing is scanned before it asks (`sync`).

    Another command that holds the store is waited for. A daemon is not, where `in_vain` knows of it: ask it instead.

    Raises:
        ConfigError: Roots or state directory cannot be used; lists every problem.
        StoreLockedError: Another process keeps the store.
        ForeignStoreError: The state directory belongs to other roots.
    """
    return build(config, patience=Patience(OF_COMMANDS, in_vain))


def build(
    config: Config,
    *,
    watch: bool = False,
    patience: Patience = _AT_ONCE,
    stop: Callable[[], None] = lambda: None,
    extra_status: Callable[[], Mapping[str, object]] = dict,
) -> House:
    """Open every part of a watch set.

    Args:
        config: A valid configuration.
        watch: Whether folders are to be watched once the sync is started.
        patience: How to wait for the store's lock.
        stop: What `shutdown` calls.
        extra_status: Further facts for the owner's `status`.

    Raises:
        ConfigError: Roots or state directory cannot be used; lists every problem.
        StoreLockedError: Another process keeps the store.
        ForeignStoreError: The state directory belongs to other roots.
    """
    check_ground(config, stored_roots(config.state_dir))
    with ExitStack() as opened:
        store, fs = _open_store(config, patience)
        opened.callback(store.close)
        _announce(store.opening)
        ending = threading.Event()
        ground = _Ground(store=store, fs=fs, watch=watch, stop=stop, ending=ending, extra_status=extra_status)
        house = House(config, ground)
        opened.callback(house.stop_sync)
        if not watch:
            house.work_alone()
        house.on_close = opened.pop_all().close
        return house


def engine_of(
    config: Config,
    roots: tuple[Root, ...],
    sources: Sources,
    modified: ModifiedNs | None = None,
) -> Engine:
    """Return the search with everything given that does not change from request to request.

    Args:
        config: Rules and settings.
        roots: In the form that the store fixed.
        sources: Reads below the same roots.
        modified: Modification times as last seen; None to read them from the sources.
    """
    return functools.partial(
        search,
        rules=config.access,
        sources=sources,
        clock=SystemClock(),
        settings=config.settings,
        roots=roots,
        modified=modified,
    )


def identity_of(config: Config) -> Identity:
    """Return what the owner's status says about this process."""
    return Identity(profile=config.profile, state_dir=config.state_dir, socket=config.socket.path, pid=os.getpid())


def owner_of(admission: Admission) -> Caller:
    """Return the caller that this process's own user is."""
    return Caller(uid=os.geteuid(), gid=os.getegid(), groups=frozenset(), is_owner=True, roles=admission.owner_roles)


def _open_store(config: Config, patience: Patience) -> tuple[Store, RealStoreFilesystem]:
    clock = SystemClock()
    deadline = clock.monotonic() + patience.seconds
    while True:
        try:
            fs = RealStoreFilesystem.open_directory(config.state_dir, create=True)
            # It holds the text of every document: nobody else may look into it, even if it was made by other hands.
            Path(config.state_dir).chmod(0o700)
        except OSError as error:
            raise ConfigError([f"state directory {config.state_dir}: {error.strerror}"]) from error
        try:
            store = open_store(
                fs,
                clock,
                durability=config.durability,
                roots=config.roots,
                history=config.history,
                merger=MergeProcess(config.state_dir),
                versions=VERSIONS,
            )
        except StoreLockedError:
            if clock.monotonic() >= deadline or patience.in_vain():
                raise
            # No door to sleep here, and none needed: an event that nobody sets waits as long.
            threading.Event().wait(_LOOK_SECONDS)
            continue
        return store, fs


class _Ground(NamedTuple):
    """What stays the same while a store is open, and makes the rest for one configuration."""

    store: Store
    fs: RealStoreFilesystem
    watch: bool
    stop: Callable[[], None]
    ending: threading.Event
    extra_status: Callable[[], Mapping[str, object]]

    def furnish(self, config: Config) -> "_Furniture":
        """Return what the service works with, and what makes the sync that it waits for."""
        store = self.store
        for problem in config.root_problems:
            _log.warning(
                "root_settings_broken: %s: nothing below this root is looked at; mend the file, then send SIGHUP",
                problem,
            )
        # New ones are remembered with the next publish; each keeps its form from now on.
        store.known_roots = add_roots(store.known_roots, config.roots)
        roots = form_roots(store.known_roots, config.roots)
        sources = SourceTree(roots, config.max_file_bytes)
        coming = Coming(store, roots)

        def make_sync() -> "SyncLoop":
            from indexerd.wiring.syncing import sync_of  # noqa: PLC0415 - a third of a start: not before the first answer

            return sync_of(config, roots=roots, sources=sources, store=store, fs=self.fs, watch=self.watch)

        parts = Parts(
            store=store,
            sync=coming,
            engine=engine_of(config, roots, sources, coming.modified),
            sources=sources,
            clock=SystemClock(),
            settings=config.settings,
            access=config.access,
            roots=roots,
            admission=admission_of(config),
            identity=identity_of(config),
            stop=self.stop,
            versions=VERSIONS,
            extra_status=lambda: {**opening_fields(store.opening), **self.extra_status()},
            process=process_figures,
            is_ending=self.ending.is_set,
            logs_text=config.log.queries == "text",
        )
        return _Furniture(parts, coming, make_sync)


class _Furniture(NamedTuple):
    """What belongs to one configuration."""

    parts: Parts
    coming: Coming
    make_sync: "Callable[[], SyncLoop]"


def opening_fields(opening: OpeningReport) -> Mapping[str, object]:
    """Return what the owner's status says about how the index was found at the start."""
    return {"opening": {"state": opening.state, "detail": opening.detail, "fell_back": opening.fell_back}}


def _announce(opening: OpeningReport) -> None:
    """Say it when an index is not used as it was found: silence would look like health."""
    if opening.state in {"damaged", "older_format"}:
        _log.warning("index_rebuilt: it is %s (%s), and made anew from the sources", opening.state, opening.detail)
    elif opening.fell_back:
        _log.warning("generation_damaged: the newest one is not used, but the one before it (%s)", opening.detail)
