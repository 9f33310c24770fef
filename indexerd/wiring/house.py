"""One watch set put together: store, sources, sync, search, service; and the form of it that works without a daemon.

Owns: the order in which the parts are opened and closed.
Knows nothing of: sockets, signals, the command line.
Invariants: 1. the store's lock is held before anything else is done, and let go last. 2. the forms of source paths are
    those
    that the store fixed when it was made.
Purity: shell.
See: ARCHITECTURE.md (the composition root).
"""

import functools
import logging
import os
import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from indexerd.analysis import ANALYZER_VERSION, STEMMER_VERSION, UNICODE_VERSION
from indexerd.clock import SystemClock
from indexerd.config import Config, RootRules
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
    History,
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
from indexerd.sync.ignore import IgnoreOptions
from indexerd.sync.loop import SyncLoop
from indexerd.sync.options import SyncOptions
from indexerd.sync.scan import Scanner
from indexerd.sync.surroundings import GitUser
from indexerd.sync.watcher import Watcher
from indexerd.wiring.ground import check_ground, stored_roots
from indexerd.wiring.oneshot import OneShot
from indexerd.wiring.people import admission_of
from indexerd.wiring.process import process_figures

# What a generation keeps of the program that published it: by equals it is answered from exactly as then.
VERSIONS = Versions(f"{ANALYZER_VERSION} ({STEMMER_VERSION}, Unicode {UNICODE_VERSION})", RANKING_VERSION)

_log = logging.getLogger(__name__)

# How long a one-shot command waits for another one that holds the store, and how often it looks.
_PATIENCE_SECONDS, _LOOK_SECONDS = 30.0, 0.05


@dataclass(slots=True, kw_only=True)
class House:
    """The parts of one watch set, open. Close it, or use it as a context.

    Attributes:
        sync: The one in force; `refurnish` puts another in its place.
        ground: What stays when that happens.
    """

    config: Config
    store: Store
    sync: SyncLoop
    service: Service
    ground: "_Ground"
    on_close: Callable[[], None] = lambda: None
    _hearers: list[Callable[[Snapshot], None]] = field(default_factory=list)

    @property
    def admission(self) -> Admission:
        """Return who is let in."""
        return self.service.admission

    @property
    def owner(self) -> Caller:
        """Return the caller that a command of the store's own user is."""
        return owner_of(self.admission)

    def stop_sync(self) -> None:
        """Stop the sync that is in force by then."""
        self.sync.stop()

    def on_publish(self, callback: Callable[[Snapshot], None]) -> None:
        """Have each new snapshot told, whichever sync publishes it."""
        self._hearers.append(callback)
        self.sync.on_publish(callback)

    def refurnish(self, config: Config) -> None:
        """Go on with other roots or rules over the same store and socket; documents of roots that stay are not redone.

        What is fixed while a daemon runs (state directory, socket, history, durability) stays as it is. Who asks
        meanwhile is told `pending`.

        Raises:
            ConfigError: Roots cannot be used; nothing has changed. Lists every problem.
        """
        check_ground(config, stored_roots(config.state_dir))
        self.sync.stop()
        self.sync, parts = self.ground.furnish(config)
        for callback in self._hearers:
            self.sync.on_publish(callback)
        self.service.adopt(parts)
        self.config = config
        self.sync.start()

    def call(self, method: str, params: Mapping[str, object] | None = None) -> dict[str, object]:
        """Answer as the socket would, for the owner.

        Raises:
            IndexerdError: As the socket's methods.
        """
        return self.service.call(self.owner, method, params or {})

    def close(self) -> None:
        """Stop the sync, make the store durable, and let go of it."""
        self.on_close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def open_local(config: Config) -> House:
    """Open a watch set for a command that works without a daemon; nothing is scanned before it asks (`sync`).

    Another command that holds the store is waited for; a daemon is not: ask it instead.

    Raises:
        ConfigError: Roots or state directory cannot be used; lists every problem.
        StoreLockedError: Another process keeps the store.
        ForeignStoreError: The state directory belongs to other roots.
    """
    return build(config, patience_seconds=_PATIENCE_SECONDS)


def build(
    config: Config,
    *,
    watch: bool = False,
    patience_seconds: float = 0.0,
    stop: Callable[[], None] = lambda: None,
    extra_status: Callable[[], Mapping[str, object]] = dict,
) -> House:
    """Open every part of a watch set.

    Args:
        config: A valid configuration.
        watch: Whether folders are to be watched once the sync is started.
        patience_seconds: How long to wait for the store's lock.
        stop: What `shutdown` calls.
        extra_status: Further facts for the owner's `status`.

    Raises:
        ConfigError: Roots or state directory cannot be used; lists every problem.
        StoreLockedError: Another process keeps the store.
        ForeignStoreError: The state directory belongs to other roots.
    """
    check_ground(config, stored_roots(config.state_dir))
    with ExitStack() as opened:
        store, fs = _open_store(config, patience_seconds)
        opened.callback(store.close)
        _announce(store.opening)
        ground = _Ground(store=store, fs=fs, watch=watch, stop=stop, extra_status=extra_status)
        sync, parts = ground.furnish(config)
        house = House(config=config, store=store, sync=sync, service=Service(parts), ground=ground)
        opened.callback(house.stop_sync)
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


