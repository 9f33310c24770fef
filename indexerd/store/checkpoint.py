"""When and how the current generation is made durable.

Owns: the schedule of checkpoints, the reserve of numbers, and what comes before a flush: new names for dead files, and
    dropping the generations that history no longer keeps.
Knows nothing of: how generations are made.
Invariants: 1. no flush is waited for under the ledger's lock. 2. each checkpoint raises the ceiling; closing
    lowers it to the last number used. 3. one checkpoint at a time.
Purity: shell (the state directory, through the port; threads share it).
See: docs/consistency.md (checkpoint, ceiling).
"""

import errno
import threading
from collections.abc import Mapping

from indexerd.clock import BackOff
from indexerd.errors import CorruptionError, DurabilityUnknownError
from indexerd.model import History
from indexerd.ports import Clock, StoreFilesystem
from indexerd.store.durability import Durability
from indexerd.store.ledger import Ledger
from indexerd.store.manifest import FileRef
from indexerd.store.retention import history_limit_bytes, plan_retention
from indexerd.store.rewrite import rewritten
from indexerd.store.segment import Segment
from indexerd.store.staging import Staging
from indexerd.store.state import State, durable, pruned
from indexerd.store.statistics import Counters

# Numbers set aside with each durable slot. A restart that was no clean close skips what is left of them.
# So many that no publish waits for a flush, which takes seconds where the disk is busy with something else.
RESERVED_GENERATIONS = 4096
CHECKPOINT_SECONDS = 0.5
CHECKPOINT_BYTES = 4 << 20
LONGEST_RETRY_SECONDS = 30.0


