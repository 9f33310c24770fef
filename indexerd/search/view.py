"""What one caller may be given of one snapshot: a mask of passages per segment, and the sums that ranking needs.

Owns: the value "view" and the sums under it (N, df, total length).
Knows nothing of: why a passage is eligible (`eligibility`), scores, text.
Invariants: 1. every figure is an integer sum over eligible passages, so it does not depend on how they lie in
    segments. 2. a passage outside the mask changes no figure.
Purity: pure.
See: ARCHITECTURE.md (eligibility), docs/search.md (ranking).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from indexerd.search.bm25 import ChunkArray, FloatArray

if TYPE_CHECKING:
    from indexerd.store.parts import LiveSegment
    from indexerd.store.segment import Segment


Mask = npt.NDArray[np.bool_]

# A binary search of one chunk costs about as much as this many look-ups in the mask (measured on lists of 50,000).
_SEARCH_COST = 8


@dataclass(frozen=True, slots=True, eq=False)
class SegmentView:
    """The eligible passages of one segment.

    Attributes:
        live: The segment under its live mask.
        eligible: One bool a chunk.
        excluded: Ordinals that hold words and are not eligible, ascending.
        n: Eligible passages.
        total_length: Words in them.
        boosts: Factor of each chunk; None when all are 1.
        unsafe: Chunks withheld by the safety gate that the caller might see otherwise; None if there are none.
        superseded: Chunks of documents that a newer version replaces, likewise.
    """

    live: "LiveSegment"
    eligible: Mask
    excluded: ChunkArray
    n: int
    total_length: int
    boosts: FloatArray | None = None
    unsafe: Mask | None = None
    superseded: Mask | None = None

    @property
    def segment(self) -> "Segment":
        """Return the data under the mask."""
        return self.live.data

    @property
    def is_whole(self) -> bool:
        """Whether every chunk that holds a word is eligible."""
        return len(self.excluded) == 0

    def count(self, chunks: ChunkArray) -> int:
        """Return how many of some ascending chunks that hold words are eligible."""
        if self.is_whole:
            return len(chunks)
        if len(self.excluded) * _SEARCH_COST < len(chunks):
            places = chunks.searchsorted(self.excluded)
            places[places == len(chunks)] = 0
            return len(chunks) - int(np.count_nonzero(chunks[places] == self.excluded))
        return int(np.count_nonzero(self.eligible[chunks]))


def segment_view(
    live: "LiveSegment",
    eligible: Mask,
    *,
    boosts: FloatArray | None = None,
    unsafe: Mask | None = None,
    superseded: Mask | None = None,
) -> SegmentView:
    """Return the view of a segment under a chunk mask, with its sums."""
    lengths = live.data.lengths
    holding = lengths > 0
    return SegmentView(
        live=live,
        eligible=eligible,
        excluded=np.flatnonzero(holding & ~eligible).astype(np.int32),
        n=int(np.count_nonzero(eligible)),
        total_length=int((lengths * eligible).sum(dtype=np.uint64)),
        boosts=boosts,
        unsafe=unsafe,
        superseded=superseded,
    )


# Weakly referable: what queries worked out on a view is remembered for as long as it lives.
@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class View:
    """The eligible passages of a snapshot.

    Attributes:
        segments: In the snapshot's order.
        n: Eligible passages of all segments.
        average_length: Mean of their lengths; 1.0 where there is no word, so that norms are defined.
        max_boost: Largest factor any of them has.
    """

    segments: Sequence[SegmentView]
    n: int = field(init=False)
    average_length: float = field(init=False)
    max_boost: float = field(init=False)

    def __post_init__(self) -> None:
        n = sum(segment.n for segment in self.segments)
        total = sum(segment.total_length for segment in self.segments)
        boosts = [
            # A factor of what is not eligible would tell of it: the bonus of names grows with the largest one.
            float(segment.boosts[segment.eligible].max(initial=1.0))
            for segment in self.segments
            if segment.boosts is not None
        ]
        object.__setattr__(self, "n", n)
        object.__setattr__(self, "average_length", total / n if total else 1.0)
        object.__setattr__(self, "max_boost", max([1.0, *boosts]))
