"""The ground a watch set stands on: its roots and its state directory, looked at before anything is built there.

Owns: which roots and state directories are refused, in which words; the roots that a state directory remembers.
Knows nothing of: documents, sockets.
Invariants: 1. all problems are told at once. 2. a root that the store knows may be missing: not to find it is no proof
    that it is gone.
Purity: shell (looks at directories, reads the slots).
See: docs/operations.md (roots, the state directory).
"""

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import combinations
from pathlib import Path

from indexerd.config import Config
from indexerd.errors import ConfigError, StoreError
from indexerd.model import Root
from indexerd.store.fsio import RealStoreFilesystem
from indexerd.store.layout import SlotName
from indexerd.store.recover import read_slot
from indexerd.sync.memory import FILE_NAME as FINGERPRINTS


def check_ground(config: Config, known: Sequence[Root] = ()) -> None:
    """Refuse roots and state directories that cannot be used.

    Args:
        config: What is wanted.
        known: Roots that the store has held documents of.

    Raises:
        ConfigError: Lists every problem.
    """
    problems = [
        *_root_problems(config, {root.path for root in known}),
        *_pair_problems(config),
        *_state_problems(config),
    ]
    if problems:
        raise ConfigError(problems)


def stored_roots(state_dir: str) -> tuple[Root, ...]:
    """Return the roots that a state directory remembers, newest slot first; none if there is no store."""
    try:
        fs = RealStoreFilesystem.open_directory(state_dir, create=False)
    except OSError:
        return ()
    found: dict[str, Root] = {}
    try:
        for name in SlotName:
            # A damaged or missing slot remembers nothing; opening the store says what is wrong with it.
            with suppress(OSError, StoreError):
                for root in read_slot(fs, name).roots:
                    found.setdefault(root.path, Root(label=root.label, path=root.path, prefixed=root.prefixed))
    finally:
        fs.close()
    return tuple(found.values())


@contextmanager
def leaving_nothing(state_dir: str) -> Iterator[None]:
    """Remove the folders that were made for a state directory, as far as they are empty, if what begins here fails."""
    path = Path(state_dir)
    missing = [folder for folder in (path, *path.parents) if not os.path.lexists(folder)]
    try:
        yield
    except BaseException:
        with suppress(OSError):
            for folder in missing:
                folder.rmdir()
        raise


def was_synced(state_dir: str) -> bool:
    """Whether a sync came to its end here, be it with nothing to publish."""
    return Path(state_dir, FINGERPRINTS).is_file()


def _root_problems(config: Config, known: set[str]) -> Iterator[str]:
    if not config.roots:
        yield "no root is named: say which folder to index"
    for root in config.roots:
        problem = _root_problem(root, may_be_missing=root.path in known)
        if problem is not None:
            yield problem


def _root_problem(root: Root, *, may_be_missing: bool) -> str | None:
    try:
        found = Path(root.path).stat()
        if not stat.S_ISDIR(found.st_mode):
            return f"root {root.path} is not a folder: name the folder that holds it"
        with os.scandir(root.path) as entries:
            next(entries, None)
    except FileNotFoundError:
        return None if may_be_missing else f"root {root.path} does not exist"
    except OSError as error:
        # Known and out of reach is a state the daemon lives with, and reports; on first sight it is a mistake.
        return None if may_be_missing else f"root {root.path} cannot be read: {error.strerror}"
    return None


def _pair_problems(config: Config) -> Iterator[str]:
    """Find roots that are one folder, or lie in one another: their documents would be there twice."""
    places = [(root, os.path.realpath(root.path)) for root in config.roots]
    for (one, one_place), (other, other_place) in combinations(places, 2):
        if one_place == other_place:
            yield f"roots {one.path} and {other.path} are the same folder: name it once"
        elif _lies_in(other_place, one_place):
            yield f"root {other.path} lies in root {one.path}: name only one of them"
        elif _lies_in(one_place, other_place):
            yield f"root {one.path} lies in root {other.path}: name only one of them"


def _state_problems(config: Config) -> Iterator[str]:
    state = os.path.realpath(config.state_dir)
    for root in config.roots:
        place = os.path.realpath(root.path)
        if place == state:
            yield f"root {root.path} is the state directory itself: name another with --state-dir"
        elif _lies_in(place, state):
            yield f"root {root.path} lies in the state directory {config.state_dir}: name another with --state-dir"
    yield from _directory_problems(config.state_dir)


def _directory_problems(state_dir: str) -> Iterator[str]:
    if Path(state_dir).is_symlink():
        # Whoever may change the link would choose what is overwritten.
        yield f"state directory {state_dir} is a link: name the folder that it leads to"
        return
    try:
        found = Path(state_dir).stat()
    except FileNotFoundError:
        return
    except OSError as error:
        yield f"state directory {state_dir} cannot be used: {error.strerror}"
        return
    if not stat.S_ISDIR(found.st_mode):
        yield f"state directory {state_dir} is not a folder"
    elif found.st_uid not in (os.geteuid(), 0):
        yield f"state directory {state_dir} belongs to user {found.st_uid}: name another with --state-dir"
    elif found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        yield f"state directory {state_dir} can be written by others: remove that right, or name another"


def _lies_in(path: str, folder: str) -> bool:
    return path.startswith(folder.rstrip("/") + "/")
