"""What is still to be looked at: hints gathered, coalesced by path, handed out when due, resolved in order.

Owns: when a hint is due, what goes before what, and up to which hint everything is resolved (the barrier's question).
Knows nothing of: inotify, files, threads, the store; the clock is an argument.
Invariants: 1. a hint stays unresolved from `add` until the batch that took it is `done`: nothing falls between. 2.
    when idle a closed, moved or deleted path is due at once. 3. a path written without being closed is due when it
    settles, and at least every `LONGEST` seconds. 4. one path is one entry, however many hints name it. 5. what an
    event names goes before a look at everything, and that before what nobody waits for.
Purity: pure.
See: docs/consistency.md (events and the barrier).
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import islice
from typing import NamedTuple

# A path being written counts as settled after this long without a further write (seconds).
SETTLE = 0.1
# A path being written all the time is looked at this often all the same.
LONGEST = 1.0
# While somebody waits: long enough for an editor that truncates and writes to reach its close (its two calls are tens
# of microseconds apart), short enough to fit several times into the default wait of 100 ms.
HURRIED = 0.03
# So many named paths are handed out alone although everything is to be looked at anyway: a save must not wait for that.
FEW_PATHS = 64
# What nobody waits for is handed out in portions that take a few milliseconds: a save waits for one of them at most.
IDLE_PATHS = 64

# The number of what nobody waits for: larger than any.
NOBODY = 1 << 62


class Kind(Enum):
    """What an event says about the writer: it is done with the path, still at it, or only touched the inode."""

    DONE = "done"
    WRITING = "writing"
    TOUCHED = "touched"


class Writing(Enum):
    """What the waiting events say of a file: nothing, that it was written to in place and closed, or not closed yet."""

    NO = "no"
    WAS = "was"
    IS = "is"


class Hint(NamedTuple):
    """A path to look at.

    Attributes:
        path: Absolute, as bytes, in the spelling of the root.
        kind: Whether a writer may still have it open.
        tree: A folder: everything below it is to be looked at too.
    """

    path: bytes
    kind: Kind = Kind.DONE
    tree: bool = False


class Taken(NamedTuple):
    """A hint handed out.

    Attributes:
        path: Absolute, as bytes.
        tree: Everything below it is to be looked at.
        oldest: Number of the first hint in it; kept when it is put back.
        first: Moment of that hint; kept too.
        writing: A writer has it open, as far as is known.
    """

    path: bytes
    tree: bool
    oldest: int
    first: float
    writing: bool = False


class Batch(NamedTuple):
    """What is to be done now; give it back with `done`, or entry by entry with `put_back`.

    Attributes:
        hints: Paths to look at, oldest first.
        reconcile: Everything is to be looked at.
        doubt: Number of the oldest doubt this batch resolves; 0 when nobody waits for one.
        oldest: Number of its oldest hint or doubt: what is put back for it keeps that number.
    """

    hints: tuple[Taken, ...]
    reconcile: bool
    doubt: int
    oldest: int


@dataclass(slots=True)
class _Entry:
    oldest: int
    first: float
    last: float
    writing: bool
    tree: bool
    urgent: bool = False
    written: bool = False
    not_before: float = 0.0


@dataclass(slots=True)
class Pending:
    """The hints that wait and those in work. Not safe for threads by itself: its owner holds one lock."""

    _number: int = 0
    _hurried_through: int = 0
    _waiting: dict[bytes, _Entry] = field(default_factory=dict)
    # How many entries in work carry a number: what is put back may share one.
    _in_work: Counter[int] = field(default_factory=Counter)
    _doubts: list[int] = field(default_factory=list)
    _doubt_not_before: float = 0.0
    _survey_wanted: bool = False
    # As `_in_work`, for what is being done in bulk: it may take long, and newer hints do not wait for it.
    _in_bulk: Counter[int] = field(default_factory=Counter)
    # What nobody waits for, each with whether it is a tree: oldest first, apart from the rest since it may be much.
    _idle: dict[bytes, bool] = field(default_factory=dict)
    _idle_not_before: float = 0.0

    def add(self, hints: Iterable[Hint], now: float, *, urgent: bool = False, idle: bool = False) -> int:
        """Take hints in; return the number of the last one ever taken.

        Args:
            hints: Paths to look at.
            now: The present moment.
            urgent: They go before everything else.
            idle: No cause is known, only time has passed: nobody waits for these.
        """
        for hint in hints:
            entry = self._waiting.get(hint.path)
            if idle and entry is None:
                self._idle[hint.path] = self._idle.get(hint.path, False) or hint.tree
                continue
            number = NOBODY if idle else self._next_number()
            if entry is None:
                writing = hint.kind is Kind.WRITING
                tree = self._idle.pop(hint.path, False) or hint.tree
                self._waiting[hint.path] = _Entry(number, now, now, writing, tree, urgent, writing)
                continue
            entry.oldest = min(entry.oldest, number)
            entry.written = entry.written or hint.kind is Kind.WRITING
            entry.urgent = entry.urgent or urgent
            entry.tree = entry.tree or hint.tree
            if hint.kind is not Kind.TOUCHED:
                entry.writing = hint.kind is Kind.WRITING
                entry.last = now
        return self._number

    def doubt(self, not_before: float = 0.0) -> int:
        """Ask for everything to be looked at, not before a moment; several doubts become one."""
        self._doubts.append(self._next_number())
        self._doubt_not_before = max(self._doubt_not_before, not_before)
        return self._number

    def survey(self) -> None:
        """Ask for everything to be looked at for no known cause: nobody waits for it."""
        self._survey_wanted = True

    def hurry(self, through: int) -> None:
        """Make every hint up to a number due as soon as it may be read: somebody waits for it."""
        self._hurried_through = max(self._hurried_through, through)

    def last(self) -> int:
        """Return the number of the last hint or doubt ever taken."""
        return self._number

    def rest(self, until: float) -> None:
        """Hand out nothing that nobody waits for before a moment."""
        self._idle_not_before = until

    def next_due(self, *, surveys: bool = True) -> float | None:
        """Return the moment when something becomes due (maybe past); None while nothing waits."""
        moments = [self._due(entry) for entry in self._waiting.values()]
        if surveys and (self._doubts or self._survey_wanted):
            moments.append(self._doubt_not_before)
        if surveys and self._idle:
            moments.append(self._idle_not_before)
        return min(moments, default=None)

    def take(self, now: float, limit: int, *, surveys: bool = True) -> Batch | None:
        """Hand out what is due and goes first, oldest first, at most `limit` paths; None if nothing is due.

        Urgent paths come alone; then a few named ones alone, so that they do not wait for a look at everything; then
        that look, with the named ones if they are many; then a portion of what nobody waits for. Without `surveys`
        (a bulk run is under way) the last two stay for another time.
        """
        due = [(path, entry) for path, entry in self._waiting.items() if self._due(entry) <= now]
        urgent = [item for item in due if item[1].urgent]
        hints = self._hand_out(urgent or due, limit)
        few = bool(urgent) or 0 < len(hints) <= FEW_PATHS
        doubt, reconcile = self._take_doubts(now) if surveys and not few else (0, False)
        if surveys and not hints and not reconcile and self._idle_not_before <= now:
            hints = [Taken(path, self._idle.pop(path), NOBODY, now) for path in [*islice(self._idle, IDLE_PATHS)]]
        return self._as_batch(hints, doubt=doubt, reconcile=reconcile)

    def take_few(self, now: float, limit: int) -> Batch | None:
        """Hand out files that are due, amid a look at everything; None where none is, or too many wait.

        Folders wait for the end of that look: what is in them may be much.
        """
        if len(self._waiting) > FEW_PATHS:
            return None
        due = [(path, e) for path, e in self._waiting.items() if not e.tree and self._due(e) <= now]
        return self._as_batch(self._hand_out(due, limit))

    def _hand_out(self, due: Iterable[tuple[bytes, _Entry]], limit: int) -> list[Taken]:
        chosen = sorted(due, key=lambda item: item[1].oldest)[:limit]
        for path, _ in chosen:
            del self._waiting[path]
        return [Taken(path, entry.tree, entry.oldest, entry.first, entry.writing) for path, entry in chosen]

    def _as_batch(self, hints: Sequence[Taken], *, doubt: int = 0, reconcile: bool = False) -> Batch | None:
        self._in_work.update(hint.oldest for hint in hints)
        if not hints and not reconcile:
            return None
        batch = Batch(tuple(hints), reconcile, doubt, NOBODY)
        return batch._replace(oldest=min(_numbers(batch), default=NOBODY))

    def in_bulk(self, batch: Batch) -> None:
        """Note that what was handed out takes long (a bulk run, a look at everything): `named_through` passes it."""
        numbers = Counter(_numbers(batch))
        self._in_work -= numbers
        self._in_bulk += numbers

    def undo(self, batch: Batch, now: float, not_before: float) -> None:
        """Take a whole batch back as if it had never been handed out, to come again not before a moment."""
        self.put_back(batch.hints, now, not_before=not_before)
        if batch.reconcile:
            self._doubts.append(batch.doubt or self._next_number())
            self._doubt_not_before = max(self._doubt_not_before, not_before)
        self.done(batch)

    def done(self, batch: Batch) -> None:
        """Resolve what `take` handed out, save what was put back since."""
        numbers = Counter(_numbers(batch))
        left = numbers - self._in_bulk
        self._in_bulk -= numbers
        self._in_work -= left

    def put_back(self, hints: Iterable[Taken], now: float, *, not_before: float = 0.0) -> None:
        """Return hints that could not be finished: they stay unresolved and come again, not before a moment."""
        for hint in hints:
            entry = self._waiting.get(hint.path)
            if entry is None:
                self._idle.pop(hint.path, None)
                entry = _Entry(hint.oldest, hint.first, now, hint.writing, hint.tree)
                self._waiting[hint.path] = entry
            entry.oldest = min(entry.oldest, hint.oldest)
            entry.first = min(entry.first, hint.first)
            entry.tree = entry.tree or hint.tree
            entry.not_before = max(entry.not_before, not_before)

    def writing(self, path: bytes) -> Writing:
        """Return what the waiting hints say of a file: what was just read may be half of a save in place."""
        entry = self._waiting.get(path)
        if entry is None or not (entry.writing or entry.written):
            return Writing.NO
        return Writing.IS if entry.writing else Writing.WAS

    def abandon(self) -> tuple[bytes, ...]:
        """Drop all that waits, unresolved as it is; return the paths."""
        paths = tuple(self._waiting)
        self._waiting.clear()
        self._idle.clear()
        self._doubts.clear()
        return paths

    def resolved_through(self) -> int:
        """Return the largest number up to which every hint and doubt is resolved."""
        return min(self.named_through(), min((*self._in_bulk, *self._doubts), default=NOBODY) - 1)

    def named_through(self) -> int:
        """Return the largest number up to which every hint is resolved that is not being done in bulk."""
        unresolved = [entry.oldest for entry in self._waiting.values()]
        unresolved.extend(self._in_work)
        return min(min(unresolved, default=NOBODY) - 1, self._number)

    def count(self) -> int:
        """Return how many paths and doubts wait or are in work, save those that nobody waits for."""
        waiting = sum(entry.oldest != NOBODY for entry in self._waiting.values())
        at_work = self._in_work + self._in_bulk
        return waiting + at_work.total() - at_work[NOBODY] + bool(self._doubts)

    def doubtful(self) -> bool:
        """Return whether everything still has to be looked at."""
        return bool(self._doubts)

    def _next_number(self) -> int:
        self._number += 1
        return self._number

    def _take_doubts(self, now: float) -> tuple[int, bool]:
        """Return the number that stands for all doubts (0: nobody waits), and whether everything is to be looked at."""
        if not (self._doubts or self._survey_wanted) or self._doubt_not_before > now:
            return 0, False
        # The oldest: `resolved_through` must not pass any of them.
        oldest = min(self._doubts, default=0)
        self._doubts.clear()
        self._doubt_not_before = 0.0
        self._survey_wanted = False
        if oldest:
            self._in_work[oldest] += 1
        return oldest, True

    def _due(self, entry: _Entry) -> float:
        settled = entry.first
        if entry.writing:
            hurried = entry.oldest <= self._hurried_through
            settled = entry.last + HURRIED if hurried else min(entry.last + SETTLE, entry.first + LONGEST)
        return max(settled, entry.not_before)


def _numbers(batch: Batch) -> list[int]:
    return [hint.oldest for hint in batch.hints] + ([batch.doubt] if batch.doubt else [])
