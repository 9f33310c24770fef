"""The effects that the rooms share, as protocols: the state directory, the clock, the sources.

Owns: the shape of each effect. Real ones live in `store/fsio.py`, `clock.py`, `sources.py`; fakes in `tests/fakes`.
Knows nothing of: how any of it is done.
Invariants: 1. names in the state directory are single components, never paths. 2. every fake passes the same contract
    suite as the real thing.
Purity: pure (declarations only).
See: docs/consistency.md (order of operations).
"""

import datetime
from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol

from indexerd.model import SourcePath


class Clock(Protocol):
    """Time. Injected, so that tests never wait."""

    def monotonic(self) -> float:
        """Return seconds that never go back."""
        ...

    def now_ns(self) -> int:
        """Return wall time in nanoseconds since 1970 (may jump)."""
        ...

    def today(self) -> datetime.date:
        """Return the date in the daemon's time zone."""
        ...

    def day_of(self, moment_ns: int) -> datetime.date:
        """Return the date that a moment of wall time has in the daemon's time zone."""
        ...

    def time_zone(self) -> str:
        """Return the name of that time zone and its distance from UTC, as they are today."""
        ...


class StoreFile(Protocol):
    """A file of the state directory, held open: readable while this is referenced, also after its removal."""

    @property
    def size(self) -> int:
        """Return its length when it was opened."""
        ...

    def read_at(self, offset: int, length: int) -> bytes:
        """Return `length` bytes; fewer where the file ends earlier than it did."""
        ...


class StoreFilesystem(Protocol):
    """One state directory. Every store operation passes here, so that each can be counted and made to fail.

    All methods raise `OSError` of the exact cause. After a failed flush the file is dead: write the bytes anew under
    a new name.
    """

    def names(self) -> Sequence[str]:
        """List the names in the directory, sorted."""
        ...

    def read(self, name: str) -> bytes:
        """Return a regular file's bytes, at most the limit of the implementation. Never follows a link."""
        ...

    def open(self, name: str, *, from_disk: bool = False) -> StoreFile:
        """Hold a regular file open, never through a link; `from_disk` drops what the kernel has kept of its bytes."""
        ...

    def stamp(self, name: str) -> tuple[int, ...] | None:
        """Return what changes when a file is replaced or written to; None where there is none under that name."""
        ...

    def is_in_place(self) -> bool:
        """Tell whether the directory still lies where it was opened."""
        ...

    def reopen(self) -> None:
        """Go over to the directory that lies there now, made anew if there is none, and take its writer lock.

        After an error, such as another process's lock, the old one is held as before.
        """
        ...

    def write_new(self, name: str, parts: Sequence[bytes | memoryview]) -> None:
        """Create a file that does not exist and write all parts. No flush. On error the partial file is removed."""
        ...

    def flush_file(self, name: str) -> None:
        """Make a file's bytes durable (fdatasync)."""
        ...

    def flush_directory(self) -> None:
        """Make the directory's names durable (fsync)."""
        ...

    def replace(self, source: str, target: str) -> None:
        """Move `source` onto `target` atomically."""
        ...

    def remove(self, name: str) -> None:
        """Unlink a file."""
        ...

    def lock(self) -> bool:
        """Take the writer lock for the life of this object; False when another process holds it."""
        ...

    def entropy(self, count: int) -> bytes:
        """Return random bytes: a store's identity is drawn once, where it is made."""
        ...

    def close(self) -> None:
        """Release the lock and the directory."""
        ...


class SourceStat(NamedTuple):
    """The stat tuple of a file or folder at one moment. A tuple, since a scan makes one for every file."""

    dev: int
    ino: int
    size: int
    mtime_ns: int
    ctime_ns: int


class SourceRead(NamedTuple):
    """A whole regular file read beneath its root, its stat equal before and after the read."""

    data: bytes
    stat: SourceStat


FaultCode = Literal["source_missing", "source_unreadable", "source_escapes_root", "source_changed"]


class SourceFault(NamedTuple):
    """Why a source could not be read.

    Attributes:
        code: `source_missing` only when its absence was seen in a readable parent; `source_changed` when it kept
            changing under the read; `source_escapes_root` for links on the way; `source_unreadable` for the rest.
        detail: For people: the cause and, where there is one, the errno name (`EACCES`, `too_large`, `not_regular`,
            `foreign_link`).
    """

    code: FaultCode
    detail: str


class Sources(Protocol):
    """Reads documents beneath the watched roots: the only way to a document's bytes."""

    def read(self, source_path: SourcePath) -> SourceRead | SourceFault:
        """Open beneath the root without following links, read whole, and check the stat again."""
        ...

    def absolute(self, source_path: SourcePath) -> bytes | None:
        """Return the absolute path as bytes in the user's spelling; None if no root has this name."""
        ...
