"""The line of a passage that matches best, and an excerpt around it with its matches.

Owns: how a hit is shown.
Knows nothing of: ranking, documents, terminals.
Invariants: 1. an excerpt is a slice of the text. 2. highlights lie inside it, ascending, without overlap. 3. a cut
    never parts a letter from its marks.
Purity: pure.
See: docs/protocol.md (hits).
"""

import unicodedata
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
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


def show(text: str, matches: Sequence[Match], weights: Sequence[float], limit: int = EXCERPT_CHARS) -> Shown:
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
    at = next((first for first, _, _ in matches if start <= first < end), start)
    column = len(text[start:at].encode("utf-8", "surrogatepass")) + 1
    low, high = _window(text, starts, best, at, limit)
    return Shown(best, column, text[low:high], _highlights(matches, low, high))


def _line_starts(text: str) -> list[int]:
    lines = text.split("\n")
    starts = [0, *accumulate(map((1).__add__, map(len, lines)))]
    # Behind the last line feed there is no line, unless it is the only one.
    if len(lines) > 1 and not lines[-1]:
        starts.pop()
    else:
        starts[-1] = len(text)
    return starts


def _best_line(starts: list[int], matches: Sequence[Match], weights: Sequence[float]) -> int:
    """Return the line whose distinct words weigh most; the first of equals; the first line without any match."""
    best, most, line, end, seen, worth = 0, 0.0, 0, starts[1], set[int](), 0.0
    for start, _, word in matches:
        if start >= end:
            line = bisect_right(starts, start, line) - 1
            end, seen, worth = starts[line + 1], set(), 0.0
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


def _highlights(matches: Sequence[Match], low: int, high: int) -> tuple[Highlight, ...]:
    spans: list[tuple[int, int]] = []
    for match_start, match_end, _ in matches:
        if match_start >= high:
            break
        start, end = max(match_start, low) - low, min(match_end, high) - low
        if start >= end:
            continue
        if spans and start < spans[-1][1]:
            spans[-1] = spans[-1][0], max(end, spans[-1][1])
        else:
            spans.append((start, end))
    return tuple(map(Highlight._make, spans))
