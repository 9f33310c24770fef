"""Finding who answers: the daemon that flags, environment or the current directory mean, else this process itself.

Owns: the order in which daemons are looked for, and what is said when none fits.
Knows nothing of: what is asked.
Invariants: 1. a daemon named by `--socket` is never replaced by another or by local work. 2. of several daemons with
    no reason to prefer one, none is guessed: they are listed.
Purity: shell (sockets, the state directories' names).
See: docs/operations.md (finding the daemon).
"""

import os
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Protocol

from indexerd.cli.holders import holding_processes, sockets_of_holder
from indexerd.cli.place import Place, Selection
from indexerd.cli.sockets import choose_by_place, named_socket, present_sockets
from indexerd.client import Client
from indexerd.config import Config, absolute, default_profile, holds, profiles_of, read_toml
from indexerd.errors import (
    ConfigError,
    ForbiddenError,
    IndexerdError,
    SeveralDaemonsError,
    StoreLockedError,
    UnreachableError,
)
from indexerd.model import Root

Result = dict[str, Any]


class Backend(Protocol):
    """Somebody who answers the socket's methods: a daemon, or this process on a state directory."""

    def call(self, method: str, params: Mapping[str, object] | None = None) -> Result:
        """Answer one call; see docs/protocol.md."""
        ...

    def close(self) -> None:
        """Let go of the connection or the state directory."""
        ...


def owner_status(backend: Backend, what: str) -> Result:
    """Return the status with all that an owner is told.

    Args:
        backend: Who is asked.
        what: What needs it, for the message.

    Raises:
        ForbiddenError: The daemon takes the caller for somebody else.
        IndexerdError: It does not answer.
    """
    status = backend.call("status")
    if "roots" not in status:
        raise ForbiddenError(f"{what} is for the daemon's owner only")
    return status


def find_daemon(selection: Selection, place: Place) -> Client | None:
    """Connect to the daemon that is meant; None when none of this profile or place runs.

    Raises:
        UnreachableError: `--socket` or `$INDEXERD_SOCKET` names one that does not answer, or several run and none is
            meant.
        BusyError: The daemon has no room.
    """
    if selection.state_dir and not selection.socket:
        return holder_of(_named_directory(selection, place))
    named = named_socket(selection.socket, selection.profile, place.environ, place.uid)
    if named is not None:
        return _named(named, selection, place)
    found = {socket: _status_of(socket) for socket in present_sockets(place.environ, place.uid)}
    running = {socket: status for socket, status in found.items() if status is not None}
    if not running:
        return None
    chosen = choose_by_place({socket: root_paths(status) for socket, status in running.items()}, place.cwd)
    if chosen is None:
        directory = place.places.runtime_dir
        lines = [f"{flag_for(status, directory)}  ({', '.join(root_paths(status))})" for status in running.values()]
        raise SeveralDaemonsError(
            ["several daemons run and none alone has a root that holds this folder: name one", *lines]
        )
    return Client(chosen)


def reach_daemon(selection: Selection, place: Place) -> Client:
    """Connect to the daemon that is meant.

    Raises:
        UnreachableError: None runs; start one, or name another.
    """
    client = find_daemon(selection, place)
    if client is None:
        raise UnreachableError(_none_runs(selection, place))
    return client


def _none_runs(selection: Selection, place: Place) -> str:
    state_dir = _named_directory(selection, place)
    what = f"the state directory {state_dir}" if selection.state_dir else f"profile {selection.profile}"
    if not state_dir:
        what = "this folder"
        with suppress(ConfigError):
            state_dir = place.places.state_dir(profile_here(place) or "")
    pids = holding_processes(state_dir)
    if pids:
        return _without_socket(pids[0], what)
    return f"no daemon runs for {what}: start one with `indexerd watch ROOT`"


def _named_directory(selection: Selection, place: Place) -> str:
    """Return the state directory that flags name; empty where they name none."""
    if selection.state_dir:
        return absolute(selection.state_dir, place.cwd)
    return place.places.state_dir(selection.profile) if selection.profile else ""


def _without_socket(pid: int, what: str) -> str:
    remedy = f"a command ends by itself; a daemon whose socket was removed ends by `kill {pid}`"
    return f"process {pid} is at work on the index of {what} and answers at no socket: {remedy}"


@contextmanager
def naming_holder(config: Config) -> Iterator[None]:
    """Where the store is locked, say by whom and what can be done about it."""
    try:
        yield
    except StoreLockedError as error:
        raise StoreLockedError(_locked_by(config) or f"{config.state_dir}: {error}") from error


def _locked_by(config: Config) -> str:
    pids = holding_processes(config.state_dir)
    if not pids:
        return ""
    client = holder_of(config.state_dir)
    if client is None:
        return _without_socket(pids[0], f"profile {config.profile}")
    with client:
        status = client.call("status")
    what = f"a daemon (process {pids[0]}) keeps the index of profile {status.get('profile')}"
    flag = flag_for(status, config.socket.clients_look_in)
    return f"{what}: ask it with `indexerd query`, or end it with `indexerd stop {flag}`"


