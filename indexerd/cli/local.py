"""Work without a daemon: the same service in this process, on the state directory.

Owns: nothing but the few calls that need numpy and the store, so that other commands need not load them.
Knows nothing of: flags, rendering.
Invariants: 1. every command here uses the parts that a daemon is made of.
Purity: shell (through the composition root).
See: ARCHITECTURE.md (the composition root).
"""

import os
from collections.abc import Iterator

from indexerd.cli.logs import start_log
from indexerd.cli.reaching import Backend, Result
from indexerd.config import Config
from indexerd.errors import NotFoundError
from indexerd.store import open_reader
from indexerd.store.fsio import RealStoreFilesystem
from indexerd.store.verify import fsck
from indexerd.wiring.ground import was_synced
from indexerd.wiring.house import open_local
from indexerd.wiring.reading import open_reading, open_sources


def refuse_without_roots(config: Config) -> None:
    """Say why the state directory knows no roots where some are needed; nothing happens if it knows them after all.

    Raises:
        NotFoundError: There is no index, or nothing is published in it.
        CorruptionError, FormatVersionError: It cannot be used; a sync that names the roots makes it anew.
        OSError: It cannot be read.
    """
    try:
        filesystem = RealStoreFilesystem.open_directory(config.state_dir, create=False)
    except FileNotFoundError as error:
        raise NotFoundError(f"{config.state_dir}: there is no index here") from error
    try:
        if open_reader(filesystem) is None:
            raise NotFoundError(f"{config.state_dir}: nothing is published here yet")
    finally:
        filesystem.close()


def open_fresh(config: Config, paths: tuple[str, ...] | None = None) -> tuple[Backend, Result]:
    """Bring the index, or some absolute paths of it, up to date; return who answers from it and what the sync did.

    Raises:
        StoreLockedError: Another process keeps the store.
    """
    start_log(config.log, os.environ)
    house = open_local(config)
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
    if reading is not None:
        return reading
    if was_synced(config.state_dir):
        return open_sources(config)
    if not os.path.isdir(config.state_dir):
        raise NotFoundError(f"{config.state_dir}: there is no index here")
    raise NotFoundError(f"{config.state_dir}: nothing is published here yet")


def open_store(config: Config) -> Backend:
    """Return who answers from the store, with its lock: for what only its writer knows.

    Raises:
        NotFoundError: There is no index.
        StoreLockedError: Another process keeps the store.
    """
    if not os.path.isdir(config.state_dir):
        raise NotFoundError(f"{config.state_dir}: there is no index here")
    return open_local(config)


def store_problems(state_dir: str) -> Iterator[tuple[str, str]]:
    """Give place and detail of everything that is wrong in a state directory."""
    filesystem = RealStoreFilesystem.open_directory(state_dir, create=False)
    try:
        yield from ((one.where, one.detail) for one in fsck(filesystem) if one.kind == "problem")
    finally:
        filesystem.close()
