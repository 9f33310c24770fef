"""The line of a passage that matches best, and an excerpt around it with its matches.

Owns: how a hit is shown.
Knows nothing of: ranking, documents, terminals.
Invariants: 1. an excerpt is a slice of the text. 2. highlights lie inside it, ascending, without overlap. 3. a cut
    never parts a letter from its marks.
Purity: pure.
See: docs/protocol.md (hits).
"""

import unicodedata
from collections.abc import Sequence
from typing import Final, NamedTuple

from indexerd.search.outcome import Highlight

EXCERPT_CHARS: Final = 240
_JOINERS: Final = frozenset("\u200d\ufe0e\ufe0f")


Match = tuple[int, int, int]


class Shown(NamedTuple):
    """How a passage is shown. `line_offset` counts from 0, `column` is a byte from 1."""

    line_offset: int
    column: int
    excerpt: str
    highlights: tuple[Highlight, ...]


def show(
    text: str, matches: Sequence[tuple[int, int, int]], weights: Sequence[float], limit: int = EXCERPT_CHARS
) -> Shown:
    """Return the best line and an excerpt of at most about `limit` characters.

    Args:
        text: The passage.
        matches: `(start, end, word)` spans in it, ascending.
        weights: What each word is worth.
        limit: Most characters; whole lines as far as they fit, at least the best line's part around its first match.
    """
    starts = _line_starts(text)
    best = _best_line(starts, matches, weights)
    start, end = starts[best], starts[best + 1]
    first = next((span for span in matches if start <= span[0] < end), None)
    at = first[0] if first else start
    column = len(text[start:at].encode("utf-8", "surrogatepass")) + 1
    low, high = _window(text, starts, best, at, limit)
    return Shown(best, column, text[low:high], _highlights(matches, low, high))


def _line_starts(text: str) -> list[int]:
    starts, at = [0], text.find("\n")
    while at >= 0:
        starts.append(at + 1)
        at = text.find("\n", at + 1)
    if starts[-1] != len(text) or len(starts) == 1:
        starts.append(len(text))
    return starts


def _best_line(starts: list[int], matches: Sequence[tuple[int, int, int]], weights: Sequence[float]) -> int:
    """Return the line whose distinct words weigh most; the first of equals; the first line without any match."""
    best, most, line, seen, worth = 0, 0.0, 0, set[int](), 0.0
    for start, _, word in matches:
        while start >= starts[line + 1]:
            line, worth, seen = line + 1, 0.0, set()
        if word not in seen:
            seen.add(word)
            worth += weights[word]
        if worth > most:
            best, most = line, worth
    return best


def _window(text: str, starts: list[int], best: int, at: int, limit: int) -> tuple[int, int]:
    low, high = starts[best], starts[best + 1]
    if high - low > limit:
        return _cut(text, low, _content_end(text, low, high), at, limit)
    first, last = best, best + 1
    while True:
        # Below first: what follows a match says more than what precedes it.
        if last + 1 < len(starts) and starts[last + 1] - low <= limit:
            last += 1
        elif first > 0 and starts[last] - starts[first - 1] <= limit:
            first -= 1
            low = starts[first]
        else:
            break
    return _trim(text, low, starts[last])


def _content_end(text: str, low: int, high: int) -> int:
    while high > low and text[high - 1] in "\r\n":
        high -= 1
    return high


def _trim(text: str, low: int, high: int) -> tuple[int, int]:
    """Drop empty lines at the edges."""
    high = _content_end(text, low, high)
    while low < high and text[low] in "\r\n":
        low += 1
    return low, high


def _cut(text: str, low: int, high: int, at: int, limit: int) -> tuple[int, int]:
    """Take `limit` characters of one line around a match, at spaces where there are some."""
    start = max(low, min(at - limit // 4, high - limit))
    end = min(high, start + limit)
    if start > low:
        space = text.find(" ", start, min(at, start + 24))
        start = space + 1 if space >= 0 else _whole(text, start, low)
    if end < high:
        space = text.rfind(" ", max(at, end - 24), end)
        end = space if space > at else _whole(text, end, start)
    return start, end


def _whole(text: str, at: int, low: int) -> int:
    """Move a cut back until it does not part a letter from the marks and joiners behind it."""
    while low < at < len(text) and (
        unicodedata.combining(text[at])
        or text[at] in _JOINERS
        or text[at - 1] == "\u200d"
        or unicodedata.category(text[at]) in ("Mn", "Mc", "Me", "Sk")
    ):
        at -= 1
    return at


def _highlights(matches: Sequence[tuple[int, int, int]], low: int, high: int) -> tuple[Highlight, ...]:
    spans: list[Highlight] = []
    for match_start, match_end, _ in matches:
        start, end = max(match_start, low), min(match_end, high)
        if start >= end:
            continue
        if spans and start < spans[-1].end:
            spans[-1] = Highlight(spans[-1].start, max(end, spans[-1].end))
        else:
            spans.append(Highlight(start, end))
    return tuple(Highlight(start - low, end - low) for start, end in spans)