def _status_of(socket: str) -> Result | None:
    """Return the status of the daemon at a socket; None if none answers there."""
    try:
        with Client(socket, timeout_seconds=5.0) as client:
            return client.call("status")
    except IndexerdError:
        return None


def root_paths(status: Result) -> list[str]:
    """Return the absolute paths of a daemon's roots."""
    roots = status.get("roots") or []
    return [root["path"] for root in roots]


def _named(socket: str, selection: Selection, place: Place) -> Client | None:
    try:
        return Client(socket)
    except UnreachableError:
        if selection.profile and not selection.socket:
            # Its daemon may listen elsewhere: who holds its index says where.
            return holder_of(place.places.state_dir(selection.profile))
        raise


def is_kept_by_daemon(state_dir: str) -> bool:
    """Return whether a daemon that answers keeps a state directory."""
    client = holder_of(state_dir)
    if client is not None:
        client.close()
    return client is not None


def holder_of(state_dir: str) -> Client | None:
    """Return the daemon that holds a state directory: the kernel knows who has its lock, and where that listens."""
    for socket in sockets_of_holder(state_dir):
        status = _status_of(socket)
        if status is not None and os.path.realpath(str(status.get("state_dir"))) == os.path.realpath(state_dir):
            return Client(socket)
    return None


def flag_for(status: Mapping[str, Any], directory: str) -> str:
    """Return the flag that names a daemon from anywhere; in `directory` sockets are found by the profile alone."""
    profile, socket = str(status.get("profile")), str(status.get("socket"))
    if socket == f"{directory}/{profile}.sock":
        return f"--profile {profile}"
    return f"--socket {shlex.quote(socket)}"


def local_config(selection: Selection, place: Place, settings: Mapping[str, object] | None = None) -> Config:
    """Return the configuration of the watch set that is meant, for work without a daemon.

    Raises:
        ConfigError: The settings are wrong.
        UnreachableError: Nothing tells which watch set is meant.
    """
    profile = selection.profile or (None if selection.state_dir else profile_here(place))
    if profile is None and not selection.state_dir:
        raise UnreachableError(
            "no daemon runs and no index is known for this folder: make one with `indexerd watch ROOT` or "
            "`indexerd sync ROOT`"
        )
    from indexerd.wiring.ground import stored_roots  # noqa: PLC0415 - numpy and the store only where work is done here

    meant = selection._replace(profile=profile or "")
    own = stored_roots(_named_directory(meant, place))
    config = place.load(meant, settings=settings, stored_roots=own)
    if not config.roots:
        # Before its first generation only a daemon that was started with flags knows its roots.
        config = place.load(meant, settings=settings, stored_roots=_daemons_roots(meant, place))
    if not config.roots and not selection.state_dir:
        raise UnreachableError(
            f"profile {profile} has no roots and no index: name its roots with `indexerd watch ROOT`"
        )
    return config


def _daemons_roots(selection: Selection, place: Place) -> tuple[Root, ...]:
    client = find_daemon(selection, place)
    if client is None:
        return ()
    with client:
        roots = client.call("status").get("roots") or []
    return tuple(Root(root["label"], root["path"], prefixed=root["prefixed"]) for root in roots)


def profile_here(place: Place) -> str | None:
    """Return the profile whose root holds the current directory, else the only one there is."""
    held = holding_profile(place, place.cwd)
    known = _known_profiles(place) if held is None else [held]
    return known[0] if len(known) == 1 else None


def holding_profile(place: Place, path: str) -> str | None:
    """Return the profile, from the settings file or by state directory, one of whose roots holds the path."""
    problems: list[str] = []
    table = read_toml(place.settings_text(), place.places.config_file, problems)
    if problems:
        raise ConfigError(problems)
    for name, roots in profiles_of(table, place.places.home).items():
        if any(holds(root.path, path) for root in roots):
            return name
    folder = path
    while True:
        name = default_profile(folder)
        if os.path.isdir(place.places.state_dir(name)):
            return name
        if folder == "/":
            return None
        folder = os.path.dirname(folder)


def _known_profiles(place: Place) -> list[str]:
    try:
        with os.scandir(place.places.state_home) as entries:
            return [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []


def state_dir_of(selection: Selection, place: Place) -> str:
    """Return the state directory that is meant, for commands that only read it.

    Raises:
        UnreachableError: Nothing tells which one is meant, or the daemon at `--socket` does not answer.
    """
    if named := _named_directory(selection, place):
        return named
    client = find_daemon(selection, place)
    if client is not None:
        with client:
            return str(owner_status(client, "the state directory")["state_dir"])
    profile = profile_here(place)
    if profile is None:
        raise UnreachableError("no index is known for this folder: name one with --profile or --state-dir")
    return place.places.state_dir(profile)
