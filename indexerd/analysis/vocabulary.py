"""Terms seen so far, as numbers: from the hash of a span to the number of its term, and from a term to its stem's.

Owns: the table from hashes to numbers, the strings, stems and order of terms.
Knows nothing of: chunks, fields, counts.
Invariants: 1. a string has one number, a number one string. 2. strings are made and stemmed once for each term, not
    for each occurrence.
Purity: pure.
See: docs/search.md (analysis).
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from indexerd.analysis.hashing import Hashes, Positions, SpanHasher, spread
from indexerd.analysis.ordering import NO_PREFIXES, order_of_texts, prefixes
from indexerd.analysis.stemming import stems
from indexerd.analysis.stream import CodePoints, code_points

Numbers = npt.NDArray[np.int32]

_UNKNOWN, _ITSELF = -2, -1
_FIRST_BITS = 12
# Below this a comparison sort wins over the passes of a radix sort.
_FEW_TEXTS = 4096


class Vocabulary:
    """The terms of the batches of one build, and perhaps of builds before: numbers show in no result."""

    def __init__(self) -> None:
        self.terms: list[str] = []
        self._slots = _Slots()
        self._stems: dict[str, Numbers] = {}
        self._prefixes = NO_PREFIXES

    def numbers(self, hashes: Hashes, starts: Positions, ends: Positions, codes: CodePoints) -> Numbers:
        """Return the number of the term of each span, numbering those not seen before.

        Args:
            hashes: Hash of each span.
            starts: Where each span starts in `codes`.
            ends: Where it ends.
            codes: What the spans are of.
        """
        numbers, new = self._slots.numbers(hashes, len(self.terms))
        if len(new):
            text = codes.tobytes().decode("utf-32-le")
            spans = zip(starts[new].tolist(), ends[new].tolist(), strict=True)
            self.terms += [text[start:end] for start, end in spans]
        return numbers

    def numbers_of(self, texts: Sequence[str]) -> Numbers:
        """Return the number of each text as a term. Texts hold no line feed."""
        joined = code_points("\n".join(texts) + "\n")
        ends = np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)) + 1) - 1
        starts = np.concatenate(([0], ends[:-1] + 1))
        hashes = SpanHasher(joined).hashes(starts, ends)
        return self.numbers(hashes, starts, ends, joined)

    def stem_numbers(self, words: Numbers, language: str) -> Numbers:
        """Return the number of each word's stem in a language, -1 where the word is its own."""
        found = self._stem_table(language)[words]
        unknown = _distinct(words[found == _UNKNOWN], len(self.terms))
        if len(unknown):
            self._learn(unknown, language)
            found = self._stems[language][words]
        return found

    def in_order(self, used: Positions) -> Positions:
        """Return the numbers of some terms in the order of their texts."""
        if len(used) < _FEW_TEXTS:
            return np.array(sorted(used.tolist(), key=self.terms.__getitem__), np.int64)
        known = len(self._prefixes)
        if known < len(self.terms):
            self._prefixes = np.concatenate((self._prefixes, prefixes(self.terms[known:])))
        return order_of_texts(used, self._prefixes, self.terms)

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


def _distinct(numbers: Numbers, limit: int) -> Positions:
    if not len(numbers):
        return np.zeros(0, np.int64)
    seen = np.zeros(limit, np.bool_)
    seen[numbers] = True
    return np.flatnonzero(seen)


class _Slots:
    """A hash table with open addressing whose every step works on all hashes of a batch."""

    def __init__(self) -> None:
        self._bits = _FIRST_BITS
        self._hashes = np.zeros(1 << self._bits, np.uint64)  # 0: vacant
        self._numbers = np.full(1 << self._bits, -1, np.int32)
        self._used = 0

    def numbers(self, hashes: Hashes, first: int) -> tuple[Numbers, Positions]:
        """Return the number of each hash, and the place of each new one; new ones are numbered from `first` on."""
        slots, missing = self._probe(hashes)
        if len(missing):
            if 2 * (self._used + len(missing)) > 1 << self._bits:
                self._grow(self._used + len(missing))
                slots = self._probe(hashes)[0]
            slots[missing] = self._claim(hashes[missing], slots[missing])
        numbers = self._numbers[slots]
        new = np.flatnonzero(numbers < 0)
        if not len(new):
            return numbers, new
        # All occurrences of a new hash write their place into its slot; the one that reads its own back stands for
        # them.
        at = slots[new]
        places = np.arange(len(new), dtype=np.int32)
        self._numbers[at] = places
        chosen = self._numbers[at] == places
        self._numbers[at[chosen]] = np.arange(first, first + np.count_nonzero(chosen), dtype=np.int32)
        numbers[new] = self._numbers[at]
        self._used += int(np.count_nonzero(chosen))
        return numbers, new[chosen]

    def _probe(self, hashes: Hashes) -> tuple[Positions, Positions]:
        """Return the slot of each hash, or the vacant one where its search ended, and the places of such."""
        slots = spread(hashes, self._bits)
        wrap = (1 << self._bits) - 1
        left = np.flatnonzero(self._hashes[slots] != hashes)
        missing = []
        while len(left):
            at = slots[left]
            held = self._hashes[at]
            missing.append(left[held == 0])
            going = (held != 0) & (held != hashes[left])
            left = left[going]
            slots[left] = (at[going] + 1) & wrap
        return slots, np.concatenate(missing) if missing else left

    def _claim(self, hashes: Hashes, slots: Positions) -> Positions:
        """Return the slot of each hash, none with one yet, taking vacant ones from `slots` on."""
        wrap = (1 << self._bits) - 1
        left = np.arange(len(hashes))
        while len(left):
            at, wanted = slots[left], hashes[left]
            vacant = self._hashes[at] == 0
            # Of several that want one vacant slot one write stays; the others see it taken and walk on.
            self._hashes[at[vacant]] = wanted[vacant]
            missed = self._hashes[at] != wanted
            left = left[missed]
            slots[left] = (at[missed] + 1) & wrap
        return slots

    def _grow(self, count: int) -> None:
        full = np.flatnonzero(self._hashes)
        hashes, numbers = self._hashes[full], self._numbers[full]
        self._bits = (2 * count).bit_length()
        self._hashes = np.zeros(1 << self._bits, np.uint64)
        self._numbers = np.full(1 << self._bits, -1, np.int32)
        self._numbers[self._claim(hashes, spread(hashes, self._bits))] = numbers