class Checkpoints:
    """Makes the ledger's state durable."""

    def __init__(  # noqa: PLR0913 - the store hands on what it was opened with
        self,
        fs: StoreFilesystem,
        clock: Clock,
        staging: Staging,
        ledger: Ledger,
        durability: Durability,
        *,
        history: History,
    ) -> None:
        """Start from what was found on disk; `history` says what is kept of it."""
        self._fs, self._clock, self._staging = fs, clock, staging
        self._ledger, self._durability = ledger, durability
        self.counters = Counters()
        self._history = history
        self._retry_at = 0.0
        self._back_off = BackOff(longest=LONGEST_RETRY_SECONDS)
        self._healed: Mapping[FileRef, Segment] = {}
        # One checkpoint or collection at a time. Taken before the ledger's lock.
        self.lock = threading.RLock()
        if durability.unflushed(ledger.state):
            ledger.note_unsynced()

    def run(self) -> None:
        """Make the current generation durable.

        Raises:
            OSError: The last durable generation is still the one that is. Try again.
            DurabilityUnknownError: The disk did not confirm the last step. Try again.
            CorruptionError: Written bytes are lost. Open the store again.
        """
        with self.lock:
            try:
                self._run(closed=False)
            except (OSError, DurabilityUnknownError, CorruptionError, MemoryError) as error:
                self.counters.failed_checkpoint(str(error))
                self._retry_at = self._clock.monotonic() + self._back_off.failed(error)
                raise
            self._back_off.succeeded()
            self.counters.made_checkpoint()

    def due(self, *, at_once: bool) -> bool:
        """Tell whether `run` should be called now.

        Args:
            at_once: Do not wait for more to come.
        """
        unsynced, now = self._ledger.unsynced, self._clock.monotonic()
        if now < self._retry_at:
            return False
        if self._is_used_up():
            # After opening, mostly: made now, in the background, it is not the first publish that waits for it.
            return self._ledger.state.slot is not None
        if unsynced.since is None:
            return self._ledger.pins_wait
        return at_once or now - unsynced.since >= CHECKPOINT_SECONDS or unsynced.length_bytes >= CHECKPOINT_BYTES

    def reserve(self) -> None:
        """Make sure that the next number may be published: no power cut may ever bring it back with other content.

        Raises:
            OSError: It may not yet. Try again.
            CorruptionError: Written bytes are lost. Open the store again.
        """
        ledger = self._ledger
        if not self._is_used_up():
            return
        with self.lock:
            if not self._is_used_up():
                return
            if ledger.state.slot is None:
                # A store of a new identity: no slot that could outlive a power cut has ever named a number.
                ledger.ceiling = ledger.highest + RESERVED_GENERATIONS
                return
            try:
                self._run(closed=False)
            except DurabilityUnknownError as error:
                raise OSError(errno.EIO, "no generation numbers could be reserved") from error

    def replace_damaged(self, names: frozenset[str], healed: Mapping[FileRef, Segment]) -> None:
        """Write files anew that were damaged, under new names, move both slots to them, and make that durable.

        Args:
            names: Of segments, manifests and slots.
            healed: The present value of damaged segments whose texts lay in the file; without documents whose text is
                lost and that no longer live.

        Raises: as `run`.
        """
        with self.lock:
            self._durability.condemn(names)
            self._healed = healed
            try:
                if not self._durability.dead_files(self._ledger.state):
                    with self._ledger.lock:
                        # A slot is what was damaged: it moves, and the other one after it.
                        self._ledger.exchange(self._ledger.state)
                self.run()
            finally:
                self._healed = {}

    def close(self) -> None:
        """Make the current generation durable and give back the reserved numbers. Raises as `run`."""
        with self.lock:
            if self.closed():
                return
            try:
                self._run(closed=True)
            except OSError:
                # There is no later time: what could not be flushed is written anew, once.
                self._run(closed=True)

    def closed(self) -> bool:
        """Tell whether there is nothing to do on closing: nothing was committed since the last clean close."""
        reached, slot = self._durability.slot, self._ledger.state.slot
        return slot is None or (reached is not None and reached.closed and reached.revision >= slot.revision)

    def _is_used_up(self) -> bool:
        """Tell whether no number is left that may be published without a checkpoint."""
        return self._ledger.highest >= self._ledger.ceiling

    def _run(self, *, closed: bool) -> None:
        self._heal()
        if not closed:
            self._ledger.keep_pins()
        self._prune()
        ledger = self._ledger
        with ledger.lock:
            state, taken, highest = ledger.state, ledger.unsynced, ledger.highest
        if state.slot is None:
            return
        if not self._has_reached(state, closed=closed):
            ceiling = highest if closed else highest + RESERVED_GENERATIONS
            self._durability.flush(state, state.slot._replace(ceiling=ceiling, closed=closed))
        # Also after an attempt that moved the slot and failed behind it.
        assert self._durability.slot is not None
        with ledger.lock:
            ledger.ceiling = self._durability.slot.ceiling
            ledger.note_synced(state, taken)
            if ledger.state.generation <= self._durability.generation:
                ledger.state = durable(ledger.state)

    def _has_reached(self, state: State, *, closed: bool) -> bool:
        reached, ledger = self._durability.slot, self._ledger
        assert state.slot is not None
        same = reached is not None and reached.revision == state.slot.revision and reached.closed == closed
        return same and ledger.highest < ledger.ceiling and not self._durability.unflushed(state)

    def _heal(self) -> None:
        """Give files whose flush failed, or that were damaged, new names: they must never be flushed again."""
        if not self._durability.dead_files(self._ledger.state):
            return
        with self._ledger.lock:
            state = self._ledger.state
            dead = self._durability.dead_files(state)
            new, written = rewritten(self._fs, self._staging, state, dead, self._healed)
            try:
                self._ledger.exchange(new, staged=written)
            except BaseException:
                self._staging.discard(written)
                raise

    def _prune(self) -> None:
        """Drop the generations that history no longer keeps, from `latest` first."""
        with self._ledger.lock:
            state = self._ledger.state
            if state.slot is None or len(state.slot.kept) < 2:
                return
            limit = history_limit_bytes(state.manifests[state.generation].text_bytes, self._history.max_ratio)
            keep = plan_retention(state.slot.kept, self._clock.now_ns(), state.files_of, limit, self._history)
            if len(keep) < len(state.slot.kept):
                self._ledger.exchange(pruned(state, keep))
