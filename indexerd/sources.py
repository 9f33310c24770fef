"""Reading documents beneath the watched roots, whole and unchanged, or saying why not.

Owns: opening below a root without following links, and the proof that a read saw one state of the file.
Knows nothing of: the index, ignore rules, what bytes mean.
Invariants: 1. nothing outside a root is ever opened for reading, whatever is swapped meanwhile. 2. bytes are returned
    only if the file's stat was the same before and after. 3. `source_missing` is said only when absence was seen in a
    readable folder of a root that is there. 4. opening never waits: no FIFO, device or terminal can hold a reader. 5. a
    file that somebody may have linked here to have it shown is not read (`_is_foreign_link`).
Purity: shell (file system, read only).
See: docs/consistency.md (reading sources).
"""

import ctypes
import errno
import os
import stat as stat_bits
from collections.abc import Sequence
from functools import lru_cache, partial

from indexerd.model import Root, SourcePath
from indexerd.naming import split_source_path
from indexerd.ports import FaultCode, SourceFault, SourceRead, SourceStat

DEFAULT_MAX_FILE_BYTES = 16 * 1024 * 1024
_ATTEMPTS = 3
_CHUNK_BYTES = 1 << 20

_FILE_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NOCTTY
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_ROOT_FLAGS = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC

# Linux 5.6; the number is the same on every architecture Python runs on but Alpha, where the probe fails and we walk.
_SYS_OPENAT2 = 437
# BENEATH | NO_SYMLINKS | NO_MAGICLINKS, linux/openat2.h
_RESOLVE = 0x08 | 0x04 | 0x02

_AT_EMPTY_PATH = 0x1000
_STATX_TYPE = 0x1
_STATX_ATTR_MOUNT_ROOT = 0x2000

_MISSING = frozenset({errno.ENOENT, errno.ENOTDIR})
_ESCAPES = frozenset({errno.ELOOP, errno.EXDEV})
# What says that this process is short of something just now. It says nothing of the file or folder that was asked for.
_SHORTAGES = {errno.EMFILE: "EMFILE", errno.ENFILE: "ENFILE", errno.ENOMEM: "ENOMEM"}


class _OpenHow(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


class _Statx(ctypes.Structure):
    """The parts of `struct statx` (linux/stat.h) that are read here, in a room of its full size."""

    _fields_ = (
        ("before", ctypes.c_uint64),
        ("attributes", ctypes.c_uint64),
        ("between", ctypes.c_uint64 * 5),
        ("attributes_mask", ctypes.c_uint64),
        ("behind", ctypes.c_uint64 * 24),
    )


_libc = ctypes.CDLL(None, use_errno=True)
_syscall = _libc.syscall
_syscall.argtypes = (ctypes.c_long, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t)
_syscall.restype = ctypes.c_long
_statx = getattr(_libc, "statx", None)  # glibc 2.28, musl 1.2.5
if _statx is not None:
    _statx.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_uint, ctypes.c_void_p)
_HOW_SIZE = ctypes.sizeof(_OpenHow)
_HOW_FILE = _OpenHow(_FILE_FLAGS, 0, _RESOLVE)
_HOW_FOLDER = _OpenHow(_FOLDER_FLAGS, 0, _RESOLVE)
_HOW_OF = {_FILE_FLAGS: ctypes.addressof(_HOW_FILE), _FOLDER_FLAGS: ctypes.addressof(_HOW_FOLDER)}


def _open_in_kernel(root_fd: int, relative: bytes, flags: int) -> int:
    how = _HOW_OF[flags]
    while True:
        fd: int = _syscall(_SYS_OPENAT2, root_fd, relative, how, _HOW_SIZE)
        if fd >= 0:
            return fd
        number = ctypes.get_errno()
        # EAGAIN: a rename elsewhere raced with the look-up; nothing was decided. EINTR: a signal came.
        if number not in (errno.EAGAIN, errno.EINTR):
            raise OSError(number, os.strerror(number), relative)


