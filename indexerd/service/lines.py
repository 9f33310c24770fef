"""Lines of a document that stands on disk now: cut out, and found again by the hash of their text.

Owns: how a moved passage is looked for.
Knows nothing of: files, roots, who asks.
Invariants: 1. lines are what `sed -n 'FIRST,LASTp'` prints. 2. the work of looking is bounded, whatever the document.
Purity: pure.
See: docs/protocol.md (verify).
"""

from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import chain, islice
from typing import NamedTuple

from indexerd.digests import content_hash
from indexerd.documents.decoding import decode, is_decoded
from indexerd.model import ContentHash, LineSpan

# What may be hashed while looking for a moved passage: about half a second of SHA-256.
_LOOKED_AT_BYTES = 256 << 20
_MOST_PLACES = 10
_FAR = 20


class Places(NamedTuple):
    """Where a text stands, nearest to where it was first; `complete` unless the bound on looking was reached."""

    spans: tuple[LineSpan, ...]
    complete: bool


class Lines:
    """A document's text with the start of each line."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        self.text = decode(raw).text
        pieces = self.text.split("\n")
        self.count = len(pieces) - (not pieces[-1])
        starts = [0]
        for piece in pieces[: self.count]:
            starts.append(starts[-1] + len(piece) + 1)
        starts[-1] = len(self.text)
        self._starts = starts

    def has(self, span: LineSpan) -> bool:
        """Tell whether the document has all these lines."""
        return span.last <= self.count

    def cut(self, span: LineSpan) -> str:
        """Return the text of lines that the document has."""
        return self.text[self._starts[span.first - 1] : self._starts[span.last]]

    def is_decoded(self, span: LineSpan) -> bool:
        """Whether the text of lines is not their bytes."""
        return is_decoded(self._raw, *span)

    def hash_of(self, span: LineSpan) -> ContentHash:
        """Return the hash of the text of lines that the document has."""
        return content_hash(self.cut(span).encode())

    def find(self, wanted: ContentHash, near: LineSpan) -> Places:
        """Return where as many lines as `near` has, with this hash, stand now."""
        length = near.last - near.first + 1
        found: list[LineSpan] = []
        left = _LOOKED_AT_BYTES
        for first in _outward(near.first, self.count - length + 1):
            span = LineSpan(first, first + length - 1)
            left -= self._starts[span.last] - self._starts[first - 1]
            if left < 0 or len(found) == _MOST_PLACES:
                return Places(tuple(found), complete=False)
            if self.hash_of(span) == wanted:
                found.append(span)
        return Places(tuple(found), complete=True)


def region_of(old: Sequence[str], new: Sequence[str], near: LineSpan) -> LineSpan:
    """Return which lines of a document stand where some others stood; it has at least one line.

    Args:
        old: The lines that stood there.
        new: Those of the document now.
        near: Where they stood; decides where none of them is left.
    """
    blocks = SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()[:-1]
    longest = max(blocks, key=lambda block: block.size, default=None)
    first = near.first if longest is None else longest.b - longest.a + 1
    # Lines that are too far away to be the same passage say nothing of where it ends.
    reach = 2 * len(old) + _FAR
    near_blocks = [block for block in blocks if abs(block.b + 1 - first) <= reach]
    if near_blocks:
        first, last = near_blocks[0].b - near_blocks[0].a + 1, near_blocks[-1].b + len(old) - near_blocks[-1].a
    else:
        last = first + len(old) - 1
    first = min(max(first, 1), len(new))
    return LineSpan(first, min(max(last, first), len(new)))


def _outward(middle: int, last: int) -> chain[int]:
    """Yield 1..last by distance from `middle`, the earlier of two at the same distance first."""
    middle = max(1, min(middle, last))
    pairs = ((middle - step, middle + step) for step in range(1, max(last, 1)))
    steps = (number for pair in pairs for number in pair if 1 <= number <= last)
    return chain(islice((middle,), 1 if last > 0 else 0), steps)
