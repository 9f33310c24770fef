"""Terms seen so far, as numbers: from a span of a text to the number of its term, and from a term to its stem's.

Owns: the strings, stems and order of terms.
Knows nothing of: chunks, fields, counts.
Invariants: 1. a string has one number, a number one string. 2. strings are made and stemmed once for each term, not
    for each occurrence.
Purity: pure.
See: docs/search.md (analysis).
"""

from collections.abc import Sequence

import numpy as np

from indexerd.analysis.hashing import MARGIN, HashNumbers, Numbers, Positions, hashes
from indexerd.analysis.ordering import NO_PREFIXES, order_of_texts, prefixes
from indexerd.analysis.stemming import stems

_UNKNOWN, _ITSELF = -2, -1


class Vocabulary:
    """The terms of the texts of one build, and perhaps of builds before: numbers show in no result.

    Attributes:
        terms: In UTF-8, by number.
    """

    def __init__(self) -> None:
        self.terms: list[bytes] = []
        self._known = HashNumbers()
        self._stems: dict[str, Numbers] = {}
        self._prefixes = NO_PREFIXES

    def numbers(self, text: bytes, starts: Positions, ends: Positions) -> Numbers:
        """Return the number of the term of each span of a text in UTF-8, numbering those not seen before."""
        numbers, new = self._known.numbers(hashes(text + MARGIN, starts, ends))
        if len(new):
            spans = zip(starts[new].tolist(), ends[new].tolist(), strict=True)
            self.terms += [text[start:end] for start, end in spans]
        return numbers

    def numbers_of(self, terms: Sequence[bytes]) -> Numbers:
        """Return the number of each of some terms."""
        ends = np.cumsum(np.fromiter(map(len, terms), np.int64, len(terms)))
        starts = np.concatenate(([0], ends[:-1]))
        return self.numbers(b"".join(terms), starts, ends)

    def stem_numbers(self, words: Numbers, language: str) -> Numbers:
        """Return the number of each word's stem in a language, -1 where the word is its own."""
        found = self._stem_table(language).take(words)
        unknown = np.flatnonzero(found == _UNKNOWN)
        if len(unknown):
            self._learn(distinct([words[unknown]], len(self.terms)), language)
            found = self._stems[language].take(words)
        return found

    def in_order(self, used: Positions) -> Positions:
        """Return the numbers of some terms in the order of their texts."""
        known = len(self._prefixes)
        if known < len(self.terms):
            self._prefixes = np.concatenate((self._prefixes, prefixes(self.terms[known:])))
        return order_of_texts(used, self._prefixes, self.terms)

    def texts(self, numbers: Positions) -> list[str]:
        """Return the texts of some terms, none of which holds a line feed."""
        # One decoding for all takes a third of the time.
        return b"\n".join(map(self.terms.__getitem__, numbers.tolist())).decode().split("\n") if len(numbers) else []

    def _learn(self, numbers: Positions, language: str) -> None:
        """Stem the terms with these numbers."""
        names = list(map(self.terms.__getitem__, numbers.tolist()))
        changed = [(at, stem) for at, stem in enumerate(stems(names, language)) if stem != names[at]]
        known = np.full(len(names), _ITSELF, np.int32)
        if changed:
            places, found = zip(*changed, strict=True)
            known[list(places)] = self.numbers_of(found)
        self._stem_table(language)[numbers] = known

    def _stem_table(self, language: str) -> Numbers:
        table = self._stems.get(language, np.zeros(0, np.int32))
        if len(table) < len(self.terms):
            grown = np.full(2 * len(self.terms), _UNKNOWN, np.int32)
            grown[: len(table)] = table
            self._stems[language] = table = grown
        return table


def distinct(some: Sequence[Numbers], limit: int) -> Positions:
    """Return the distinct ones of some numbers below a limit, ascending."""
    seen = np.zeros(limit, np.bool_)
    for numbers in some:
        seen[numbers] = True
    return np.flatnonzero(seen)