def _open_by_walking(root_fd: int, relative: bytes, flags: int) -> int:
    """Open one component after the other, following no link: what `openat2` does, where the kernel has none."""
    *folders, name = relative.split(b"/")
    at = root_fd
    try:
        for folder in folders:
            try:
                inner = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=at)
            except NotADirectoryError as error:
                raise _link_or(error, folder, at) from None
            if at != root_fd:
                os.close(at)
            at = inner
        return os.open(name, flags, dir_fd=at)
    finally:
        if at != root_fd:
            os.close(at)


def _link_or(error: OSError, name: bytes, at: int) -> OSError:
    """Say which of its causes ENOTDIR has: O_PATH|O_DIRECTORY|O_NOFOLLOW answers it for a link too.

    ELOOP for a link; EAGAIN for a folder, which took another's place after the open: nothing is known then.
    """
    try:
        mode = os.lstat(name, dir_fd=at).st_mode
    except OSError:
        return OSError(errno.EAGAIN, os.strerror(errno.EAGAIN), name)
    if stat_bits.S_ISLNK(mode):
        return OSError(errno.ELOOP, os.strerror(errno.ELOOP), name)
    return OSError(errno.EAGAIN, os.strerror(errno.EAGAIN), name) if stat_bits.S_ISDIR(mode) else error


def _kernel_has_openat2() -> bool:
    """Ask once: ENOSYS from an old kernel, EPERM from a container's filter."""
    root_fd = os.open("/", _ROOT_FLAGS)
    try:
        os.close(_open_in_kernel(root_fd, b".", _FOLDER_FLAGS))
    except OSError:
        return False
    finally:
        os.close(root_fd)
    return True


open_beneath = _open_in_kernel if _kernel_has_openat2() else _open_by_walking


def open_root(root: Root) -> int:
    """Open a root for look-ups below it and return the descriptor; the caller closes it.

    Roots are opened anew each time and never kept: a descriptor kept open would make a disk impossible to unmount, and
    would go on showing the old folder after the root is replaced.

    Raises:
        OSError: The root is missing, no folder, or cannot be looked at.
    """
    return os.open(root.path, _ROOT_FLAGS)


def open_folder_beneath(root_fd: int, relative: bytes) -> int:
    """Open a folder below a root for listing (`b""`: the root itself) and return the descriptor; the caller closes it.

    Raises:
        OSError: It is missing, no folder, behind a link, or unreadable.
    """
    if not relative:
        return os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=root_fd)
    return open_beneath(root_fd, relative, _FOLDER_FLAGS)


def is_mount_root(folder_fd: int) -> bool | None:
    """Whether something is mounted at an open folder, as the kernel says since Linux 5.8; None where it does not."""
    if _statx is None:
        return None
    answer = _Statx()
    if _statx(folder_fd, b"", _AT_EMPTY_PATH, _STATX_TYPE, ctypes.addressof(answer)) != 0:
        return None
    if not answer.attributes_mask & _STATX_ATTR_MOUNT_ROOT:
        return None
    return bool(answer.attributes & _STATX_ATTR_MOUNT_ROOT)


