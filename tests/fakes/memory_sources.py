"""Documents in memory; implements `ports.Sources`, and can be told to refuse."""

import os
from collections.abc import Mapping, Sequence

from indexerd.model import Root, SourcePath
from indexerd.naming import split_source_path
from indexerd.ports import FaultCode, SourceFault, SourceRead, SourceStat

_DEVICE = 7


class MemorySources:
    """Every write gives the file a new inode and a later time, as an atomic save would."""

    def __init__(
        self, files: Mapping[str, bytes] = {}, roots: Sequence[Root] = (Root(label="docs", path="/docs"),)
    ) -> None:
        self._roots = tuple(roots)
        self._files: dict[SourcePath, SourceRead] = {}
        self._faults: dict[SourcePath, SourceFault] = {}
        self._ticks = 0
        self.reads: list[SourcePath] = []
        for name, data in files.items():
            self.write(name, data)

    def __repr__(self) -> str:
        return f"MemorySources({ {path: len(found.data) for path, found in self._files.items()} })"

    def read(self, source_path: SourcePath) -> SourceRead | SourceFault:
        self.reads.append(source_path)
        if split_source_path(self._roots, source_path) is None:
            return SourceFault("source_escapes_root", "names nothing below a root")
        if source_path in self._faults:
            return self._faults[source_path]
        return self._files.get(source_path) or SourceFault("source_missing", "ENOENT")

    def absolute(self, source_path: SourcePath) -> bytes | None:
        place = split_source_path(self._roots, source_path)
        return None if place is None else os.fsencode(place[0].path) + b"/" + place[1]

    def write(self, name: str, data: bytes) -> SourceStat:
        self._ticks += 1
        stat = SourceStat(_DEVICE, self._ticks, len(data), self._ticks * 1_000_000_000, self._ticks * 1_000_000_000)
        self._files[SourcePath(name)] = SourceRead(data, stat)
        return stat

    def remove(self, name: str) -> None:
        del self._files[SourcePath(name)]

    def refuse(self, name: str, code: FaultCode, detail: str) -> None:
        self._faults[SourcePath(name)] = SourceFault(code, detail)

    def allow(self, name: str) -> None:
        del self._faults[SourcePath(name)]

    def stats(self) -> dict[SourcePath, SourceStat]:
        return {path: found.stat for path, found in self._files.items()}
