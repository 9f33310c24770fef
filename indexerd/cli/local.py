"""Work without a daemon: the same service in this process, on the state directory.

Owns: nothing but the few calls that need numpy and the store, so that other commands need not load them.
Knows nothing of: flags, rendering.
Invariants: 1. every command here uses the parts that a daemon is made of.
Purity: shell (through the composition root).
See: ARCHITECTURE.md (the composition root).
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from indexerd.cli.logs import start_log
from indexerd.cli.reaching import Backend, Result, is_kept_by_daemon
from indexerd.config import Config
from indexerd.errors import NotFoundError
from indexerd.store import open_reader
from indexerd.store.fsio import RealStoreFilesystem
from indexerd.wiring.ground import was_synced
from indexerd.wiring.house import House, open_local
from indexerd.wiring.reading import open_reading, open_sources


@contextmanager
def opened(state_dir: str) -> Iterator[RealStoreFilesystem]:
    """Open a state directory to read it.

    Raises:
        NotFoundError: There is none.
        OSError: It cannot be read.
    """
    try:
        filesystem = RealStoreFilesystem.open_directory(state_dir, create=False)
    except FileNotFoundError as error:
        raise no_index(state_dir) from error
    try:
        yield filesystem
    finally:
        filesystem.close()


def no_index(state_dir: str) -> NotFoundError:
    """Return the error that says what is missing in a state directory."""
    what = "nothing is published here yet" if os.path.isdir(state_dir) else "there is no index here"
    return NotFoundError(f"{state_dir}: {what}")


def refuse_without_roots(config: Config) -> None:
    """Say why the state directory knows no roots where some are needed; nothing happens if it knows them after all.

    Raises:
        NotFoundError: There is no index, or nothing is published in it.
        CorruptionError, FormatVersionError: It cannot be used; a sync that names the roots makes it anew.
        OSError: It cannot be read.
    """
    with opened(config.state_dir) as filesystem:
        if open_reader(filesystem) is None:
            raise no_index(config.state_dir)


def open_fresh(config: Config, paths: tuple[str, ...] | None = None) -> tuple[Backend, Result]:
    """Bring the index, or some absolute paths of it, up to date; return who answers from it and what the sync did.

    Raises:
        StoreLockedError: Another process keeps the store.
    """
    start_log(config.log, os.environ)
    house = _opened_here(config)
    try:
        return house, house.call("sync", {} if paths is None else {"paths": list(paths)})
    except BaseException:
        house.close()
        raise


def open_as_it_is(config: Config) -> Backend:
    """Return who answers from the last published generation; nothing is written, no lock is taken.

    Raises:
        NotFoundError: Nothing is published there.
    """
    reading = open_reading(config) if os.path.isdir(config.state_dir) else None
    if reading is None and was_synced(config.state_dir):
        return open_sources(config)
    if reading is None:
        raise no_index(config.state_dir)
    return reading


def open_store(config: Config) -> Backend:
    """Return who answers from the store, with its lock: for what only its writer knows.

    Raises:
        NotFoundError: There is no index.
        StoreLockedError: Another process keeps the store.
    """
    if not os.path.isdir(config.state_dir):
        raise no_index(config.state_dir)
    return _opened_here(config)


def _opened_here(config: Config) -> House:
    return open_local(config, lambda: is_kept_by_daemon(config.state_dir))
