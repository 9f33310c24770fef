"""A watch set with its socket: what a daemon process runs.

Owns: how server, service and sync know of one another.
Knows nothing of: signals, the service manager, the command line.
Invariants: 1. two starters never take over one socket path at the same time. 2. at the end callers are served to their
    end before the sync stops, and the sync stops before the store is closed.
Purity: shell.
See: docs/operations.md (start, stop).
"""

import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from indexerd.clock import SystemClock
from indexerd.config import Config
from indexerd.errors import BusyError, ConfigError
from indexerd.protocol.messages import Payload
from indexerd.server import Listener, Server, announce, listen, take_over
from indexerd.service.callers import Caller
from indexerd.service.dispatch import INDEX_CHANGED
from indexerd.store import Snapshot
from indexerd.store.fsio import RealStoreFilesystem
from indexerd.wiring.ground import leaving_nothing
from indexerd.wiring.house import OF_DAEMONS, House, Patience, build
from indexerd.wiring.people import group_number

_log = logging.getLogger(__name__)

_LOCK_SECONDS, _LOOK_SECONDS = 5.0, 0.01


class Daemon(NamedTuple):
    """Everything a daemon process runs, not yet started."""

    house: House
    server: Server
    on_close: Callable[[], None]

    def start_sync(self) -> None:
        """Watch, scan, and keep the index current from now on."""
        self.house.start_sync()

    def reconcile(self) -> None:
        """Compare everything with the disk, soon."""
        self.house.sync.reconcile()

    def reload(self, read: Callable[[], Config]) -> None:
        """Go on with the settings as they are now; those that are wrong change nothing, and the status says so."""
        try:
            # As it was opened: one that the service manager hands over lies where it says.
            config = read()._replace(socket=self.house.config.socket)
            if config != self.house.config:
                self.house.refurnish(config)
        except ConfigError as error:
            _log.error("settings_refused: those in force stay: %s", error)
            self.house.sync.note_refused(f"{error}; the settings in force stay: mend them and send SIGHUP")
            return
        self.house.sync.note_refused(None)

    def status(self) -> Mapping[str, object]:
        """Return the owner's status."""
        return self.house.call("status")

    def heartbeat(self) -> int:
        """Return a number that grows for as long as the writer gets on with what it does, at idle once a second."""
        return self.house.sync.heartbeat()

    def close(self) -> None:
        """Finish running calls, save checks, stop the sync, make the store durable, let go of everything."""
        self.on_close()


def open_daemon(
    config: Config,
    *,
    stop: Callable[[], None],
    listen_fd: int | None = None,
    in_vain: Callable[[], bool] = lambda: True,
) -> Daemon:
    """Open a watch set and its socket.

    Args:
        config: A valid configuration.
        stop: What the `shutdown` method calls.
        listen_fd: A listening socket opened by a service manager.
        in_vain: Tells whether it is of no use to wait a few seconds for a process that keeps the store: it is a daemon.

    Raises:
        ConfigError: Roots, state directory or socket cannot be used; lists every problem.
        BusyError: A daemon answers at the socket.
        StoreLockedError: Another process keeps the store.
        ForeignStoreError: The state directory belongs to other roots.
    """
    servers: list[Server] = []

    def figures() -> Mapping[str, object]:
        return servers[0].statistics() if servers else {}

    with leaving_nothing(config.state_dir), ExitStack() as opened:
        given = take_over(listen_fd) if listen_fd is not None else None
        if given is not None:
            opened.callback(given.close)
            config = config._replace(socket=config.socket._replace(path=given.path))
        house = build(config, watch=True, patience=Patience(OF_DAEMONS, in_vain), stop=stop, extra_status=figures)
        opened.callback(house.close)
        listener = given or _listen(config)
        server = Server(
            listener,
            house.service,
            listen_again=(lambda: _listen(config)) if given is None else None,
            report=house.report_socket,
        )
        opened.callback(server.stop)
        opened.callback(house.give_up)
        if config.socket.clients_look_in:
            opened.callback(announce(listener.path, config.profile, config.socket.clients_look_in))
        servers.append(server)
        house.on_publish(lambda snapshot: _tell(server, snapshot))
        return Daemon(house=house, server=server, on_close=opened.pop_all().close)


def _tell(server: Server, snapshot: Snapshot) -> None:
    def payload_for(caller: Caller) -> Payload | None:
        # What others may see did perhaps not change at all; they learn nothing of what they may not.
        return {"generation": snapshot.generation, "durable": snapshot.durable} if caller.is_owner else None

    server.tell(INDEX_CHANGED, payload_for)
    facts = {"generation": snapshot.generation, "documents": snapshot.document_count, "chunks": snapshot.chunk_count}
    _log.info("published", extra={"fields": facts})


def _listen(config: Config) -> Listener:
    wanted = config.socket
    group = group_number(wanted.group) if wanted.group is not None else None
    directory = str(Path(wanted.path).parent)
    if wanted.is_default:
        Path(directory).mkdir(mode=0o700, parents=True, exist_ok=True)
    with _alone_in(directory):
        return listen(wanted.path, mode=wanted.mode, group=group, own_directory=wanted.is_default)


@contextmanager
def _alone_in(directory: str) -> Iterator[None]:
    """Hold the directory's lock: between the probe of a dead socket and the new one no other starter may come."""
    try:
        fs = RealStoreFilesystem.open_directory(directory, create=False)
    except OSError:
        # Whatever is wrong with it, `listen` says it in its own words.
        yield
        return
    try:
        clock = SystemClock()
        deadline = clock.monotonic() + _LOCK_SECONDS
        while not fs.lock():
            if clock.monotonic() >= deadline:
                raise BusyError(f"another daemon is starting in {directory}: try again")
            threading.Event().wait(_LOOK_SECONDS)
        yield
    finally:
        fs.close()
