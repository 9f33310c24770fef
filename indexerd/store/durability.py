"""What the disk is known to hold.

Owns: what is known to be flushed, what must never be flushed again, and the order data, manifest, directory, slot.
Knows nothing of: when a checkpoint is due, how generations are made.
Invariants: 1. the durable slot names only files whose bytes and names were flushed before it moved. 2. a file whose
    flush failed is dead: never flushed again. 3. whatever a durable slot names that may be the one on disk is protected
    from collection.
Purity: shell (the state directory, through the port).
See: docs/consistency.md (checkpoint).
"""

from collections.abc import Sequence

from indexerd.ports import StoreFilesystem
from indexerd.store.layout import FileName, Kind, SlotName, parse_name
from indexerd.store.publish import commit, numbered
from indexerd.store.slots import Slot
from indexerd.store.staging import Staging
from indexerd.store.state import State


class Durability:
    """What the disk is known to hold. Used by one thread at a time (the store's durable lock)."""

    def __init__(
        self, fs: StoreFilesystem, staging: Staging, *, slot: Slot | None, flushed: frozenset[str], dead: frozenset[str]
    ) -> None:
        """Start from what was found on disk.

        Args:
            fs: The state directory.
            staging: Writes files.
            slot: The durable slot, if it can be read.
            flushed: Every file it names.
            dead: Files of an earlier process that were not known to be flushed: a flush of theirs may have failed,
                so they are treated as if it had.
        """
        self._fs = fs
        self._staging = staging
        self._flushed = flushed
        self._protected = flushed
        self._dead = dead
        self.slot = slot

    @property
    def generation(self) -> int:
        """Newest generation that is known to outlive a power cut; 0 if none."""
        return self.slot.newest.generation if self.slot else 0

    @property
    def protected(self) -> frozenset[str]:
        """Files that a durable slot names which may be the one on disk."""
        return self._protected

    def unflushed(self, state: State) -> frozenset[str]:
        """Return the files of a state that are not known to be flushed."""
        return state.names() - self._flushed

    def dead_files(self, state: State) -> frozenset[str]:
        """Return the files of a state that have to be written anew before it can be made durable."""
        self._dead &= state.names()
        return self._dead

    def condemn(self, names: frozenset[str]) -> None:
        """Let files that were found damaged count as dead."""
        self._dead |= names

    def flush(self, state: State, slot: Slot) -> None:
        """Make a state durable.

        Args:
            state: None of its files is dead.
            slot: What the durable slot will say.

        Raises:
            OSError: The durable slot did not move. Try again; files whose flush failed are dead now.
            DurabilityUnknownError: It moved, and may or may not outlive a power cut. Try again.
        """
        pending = self.unflushed(state)
        self._flush_files(sorted(pending, key=_segments_first))
        self._protected |= state.names()
        slot = numbered(self._staging, slot)
        commit(self._fs, self._staging, slot, SlotName.DURABLE, flush=True)
        self.slot = slot
        self._flushed = self._protected = state.names()

    def _flush_files(self, pending: Sequence[str]) -> None:
        for name in pending:
            try:
                self._fs.flush_file(name)
            except (OSError, MemoryError):
                self._dead |= {name}
                raise
        if not pending:
            return
        try:
            self._fs.flush_directory()
        except (OSError, MemoryError):
            # Which of the names were lost is not known: all of them get new ones.
            self._dead |= frozenset(pending)
            raise
        self._flushed |= frozenset(pending)


def _segments_first(name: str) -> tuple[bool, str]:
    parsed = parse_name(name)
    return (not (isinstance(parsed, FileName) and parsed.kind is Kind.SEGMENT), name)
