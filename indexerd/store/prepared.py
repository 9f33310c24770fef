"""A generation that is written and not published.

Owns: what is known of a generation before it has a number.
Knows nothing of: files, when it is published.
Invariants: 1. a value never changes: a publish that fails can be tried again with the same one.
Purity: pure.
See: docs/consistency.md (commit).
"""

from dataclasses import dataclass

from indexerd.store.parts import Stored
from indexerd.store.slots import Change


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PreparedGeneration:
    """Segments that are written and named by nothing: to be published or aborted.

    Attributes:
        parent: Generation that was current when it was prepared.
        stored: Its segments, oldest first.
        own: Files of those that were written for it; the others were staged before.
        settings: Settings fingerprint of the generation it would make.
        change: What it would change.
        replace_all: It holds all there is: nothing of the parent stays.
        partial: It is a step on the way to a first index.
        begun: Moment of the monotonic clock when its first byte was written.
    """

    parent: int
    stored: tuple[Stored, ...]
    own: tuple[str, ...]
    settings: str
    change: Change
    replace_all: bool
    partial: bool
    begun: float

    @property
    def length_bytes(self) -> int:
        """Bytes of its segments in the state directory."""
        return sum(one.ref.file.length for one in self.stored)
