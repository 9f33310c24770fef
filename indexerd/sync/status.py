"""What the sync says about itself: frozen values for `status`, `sync` and the barrier.

Owns: the shape of these values and how the one-word state follows from them.
Knows nothing of: how they come about, how they are shown.
Invariants: 1. `current` is said only when all that was seen is published. 2. every degraded state has the problem that
    says which promise is weaker.
Purity: pure.
See: docs/protocol.md (status, sync, metrics), docs/operations.md (problems).
"""

from collections.abc import Iterable
from typing import Literal, NamedTuple

from indexerd.model import SourcePath
from indexerd.sync.problems import Problem

State = Literal["building", "current", "pending", "degraded"]
BarrierState = Literal["current", "pending", "building"]


class Barrier(NamedTuple):
    """The answer to "is everything written before now searchable?", and how long it took to say so.

    Attributes:
        state: The answer.
        waited_seconds: How long it took.
        number: Stands for what was waited for: with it the wait can be gone on with.
        named: All that an event named by itself is searchable: what is missing is being done in bulk.
        failure: Why the rest, or a whole root, is not searchable, where waiting longer would not help.
    """

    state: BarrierState
    waited_seconds: float
    number: int = 0
    named: bool = False
    failure: Problem | None = None


class RootStatus(NamedTuple):
    """One root: `ok`, `missing`, `unreadable`, `not_a_directory`, `device_changed` or `bad_settings`."""

    label: str
    path: str
    state: str


class Named(NamedTuple):
    """A file and why it is skipped or held."""

    source_path: SourcePath
    reason: str


class Progress(NamedTuple):
    """How far a bulk run is, in files."""

    done: int
    total: int


class SyncStatus(NamedTuple):
    """One moment of the sync.

    Attributes:
        state: building | current | pending | degraded.
        generation: Number of the last published generation; 0 for none.
        roots: Each root with its state.
        pending: Paths known to need a look, and files still to be read.
        reconciled_age_seconds: Seconds since what the last complete scan found was published; None before the first.
        overflows: How often the kernel lost events since the start.
        watches: Folders watched.
        skipped: Files that are not indexed, with the reason; ignored ones are not listed.
        held: Documents that cannot be looked at now, with the reason.
        problems: What makes a promise weaker.
        progress: Of a bulk run; None when there is none.
    """

    state: State
    generation: int
    roots: tuple[RootStatus, ...]
    pending: int
    reconciled_age_seconds: float | None
    overflows: int
    watches: int
    skipped: tuple[Named, ...]
    held: tuple[Named, ...]
    problems: tuple[Problem, ...]
    progress: Progress | None


class SyncReport(NamedTuple):
    """What one run of the sync did; counts are of documents. A root that cannot be looked at is skipped: its label."""

    generation: int
    durable: bool
    added: int
    updated: int
    unchanged: int
    deleted: int
    skipped: tuple[Named, ...]
    held: tuple[Named, ...]
    chunks_active: int
    unsafe_chunks: int

    def complete(self) -> bool:
        """Return whether nothing was skipped or held (`sync --strict`)."""
        return not self.skipped and not self.held


def unlooked(state: State, generation: int, roots: tuple[RootStatus, ...]) -> SyncStatus:
    """Return the status of a sync of which nothing is known: it has not begun, or is another process's."""
    return SyncStatus(
        state=state,
        generation=generation,
        roots=roots,
        pending=0,
        reconciled_age_seconds=None,
        overflows=0,
        watches=0,
        skipped=(),
        held=(),
        problems=(),
        progress=None,
    )


def state_of(*, building: bool, pending: int, problems: tuple[Problem, ...]) -> State:
    """Return the one word for a moment; the weakest promise wins."""
    if building:
        return "building"
    if problems:
        return "degraded"
    return "pending" if pending else "current"


def named(entries: Iterable[tuple[SourcePath, str]]) -> tuple[Named, ...]:
    """Return files with their reasons in the order of their paths."""
    return tuple(Named(path, reason) for path, reason in sorted(entries))
