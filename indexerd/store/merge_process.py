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
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, cast

from indexerd.digests import digest_and_length
from indexerd.errors import CorruptionError
from indexerd.store.codec import pack, unpack
from indexerd.store.fsio import RealStoreFilesystem
from indexerd.store.layout import FileName, parse_name
from indexerd.store.parts import live_masks
from indexerd.store.retelling import taken_back
from indexerd.store.segment import Segment, encode_segment, merge_segments, open_segment

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
        back: For each stretch of kept generations the files before and in it: what takes back has a file of its own.
    """

    names: Sequence[str]
    later: Sequence[str]
    drop_tombstones: bool
    back: Sequence[tuple[Sequence[str], Sequence[str]]] = ()


Made = list[tuple[bytes, int] | None]
"""Digest and length of each file that was made; None for one that was not needed."""


class MergeProcess:
    """Merges below one state directory, one merge at a time. `stop` may be called by any thread."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        # Guards the two fields below: a process must not be started after the stop.
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = False

    def __call__(self, order: Order, targets: Sequence[str]) -> Made:
        """Have the files of these names made: the merged one, then one for each stretch.

        Raises:
            OSError: They were not made, or not whole. Remove them and try again later.
            CorruptionError: A segment is damaged; nothing was made of it.
        """
        process = self._start()
        answer, _ = process.communicate(pack([self._directory, os.getpid(), order, targets]))
        with self._lock:
            self._process = None
        if process.returncode or not answer:
            raise OSError(f"the merging process ended (status {process.returncode}); nothing was merged")
        made, damage = cast("tuple[Made, tuple[str, str] | None]", unpack(answer, _WHERE))
        if damage is not None:
            raise CorruptionError(*damage)
        return made

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
    """Carry out the order on standard input; answer with what was made, or with what is damaged and how.

    Nothing is said where the daemon was killed meanwhile: half an order, or an answer that nobody reads.
    """
    os.nice(_NICENESS)
    try:
        said = unpack(sys.stdin.buffer.read(), _WHERE)
    except CorruptionError:
        return
    directory, parent, order, targets = cast("tuple[str, int, tuple[Any, ...], list[str]]", said)
    made: Made = []
    damage: tuple[str, str] | None = None
    fs = RealStoreFilesystem.open_directory(directory, create=False)
    try:
        for target, segment in zip(targets, _carried_out(fs, Order(*order)), strict=True):
            made.append(None if segment is None else _write(fs, target, segment, parent))
    except CorruptionError as error:
        damage = (error.where, error.detail)
    with suppress(BrokenPipeError):
        os.write(sys.stdout.fileno(), pack((made, damage)))


def _carried_out(fs: RealStoreFilesystem, order: Order) -> Iterator[Segment | None]:
    loaded = {name: _segment(fs, name) for name in (*order.names, *order.later)}
    masks = live_masks(list(loaded.values()))
    chosen = list(zip(loaded.values(), masks, strict=True))[: len(order.names)]
    merged = merge_segments(chosen, drop_tombstones=order.drop_tombstones, packed=True)
    yield merged
    for names in order.back:
        before, taken = ([loaded.get(name) or _segment(fs, name) for name in some] for some in names)
        yield taken_back(before, taken, merged)


def _write(fs: RealStoreFilesystem, name: str, segment: Segment, parent: int) -> tuple[bytes, int]:
    parts = encode_segment(segment)
    # A daemon that was killed has no use for it, and the next one would have to remove it.
    if os.getppid() == parent:
        fs.write_new(name, parts)
    return digest_and_length(parts)


def _segment(fs: RealStoreFilesystem, name: str) -> Segment:
    parsed = parse_name(name)
    assert isinstance(parsed, FileName)
    return open_segment(fs.open(name), parsed.digest, name)