def stat_of(found: os.stat_result) -> SourceStat:
    """Return the tuple that tells one state of a file from another."""
    return SourceStat(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


class SourceTree:
    """Reads documents below a set of roots; implements `ports.Sources`. Safe to use from any thread."""

    def __init__(self, roots: Sequence[Root], max_file_bytes: int = DEFAULT_MAX_FILE_BYTES) -> None:
        self._roots = tuple(roots)
        self._max_file_bytes = max_file_bytes
        self._above = {root: os.fsencode(root.path).rstrip(b"/") + b"/" for root in self._roots}
        # A hit's file is read, then its absolute path is asked for; good documents are hits of many queries.
        self._place_of = lru_cache(maxsize=2048)(partial(split_source_path, self._roots))

    def read(self, source_path: SourcePath) -> SourceRead | SourceFault:
        """Return the whole bytes of a document, its stat equal before and after, or the reason why not."""
        place = self._place_of(source_path)
        if place is None:
            return SourceFault("source_escapes_root", "names nothing below a root")
        root, relative = place
        try:
            root_fd = open_root(root)
        except OSError as error:
            return SourceFault("source_unreadable", f"root: {error_name(error)}")
        try:
            return self._read_beneath(root_fd, relative)
        finally:
            os.close(root_fd)

    def absolute(self, source_path: SourcePath) -> bytes | None:
        """Return the absolute path as bytes in the user's spelling; None if no root has this name."""
        place = self._place_of(source_path)
        return None if place is None else self._above[place[0]] + place[1]

    def _read_beneath(self, root_fd: int, relative: bytes) -> SourceRead | SourceFault:
        for _ in range(_ATTEMPTS):
            try:
                fd = open_beneath(root_fd, relative, _FILE_FLAGS)
            except OSError as error:
                return _open_fault(error, root_fd, relative)
            try:
                found = self._read_open(fd, root_fd)
            except OSError as error:
                return SourceFault("source_unreadable", error_name(error))
            finally:
                os.close(fd)
            if found is not None:
                return found
        return SourceFault("source_changed", f"changed during each of {_ATTEMPTS} reads")

    def _read_open(self, fd: int, root_fd: int) -> SourceRead | SourceFault | None:
        """Read an open file; None if it changed meanwhile."""
        before = os.fstat(fd)
        if not stat_bits.S_ISREG(before.st_mode):
            return SourceFault("source_unreadable", "not_regular")
        if _is_foreign_link(before, root_fd):
            return SourceFault("source_unreadable", "foreign_link")
        if before.st_size > self._max_file_bytes:
            return SourceFault("source_unreadable", "too_large")
        data = _read_at_most(fd, before.st_size + 1)
        found, after = stat_of(before), os.fstat(fd)
        # Device and inode of an open file stay.
        if (len(data), after.st_size, after.st_mtime_ns, after.st_ctime_ns) != (found.size, *found[2:]):
            return None
        return SourceRead(data, found)


def _is_foreign_link(found: os.stat_result, root_fd: int) -> bool:
    """Whether a file has another name, is not for everybody to read, and belongs to another user than the root.

    Whoever writes below the root could have linked it here without being allowed to read it, where the system lets him.
    """
    is_secret = found.st_nlink > 1 and not found.st_mode & stat_bits.S_IROTH
    return is_secret and found.st_uid != os.fstat(root_fd).st_uid


def _read_at_most(fd: int, limit: int) -> bytes:
    """Read up to `limit` bytes. One byte more than the size is asked for, so that growth shows as a longer read."""
    data = os.read(fd, limit)
    if not data or len(data) == limit - 1:
        return data
    parts = [data]
    rest = limit - len(data)
    while rest > 0 and (data := os.read(fd, min(rest, _CHUNK_BYTES))):
        parts.append(data)
        rest -= len(data)
    return b"".join(parts)


def _open_fault(error: OSError, root_fd: int, relative: bytes) -> SourceFault:
    return SourceFault(_code_of(error.errno, root_fd, relative), error_name(error))


def _code_of(number: int | None, root_fd: int, relative: bytes) -> FaultCode:
    if number in _ESCAPES:
        return "source_escapes_root"
    if number == errno.EAGAIN:
        return "source_changed"
    if number in _MISSING and absence_is_seen(root_fd, relative):
        return "source_missing"
    return "source_unreadable"


def absence_is_seen(root_fd: int, relative: bytes) -> bool:
    """Whether the nearest folder above `relative` that exists can be listed, so that its absence there is a fact."""
    while relative:
        relative = relative.rpartition(b"/")[0]
        try:
            os.close(open_folder_beneath(root_fd, relative))
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:
            return False
        return True
    return False


def raise_shortage(error: OSError) -> None:
    """Raise the error again if it is our own shortage: nobody may conclude anything from it.

    Raises:
        OSError: Too many open files, or no memory. Try again.
    """
    if error.errno in _SHORTAGES:
        raise error


def tells_of_shortage(detail: str) -> bool:
    """Whether the detail of a fault names our own shortage: the file is to be tried again."""
    return detail.rpartition(" ")[2] in _SHORTAGES.values()


def error_name(error: OSError) -> str:
    """Return the errno's name (`EACCES`), for people and for reasons; `not_regular` for a socket."""
    if error.errno == errno.ENXIO:  # what opening a Unix socket answers
        return "not_regular"
    return errno.errorcode.get(error.errno or 0, str(error))
