"""The real state directory: every byte that the store reads or writes passes here.

Owns: `os.replace`, flushing, the writer lock, and opening store files, all relative to one directory descriptor.
Knows nothing of: what the files mean, in which order they are written.
Invariants: 1. a file is created with O_EXCL and never opened for writing again. 2. no link is followed and nothing
    but a regular file is read. 3. the lock is the kernel's, on the directory itself: nothing on disk can fake it.
Purity: shell (the state directory).
See: docs/consistency.md (order of operations), docs/on-disk-format.md (files).
"""

import errno
import fcntl
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

OPEN_LIMIT_BYTES = 1 << 34
READ_LIMIT_BYTES = 1 << 28
"""No file of ours comes near these; a length beyond them is damage, not data. What is read takes memory."""

# Measured: joining a few hundred KiB costs less than the dozens of small writes it replaces.
_JOIN_BYTES = 1 << 20
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Non-blocking, or opening a FIFO put in a file's place would wait for a writer for ever.
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY


class RealStoreFilesystem:
    """One state directory, held by its descriptor; implements `ports.StoreFilesystem`."""

    def __init__(self, directory_fd: int, path: str | bytes) -> None:
        """Take over `directory_fd`; prefer `open_directory`. `path` is for messages alone."""
        self._fd = directory_fd
        self._path = os.fsdecode(path)

    @classmethod
    def open_directory(cls, path: str | bytes, *, create: bool) -> "RealStoreFilesystem":
        """Open a state directory.

        Args:
            path: The directory. Its last component must not be a link.
            create: Make it (and missing parents) with mode 0700 if it is absent.

        Raises:
            OSError: It cannot be made or opened; the exact cause.
        """
        if create:
            _make_private(path)
        return cls(os.open(path, _DIRECTORY), path)

    def names(self) -> Sequence[str]:
        """List the names in the directory, sorted."""
        return sorted(os.listdir(self._fd))  # noqa: PTH208 - pathlib knows no directory descriptors

    def read(self, name: str) -> bytes:
        """Return a regular file's bytes. Never follows a link.

        Raises:
            OSError: EINVAL when it is not a regular file, EFBIG beyond the limit, else the cause.
        """
        fd, size = self._open(name, READ_LIMIT_BYTES)
        try:
            return _read_all(fd, size)
        finally:
            os.close(fd)

    def open(self, name: str, *, from_disk: bool = False) -> "HeldFile":
        """Hold a regular file open; `from_disk` drops what the kernel has kept of its bytes. Raises as `read`."""
        fd, size = self._open(name, OPEN_LIMIT_BYTES)
        if from_disk:
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        return HeldFile(fd, size)

    def stamp(self, name: str) -> tuple[int, ...] | None:
        """Return what changes when a file is replaced or written to; None where there is none under that name."""
        try:
            found = os.stat(name, dir_fd=self._fd, follow_symlinks=False)
        except FileNotFoundError:
            return None
        return (found.st_dev, found.st_ino, found.st_mode, found.st_size, found.st_mtime_ns, found.st_ctime_ns)

    def is_in_place(self) -> bool:
        """Tell whether the directory still lies where it was opened."""
        try:
            there = os.lstat(self._path)
        except OSError:
            return False
        return os.path.samestat(there, os.fstat(self._fd))

    def reopen(self) -> None:
        """Go over to the directory that lies there now, made anew if there is none, and take its writer lock.

        Raises:
            OSError: It cannot be made, opened or locked, or is another user's; the old one is held as before.
        """
        _make_private(self._path)
        fd = os.open(self._path, _DIRECTORY)
        try:
            if os.fstat(fd).st_uid not in (os.geteuid(), 0):
                raise PermissionError(errno.EPERM, "belongs to another user", self._path)
            os.fchmod(fd, 0o700)
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(fd)
            raise
        # In this order no other thread can meet a closed descriptor under the new directory's name.
        old, self._fd = self._fd, fd
        os.close(old)

    def write_new(self, name: str, parts: Sequence[bytes | memoryview]) -> None:
        """Create a file that does not exist and write all parts. No flush. On error the partial file is removed."""
        with self._told_by_directory():
            fd = os.open(name, _NEW, 0o600, dir_fd=self._fd)
            try:
                _write_closing(fd, parts)
            except BaseException:
                self._remove_quietly(name)
                raise

    def flush_file(self, name: str) -> None:
        """Make a file's bytes durable. After an error the file is dead: write the bytes anew under a new name."""
        with self._told_by_directory():
            fd = os.open(name, _READ, dir_fd=self._fd)
            try:
                os.fdatasync(fd)
            finally:
                os.close(fd)

    def flush_directory(self) -> None:
        """Make the directory's names durable."""
        with self._told_by_directory():
            os.fsync(self._fd)

    def replace(self, source: str, target: str) -> None:
        """Move `source` onto `target` atomically. A folder that somebody put in its place is moved aside before."""
        with self._told_by_directory():
            try:
                os.replace(source, target, src_dir_fd=self._fd, dst_dir_fd=self._fd)
            except IsADirectoryError:
                aside = f"{target}.damaged-{os.urandom(4).hex()}"
                os.replace(target, aside, src_dir_fd=self._fd, dst_dir_fd=self._fd)
                os.replace(source, target, src_dir_fd=self._fd, dst_dir_fd=self._fd)

    def remove(self, name: str) -> None:
        """Unlink a file."""
        os.unlink(name, dir_fd=self._fd)

    def lock(self) -> bool:
        """Take the writer lock for the life of this object; False when another process holds it."""
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def entropy(self, count: int) -> bytes:
        """Return `count` random bytes."""
        return os.urandom(count)

    def close(self) -> None:
        """Release the lock and the directory. Files held open stay so."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def _open(self, name: str, limit_bytes: int) -> tuple[int, int]:
        fd = os.open(name, _READ, dir_fd=self._fd)
        found = os.fstat(fd)
        if stat.S_ISREG(found.st_mode) and found.st_size <= limit_bytes:
            return fd, found.st_size
        os.close(fd)
        if stat.S_ISREG(found.st_mode):
            raise OSError(errno.EFBIG, "larger than any file of the store", name)
        raise OSError(errno.EINVAL, "not a regular file", name)

    @contextmanager
    def _told_by_directory(self) -> Iterator[None]:
        """Name the directory in an error: what people can act on is the disk it lies on, not a file of a second."""
        try:
            yield
        except OSError as error:
            raise OSError(error.errno, error.strerror, self._path) from error

    def _remove_quietly(self, name: str) -> None:
        # The write already failed and is reported; a file that cannot be removed either is named by nothing and is
        # collected later.
        try:
            os.unlink(name, dir_fd=self._fd)
        except OSError:
            return


class HeldFile:
    """A file held open; implements `ports.StoreFile`.

    It is read and never mapped: a mapped file that is cut short, or whose disk fails, ends the process.
    """

    __slots__ = ("_fd", "size")

    def __init__(self, fd: int, size: int) -> None:
        """Take over `fd`."""
        self._fd, self.size = fd, size

    def read_at(self, offset: int, length: int) -> bytes:
        """Return `length` bytes; fewer where the file ends earlier than it did.

        Raises:
            OSError: The disk does not give them.
        """
        return os.pread(self._fd, length, offset)

    def __del__(self) -> None:
        os.close(self._fd)


def _make_private(path: str | bytes) -> None:
    parent = os.path.dirname(os.path.abspath(path))  # noqa: PTH100, PTH120 - bytes paths, and no pathlib here
    os.makedirs(parent, mode=0o700, exist_ok=True)  # noqa: PTH103
    try:
        os.mkdir(path, 0o700)  # noqa: PTH102
    except FileExistsError:
        return


def _read_all(fd: int, size: int) -> bytes:
    pieces = []
    # One byte more than promised, so that a file which grew is read to its end and fails its length check.
    while piece := os.read(fd, min(size + 1, 1 << 24)):
        pieces.append(piece)
    return b"".join(pieces)


def _write_closing(fd: int, parts: Sequence[bytes | memoryview]) -> None:
    try:
        for piece in _gathered(parts):
            rest = memoryview(piece).cast("B")
            while rest:
                rest = rest[_written(fd, rest) :]
    except BaseException:
        os.close(fd)
        raise
    # An error of close is an error of the write; it is reported, never retried (the descriptor is gone either way).
    os.close(fd)


def _written(fd: int, data: memoryview) -> int:
    """Write some of the bytes; return how many, at least one."""
    count = os.write(fd, data)
    if not count:
        raise OSError(errno.EIO, "the disk takes nothing and says no cause")
    return count


def _gathered(parts: Iterable[bytes | memoryview]) -> Iterator[bytes | memoryview]:
    """Yield the parts, joined where that saves more calls than it copies bytes."""
    held: list[bytes | memoryview] = []
    size = 0
    for part in parts:
        held.append(part)
        size += memoryview(part).nbytes
        if size > _JOIN_BYTES:
            yield from held
            held = []
    if size <= _JOIN_BYTES:
        yield b"".join(held)
