"""A heavy merge in a process of its own: it takes neither the interpreter nor memory from the one that answers.

Owns: the process, and what it is told and answers.
Knows nothing of: which segments are merged and why, slots, generations.
Invariants: 1. what the process writes is the bytes that a merge in this process would write. 2. it changes nothing but
    the one file it is told to make, which nothing names yet. 3. after `stop` no process is left.
Purity: shell (a process; the state directory).
See: docs/adr/0014.
"""

import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import NamedTuple, cast

from indexerd.digests import fast_digest_parts
from indexerd.errors import CorruptionError
from indexerd.store.codec import pack, unpack
from indexerd.store.fsio import RealStoreFilesystem
from indexerd.store.layout import FileName, parse_name
from indexerd.store.parts import live_masks
from indexerd.store.segment import Segment, encode_segment, open_segment
from indexerd.store.segment_merge import merge_segments

_BOOT = "import sys; sys.path[:] = sys.argv[1:]; from indexerd.store.merge_process import main; main()"
_WHERE = "merge"
# Below the daemon, whose answers somebody waits for.
_NICENESS = 5


class Order(NamedTuple):
    """What to merge.

    Attributes:
        names: Files of the segments, oldest first.
        later: Files of the segments that come after them, oldest first: what these override is left out.
        drop_tombstones: Nothing earlier remains that tombstones could hide.
        target: Name of the file to make.
    """

    names: Sequence[str]
    later: Sequence[str]
    drop_tombstones: bool
    target: str


class MergeProcess:
    """Merges below one state directory, one merge at a time. `stop` may be called by any thread."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        # Guards the two fields below: a process must not be started after the stop.
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = False

    def __call__(self, order: Order) -> tuple[bytes, int]:
        """Have the file made; return its digest and length.

        Raises:
            OSError: It was not made, or not whole. Remove it and try again later.
            CorruptionError: A segment is damaged; nothing was made of it.
        """
        process = self._start()
        answer, _ = process.communicate(pack([self._directory, os.getpid(), *order]))
        with self._lock:
            self._process = None
        if process.returncode or not answer:
            raise OSError(f"the merging process ended (status {process.returncode}); nothing was merged")
        first, second = cast("tuple[bytes, int] | tuple[str, str]", unpack(answer, _WHERE))
        if isinstance(first, bytes) and isinstance(second, int):
            return first, second
        raise CorruptionError(str(first), str(second))

    def stop(self) -> None:
        """End a merge under way, and begin no other."""
        with self._lock:
            self._stopped = True
            if self._process is not None:
                self._process.kill()

    def _start(self) -> "subprocess.Popen[bytes]":
        with self._lock:
            if self._stopped:
                raise OSError("the store is being closed")
            # Its own session: Ctrl-C at the terminal is for the daemon, which ends the process itself.
            self._process = subprocess.Popen(  # noqa: S603 (our own interpreter and module)
                [sys.executable, "-c", _BOOT, *sys.path],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,
            )
            return self._process


def main() -> None:
    """Carry out the order on standard input; answer with digest and length, or with what is damaged and how."""
    os.nice(_NICENESS)
    directory, parent, names, later, drop_tombstones, target = cast(
        "tuple[str, int, list[str], list[str], bool, str]", unpack(sys.stdin.buffer.read(), _WHERE)
    )
    answer: tuple[bytes, int] | tuple[str, str]
    try:
        answer = _carry_out(directory, Order(names, later, drop_tombstones, target), parent)
    except CorruptionError as error:
        answer = (error.where, error.detail)
    sys.stdout.buffer.write(pack(answer))


def _carry_out(directory: str, order: Order, parent: int) -> tuple[bytes, int]:
    fs = RealStoreFilesystem.open_directory(directory, create=False)
    segments = [_segment(fs, name) for name in (*order.names, *order.later)]
    masks = live_masks(segments)
    chosen = list(zip(segments, masks, strict=True))[: len(order.names)]
    parts = encode_segment(merge_segments(chosen, drop_tombstones=order.drop_tombstones))
    # A daemon that was killed has no use for it, and the next one would have to remove it.
    if os.getppid() == parent:
        fs.write_new(order.target, parts)
    return fast_digest_parts(parts), sum(memoryview(part).nbytes for part in parts)


def _segment(fs: RealStoreFilesystem, name: str) -> Segment:
    parsed = parse_name(name)
    assert isinstance(parsed, FileName)
    return open_segment(fs.open(name), parsed.digest, name)
