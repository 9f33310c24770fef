"""What a folder says about itself before it is listed: its device, whether it is a mount, its rule files.

Owns: the system calls around one folder; where git keeps rules outside of the folders that they speak of.
Knows nothing of: what the rules mean, the index.
Invariants: 1. a rule file is read only if it is a regular file of its folder: links are not followed, nothing is
    waited for. 2. a rule file that is there and cannot be read is an error, not an absence: it might say what must not
    be indexed.
Purity: shell (file system, read only).
See: docs/operations.md (what is ignored).
"""

import errno
import os
import re
import stat as stat_bits
from typing import NamedTuple

from indexerd.sources import is_mount_root, raise_shortage
from indexerd.sync.ignore import CACHE_TAG, CACHE_TAG_SIGNATURE, EXCLUDE_FILE, IGNORE_FILES
from indexerd.sync.look import Place

# The largest real ignore file known to us has 60 KB; what lies behind a megabyte is not read.
_RULE_FILE_BYTES = 1 << 20
_FILE_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NOCTTY


# The user's own files, outside of what is indexed, are often links into a folder of such files.
_OWN_FILE_FLAGS = _FILE_FLAGS & ~os.O_NOFOLLOW

# A line of git's settings: a section, or one of the keys that are of use here, quoted or with a comment behind it.
_SECTION = re.compile(rb"\s*\[\s*([^\]]*?)\s*\]")
_KEY = re.compile(rb'\s*(excludesfile|path)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^#;]*))', re.IGNORECASE)
# As git: a file that includes itself ends somewhere.
_DEEPEST_INCLUDE = 10


class GitUser(NamedTuple):
    """Whose rules git knows beside those of a repository: the user's home, and the folder for settings in it."""

    home: str
    settings: str

    def ignore_files(self, top: bytes = b"") -> tuple[bytes, ...]:
        """Return the file that speaks for all repositories of the user, and those that may name another one.

        Args:
            top: Of a repository, whose own settings count as well; empty for none.
        """
        settings = os.fsencode(self.settings)
        files = [b"/etc/gitconfig", _join(settings, b"git/config"), self.expanded(b"~/.gitconfig")]
        files += [exclude_file_of(top).removesuffix(b"info/exclude") + b"config"] if top else []
        named, read = _join(settings, b"git/ignore"), list[bytes]()
        for path in files:
            named = self._named_in(path, read, 0) or named
        return (named, *read)

    def expanded(self, path: bytes, beside: bytes = b"") -> bytes:
        """Return a path as it is meant in a file of settings: in the user's home, or beside that file."""
        if path.startswith(b"~/"):
            return _join(os.fsencode(self.home), path[2:])
        return _join(os.path.dirname(beside), path)  # noqa: PTH120 -- bytes

    def _named_in(self, path: bytes, read: list[bytes], depth: int) -> bytes | None:
        """Return the last word on `core.excludesFile` in a file of settings and those that it includes."""
        read.append(path)
        named, section = None, b""
        for line in read_own_file(path).split(b"\n"):
            heading = _SECTION.match(line)
            section = heading[1].lower() if heading else section
            given = _KEY.match(line[heading.end() :] if heading else line)
            if given is None:
                continue
            value = re.sub(rb"\\(.)", rb"\1", given[2]) if given[2] is not None else given[3].strip()
            match section, given[1].lower():
                case b"core", b"excludesfile":
                    named = self.expanded(value) if value else None
                case b"include", b"path" if value and depth < _DEEPEST_INCLUDE:
                    named = self._named_in(self.expanded(value, path), read, depth + 1) or named
        return named


def keeps_rules_elsewhere(folder_fd: int) -> bool:
    """Whether the `.git` of a repository's top is no folder: a worktree's file, a submodule's, a link."""
    try:
        found = os.stat(b".git", dir_fd=folder_fd, follow_symlinks=False)
    except OSError:
        return False
    return not stat_bits.S_ISDIR(found.st_mode)


