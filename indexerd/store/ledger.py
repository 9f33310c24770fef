"""The current state, and the one way in which it is exchanged for the next.

Owns: that memory and `latest` change together; the numbers given out: generations, revisions, the ceiling.
Knows nothing of: what the next state is for.
Invariants: 1. memory equals what `latest` says. 2. a generation's number is given out at most once, also across power
    cuts: none above the ceiling that a slot on disk holds. 3. readers take no lock.
Purity: shell (the state directory, through the port; threads share it).
See: docs/consistency.md (commit point, ceiling).
"""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from indexerd.ports import Clock, StoreFilesystem
from indexerd.store.durability import Durability
from indexerd.store.layout import SlotName
from indexerd.store.manifest import UNKNOWN_VERSIONS, Versions
from indexerd.store.merge_process import MergeProcess
from indexerd.store.publish import commit, numbered
from indexerd.store.recover import OpeningReport
from indexerd.store.slots import KnownRoot
from indexerd.store.staging import Staging
from indexerd.store.state import State, pinned


class Unsynced(NamedTuple):
    """What a power cut would take.

    Attributes:
        since: Monotonic time of the oldest commit that is not durable; None if there is none.
        length_bytes: What was written since.
    """

    since: float | None = None
    length_bytes: int = 0


class Numbers(NamedTuple):
    """The counters as they were found.

    Attributes:
        highest: Last generation that was, or after a power cut may have been, published.
        ceiling: Last that may be published before a durable slot with a higher ceiling exists.
        revision: Of the last commit.
    """

    highest: int
    ceiling: int
    revision: int


@dataclass(slots=True, kw_only=True)
class Origin:
    """What opening a state directory gives the writer to start from."""

    report: OpeningReport
    state: State
    durability: Durability
    staging: Staging
    roots: tuple[KnownRoot, ...]
    numbers: Numbers
    merger: MergeProcess | None
    versions: Versions = UNKNOWN_VERSIONS
    damaged: frozenset[str] = field(default_factory=frozenset)


# Evidence that is asked for again and again is pinned once a day.
_PIN_SLACK_NS = 24 * 3600 * 10**9


class Ledger:
    """Holds the state. `state` may be read by any thread; all else under `lock`."""

    def __init__(  # noqa: PLR0913 - what the store was opened with
        self, fs: StoreFilesystem, clock: Clock, staging: Staging, state: State, numbers: Numbers, *, pin_ns: int
    ) -> None:
        """Start from what was found on disk; `pin_ns` is how long evidence keeps a generation."""
        self._fs, self._clock, self._staging = fs, clock, staging
        self._revision = numbers.revision
        self.state = state
        self.highest, self.ceiling = numbers.highest, numbers.ceiling
        self.unsynced = Unsynced()
        self._pin_ns = pin_ns
        self._pins: set[int] = set()
        # Guards the exchange of `state` with the move of `latest`. Held for short; inside only staging's lock is taken.
        self.lock = threading.RLock()

    def exchange(self, new: State, *, staged: Sequence[str] = (), written: int = 0) -> None:
        """Move `latest` to a new state and memory with it. The lock is held.

        Args:
            new: The state; its slot's revision, ceiling, serial number and closed mark are set here.
            staged: Staged files that the state names; they stay staged if the move fails.
            written: Bytes written for it.

        Raises:
            OSError: Nothing changed.
        """
        pins = frozenset(self._pins)
        new = pinned(new, pins, self._clock.now_ns() + self._pin_ns)
        assert new.slot is not None
        slot = new.slot._replace(revision=self._revision + 1, ceiling=self.ceiling, closed=False)
        slot = numbered(self._staging, slot)
        # All that needs memory comes before the move: behind it nothing can fail.
        state, unsynced = replace(new, slot=slot), self._with_unsynced(written)
        commit(self._fs, self._staging, slot, SlotName.LATEST, flush=False)
        self.state, self.unsynced, self._revision = state, unsynced, slot.revision
        self._staging.release(staged)
        self._pins -= pins

    def pin(self, generation: int) -> None:
        """Keep a generation for some time, since evidence named it; written with the next commit or checkpoint.

        Takes no lock.
        """
        kept = (
            next((one for one in self.state.slot.kept if one.generation == generation), None)
            if self.state.slot
            else None
        )
        if kept is not None and kept.pinned_until_ns - self._clock.now_ns() < self._pin_ns - _PIN_SLACK_NS:
            self._pins.add(generation)

    @property
    def pins_wait(self) -> bool:
        """Whether a generation is pinned that no slot says so of."""
        return bool(self._pins)

    def keep_pins(self) -> None:
        """Commit the pins that no commit took along. Raises `OSError` if nothing changed."""
        with self.lock:
            if self._pins:
                self.exchange(self.state)

    def note_unsynced(self) -> None:
        """Remember that a power cut would take what was found at opening."""
        self.unsynced = self._with_unsynced(0)

    def _with_unsynced(self, written: int) -> Unsynced:
        since = self._clock.monotonic() if self.unsynced.since is None else self.unsynced.since
        return Unsynced(since=since, length_bytes=self.unsynced.length_bytes + written)

    def note_synced(self, state: State, taken: Unsynced) -> None:
        """Remember that a state is durable, which had `taken` unsynced when its flush began."""
        rest = self.unsynced.length_bytes - taken.length_bytes
        # What was committed while the flush ran is unsynced since now at the latest.
        since = None if self.state.slot is state.slot else self._clock.monotonic()
        self.unsynced = Unsynced(since=since, length_bytes=rest)
