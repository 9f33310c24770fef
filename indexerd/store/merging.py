"""Which segments are merged in the background.

Owns: the merge policy.
Knows nothing of: segments' contents, files, threads.
Invariants: 1. a merge takes a run of neighbours, so that "later wins" stays true. 2. once no merge is due, a query
    sees at most `MAX_PARTS` parts and dead chunks are less than half. 3. rewriting is logarithmic in the corpus.
Purity: pure.
See: docs/consistency.md (merge).
"""

from collections.abc import Sequence
from typing import NamedTuple

from indexerd.store.parts import MAX_PARTS, SMALL_CHUNKS, Part

# One publish adds one stored segment. Beyond this many the manifest, written with each publish, would cost more than
# the document does.
MAX_STORED = 48
# A large part is rewritten once what is merged into it reaches a quarter of it: each chunk is rewritten about four
# times for each fourfold growth.
GROWTH = 4
MAX_LARGE = MAX_PARTS - 2
MAX_LARGE_WHILE_LOADING = 8


class PartSize(NamedTuple):
    """What the policy looks at.

    Attributes:
        stored: Stored segments that the part stands for.
        chunks: Chunks in it.
        dead: Those of them whose document is dead.
    """

    stored: int
    chunks: int
    dead: int


def size_of(part: Part) -> PartSize:
    """Return what the policy looks at."""
    chunks = part.view.data.chunk_count
    return PartSize(len(part.stored), chunks, chunks - part.view.chunk_count)


def plan_merge(sizes: Sequence[PartSize], *, loading: bool = False) -> range | None:
    """Return the neighbouring parts to be written as one segment; None if no merge is due.

    Args:
        sizes: Of each part, oldest first.
        loading: Large segments are coming in quickly: wait for more of them before rewriting any.
    """
    for index, size in enumerate(sizes):
        if size.stored > MAX_STORED or (size.stored > 1 and size.chunks > SMALL_CHUNKS):
            return range(index, index + 1)
    large = [index for index, size in enumerate(sizes) if size.chunks > SMALL_CHUNKS]
    if len(large) > (MAX_LARGE_WHILE_LOADING if loading else MAX_LARGE):
        return _run_of(sizes, large)
    for index in large:
        if 2 * sizes[index].dead > sizes[index].chunks:
            return range(index, index + 1)
    if len(sizes) > MAX_PARTS and not loading:
        return _cheapest_pair(sizes)
    return None


def _run_of(sizes: Sequence[PartSize], large: Sequence[int]) -> range:
    """Return the newest large parts and everything between them, reaching back while the next is not much larger."""
    first = large[-2]
    gathered = sum(sizes[index].chunks for index in range(first, large[-1] + 1))
    for index in reversed(large[:-2]):
        if sizes[index].chunks > GROWTH * gathered:
            break
        first, gathered = index, gathered + sizes[index].chunks
    return range(first, large[-1] + 1)


def _cheapest_pair(sizes: Sequence[PartSize]) -> range:
    first = min(range(len(sizes) - 1), key=lambda index: sizes[index].chunks + sizes[index + 1].chunks)
    return range(first, first + 2)
