"""Terms seen so far, as numbers: from the hash of a span to the number of its term, and from a term to its stem's.

Owns: the hash of a span, the table from hashes to numbers, the strings and stems of terms.
Knows nothing of: chunks, fields, counts.
Invariants: 1. a string has one number, a number one string. 2. strings are made and stemmed once for each term, not for each
    occurrence. 3. two terms share a hash with a probability below 2**-38 for texts made to collide (they cannot know the
    seed), 2**-64 for others.
Purity: pure: the result does not depend on the seed, which differs in each process.
See: docs/search.md (analysis).
"""

import numpy as np
import numpy.typing as npt

from indexerd.analysis.spans import Positions
from indexerd.analysis.stemming import stems

Hashes = npt.NDArray[np.uint64]
Numbers = npt.NDArray[np.int32]

_MASK = (1 << 64) - 1
# Python's own secret of this process: nobody who writes a document knows it.
_SEED = hash("indexerd vocabulary") & _MASK
_BASE = (_SEED * 0x9E3779B97F4A7C15 | 5) & _MASK
_BASE_INVERSE = pow(_BASE, -1, 1 << 64)
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_UNKNOWN, _ITSELF = -2, -1
_FIRST_SLOTS = 12  # log2


def _powers(base: int, count: int) -> Hashes:
    powers = np.full(count, base, np.uint64)
    powers[0] = 1
    return np.multiply.accumulate(powers)


def _mixed(codes: npt.NDArray[np.uint32]) -> Hashes:
    """Spread code points over 64 bits (splitmix64)."""
    mixed = codes.astype(np.uint64) * _SPREAD + np.uint64(_SEED)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


class SpanHasher:
    """Hashes any span of a stream in constant time: differences of one running sum."""

    def __init__(self, codes: npt.NDArray[np.uint32]) -> None:
        self._sums = np.zeros(len(codes) + 1, np.uint64)
        np.cumsum(_mixed(codes) * _powers(_BASE, len(codes)), out=self._sums[1:])
        self._shift = _powers(_BASE_INVERSE, len(codes))

    def hashes(self, starts: Positions, ends: Positions) -> Hashes:
        """Return the hash of each span; never 0."""
        found = (self._sums[ends] - self._sums[starts]) * self._shift[starts]
        return np.maximum(found, np.uint64(1))


class Vocabulary:
    """The terms of the batches of one build."""

    def __init__(self) -> None:
        self.terms: list[str] = []
        self._numbers: dict[str, int] = {}
        self._bits = _FIRST_SLOTS
        self._slots = np.zeros(1 << self._bits, np.uint64)
        self._slot_numbers = np.zeros(1 << self._bits, np.int32)
        self._used = 0
        self._stems: dict[str, Numbers] = {}

    def numbers(self, hashes: Hashes, starts: Positions, ends: Positions, text: str) -> Numbers:
        """Return the number of the term of each span, numbering those not seen before.

        Args:
            hashes: Hash of each span.
            starts: Where each span starts in `text`.
            ends: Where it ends.
            text: The folded text of the whole stream.
        """
        numbers = self._look_up(hashes)
        new = np.flatnonzero(numbers < 0)
        if len(new):
            fresh, first = np.unique(hashes[new], return_index=True)
            at = new[first]
            spans = zip(starts[at].tolist(), ends[at].tolist(), strict=True)
            named = [self.number(text[start:end]) for start, end in spans]
            self._insert(fresh, np.array(named, np.int32))
            numbers[new] = self._look_up(hashes[new])
        return numbers

    def number(self, term: str) -> int:
        """Return the number of a term, a new one if it has none."""
        number = self._numbers.setdefault(term, len(self.terms))
        if number == len(self.terms):
            self.terms.append(term)
        return number

    def stem_numbers(self, words: Numbers, language: str) -> Numbers:
        """Return the number of each word's stem in a language, -1 where the word is its own."""
        found = self._stem_table(language)[words]
        unknown = np.unique(words[found == _UNKNOWN])
        if len(unknown):
            names = [self.terms[number] for number in unknown.tolist()]
            pairs = zip(names, stems(names, language), strict=True)
            known = [_ITSELF if stem in (name, "") else self.number(stem) for name, stem in pairs]
            table = self._stem_table(language)
            table[unknown] = known
            found = table[words]
        return found

    def _stem_table(self, language: str) -> Numbers:
        table = self._stems.get(language, np.zeros(0, np.int32))
        if len(table) < len(self.terms):
            grown = np.full(2 * len(self.terms), _UNKNOWN, np.int32)
            grown[: len(table)] = table
            self._stems[language] = table = grown
        return table

    def _home(self, hashes: Hashes) -> Positions:
        return ((hashes * _SPREAD) >> np.uint64(64 - self._bits)).astype(np.int64)

    def _look_up(self, hashes: Hashes) -> Numbers:
        slots = self._home(hashes)
        numbers = np.full(len(hashes), -1, np.int32)
        held = self._slots[slots]
        hit = held == hashes
        numbers[hit] = self._slot_numbers[slots[hit]]
        open_ = np.flatnonzero(~hit & (held != 0))
        while len(open_):
            slots[open_] = (slots[open_] + 1) & ((1 << self._bits) - 1)
            held = self._slots[slots[open_]]
            hit = held == hashes[open_]
            numbers[open_[hit]] = self._slot_numbers[slots[open_[hit]]]
            open_ = open_[~hit & (held != 0)]
        return numbers

    def _insert(self, hashes: Hashes, numbers: Numbers) -> None:
        """Add distinct hashes that are not in the table."""
        if 2 * (self._used + len(hashes)) > 1 << self._bits:
            self._rehash(self._used + len(hashes))
        self._place(hashes, numbers)
        self._used += len(hashes)

    def _rehash(self, count: int) -> None:
        full = self._slots != 0
        hashes, numbers = self._slots[full], self._slot_numbers[full]
        self._bits = max(self._bits, (4 * count).bit_length())
        self._slots = np.zeros(1 << self._bits, np.uint64)
        self._slot_numbers = np.zeros(1 << self._bits, np.int32)
        self._place(hashes, numbers)

    def _place(self, hashes: Hashes, numbers: Numbers) -> None:
        slots = self._home(hashes)
        left = np.arange(len(hashes))
        while len(left):
            vacant = left[self._slots[slots[left]] == 0]
            # Of several that want one slot the last write stays; the others see it taken and walk on.
            self._slots[slots[vacant]] = hashes[vacant]
            self._slot_numbers[slots[vacant]] = numbers[vacant]
            left = left[self._slots[slots[left]] != hashes[left]]
            slots[left] = (slots[left] + 1) & ((1 << self._bits) - 1)
