"""What the store tells about itself.

Owns: counters, and the immutable views that `status` and `generations` show.
Knows nothing of: how anything is done.
Invariants: 1. a view never changes.
Purity: pure, save that counters count.
See: docs/operations.md (status).
"""

from typing import NamedTuple

from indexerd.store.state import State


class StoreStatistics(NamedTuple):
    """The store at one moment.

    Attributes:
        generation: The current one.
        durable_generation: The newest known to outlive a power cut.
        replay_from: The oldest kept.
        stored_segments: Segment files of the current generation.
        viewed_segments: Segments that a query walks.
        stored_bytes: Of those files.
        live_text_bytes: Of the living documents' sources.
        history_bytes: Of files that only older generations name.
        unsynced_seconds: Age of the oldest commit that a power cut would take.
        unsynced_bytes: What was written since.
        published_at_ns: When the current one was published (wall time); 0 when nothing was.
        publishes: Since opening.
        publish_seconds: What they took in all, from the first byte written.
        merges: Since opening.
        checkpoints: Since opening.
        checkpoint_failures: In a row, up to now.
        last_error: Cause of the last failed checkpoint; empty once one succeeded.
    """

    generation: int
    durable_generation: int
    replay_from: int
    stored_segments: int
    viewed_segments: int
    stored_bytes: int
    live_text_bytes: int
    history_bytes: int
    unsynced_seconds: float
    unsynced_bytes: int
    published_at_ns: int
    publishes: int
    publish_seconds: float
    merges: int
    checkpoints: int
    checkpoint_failures: int
    last_error: str


class Counters:
    """Counts what happened since opening."""

    def __init__(self) -> None:
        self.publishes = self.merges = self.checkpoints = self.failures = 0
        self.publish_seconds = 0.0
        self.last_error = ""

    def made_publish(self, seconds: float) -> None:
        """Count a publish that took so long."""
        self.publishes += 1
        self.publish_seconds += seconds

    def made_checkpoint(self) -> None:
        """Count a checkpoint; what failed before is mended."""
        self.checkpoints += 1
        self.failures, self.last_error = 0, ""

    def failed_checkpoint(self, cause: str) -> None:
        """Count a failed checkpoint."""
        self.failures, self.last_error = self.failures + 1, cause


def statistics_of(
    state: State, counters: Counters, durable_generation: int, unsynced_seconds: float, unsynced_bytes: int
) -> StoreStatistics:
    """Return the view of a state and its counters."""
    manifest = state.manifests.get(state.generation)
    current = {ref.file for ref in manifest.segments} if manifest else set()
    kept = state.slot.kept if state.slot else ()
    older = {file for one in kept[:-1] for file in state.files_of(one)}
    return StoreStatistics(
        generation=state.generation,
        durable_generation=durable_generation,
        replay_from=state.slot.kept[0].generation if state.slot else 0,
        stored_segments=len(current),
        viewed_segments=len(state.parts),
        stored_bytes=sum(file.length for file in current),
        live_text_bytes=manifest.text_bytes if manifest else 0,
        history_bytes=sum(file.length for file in older - current),
        unsynced_seconds=unsynced_seconds,
        unsynced_bytes=unsynced_bytes,
        published_at_ns=state.slot.newest.published_at_ns if state.slot and state.slot.kept else 0,
        publishes=counters.publishes,
        publish_seconds=counters.publish_seconds,
        merges=counters.merges,
        checkpoints=counters.checkpoints,
        checkpoint_failures=counters.failures,
        last_error=counters.last_error,
    )
