"""Words of the corpus that are spelt like one that no eligible passage holds.

Owns: how near two spellings are, and which terms of a view are offered.
Knows nothing of: queries, what is done with what is offered.
Invariants: 1. only terms that an eligible passage holds as written are offered: those of hidden documents are not.
    2. equal views give equal terms, however they lie in segments.
Purity: pure (letters of terms are remembered for as long as their segment lives).
See: docs/search.md (misspelt words).
"""

import weakref
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from indexerd.search.bm25 import tables_of
from indexerd.search.recent import Recent, recent_of

if TYPE_CHECKING:
    from indexerd.search.view import View
    from indexerd.store.segment import Segment

_OFFERED: Final = 3
# Shorter words are near to too many others, and a second slip is forgiven only where much else agrees.
_LEAST_LETTERS, _TWO_SLIPS_FROM = 4, 8
_KEPT_WORDS: Final = 256

_LETTERS: "weakref.WeakKeyDictionary[Segment, tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]]" = (
    weakref.WeakKeyDictionary()
)
_CLOSE: "weakref.WeakKeyDictionary[View, Recent[str, tuple[str, ...]]]" = weakref.WeakKeyDictionary()


def close_terms(view: "View", word: str) -> tuple[str, ...]:
    """Return terms near to a word that no eligible passage holds: the nearest first, then the most frequent."""
    if len(word) < _LEAST_LETTERS or not word.isalpha():
        # Numbers and versions that differ by a digit are others, not misspelt.
        return ()
    known = recent_of(_CLOSE, view, _KEPT_WORDS)
    found = known.get(word)
    return found if found is not None else known.keep(word, _close(view, word))


def _close(view: "View", word: str) -> tuple[str, ...]:
    most = 1 if len(word) < _TWO_SLIPS_FROM else 2
    slips: dict[str, int] = {}
    holding: dict[str, int] = {}
    for part in view.segments:
        postings, exact = part.segment.postings, tables_of(part.segment).exact
        for number in _alike(part.segment, word, most).tolist():
            term = postings.term(number)
            if term not in slips:
                slips[term] = edits(word, term) if term.isalpha() else most + 1
            if slips[term] <= most:
                chunks = postings.chunks_of(number)[exact[postings.codes_of(number)] > 0]
                holding[term] = holding.get(term, 0) + int(np.count_nonzero(part.eligible[chunks]))
    terms = [term for term, count in holding.items() if count]
    return tuple(sorted(terms, key=lambda term: (slips[term], -holding[term], term))[:_OFFERED])


def _alike(segment: "Segment", word: str, most: int) -> npt.NDArray[np.intp]:
    """Return the numbers of terms of nearly the same length and letters: all within `most` edits, and others.

    Where two slips are forgiven, the first letter is none of them: else there are too many to look at.
    """
    known = _LETTERS.get(segment)
    if known is None:
        blob, offsets = segment.postings.spelled()
        known = _LETTERS[segment] = _letters(np.frombuffer(blob, np.uint8), offsets[:-1]), np.diff(offsets)
    letters, lengths = known
    span = range(len(letters)) if most == 1 else segment.postings.terms_with_prefix(word[0])
    letters, lengths = letters[span.start : span.stop], lengths[span.start : span.stop]
    raw = word.encode()
    reach = most * max(map(len, map(str.encode, word)))
    (own,) = _letters(np.frombuffer(raw, np.uint8), np.zeros(1, np.int64))
    near = np.abs(lengths - len(raw)) <= reach
    near &= np.bitwise_count(letters ^ own) <= 2 * reach
    return np.flatnonzero(near) + span.start


def _letters(blob: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64]) -> npt.NDArray[np.uint32]:
    """Return for each term the set of the low five bits of its bytes; no term is empty."""
    bits = np.left_shift(np.uint32(1), (blob & 31).astype(np.uint32))
    return np.bitwise_or.reduceat(bits, starts) if len(starts) else np.zeros(0, np.uint32)


def edits(one: str, other: str) -> int:
    """Return how many letters must be put in, left out, replaced or swapped with the next to make one of the other."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for at, letter in enumerate(one, start=1):
        last, before, row = before, row, [at]
        for to, wanted in enumerate(other, start=1):
            cost = min(before[to] + 1, row[to - 1] + 1, before[to - 1] + (letter != wanted))
            if at > 1 and to > 1 and letter == other[to - 2] and one[at - 2] == wanted:
                cost = min(cost, last[to - 2] + 1)
            row.append(cost)
    return row[-1]
