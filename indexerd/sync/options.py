"""How to sync, as one value.

Owns: what can be chosen about a sync beside its roots and settings.
Knows nothing of: the configuration it comes from, what follows from a choice.
Invariants: 1. a value never changes.
Purity: pure.
See: docs/operations.md (configuration).
"""

from typing import NamedTuple

POLL_SECONDS = 10.0


class SyncOptions(NamedTuple):
    """How to sync.

    Attributes:
        max_file_bytes: Larger files are skipped.
        workers: Worker processes for bulk reading; 0 reads everything in this process.
        poll_seconds: Interval of full scans where events cannot be had.
        poll: Never rely on events.
        trust_events: Rely on events also where the kernel does not hear of what other machines change.
    """

    max_file_bytes: int
    workers: int = 2
    poll_seconds: float = POLL_SECONDS
    poll: bool = False
    trust_events: bool = False
