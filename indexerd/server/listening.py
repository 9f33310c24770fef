"""The socket file: made safely, taken over from the dead, never from the living.

Owns: the rules for the socket's directory, mode and age.
Knows nothing of: what is said over the socket.
Invariants: 1. the socket has its mode before it listens. 2. a path is unlinked only if it is a socket that refused a
    connection,
    or our own. 3. the directory can be written by nobody else.
Purity: shell (sockets, the socket's directory).
See: docs/operations.md (the socket), docs/threat-model.md.
"""

import errno
import hashlib
import logging
import os
import socket
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from indexerd.errors import BusyError, ConfigError

_log = logging.getLogger(__name__)

# sun_path has 108 bytes with the closing NUL.
_MAX_PATH_BYTES = 107
# Connections that wait for accept: a storm of clients must not see EAGAIN while the loop is at something else. As many
# as the kernel allows (net.core.somaxconn); one that waits costs it less than 1 KiB.
_BACKLOG = 4096
_PROBE_SECONDS = 1.0


class Listener(NamedTuple):
    """A listening socket.

    Attributes:
        socket: It.
        path: Its file.
        identity: Device and number of its file; None where it has none that can be looked at.
        is_ours: We made the file and remove it; one that was handed over is its maker's.
    """

    socket: socket.socket
    path: str
    identity: tuple[int, int] | None
    is_ours: bool = True

    def is_in_place(self) -> bool:
        """Tell whether clients still reach this socket by its path, as far as can be seen."""
        if self.identity is None:
            return True
        return _identity(self.path) == self.identity

    def close(self) -> None:
        """Stop listening and remove the file, if it still is the one that was made."""
        self.socket.close()
        try:
            if self.is_ours and self.is_in_place():
                Path(self.path).unlink()
        except OSError:
            # Gone, or out of reach: there is nothing left to do for it.
            return


def listen(path: str, *, mode: int = 0o600, group: int | None = None, own_directory: bool = True) -> Listener:
    """Listen on a Unix socket at `path`. Hold a lock against other starters on the directory while calling.

    Args:
        path: Absolute path, at most 107 bytes.
        mode: Permission bits of the socket.
        group: Group number that may use it, or None.
        own_directory: The directory is ours: it is made, and made private. Otherwise it must exist.

    Raises:
        BusyError: A living daemon answers there.
        ConfigError: The path is too long, is no socket, or its directory is not safe; says which.
        OSError: The file system refused.
    """
    if len(os.fsencode(path)) > _MAX_PATH_BYTES:
        raise ConfigError(
            [f"socket path {path} has more than {_MAX_PATH_BYTES} bytes: choose a shorter one with --socket"]
        )
    _prepare_directory(str(Path(path).parent), own=own_directory, group=group)
    _remove_stale(path)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    try:
        _bind(listening, path)
        if group is not None:
            os.chown(path, -1, group)
        Path(path).chmod(mode)
        listening.listen(_BACKLOG)
    except OSError:
        listening.close()
        raise
    return Listener(listening, path, _identity(path))


def take_over(descriptor: int) -> Listener:
    """Use a listening socket that a service manager opened (LISTEN_FDS); its file is not ours to remove.

    Raises:
        ConfigError: The descriptor is no Unix stream socket.
    """
    try:
        given = socket.socket(fileno=descriptor)
    except OSError as error:
        raise ConfigError([f"descriptor {descriptor} is no socket: {error.strerror}"]) from error
    if given.family != socket.AF_UNIX or given.type != socket.SOCK_STREAM:
        given.close()
        raise ConfigError([f"descriptor {descriptor} is no Unix stream socket"])
    # It comes open to every program that this one starts: a worker that lives on would keep the socket alive.
    given.set_inheritable(False)
    name = given.getsockname()
    path = name if isinstance(name, str) else os.fsdecode(name)
    return Listener(given, path, _identity(path), is_ours=False)


def announce(path: str, profile: str, directory: str) -> Callable[[], None]:
    """Lead clients that look for daemons in a directory to a socket that lies elsewhere, by a link.

    Returns:
        What takes the link away again.
    """
    name = f"{profile}-{hashlib.sha256(os.fsencode(path)).hexdigest()[:8]}.sock"
    link = Path(directory, name)
    if not path.startswith("/") or os.path.realpath(directory) == os.path.realpath(Path(path).parent):
        return lambda: None
    try:
        Path(directory).mkdir(mode=0o700, parents=True, exist_ok=True)
        link.unlink(missing_ok=True)
        link.symlink_to(path)
    except OSError as error:
        _log.warning("socket_unannounced: clients find %s only by its name: %s", path, error)
    return lambda: _withdraw(link)


def _withdraw(link: Path) -> None:
    with suppress(OSError):
        link.unlink(missing_ok=True)


def _identity(path: str) -> tuple[int, int] | None:
    try:
        found = os.lstat(path)
    except (OSError, ValueError):
        return None
    return (found.st_dev, found.st_ino)


def _bind(listening: socket.socket, path: str) -> None:
    # The mask is the process's, and for an instant: without it the file would be open to all until chmod.
    before = os.umask(0o177)
    try:
        listening.bind(path)
    finally:
        os.umask(before)


def _prepare_directory(directory: str, *, own: bool, group: int | None) -> None:
    """Make our own directory private, or refuse a given one that others can write."""
    if own:
        Path(directory).mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW * own | os.O_CLOEXEC)
    except OSError as error:
        raise ConfigError([f"socket directory {directory}: {error.strerror}"]) from error
    try:
        _check_directory(descriptor, directory, own=own, group=group)
    finally:
        os.close(descriptor)


def _check_directory(descriptor: int, directory: str, *, own: bool, group: int | None) -> None:
    """Decide by the open directory, not by its name: the name may be another by now."""
    found = os.fstat(descriptor)
    owners = (os.geteuid(),) if own else (os.geteuid(), 0)
    if found.st_uid not in owners:
        raise ConfigError([f"socket directory {directory} belongs to user {found.st_uid}: name another with --socket"])
    if own:
        if group is not None:
            os.fchown(descriptor, -1, group)
        os.fchmod(descriptor, 0o700 if group is None else 0o750)
    elif found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise ConfigError(
            [f"socket directory {directory} can be written by others: remove that right, or name another"]
        )


def _remove_stale(path: str) -> None:
    """Remove what a dead daemon left; refuse what is no socket, or answers."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(found.st_mode):
        raise ConfigError([f"{path} exists and is no socket: remove it, or name another path with --socket"])
    if _answers(path):
        raise BusyError(
            f"a daemon is already running at {path}: end it, or name another place with --profile or --socket"
        )
    Path(path).unlink()


def _answers(path: str) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC) as probe:
        probe.settimeout(_PROBE_SECONDS)
        try:
            probe.connect(path)
        except OSError as error:
            # Only a refusal proves that nobody listens: a full backlog, a timeout or missing rights are signs of life.
            return error.errno not in (errno.ECONNREFUSED, errno.ENOENT)
    return True
