"""Where the terms stand in a stream: words, identifiers and their parts, characters of scripts without spaces.

Owns: the rules of what is a word, what joins words into an identifier, and where an identifier comes apart.
Knows nothing of: text as strings, languages, chunks.
Invariants: 1. the slow reference in the tests finds the same spans in any text. 2. no span is longer than MAX_TERM.
Purity: pure.
See: docs/search.md (analysis).
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from indexerd.analysis.characters import DIGIT, IDEOGRAPH, LOOSE, TIGHT, UPPER, WORD
from indexerd.analysis.hashing import Positions
from indexerd.analysis.stream import Stream

# Longer words are cut, longer identifiers have only their parts. A SHA-256 in hex has 64; base64 and URLs go far
# beyond and would be terms that nobody types.
MAX_TERM = 64

_DOT, _PLUS, _HASH, _COLON, _V = map(ord, ".+#:v")
_NUMBER_LINK, _TIGHT_LINK, _LOOSE_LINK = 1, 2, 3


class Spans(NamedTuple):
    """Half-open spans in a stream, by kind; within a kind ascending by start unless noted.

    Attributes:
        word_starts: Words and parts of identifiers: they are stemmed.
        word_ends: Their ends.
        whole_starts: Whole identifiers, never stemmed; in no particular order.
        whole_ends: Their ends.
        ideographs: Characters of scripts without spaces; each is a term.
        pairs: First characters of two neighbours among them; each pair is a term.
        counted: Starts of what counts into a chunk's length beside `ideographs`: a word or an outermost identifier.
    """

    word_starts: Positions
    word_ends: Positions
    whole_starts: Positions
    whole_ends: Positions
    ideographs: Positions
    pairs: Positions
    counted: Positions


def find_spans(stream: Stream) -> Spans:
    """Return the spans of every term of a stream."""
    flags = stream.flags
    starts, ends = runs(stream)
    ideographs, pairs = _spaceless(flags)
    if not len(starts):
        return Spans(starts, ends, starts, ends, ideographs, pairs, starts)
    links = _links(stream, starts, ends)
    wholes = [*_chains(links, starts, ends), *_versions(stream, links, starts, ends), *_affixed(stream, starts, ends)]
    bounds = _part_bounds(stream)
    words = (starts, ends)
    if len(bounds):
        wholes.append(_cut_runs(bounds, starts, ends))
        words = _together(starts, bounds, len(flags)), _together(ends, bounds, len(flags))
    whole_starts, whole_ends = (np.concatenate(side) for side in zip(*wholes, strict=True))
    short = whole_ends - whole_starts <= MAX_TERM
    counted = starts if links is None else starts[np.concatenate(([True], links == 0))]
    return Spans(
        words[0],
        np.minimum(words[1], words[0] + MAX_TERM),
        whole_starts[short],
        whole_ends[short],
        ideographs,
        pairs,
        counted,
    )


def runs(stream: Stream) -> tuple[Positions, Positions]:
    """Return starts and ends of the maximal runs of word characters."""
    word = (stream.flags & WORD).view(np.bool_)
    edges = np.flatnonzero(word[1:] != word[:-1]) + 1
    return edges[0::2], edges[1::2]


def _together(some: Positions, others: Positions, limit: int) -> Positions:
    """Return distinct positions below `limit`, ascending: marking them is cheaper than sorting."""
    marked = np.zeros(limit, np.bool_)
    marked[some] = True
    marked[others] = True
    return np.flatnonzero(marked)


def _spaceless(flags: npt.NDArray[np.uint8]) -> tuple[Positions, Positions]:
    ideographs = np.flatnonzero((flags & IDEOGRAPH) != 0)
    if not len(ideographs):
        return ideographs, ideographs
    neighbours = np.flatnonzero(ideographs[1:] - ideographs[:-1] == 1)
    return ideographs, ideographs[neighbours]


def _links(stream: Stream, starts: Positions, ends: Positions) -> npt.NDArray[np.uint8] | None:
    """Return how each run is linked to the next one (0: not at all); None if no two are."""
    before = ends[:-1]
    joiners = stream.flags[before] & (TIGHT | LOOSE)
    near = np.flatnonzero((joiners > 0) & (starts[1:] - before <= 2))
    if not len(near):
        return None
    at, following = before[near], starts[near + 1]
    codes, single = stream.codes[at], following - at == 1
    kinds = np.where(single, np.where(joiners[near] == TIGHT, _TIGHT_LINK, _LOOSE_LINK), 0)
    number = single & (codes == _DOT) & ((stream.flags[at - 1] & stream.flags[following] & DIGIT) > 0)
    kinds[number] = _NUMBER_LINK
    kinds[~single & (codes == _COLON) & (stream.codes[at + 1] == _COLON)] = _LOOSE_LINK
    links = np.zeros(len(before), np.uint8)
    links[near] = kinds
    return links


def _chains(
    links: npt.NDArray[np.uint8] | None, starts: Positions, ends: Positions
) -> list[tuple[Positions, Positions]]:
    """Return identifiers made of several runs, at each of the three levels: `6.2.8`, `auth-6.2.8`, `auth-6.2.8/x`."""
    if links is None:
        return []
    found = []
    linked = np.flatnonzero(links)
    kinds = links[linked]
    for level in (_NUMBER_LINK, _TIGHT_LINK, _LOOSE_LINK):
        if not (kinds == level).any():
            continue
        inside = kinds <= level
        chain, chain_kinds = linked[inside], kinds[inside]
        heads = np.flatnonzero(np.diff(chain, prepend=-2) != 1)
        # A chain without a link of this level was already found one level below.
        own = np.maximum.reduceat(chain_kinds, heads) == level
        tails = np.append(heads[1:], len(chain)) - 1
        found.append((starts[chain[heads[own]]], ends[chain[tails[own]] + 1]))
    return found


def _versions(
    stream: Stream, links: npt.NDArray[np.uint8] | None, starts: Positions, ends: Positions
) -> list[tuple[Positions, Positions]]:
    """Return `6.2.8` for each `v6.2.8`: people ask for the number without the letter."""
    if links is None or not (links == _NUMBER_LINK).any():
        return []
    chain = np.flatnonzero(links == _NUMBER_LINK)
    heads = np.flatnonzero(np.diff(chain, prepend=-2) != 1)
    tails = np.append(heads[1:], len(chain)) - 1
    first, last = starts[chain[heads]], ends[chain[tails] + 1]
    lettered = (stream.codes[first] == _V) & ((stream.flags[first + 1] & DIGIT) > 0)
    return [(first[lettered] + 1, last[lettered])]


def _affixed(stream: Stream, starts: Positions, ends: Positions) -> list[tuple[Positions, Positions]]:
    """Return `c++`, `c#`, `.net`: words that their punctuation tells from others."""
    codes, flags = stream.codes, stream.flags
    behind, ahead = codes[ends], codes[starts - 1]
    plus = np.flatnonzero(behind == _PLUS)
    plus = plus[codes[ends[plus] + 1] == _PLUS]
    sharp = np.flatnonzero(behind == _HASH)
    sharp = sharp[flags[ends[sharp] + 1] & WORD == 0]
    dotted = np.flatnonzero(ahead == _DOT)
    dotted = dotted[flags[starts[dotted]] & DIGIT == 0]
    # Two before the word: position 0 is a line feed, so -1 only ever reads the line feed at the end.
    lead = starts[dotted] - 2
    dotted = dotted[(flags[lead] & (WORD | IDEOGRAPH) == 0) & (codes[lead] != _DOT)]
    spans = ((starts[plus], ends[plus] + 2), (starts[sharp], ends[sharp] + 1), (starts[dotted] - 1, ends[dotted]))
    return [span for span in spans if len(span[0])] or [(starts[:0], ends[:0])]


def _part_bounds(stream: Stream) -> Positions:
    """Return the positions inside runs where a part begins: lower to upper, and breaks."""
    flags = stream.flags
    bounds = np.flatnonzero(((flags[:-1] << 1) & flags[1:] & UPPER) != 0) + 1
    if not len(stream.breaks):
        return bounds
    inner = stream.breaks[(flags[stream.breaks] & flags[stream.breaks - 1] & WORD) > 0]
    return _together(bounds, inner, len(flags))


def _cut_runs(bounds: Positions, starts: Positions, ends: Positions) -> tuple[Positions, Positions]:
    """Return the runs that come apart: `getUserName` is an identifier of three parts."""
    runs = np.searchsorted(starts, bounds, "right") - 1
    runs = runs[np.diff(runs, prepend=-1) != 0]
    return starts[runs], ends[runs]
