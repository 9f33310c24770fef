"""Files on their way into a generation: written, named by nothing yet.

Owns: serial numbers, and which files are staged (safe from collection although nothing names them).
Knows nothing of: slots, generations.
Invariants: 1. a serial number is given out once. 2. a file is staged before it exists, so that collection, which lists
    the directory, can never see it without knowing it. 3. what fails leaves nothing staged.
Purity: shell (the state directory, through the port).
See: docs/consistency.md (publish).
"""

import threading
from collections.abc import Callable, Iterable, Sequence

from indexerd.digests import digest_and_length
from indexerd.ports import StoreFilesystem
from indexerd.store.layout import Kind
from indexerd.store.manifest import FileRef


class Staging:
    """Writes numbered files and remembers them until they are named or discarded."""

    def __init__(self, fs: StoreFilesystem, next_serial: int) -> None:
        self._fs = fs
        self._next = next_serial
        self._staged: set[str] = set()
        # Guards the two fields above: the writer and the merger both stage.
        self._lock = threading.Lock()

    @property
    def next_serial(self) -> int:
        """The lowest serial number that was not given out."""
        return self._next

    def staged(self) -> frozenset[str]:
        """Return the names that are staged now."""
        with self._lock:
            return frozenset(self._staged)

    def write(self, kind: Kind, parts: Sequence[bytes | memoryview]) -> FileRef:
        """Write a new file and leave it staged.

        Raises:
            OSError: Nothing was written that anything names, and nothing stays staged.
        """
        ref = self._reserve(kind, *digest_and_length(parts))
        name = ref.name(kind)
        try:
            self._fs.write_new(name, parts)
        except BaseException:
            self.release([name])
            raise
        return ref

    def receive(
        self, kind: Kind, count: int, make: Callable[[Sequence[str]], Sequence[tuple[bytes, int] | None]]
    ) -> list[FileRef | None]:
        """Have files made by somebody else and leave them staged under their own names.

        Args:
            kind: What they are.
            count: How many.
            make: Given names that are staged, makes the files and returns the digest and length of each; None for one
                that it does not make.

        Raises:
            Exception: As `make` raises it; nothing stays staged.
            OSError: As `write`.
        """
        # Their hashes are not known yet.
        held = [self._reserve(kind, bytes(16), 0) for _ in range(count)]
        names = [one.name(kind) for one in held]
        made: list[FileRef | None] = []
        try:
            for one, found in zip(held, make(names), strict=True):
                made.append(FileRef(one.serial, *found) if found else None)
                if (ref := made[-1]) is not None:
                    with self._lock:
                        self._staged.add(ref.name(kind))
                    self._fs.replace(one.name(kind), ref.name(kind))
        except BaseException:
            self.discard([ref.name(kind) for ref in made if ref is not None])
            raise
        finally:
            self.discard(names)
        return made

    def release(self, names: Iterable[str]) -> None:
        """Forget that names are staged: a slot names them now, or they are garbage.

        It never fails: without memory for it they stay staged, and a file that is garbage stays until the next start.
        """
        try:
            with self._lock:
                self._staged.difference_update(names)
        except MemoryError:
            return

    def discard(self, names: Sequence[str]) -> None:
        """Remove staged files. One that cannot be removed is garbage, and collected later."""
        for name in names:
            remove_quietly(self._fs, name)
        self.release(names)

    def _reserve(self, kind: Kind, digest: bytes, length: int) -> FileRef:
        with self._lock:
            ref = FileRef(self._next, digest, length)
            self._next += 1
            self._staged.add(ref.name(kind))
        return ref


def remove_quietly(fs: StoreFilesystem, name: str) -> bool:
    """Remove a file that nothing names; tell whether it is gone. Failing is no error: collection comes by again."""
    try:
        fs.remove(name)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True
