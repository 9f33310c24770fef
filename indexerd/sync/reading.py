"""From paths to a segment: read each file, compare it with what is indexed, build one segment of what changed.

Owns: the comparison of a file with its indexed version, the binary rule, what one bad file means for the others.
Knows nothing of: the store's files, threads, which paths are worth reading.
Invariants: 1. a different fast digest proves a change; an equal one is believed only with an equal SHA-256. 2. one
    bad file never stops the others: it is listed with its reason. 3. the outcome is a function of the bytes and the
    settings, so a worker process gives what this process would.
Purity: shell (reads sources through the port).
See: docs/consistency.md (reading), docs/adr/0002.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from indexerd.digests import content_hash, fast_digest
from indexerd.indexing import build_segment
from indexerd.model import Settings, SourcePath
from indexerd.ports import SourceFault, Sources, SourceStat
from indexerd.store.segment import Segment

# As git and grep do it: a NUL early in the file means that it is no text.
_BINARY_PROBE_BYTES = 8192

Result = Literal[
    "stored",
    "unchanged",
    "binary",
    "failed",
    "source_missing",
    "source_unreadable",
    "source_escapes_root",
    "source_changed",
]


class Wanted(NamedTuple):
    """A file to read, with hashes and size of its indexed version (empty when it has none, or must be redone)."""

    source_path: SourcePath
    digest: bytes = b""
    content_hash: bytes = b""
    size_bytes: int = 0


class Outcome(NamedTuple):
    """What became of one file: stored in the segment, found equal, or not usable and why."""

    source_path: SourcePath
    result: Result
    stat: SourceStat | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Slice:
    """The outcomes of some files, in the order asked, and the segment of those stored (None when there is none)."""

    outcomes: tuple[Outcome, ...]
    segment: Segment | None


def read_slice(
    wanted: Sequence[Wanted],
    sources: Sources,
    settings: Settings,
    is_unfinished: Callable[[Wanted, int], bool] = lambda _want, _size: False,
) -> Slice:
    """Read files and build one segment of those that differ from what is indexed.

    Args:
        wanted: The files; never the same path twice.
        sources: Reads beneath the roots.
        settings: What decides how a document is stored.
        is_unfinished: Asked after each read, with the size read: whether a writer was at work on the file meanwhile, so
            that it must be read again.

    Returns:
        One outcome for each file. Nothing is raised for a file that cannot be read or built.
    """
    outcomes: list[Outcome] = []
    files: list[tuple[SourcePath, bytes]] = []
    for want in wanted:
        outcome, data = _read_one(want, sources)
        if data is not None and is_unfinished(want, len(data)):
            outcome, data = Outcome(want.source_path, "source_changed", None, "being written"), None
        outcomes.append(outcome)
        if data is not None:
            files.append((want.source_path, data))
    segment, failed = build_files(files, settings)
    if failed:
        outcomes = [
            Outcome(outcome.source_path, "failed", None, failed[outcome.source_path])
            if outcome.source_path in failed
            else outcome
            for outcome in outcomes
        ]
    return Slice(tuple(outcomes), segment)


def build_files(
    files: Sequence[tuple[SourcePath, bytes]], settings: Settings
) -> tuple[Segment | None, dict[SourcePath, str]]:
    """Build one segment of files; those that cannot be built are named with the cause and left out."""
    if not files:
        return None, {}
    try:
        return build_segment(files, settings), {}
    except Exception as error:  # noqa: BLE001 -- the border of one file
        if len(files) == 1:
            return None, {files[0][0]: f"{type(error).__name__}: {error}"}
    # Some file of many trips the builder: find it by building each alone, then build the rest together.
    failed: dict[SourcePath, str] = {}
    for file in files:
        failed.update(build_files([file], settings)[1])
    if not failed:
        # Each alone is fine and all together are not: our own fault, not a file's.
        raise RuntimeError("a segment cannot be built although each of its files can")
    segment, more = build_files([file for file in files if file[0] not in failed], settings)
    return segment, failed | more


def is_binary(data: bytes) -> bool:
    """Return whether a file with these bytes is no text."""
    return b"\0" in data[:_BINARY_PROBE_BYTES]


def _read_one(want: Wanted, sources: Sources) -> tuple[Outcome, bytes | None]:
    read = sources.read(want.source_path)
    if isinstance(read, SourceFault):
        return Outcome(want.source_path, read.code, None, read.detail), None
    if is_binary(read.data):
        return Outcome(want.source_path, "binary", read.stat), None
    if want.digest and fast_digest(read.data) == want.digest and content_hash(read.data) == want.content_hash:
        return Outcome(want.source_path, "unchanged", read.stat), None
    return Outcome(want.source_path, "stored", read.stat), read.data
