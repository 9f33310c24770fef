"""How far back history reaches.

Owns: the schedule by which generations are kept, and the limit on their bytes.
Knows nothing of: files, slots, the clock.
Invariants: 1. the newest generation is always kept. 2. what the schedule keeps today it kept yesterday: a
    generation once dropped is never wanted again. 3. with a limit of 0 nothing but the newest is kept.
Purity: pure.
See: docs/operations.md (history).
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TypeVar

from indexerd.model import History
from indexerd.store.slots import KeptGeneration

File = TypeVar("File", bound=Hashable)

# A handful of notes would otherwise have no history at all: one generation's files can exceed their text.
MIN_LIMIT_BYTES = 4 << 20
# A slot names every kept generation, and is written with each publish: it must stay small (see `codec`).
MAX_PINNED = 8192


DEFAULT_HISTORY = History()


def history_limit_bytes(live_text_bytes: int, factor: float) -> int:
    """Return how many bytes the kept generations may take beside the newest one's.

    Args:
        live_text_bytes: Bytes of the living documents' sources.
        factor: The setting; 0 keeps no history.
    """
    return max(int(factor * live_text_bytes), MIN_LIMIT_BYTES) if factor > 0 else 0


def plan_retention(
    kept: Sequence[KeptGeneration],
    now_ns: int,
    files: Callable[[KeptGeneration], Mapping[File, int]],
    limit_bytes: int,
    history: History = DEFAULT_HISTORY,
) -> frozenset[int]:
    """Return the generations to keep.

    Args:
        kept: Ascending, at least one.
        now_ns: Wall time.
        files: Sizes of a generation's files, by whatever names them.
        limit_bytes: For all files that the newest generation does not name.
        history: The schedule.
    """
    pinned = [one for one in kept[:-1] if one.pinned_until_ns > now_ns][-MAX_PINNED:]
    # Steps on the way to a first index are no history; they would keep files that merging has long replaced.
    scheduled = on_schedule(kept, now_ns, history)
    wanted = [one for one in kept[:-1] if one.generation in scheduled and not one.partial]
    counted = set(files(kept[-1]))
    keep = {kept[-1].generation}
    spent = 0
    # Newest first, for as long as their files fit.
    for group in (pinned, wanted):
        for one in reversed(group):
            new = {name: size for name, size in files(one).items() if name not in counted}
            if limit_bytes == 0 or spent + sum(new.values()) > limit_bytes:
                break
            spent += sum(new.values())
            counted |= new.keys()
            keep.add(one.generation)
    return frozenset(keep)


def on_schedule(kept: Sequence[KeptGeneration], now_ns: int, history: History = DEFAULT_HISTORY) -> frozenset[int]:
    """Return the generations that the schedule names: the last ones, and the last of each minute, hour and day."""
    keep = {one.generation for one in kept[max(len(kept) - history.generations, 0) :]}
    for span_ns, step_ns in history.steps:
        # Ascending, so the last of a step stays; a step is a piece of absolute time, so it stays the same one.
        last = {
            one.published_at_ns // step_ns: one.generation for one in kept if now_ns - one.published_at_ns < span_ns
        }
        keep |= set(last.values())
    return frozenset(keep)
