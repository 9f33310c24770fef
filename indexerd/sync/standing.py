"""Where a root and the mounts below it stand during one walk: in their place, gone, or covered by something else.

Owns: opening the root, its state, and the doubt about folders whose mount or device is not what it was.
Knows nothing of: files, rules, what is listed.
Invariants: 1. a root that is lost or replaced before the walk is over is held whole: what was listed is not what is
    there. 2. a mount that is gone is never an empty folder. 3. something mounted over documents does not delete them.
Purity: shell (file system, read only).
See: docs/consistency.md (looking).
"""

import errno
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from indexerd.model import Root, SourcePath
from indexerd.naming import source_path, split_source_path
from indexerd.sources import error_name, open_folder_beneath, open_root, raise_shortage
from indexerd.sync.look import UNKNOWN_DEVICE, Place, RootState, nearest_above
from indexerd.sync.surroundings import place_of

# What opening a folder says when it was removed, or replaced by a file or link, since its name was seen.
GONE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EXDEV})
_STATE_OF_ERROR: Mapping[int | None, RootState] = {errno.ENOENT: "missing", errno.ENOTDIR: "not_a_directory"}


class Standing:
    """One root during one walk.

    Attributes:
        root: The root.
        state: What has been found about it so far.
        held: What could not be looked at, with the reason; the walk adds to it.
        places: The root and the mount points seen.
        fd: The open root; -1 while it is closed.
        dev: Its device.
    """

    def __init__(self, root: Root, known: Mapping[SourcePath, Place]) -> None:
        self.root = root
        self.state: RootState = "ok"
        self.held: dict[SourcePath, str] = {}
        self.places: dict[SourcePath, Place] = {}
        self.fd = -1
        self.dev = 0
        self._known = known
        self._path = source_path(root, b"")
        self._identity: tuple[int, int] | None = None

    def open(self) -> bool:
        """Open the root; False if it cannot be looked into, and then all of it is held. `close` in either case."""
        try:
            self.fd = open_root(self.root)
            os.close(open_folder_beneath(self.fd, b""))
            place = place_of(self.fd, None)
            identity = _identity(os.fstat(self.fd))
        except OSError as error:
            self._lose(error)
            return False
        self.dev = place.dev
        if not self.is_in_place(self._path, place):
            self.state = "unmounted"
            return False
        if self._path in self.held:
            self.state = "device_changed"
        self._identity = identity
        return True

    def close(self) -> None:
        """Give the root back."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def hold_root(self, reason: str) -> None:
        """Hold all of the root: what may be indexed there is not known."""
        self.state = "bad_settings" if reason == "bad_settings" else "unreadable"
        self.held[self._path] = reason

    def is_in_place(self, path: SourcePath, place: Place) -> bool:
        """Note where a folder stands; False if its mount is gone, so that it must not be listed.

        A folder with another device than before may be listed, but is held: what is absent from it may be on the other.
        """
        known = self._known.get(path)
        if known is None:
            # A mount that was not there when this root was last looked at covers what the folder held.
            if place.mount and self._path in self._known:
                self.held[path] = "device_changed"
        elif known.mount and not place.mount:
            self.held[path] = "unmounted"
            return False
        elif known.dev not in (UNKNOWN_DEVICE, place.dev):
            self.held[path] = "device_changed"
        if place.mount or path == self._path:
            self.places[path] = place
        return True

    def conclude(self, scope: Iterable[SourcePath]) -> None:
        """Hold what was lost without being passed: mounts gone with their folder, and the root if it is another now."""
        if self._identity is None:
            return
        self._hold_lost_mounts(frozenset(scope))
        try:
            now = _identity(Path(self.root.path).stat())
        except OSError as error:
            self._lose(error)
            return
        if now != self._identity:
            self.held[self._path] = "replaced"

    def _hold_lost_mounts(self, scope: frozenset[SourcePath]) -> None:
        """Hold mount points whose folder is gone with the mount, as a removable disk's is."""
        for path, place in self._known.items():
            if not place.mount or path in self.places or path in self.held or nearest_above(path, scope) is None:
                continue
            split = split_source_path((self.root,), path)
            if split is not None and self._is_gone(split[1]):
                self.held[path] = "unmounted"

    def _is_gone(self, relative: bytes) -> bool:
        try:
            os.close(open_folder_beneath(self.fd, relative))
        except OSError as error:
            raise_shortage(error)
            return error.errno in GONE
        return False

    def _lose(self, error: OSError) -> None:
        raise_shortage(error)
        self.state = _STATE_OF_ERROR.get(error.errno, "unreadable")
        self.held[self._path] = self.state if error.errno in _STATE_OF_ERROR else error_name(error)


def _identity(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino
