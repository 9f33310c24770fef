"""Passages, read once for all claims that are held to them, and what is measured of a claim against them.

Owns: sentences, words and runs of letters of passages; the measures; the sentences that hold most of a claim.
Knows nothing of: weights, bands, reasons.
Invariants: 1. a span's quote is the text of its passage between its offsets. 2. the same claim and passages give the
    same measures, to the last bit.
Purity: pure.
See: docs/grounding.md (support).
"""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final, NamedTuple

from indexerd.grounding.bindings import NO_COUNT, Bound, bound, counted, exact_values
from indexerd.grounding.polarity import denies, directions, names
from indexerd.grounding.records import MAX_RECORDS, Bearing, borne, records
from indexerd.grounding.sentences import clauses, sentences
from indexerd.grounding.shapes import Said, telling_words
from indexerd.grounding.swaps import Shapes, shapes_of
from indexerd.grounding.values import Quantity, quantities

MOST_SPANS: Final = 3

# The letters count twice in choosing the sentence: rationales of scifact-claims (training part), spans of clapnq.
_LETTERS_SHARE: Final = 2.0

# So much of what a sentence holds of a claim is in the one clause that the claim is about.
_CLAUSE_SHARE: Final = 0.8
_PERSONAL: Final = re.compile(
    r"(?:^|[.,!?;]\s*|\b(?:and|but|so|that|because|if|when|think|know|guess)\s+)i\b(?! ?[-,.])|\bi['’](?:m|ve|d|ll)\b"
    r"|\b(?:my|me|you|your|you're)\b",
    re.IGNORECASE,
)
_CJK: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_SET_ASIDE: Final = re.compile(
    "什么|多少|哪[个些里年位]?|谁|吗|呢|几[个位年]?|如何|怎么|为什么|请问|是在|[是的了在?？]"
)


@dataclass(frozen=True, slots=True)
class SupportSpan:
    """Where a passage supports a claim best: whole sentences."""

    passage: int
    start_char: int
    end_char: int
    quote: str


class Features(NamedTuple):
    """What is measured of a claim and its passages; the weights below speak of these."""

    terms: float  # share of the claim's terms in any passage
    pairs: float  # share of its pairs of letters anywhere: forms of words that no stemmer joins
    letters: float  # share of its runs of letters, weighed by rarity, in the best two sentences
    number: float  # 1 if one of its numbers is in no passage
    names: float  # how many of its names are in no passage, up to 3
    opposite: float  # 1 if it says rise where the best sentence says fall, or the other way round
    length: float  # logarithm of the number of sentences: in a long text words meet by chance
    denies_alone: float  # 1 if it denies and the best sentence does not
    personal: float  # 1 if it speaks of I, me or you, and no passage does


class _Sentence(NamedTuple):
    passage: int
    start: int
    end: int
    text: str
    terms: frozenset[str]


class Passages:
    """Passages, read once for all claims that are held to them."""

    def __init__(self, passages: tuple[str, ...], language: str) -> None:
        self.language = language
        self._passages = passages
        self._sentences = [
            _Sentence(number, span.start, span.end, text, frozenset(_terms(text, language)))
            for number, passage in enumerate(passages)
            for span in sentences(passage)
            for text in (passage[span.start : span.end],)
        ] or [_Sentence(0, 0, 0, "", frozenset())]
        self.terms = frozenset[str]().union(*(one.terms for one in self._sentences))
        self.text = "\n".join(passages)
        self._notations = {(one.kind, one.key): self.text[one.start : one.end] for one in exact_values(self.text)}
        self.values = {quantity.value for quantity in quantities(self.text)}
        self._grams: dict[int, list[frozenset[str]]] = {}
        self._borne: dict[str, Bearing | None] = {}
        self._said = Said(self.text, language)
        self._records = [row for passage in passages for row in records(passage)][:MAX_RECORDS]

    def features(self, claim: str) -> Features:
        """Measure a claim."""
        claim = self.rewritten(claim)
        wanted = _terms(claim, self.language)
        asked = _SET_ASIDE.sub(" ", claim) if _CJK.search(claim) else claim
        best = self.best(claim)
        bearing, many = self.borne(claim), len(self._sentences)
        missing_names = sum(name.lower() not in self.text.lower() for name in names(claim))
        rises, falls = directions(claim)
        best_rises, best_falls = directions(best)
        if bearing is None:
            terms = _share(wanted, self.terms)
            pairs = _share(_grams(asked, 2), frozenset().union(*self._grams_of(2)))
            letters = max(_held(self._grams_of(_run(claim)), _grams(claim, _run(claim)), together=2))
        else:
            # Records have no runs of letters of a sentence: their cells are all that they say.
            terms = pairs = letters = 1.0 - len(bearing.missing) / max(len(wanted), 1)
            many = 1
        return Features(
            terms=terms,
            pairs=pairs,
            letters=letters,
            number=float(any(one.value not in self.values for one in counted(claim, NO_COUNT))),
            names=float(min(missing_names, 3)),
            opposite=float((rises and best_falls and not best_rises) or (falls and best_rises and not best_falls)),
            length=math.log(many + 1),
            denies_alone=float(denies(claim) and not (bearing.denies if bearing else denies(best))),
            personal=float(bool(_PERSONAL.search(claim)) and not _PERSONAL.search(self.text)),
        )

    def rewritten(self, claim: str) -> str:
        """Return a claim with its values as the passages write them, where they do so in another way."""
        pieces, at = [], 0
        for one in exact_values(claim):
            as_there = self._notations.get((one.kind, one.key))
            if as_there and one.start >= at and claim[one.start : one.end] not in self.text:
                pieces += [claim[at : one.start], as_there]
                at = one.end
        return "".join([*pieces, claim[at:]])

    def spans(self, claim: str) -> tuple[SupportSpan, ...]:
        """Return the sentences that hold most of a claim, best first."""
        claim = self.rewritten(claim)
        if self.terms.isdisjoint(_terms(claim, self.language)):
            return ()
        held = self._held(claim)
        best = sorted((at for at, share in enumerate(held) if share > 0), key=lambda at: (-held[at], at))[:MOST_SPANS]
        return tuple(
            SupportSpan(one.passage, one.start, one.end, one.text) for one in (self._sentences[at] for at in best)
        )

    def borne(self, claim: str) -> Bearing | None:
        """Return what records bear of a claim."""
        if claim not in self._borne:
            found = borne(claim, self._said, self._records, self.language) if self._records else None
            self._borne = {claim: found}
        return self._borne[claim]

    @cached_property
    def cells(self) -> tuple[Quantity, ...]:
        """The numbers of tables, with their units."""
        return tuple(one for row in self._records for cell in row.cells for one in quantities(cell))

    @cached_property
    def shapes(self) -> tuple[Shapes, ...]:
        """What stands beside what."""
        return shapes_of(self._passages, self.language)

    @cached_property
    def bound(self) -> tuple[Bound, ...]:
        """The values, with what they are of; what stands beside something stands in the same passage."""
        return tuple(
            one._replace(sentence=one.sentence + number * len(self.text))
            for number, passage in enumerate(self._passages)
            for one in bound(passage, self.language)
        )

    def lacking(self, claim: str, held: frozenset[str]) -> Iterable[str]:
        """Give the words that are not held; pairs of characters that overlap are one run."""
        runs: list[list[int]] = []
        for start, end, term in telling_words(claim, self.language):
            if term in held or term.isdigit():
                continue
            if runs and start < runs[-1][1]:
                runs[-1][1] = max(end, runs[-1][1])
            else:
                runs.append([start, end])
        return dict.fromkeys(claim[start:end] for start, end in runs)

    def _grams_of(self, size: int) -> list[frozenset[str]]:
        if size not in self._grams:
            self._grams[size] = [frozenset(_grams(one.text, size)) for one in self._sentences]
        return self._grams[size]

    def best(self, claim: str) -> str:
        """Return the sentence that holds most of a claim; the first of equals."""
        held = self._held(self.rewritten(claim))
        return self._sentences[held.index(max(held))].text

    def best_clause(self, claim: str) -> str:
        """Return that clause of the best sentence which holds nearly all that the sentence does; else the sentence."""
        best, wanted = self.best(claim), frozenset(_grams(self.rewritten(claim), _run(claim)))
        shares = [(len(wanted.intersection(_grams(part, _run(claim)))), part) for part in clauses(best)]
        most, part = max(shares, default=(0, best), key=lambda one: one[0])
        return part if most >= _CLAUSE_SHARE * len(wanted.intersection(_grams(best, _run(claim)))) else best

    def _held(self, claim: str) -> list[float]:
        """Return how much of a claim each sentence holds."""
        by_terms = _held([one.terms for one in self._sentences], _terms(claim, self.language))
        by_letters = _held(self._grams_of(_run(claim)), _grams(claim, _run(claim)))
        return [terms + _LETTERS_SHARE * letters for terms, letters in zip(by_terms, by_letters, strict=True)]


# An answer's claims are held to the same passages again and again.
@lru_cache(maxsize=64)
def read_passages(passages: tuple[str, ...], language: str) -> Passages:
    """Read passages."""
    return Passages(passages, language)


def _held(parts: Sequence[frozenset[str]], wanted: Sequence[str], together: int = 1) -> list[float]:
    """Return how much of what is wanted each run of parts holds, 0..1, rare things weighing more."""
    many = len(parts) + 1
    weights = {each: math.log(1 + many / (sum(each in part for part in parts) + 0.5)) for each in wanted}
    total = sum(weights.values()) or 1.0
    runs = (frozenset[str]().union(*parts[at : at + together]) for at in range(max(1, len(parts) - together + 1)))
    return [sum(weights[each] for each in wanted if each in run) / total for run in runs]


def _share(wanted: Sequence[str], held: frozenset[str]) -> float:
    return sum(term in held for term in wanted) / len(wanted) if wanted else 0.0


def _run(claim: str) -> int:
    return 2 if _CJK.search(claim) else 4


def _grams(text: str, size: int) -> tuple[str, ...]:
    folded = re.sub(r"\W+", " ", text.lower())
    return tuple(dict.fromkeys(folded[at : at + size] for at in range(len(folded) - size + 1)))


def _terms(text: str, language: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(term for _, _, term in telling_words(text, language)))
