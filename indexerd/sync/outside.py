"""Do the files that speak for a root from outside of it still say what they said when they were last looked at?

Owns: what is remembered of those files, and which of them changed.
Knows nothing of: what they say, which files they are, what follows from a change.
Invariants: 1. a change is reported once, to whoever asks first, however little of the stat it moved: a file that was
    written too recently for its times to tell is compared by its bytes. 2. a file that is made where there was not
    even a folder for it is a change as any other.
Purity: shell (stat and reading; the clock comes from outside).
See: docs/operations.md (what is ignored), docs/consistency.md (looking and reading).
"""

import os
import stat as stat_bits
from collections.abc import Callable, Iterable
from typing import NamedTuple

from indexerd.model import Root
from indexerd.ports import Clock
from indexerd.sync.surroundings import read_own_file

# For so long after a write a second one may leave the stat as it is.
_RACY_NS = 2_200_000_000
# A list of files that changes each time it is asked for is taken as it is after this many times.
_ATTEMPTS = 3


class _Seen(NamedTuple):
    """One file at one moment.

    Attributes:
        stat: What a write, a move or a change of mode changes; of a folder that it is one; empty if it is not there.
        text: Its bytes, where the stat was too recent to be trusted.
    """

    stat: tuple[int, ...]
    text: bytes | None = None


class OutsideRules:
    """Notices changes of the files that rule a root from outside of it. Not safe for threads by itself.

    They are asked for, not watched: they may lie in folders that are not there yet, or in busy ones.
    """

    def __init__(
        self,
        roots: Iterable[Root],
        files_of: Callable[[Root], Iterable[bytes]],
        clock: Clock,
        met_in: Callable[[Root], frozenset[bytes]] = lambda _: frozenset(),
    ) -> None:
        """Look at the files; whoever reads the rules afterwards is told of each change since.

        Args:
            roots: The roots.
            files_of: Returns the files for a root, whether they exist or not. May raise `OSError`: then the root counts
                as changed as soon as it does not.
            clock: Time.
            met_in: Returns the folders that looks into a root have met and that make `files_of` return more files. A
                root where these are others than before counts as changed: what the look read may have been written
                between that and the first stat here.
        """
        self._files_of, self._clock, self._met_in = files_of, clock, met_in
        self._seen: dict[bytes, _Seen] = {}
        self._files: dict[Root, frozenset[bytes] | None] = dict.fromkeys(roots)
        self._met: dict[Root, frozenset[bytes]] = {}
        for root in self._files:
            self._learn(root)

    def changed(self) -> list[Root]:
        """Return the roots of whose files any changed since the last call, or might have."""
        moved = {path for path, before in tuple(self._seen.items()) if self._differs(path, before)}
        found = [root for root, files in self._files.items() if files is None or not moved.isdisjoint(files)]
        found += [root for root, met in self._met.items() if root not in found and met != self._met_in(root)]
        return [root for root in found if self._learn(root)]

    def _learn(self, root: Root) -> bool:
        """Find out which files there are for a root and what they are now; return whether that could be done."""
        self._files[root], self._met[root] = None, self._met_in(root)
        try:
            files = frozenset(self._files_of(root))
            for _ in range(_ATTEMPTS):
                self._seen.update((path, self._look(path)) for path in files)
                before, files = files, frozenset(self._files_of(root))
                # Which files there are is said by some of them: what is remembered must not be newer than that.
                if files == before:
                    break
        except OSError:
            return False
        self._files[root] = files
        return True

    def _look(self, path: bytes) -> _Seen:
        now = self._clock.now_ns()
        stat = _stat(path)
        return _Seen(stat, read_own_file(path) if _is_racy(stat, now) else None)

    def _differs(self, path: bytes, before: _Seen) -> bool:
        now = self._clock.now_ns()
        if _stat(path) != before.stat:
            return True
        if before.text is not None:
            try:
                if read_own_file(path) != before.text:
                    return True
            except OSError:
                return False
            if not _is_racy(before.stat, now):
                self._seen[path] = _Seen(before.stat)
        return False


def _stat(path: bytes) -> tuple[int, ...]:
    try:
        found = os.stat(path)  # noqa: PTH116 -- bytes
    except OSError:
        return ()
    if stat_bits.S_ISDIR(found.st_mode):
        # Its times change with whatever is done in it, which is not what matters.
        return (stat_bits.S_IFDIR,)
    return (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino, found.st_dev, found.st_mode)


def _is_racy(stat: tuple[int, ...], now_ns: int) -> bool:
    """Whether a file was written so recently, or seems so, that its stat does not tell of the next write."""
    return len(stat) > 1 and max(stat[:2]) > now_ns - _RACY_NS