def rules_everywhere(user: GitUser | None, top: bytes = b"") -> bytes:
    """Return what a user has git ignore in all repositories, or in the one whose top this is."""
    return read_own_file(user.ignore_files(top)[0]) if user is not None else b""


def read_own_file(path: bytes) -> bytes:
    """Return the text of a file outside of the roots that may hold rules; nothing where it cannot be read.

    Raises:
        OSError: For want of descriptors or memory.
    """
    return _read_if_possible(path, flags=_OWN_FILE_FLAGS)


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


def read_exclude_file(folder_fd: int) -> dict[bytes, bytes]:
    """Return the text of what git ignores in the repository whose top this is, under `EXCLUDE_FILE`; or nothing."""
    text = _read_if_possible(_exclude_file(folder_fd), folder_fd)
    return {EXCLUDE_FILE: text} if text else {}


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


def rule_files_above(real_root: bytes, everywhere: bytes = b"") -> tuple[tuple[bytes, bytes], ...]:
    """Return `(path of the root below it, text)` of each `.gitignore` from the repository's top to the root's parent.

    Before them stand what the user ignores `everywhere`, and what git keeps for this repository. Empty if the root lies
    in no repository, or is its top. A file above that cannot be read is passed over: git does so, and the user did not
    ask for that folder.
    """
    above = folders_above(real_root)
    if not above:
        return ()
    found = [(above[0], everywhere), (above[0], _read_if_possible(exclude_file_of(above[0])))]
    found += [(folder, _read_if_possible(_join(folder, IGNORE_FILES[0]))) for folder in above]
    return tuple((real_root[len(folder.rstrip(b"/")) + 1 :], text) for folder, text in found if text)


def exclude_file_of(top: bytes) -> bytes:
    """Return the path of what git keeps for the repository at this folder beside its `.gitignore` files."""
    return os.path.normpath(_join(top, _exclude_file(None, top)))


def _exclude_file(folder_fd: int | None, top: bytes = b"") -> bytes:
    """Return that path as seen from the repository's top: a worktree shares the file of its main repository."""
    git = b".git"
    pointer = _read_if_possible(_join(top, git), folder_fd)
    if pointer.startswith(b"gitdir:"):
        git = pointer.removeprefix(b"gitdir:").strip()
        shared = _read_if_possible(_join(_join(top, git), b"commondir"), folder_fd).strip()
        git = _join(git, shared)
    return _join(git, EXCLUDE_FILE.partition(b"/")[2])


def folders_above(real_root: bytes) -> tuple[bytes, ...]:
    """Return the folders from the repository's top to the root's parent, top first; empty outside a repository."""
    folders = up_to_repository(real_root)
    return tuple(reversed(folders[1:])) if _has_git(folders[-1]) else ()


def up_to_repository(real_root: bytes) -> tuple[bytes, ...]:
    """Return the root and the folders above it, up to the first that is the top of a repository, or all of them."""
    folders = [real_root]
    while folders[-1] != b"/" and not _has_git(folders[-1]):
        folders.append(folders[-1].rpartition(b"/")[0] or b"/")
    return tuple(folders)


def _has_git(folder: bytes) -> bool:
    try:
        os.lstat(_join(folder, b".git"))
    except OSError:
        return False
    return True


def _read_if_possible(path: bytes, folder_fd: int | None = None, flags: int = _FILE_FLAGS) -> bytes:
    """Return the text of a rule file that nobody asked for; nothing where it cannot be read."""
    try:
        return _read_regular(folder_fd, path, _RULE_FILE_BYTES, flags) or b""
    except OSError as error:
        raise_shortage(error)
        return b""


def _join(folder: bytes, name: bytes) -> bytes:
    """Return a path as seen from a folder (empty: the present one); absolute names stand for themselves."""
    return name if not folder or name.startswith(b"/") else folder.rstrip(b"/") + b"/" + name


def _read_regular(folder_fd: int | None, name: bytes, limit: int, flags: int = _FILE_FLAGS) -> bytes | None:
    """Return at most `limit` bytes of a regular file; None where there is none under that name."""
    try:
        fd = os.open(name, flags, dir_fd=folder_fd)
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