def history_of(config: Config) -> History:
    """Return which older generations the store keeps."""
    return History(
        generations=config.history.generations,
        minutes=config.history.minutes,
        hours=config.history.hours,
        days=config.history.days,
        evidence_days=config.history.evidence_days,
        max_ratio=config.history.max_ratio,
    )


def identity_of(config: Config) -> Identity:
    """Return what the owner's status says about this process."""
    return Identity(profile=config.profile, state_dir=config.state_dir, socket=config.socket.path, pid=os.getpid())


def owner_of(admission: Admission) -> Caller:
    """Return the caller that this process's own user is."""
    return Caller(uid=os.geteuid(), gid=os.getegid(), groups=frozenset(), is_owner=True, roles=admission.owner_roles)


def _open_store(config: Config, patience_seconds: float) -> tuple[Store, RealStoreFilesystem]:
    clock = SystemClock()
    deadline = clock.monotonic() + patience_seconds
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
                history=history_of(config),
                merger=MergeProcess(config.state_dir),
                versions=VERSIONS,
            )
        except StoreLockedError:
            if clock.monotonic() >= deadline:
                raise
            # No door to sleep here, and none needed: an event that nobody sets waits as long.
            threading.Event().wait(_LOOK_SECONDS)
            continue
        return store, fs


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ground:
    """What stays the same while a store is open, and makes the rest for one configuration."""

    store: Store
    fs: RealStoreFilesystem
    watch: bool
    stop: Callable[[], None]
    extra_status: Callable[[], Mapping[str, object]]

    def furnish(self, config: Config) -> tuple[SyncLoop, Parts]:
        """Return a sync that is not started, and what the service works with."""
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
        sync = self._sync(config, roots, sources)
        return sync, Parts(
            store=store,
            sync=sync if self.watch else OneShot(sync, store.checkpoint),
            engine=engine_of(config, roots, sources, sync.modified),
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
            logs_text=config.log.queries == "text",
        )

    def _sync(self, config: Config, roots: tuple[Root, ...], sources: Sources) -> SyncLoop:
        return SyncLoop(
            store=self.store,
            sources=sources,
            scanner=scanner_of(config, roots),
            roots=roots,
            settings=config.settings,
            clock=SystemClock(),
            options=SyncOptions(
                max_file_bytes=config.max_file_bytes, poll=config.poll == "always", trust_events=config.poll == "never"
            ),
            watcher=Watcher() if self.watch and config.poll != "always" else None,
            fs=self.fs,
        )


def scanner_of(config: Config, roots: tuple[Root, ...]) -> Scanner:
    """Return what looks below the roots.

    Args:
        config: What is left out, and where.
        roots: In the form that the store fixed.
    """
    return Scanner(
        roots,
        {root.label: ignore_options(config, root) for root in roots},
        max_file_bytes=config.max_file_bytes,
        own_paths=(config.state_dir, config.socket.path),
        git_user=GitUser(config.home, config.settings_home) if config.home else None,
    )


def ignore_options(config: Config, root: Root) -> IgnoreOptions:
    """Return what is left out below a root: what its own file says goes before what its profile says."""
    own = next((rules for rules in config.root_rules if rules.label == root.label), RootRules(label=root.label))
    return IgnoreOptions(
        formats=config.settings.formats if own.formats is None else own.formats,
        hidden=config.hidden if own.hidden is None else own.hidden,
        node_modules=config.node_modules if own.node_modules is None else own.node_modules,
        tagged_caches=config.tagged_caches if own.tagged_caches is None else own.tagged_caches,
        patterns=(*config.ignore, *own.ignore),
        is_broken=bool(own.problems),
    )


def opening_fields(opening: OpeningReport) -> Mapping[str, object]:
    """Return what the owner's status says about how the index was found at the start."""
    return {"opening": {"state": opening.state, "detail": opening.detail, "fell_back": opening.fell_back}}


def _announce(opening: OpeningReport) -> None:
    """Say it when an index is not used as it was found: silence would look like health."""
    if opening.state in {"damaged", "older_format"}:
        _log.warning("index_rebuilt: it is %s (%s), and made anew from the sources", opening.state, opening.detail)
    elif opening.fell_back:
        _log.warning("generation_damaged: the newest one is not used, but the one before it (%s)", opening.detail)
