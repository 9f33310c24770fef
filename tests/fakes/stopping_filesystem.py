"""A real state directory whose process ends, or whose disk goes, at a given operation."""

import itertools
from collections.abc import Callable, Sequence

from indexerd.store.fsio import HeldFile, RealStoreFilesystem


class StoppingFilesystem(RealStoreFilesystem):
    """Counts operations from 1, from when `stop_at` was called, and calls `stop` in place of one: it must not return.

    A write that is stopped leaves half. `flushed` are the names of files whose flush was asked for, in order.
    """

    def __init__(self, directory_fd: int, path: str | bytes) -> None:
        super().__init__(directory_fd, path)
        self.flushed: list[str] = []
        self.stop_at(0, lambda: None)

    def stop_at(self, operation: int, stop: Callable[[], None]) -> None:
        """Begin to count."""
        self._stop_at, self._stop, self._counted = operation, stop, itertools.count(1)

    def names(self) -> Sequence[str]:
        self._step()
        return super().names()

    def read(self, name: str) -> bytes:
        self._step()
        return super().read(name)

    def open(self, name: str, *, from_disk: bool = False) -> HeldFile:
        self._step()
        return super().open(name, from_disk=from_disk)

    def write_new(self, name: str, parts: Sequence[bytes | memoryview]) -> None:
        # Two operations, as in the fake: before the file is there, and when half of it is.
        self._step()
        data = b"".join(parts)
        if self._is_next():
            super().write_new(name, [data[: len(data) // 2]])
            self._stop()
        super().write_new(name, [data])

    def flush_file(self, name: str) -> None:
        self._step()
        self.flushed.append(name)
        super().flush_file(name)

    def flush_directory(self) -> None:
        self._step()
        super().flush_directory()

    def replace(self, source: str, target: str) -> None:
        self._step()
        super().replace(source, target)

    def remove(self, name: str) -> None:
        self._step()
        super().remove(name)

    def lock(self) -> bool:
        self._step()
        return super().lock()

    def _is_next(self) -> bool:
        return next(self._counted) == self._stop_at

    def _step(self) -> None:
        if self._is_next():
            self._stop()
