"""Lines of a document that stands on disk now: cut out, and found again by the hash of their text.

Owns: how a moved passage is looked for.
Knows nothing of: files, roots, who asks.
Invariants: 1. lines are what `sed -n 'FIRST,LASTp'` prints. 2. the work of looking is bounded, whatever the document.
Purity: pure.
See: docs/protocol.md (verify).
"""

from itertools import chain, islice
from typing import NamedTuple

from indexerd.digests import content_hash
from indexerd.documents.decoding import decode
from indexerd.model import ContentHash, LineSpan

# What may be hashed while looking for a moved passage: about half a second of SHA-256.
_LOOKED_AT_BYTES = 256 << 20
_MOST_PLACES = 10


class Places(NamedTuple):
    """Where a text stands, nearest to where it was first; `complete` unless the bound on looking was reached."""

    spans: tuple[LineSpan, ...]
    complete: bool


class Lines:
    """A document's text with the start of each line."""

    def __init__(self, raw: bytes) -> None:
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


def _outward(middle: int, last: int) -> chain[int]:
    """Yield 1..last by distance from `middle`, the earlier of two at the same distance first."""
    middle = max(1, min(middle, last))
    pairs = ((middle - step, middle + step) for step in range(1, max(last, 1)))
    steps = (number for pair in pairs for number in pair if 1 <= number <= last)
    return chain(islice((middle,), 1 if last > 0 else 0), steps)
