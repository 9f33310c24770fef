"""What a folder says about itself before it is listed: its device, whether it is a mount, its rule files.

Owns: the system calls around one folder.
Knows nothing of: what the rules mean, the index.
Invariants: 1. a rule file is read only if it is a regular file of its folder: links are not followed, nothing is
    waited for. 2. a rule file that is there and cannot be read is an error, not an absence: it might say what must not
    be indexed.
Purity: shell (file system, read only).
See: docs/operations.md (what is ignored).
"""

import errno
import os
import stat as stat_bits

from indexerd.sources import is_mount_root, raise_shortage
from indexerd.sync.ignore import CACHE_TAG, CACHE_TAG_SIGNATURE, IGNORE_FILES
from indexerd.sync.look import Place

# The largest real ignore file known to us has 60 KB; what lies behind a megabyte is not read.
_RULE_FILE_BYTES = 1 << 20
_FILE_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NOCTTY


def place_of(folder_fd: int, parent_dev: int | None) -> Place:
    """Return the device of an open folder and whether it is where something is mounted.

    The kernel says so itself since Linux 5.8; before that another device than the parent's is taken for it, which
    misses folders mounted from within the same file system.

    Raises:
        OSError: The folder does not answer.
    """
    dev = os.fstat(folder_fd).st_dev
    is_mount = is_mount_root(folder_fd)
    if is_mount is None:
        is_mount = parent_dev is not None and dev != parent_dev
    return Place(dev, is_mount)


def read_rule_files(folder_fd: int, names: tuple[bytes, ...] = IGNORE_FILES) -> dict[bytes, bytes]:
    """Return the texts of the ignore files of an open folder, by name.

    Raises:
        OSError: One is there and cannot be read.
    """
    found = {name: _read_regular(folder_fd, name, _RULE_FILE_BYTES) for name in names}
    return {name: text for name, text in found.items() if text is not None}


def is_tagged_cache(folder_fd: int) -> bool:
    """Whether the folder says of itself that it is a cache that can be made again."""
    try:
        head = _read_regular(folder_fd, CACHE_TAG, len(CACHE_TAG_SIGNATURE))
    except OSError as error:
        raise_shortage(error)
        return False
    return head == CACHE_TAG_SIGNATURE


def is_repository(folder_fd: int) -> bool:
    """Whether the folder holds a `.git`, be it a folder or a worktree's file."""
    try:
        os.stat(b".git", dir_fd=folder_fd, follow_symlinks=False)
    except OSError:
        return False
    return True


def rule_files_above(real_root: bytes) -> tuple[tuple[bytes, bytes], ...]:
    """Return `(path of the root below it, text)` of each `.gitignore` from the repository's top to the root's parent.

    Empty if the root lies in no repository, or is its top. A file above that cannot be read is passed over: git does
    so, and the user did not ask for that folder.
    """
    found = []
    for folder in folders_above(real_root):
        try:
            text = _read_regular(None, _join(folder, IGNORE_FILES[0]), _RULE_FILE_BYTES)
        except OSError as error:
            raise_shortage(error)
            continue
        if text is not None:
            found.append((real_root[len(folder.rstrip(b"/")) + 1 :], text))
    return tuple(found)


def folders_above(real_root: bytes) -> tuple[bytes, ...]:
    """Return the folders from the repository's top to the root's parent, top first; empty outside a repository."""
    above: list[bytes] = []
    folder = real_root
    while not _has_git(folder):
        if folder == b"/":
            return ()
        folder = folder.rpartition(b"/")[0] or b"/"
        above.append(folder)
    return tuple(reversed(above))


def _has_git(folder: bytes) -> bool:
    try:
        os.lstat(_join(folder, b".git"))
    except OSError:
        return False
    return True


def _join(folder: bytes, name: bytes) -> bytes:
    return folder.rstrip(b"/") + b"/" + name


def _read_regular(folder_fd: int | None, name: bytes, limit: int) -> bytes | None:
    """Return at most `limit` bytes of a regular file; None where there is none under that name."""
    try:
        fd = os.open(name, _FILE_FLAGS, dir_fd=folder_fd)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO):
            return None
        raise
    try:
        if not stat_bits.S_ISREG(os.fstat(fd).st_mode):
            return None
        parts: list[bytes] = []
        while limit > 0 and (data := os.read(fd, limit)):
            parts.append(data)
            limit -= len(data)
        return b"".join(parts)
    finally:
        os.close(fd)
