"""Is each root still the folder we began with, and can the kernel tell us what happens in it?

Owns: the identity of a root, which file systems do not report changes made elsewhere.
Knows nothing of: documents, watches, what follows from an answer.
Invariants: 1. a root that is replaced, renamed, mounted over or unmounted is noticed by its device and inode, also
    when no event came. 2. a mount that concerns no root changes no answer.
Purity: shell (stat; the reading of mount lists is pure).
See: docs/operations.md (network mounts).
"""

import os
from collections.abc import Iterable
from typing import NamedTuple

# Changes made on the far side do not pass through this kernel: no event, so the time table must find them.
_REMOTE_TYPES = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "ncpfs", "9p", "afs", "ceph", "lustre", "glusterfs", "vboxsf", "virtiofs",
     "prl_fs", "drvfs", "coda", "gfs2", "ocfs2", "orangefs", "beegfs"}
)  # fmt: skip


class Identity(NamedTuple):
    """Which folder it is at one moment, and who may look into it."""

    dev: int
    ino: int
    mode: int
    uid: int
    gid: int


class Mount(NamedTuple):
    """One line of the kernel's mount list."""

    number: int
    point: bytes
    type: str


def identity_of(path: str) -> Identity | None:
    """Return what a path stands for now (links followed), or None if it cannot be looked at."""
    try:
        found = os.stat(path)  # noqa: PTH116 -- the spelling the user gave, as everywhere
    except OSError:
        return None
    return Identity(found.st_dev, found.st_ino, found.st_mode, found.st_uid, found.st_gid)


def read_mounts() -> bytes:
    """Return the kernel's mount list, or nothing where there is none."""
    try:
        with open("/proc/self/mountinfo", "rb") as file:  # noqa: PTH123
            return file.read()
    except OSError:
        return b""


def parse_mounts(text: bytes) -> tuple[Mount, ...]:
    """Return the mounts of a mount list in their order; lines that cannot be read are left out."""
    mounts = []
    for line in text.splitlines():
        left, _, right = line.partition(b" - ")
        fields, kinds = left.split(), right.split()
        if len(fields) >= 5 and kinds and fields[0].isdigit():
            mounts.append(Mount(int(fields[0]), _unescape(fields[4]), kinds[0].decode("ascii", "replace")))
    return tuple(mounts)


def mounts_at(mounts: Iterable[Mount], path: bytes) -> tuple[Mount, ...]:
    """Return the mounts at, above or below a path: those whose coming or going can change what is seen there."""
    return tuple(mount for mount in mounts if _is_below(mount.point, path) or _is_below(path, mount.point))


def is_remote(mounts: Iterable[Mount], path: bytes) -> bool:
    """Return whether a path lies on a file system that does not report changes made elsewhere."""
    over = [mount for mount in mounts if _is_below(path, mount.point)]
    if not over:
        return False
    # Of two mounts on one point the later hides the earlier.
    kind = max(enumerate(over), key=lambda item: (len(item[1].point), item[0]))[1].type
    return kind in _REMOTE_TYPES or kind.startswith("fuse.")


def _is_below(path: bytes, top: bytes) -> bool:
    return top in (path, b"/") or path.startswith(top + b"/")


def _unescape(field: bytes) -> bytes:
    r"""Undo the kernel's `\040` for space, tab, line feed and backslash."""
    for code, char in ((b"\\040", b" "), (b"\\011", b"\t"), (b"\\012", b"\n"), (b"\\134", b"\\")):
        field = field.replace(code, char)
    return field


class RootIdentities:
    """Notices when a root is no longer the folder it was at the last question, or admits others.

    Not safe for threads by itself.
    """

    def __init__(self, paths: Iterable[str]) -> None:
        self._seen: dict[str, Identity | None] = {path: identity_of(path) for path in paths}

    def changed(self) -> list[str]:
        """Return the roots that stand for another folder (or none), or admit others, since the last call."""
        now = {path: identity_of(path) for path in self._seen}
        changed = [path for path, identity in now.items() if identity != self._seen[path]]
        self._seen = now
        return changed
