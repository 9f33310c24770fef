"""The far end of bulk indexing: a process that reads slices of files and answers with finished segments.

Owns: the frames between the daemon and its worker processes, the worker's main.
Knows nothing of: the store, what becomes of a segment.
Invariants: 1. a worker ends when its input ends: it never outlives its parent. 2. equal files and settings give equal
    bytes, here or in the parent.
Purity: shell (reads its input, writes its output, reads sources).
See: docs/adr/0010.
"""

import gc
import os
import signal
import struct
import sys
from collections.abc import Sequence
from typing import IO, NamedTuple, cast

from indexerd.model import FrontMatterKeys, Root, Settings, SourcePath
from indexerd.ports import SourceStat
from indexerd.sources import SourceTree
from indexerd.store.codec import pack, unpack
from indexerd.store.segment import decode_segment, encode_segment
from indexerd.sync.reading import Outcome, Result, Slice, Wanted, read_slice
from indexerd.sync.upkeep import mallopt

_LENGTH = struct.Struct("<Q")
_WHERE = "worker"
# Below the daemon: a first index must not slow the answers given meanwhile.
_NICENESS = 5
# What a slice frees the next one needs again. Given back to the kernel in between it comes as new pages, to be cleared
# first: 100,000 page faults for 43 MB of text instead of 39,000, and 5 % of the time. The largest threshold there is.
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
_KEPT_BYTES, _LARGE_BYTES = 256 << 20, 32 << 20


class Brief(NamedTuple):
    """What a worker is told once: where to read, how much of a file at most, how to index."""

    roots: tuple[Root, ...]
    max_file_bytes: int
    settings: Settings


def main() -> None:
    """Serve slices from standard input to standard output until the input ends."""
    # A daemon that was killed leaves nobody to answer: end without a word.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    source = sys.stdin.buffer
    # Nothing else may write between the frames.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    os.nice(_NICENESS)
    mallopt(_M_TRIM_THRESHOLD, _KEPT_BYTES)
    mallopt(_M_MMAP_THRESHOLD, _LARGE_BYTES)
    first = read_frame(source)
    if first is None:
        return
    brief = decode_brief(first)
    sources = SourceTree(brief.roots, brief.max_file_bytes)
    # The many small values of a slice are in no cycles: looking for some as they grow in number takes 5 % of the time.
    gc.disable()
    gc.freeze()
    while (frame := read_frame(source)) is not None:
        write_frames(answers, encode_slice(read_slice(decode_wanted(frame), sources, brief.settings)))
        gc.collect()


def read_frame(stream: IO[bytes]) -> bytes | None:
    """Return the next frame, or None at the end of the input (also when it ends inside a frame)."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    body = stream.read(length)
    return body if len(body) == length else None


def write_frames(stream: IO[bytes], frames: Sequence[Sequence[bytes | memoryview]]) -> None:
    """Write each frame, given in parts, with its length, and push it out.

    Raises:
        OSError: The other end is gone.
    """
    for parts in frames:
        stream.write(_LENGTH.pack(sum(len(part) for part in parts)))
        stream.writelines(parts)
    stream.flush()


def encode_brief(brief: Brief) -> bytes:
    """Return a brief as bytes."""
    settings, keys = brief.settings, brief.settings.keys
    roots = [[root.label, os.fsencode(root.path), root.prefixed] for root in brief.roots]
    names = list(map(list, keys))
    languages = [list(pair) for pair in settings.languages]
    values = [settings.max_chars, list(settings.formats), settings.language, languages, names]
    return pack([roots, brief.max_file_bytes, values])


def decode_brief(data: bytes) -> Brief:
    """Return the brief that `encode_brief` wrote."""
    roots, max_file_bytes, values = cast(
        "tuple[list[tuple[str, bytes, bool]], int, tuple[int, list[str], str, list[tuple[str, str]], list[list[str]]]]",
        unpack(data, _WHERE),
    )
    max_chars, formats, language, languages, names = values
    keys = FrontMatterKeys._make(map(tuple, names))
    settings = Settings(
        max_chars=max_chars,
        formats=tuple(formats),
        language=language,
        languages=tuple((label, name) for label, name in languages),
        keys=keys,
    )
    known = tuple(Root(label=label, path=os.fsdecode(path), prefixed=prefixed) for label, path, prefixed in roots)
    return Brief(known, max_file_bytes, settings)


def encode_wanted(wanted: Sequence[Wanted]) -> bytes:
    """Return a list of files to read as bytes."""
    return pack([list(want[:3]) for want in wanted])


def decode_wanted(data: bytes) -> list[Wanted]:
    """Return the list that `encode_wanted` wrote."""
    rows = cast("list[tuple[str, bytes, bytes]]", unpack(data, _WHERE))
    return [Wanted(SourcePath(path), digest, known) for path, digest, known in rows]


def encode_slice(done: Slice) -> tuple[Sequence[bytes | memoryview], Sequence[bytes | memoryview]]:
    """Return the two frames of an answer: the outcomes, then the segment's bytes (empty for none)."""
    rows = [[outcome.source_path, outcome.result, outcome.stat, outcome.detail] for outcome in done.outcomes]
    return [pack(rows)], encode_segment(done.segment) if done.segment is not None else []


def decode_slice(outcomes: bytes, segment: bytes) -> Slice:
    """Return the slice whose two frames these are."""
    rows = cast("list[tuple[str, Result, list[int] | None, str]]", unpack(outcomes, _WHERE))
    read = tuple(
        Outcome(SourcePath(path), result, SourceStat(*stat) if stat else None, detail)
        for path, result, stat, detail in rows
    )
    return Slice(read, decode_segment(memoryview(segment), _WHERE, verify=False) if segment else None)
