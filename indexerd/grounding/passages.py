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
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final, NamedTuple

from indexerd.grounding.alignment import Said, telling_words
from indexerd.grounding.misattribution import Parallels, PlacedValue, parallels_of, placed_values
from indexerd.grounding.polarity import denies, names, runs_against, scopes, switches
from indexerd.grounding.records import MAX_RECORDS, Bearing, borne, records, with_units
from indexerd.grounding.sentences import is_row, sentences
from indexerd.grounding.values import Value, all_values, bears

MOST_SPANS: Final = 3
# What the weights were fitted without. What is first is mostly early, and seldom counted.
_NO_NUMBER: Final = frozenset(("clock", "code", "calendar"))
_FIRST: Final = "place 1"

# The letters count twice in choosing the sentence: rationales of scifact-claims (training part), spans of clapnq.
_LETTERS_SHARE: Final = 2.0
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
    """A sentence; a row of a table is read with the first row, which says what its cells are."""

    passage: int
    start: int
    end: int
    text: str
    read: str
    terms: frozenset[str]


class Passages:
    """Passages, read once for all claims that are held to them."""

    def __init__(self, passages: tuple[str, ...], language: str) -> None:
        self.language = language
        self._passages = tuple(map(with_units, passages))
        self._sentences = [
            _Sentence(number, start, end, passage[start:end], text, frozenset(_terms(text, language)))
            for number, passage in enumerate(passages)
            for start, end, text in _read(passage)
        ] or [_Sentence(0, 0, 0, "", "", frozenset())]
        self.terms = frozenset[str]().union(*(one.terms for one in self._sentences))
        self.text = "\n".join(self._passages)
        values = self._values = all_values(self.text)
        self._notations = {(one.kind, one.key, ""): self.text[one.start : one.end] for one in _written(self.text)} | {
            (one.kind, one.key, one.limit): self.text[one.limit_start : one.limit_end] for one in values if one.limit
        }
        self._dates = [one for one in values if one.kind == "date"]
        self._numbers = [one for one in values if one.number is not None]
        self._known = {(one.kind, one.key) for one in values}
        self._grams: dict[int, list[frozenset[str]]] = {}
        self._borne: dict[str, Bearing | None] = {}
        self._said = Said(self.text, language)
        self._records = [row for passage in self._passages for row in records(passage)][:MAX_RECORDS]

    def features(self, claim: str) -> Features:
        """Measure a claim."""
        claim = self.rewritten(claim)
        wanted = _terms(claim, self.language)
        asked = _SET_ASIDE.sub(" ", claim) if _CJK.search(claim) else claim
        best = self.best(claim)
        bearing, many = self.borne(claim), len(self._sentences)
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
            number=float(any(one.kind not in _NO_NUMBER and one.key != _FIRST for one in self.missing_values(claim))),
            names=float(min(len(self.missing_names(claim)), 3)),
            opposite=float(runs_against(claim, best)),
            length=math.log(many + 1),
            denies_alone=float(denies(claim) and not (bearing.denies if bearing else denies(best))),
            personal=float(bool(_PERSONAL.search(claim)) and not _PERSONAL.search(self.text)),
        )

    def rewritten(self, claim: str) -> str:
        """Return a claim with its values as the passages write them, where they do so in another way."""
        pieces, at = [], 0
        for one in _written(claim):
            start, end = one.limit_start, one.limit_end
            as_there = self._notations.get((one.kind, one.key, one.limit))
            if not as_there:
                start, end = one.start, one.end
                as_there = self._notations.get((one.kind, one.key, ""))
            if not as_there:
                as_there = self._date_with(one)
            if as_there and start >= at and claim[start:end] not in self.text:
                pieces += [claim[at:start], as_there]
                at = end
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

    def _date_with(self, one: Value) -> str | None:
        """Return a date that has all the parts of another, as the passages write it."""
        if one.kind != "date" or one.date is None:
            return None
        pairs = ((day, zip(one.date, day.date or (), strict=True)) for day in self._dates)
        days = (day for day, parts in pairs if all(a in (0, b) for a, b in parts))
        return next((self.text[day.start : day.end] for day in days), None)

    def missing_names(self, claim: str) -> list[str]:
        """Return the names that no passage holds; that of a month is part of a date."""
        held = (one for one in all_values(claim) if one.kind == "date" and self._holds(one))
        days = {name for day in held for name in claim[day.start : day.end].split()}
        return [name for name in names(claim) if name not in days and name.lower() not in self.text.lower()]

    def missing_values(self, claim: str) -> list[Value]:
        """Return the values that no passage holds; what something is counted by may go without saying."""
        return [one for one in all_values(claim) if not self._holds(one)]

    def _holds(self, one: Value) -> bool:
        is_dated = one.date is not None and any(bears(day, one) for day in self._values if day.date)
        is_number = one.number is not None and any(other.number == one.number for other in self._numbers)
        is_code = one.kind == "code" and _stands_in(str(one.key), self.text)
        return is_dated or is_number or is_code or one.kind == "rate" or (one.kind, one.key) in self._known

    def other_units(self, claim: str) -> Iterator[Value]:
        """Yield the numbers that passages hold, but in other units; a number may leave it to the text around."""
        for one in {(one.number, one.unit): one for one in all_values(claim) if one.unit}.values():
            same = [other for other in self._numbers if other.number == one.number]
            if same and all(other.unit for other in same) and (one.kind, one.key) not in self._known:
                yield one

    @cached_property
    def parallels(self) -> tuple[Parallels, ...]:
        """What stands beside what."""
        return parallels_of(self._passages, self.language)

    @cached_property
    def placed(self) -> tuple[PlacedValue, ...]:
        """The values, with what they are of; what stands beside something stands in the same passage."""
        return tuple(
            one._replace(sentence=one.sentence + number * len(self.text))
            for number, passage in enumerate(self._passages)
            for one in placed_values(passage, self.language)
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
            self._grams[size] = [frozenset(_grams(one.read, size)) for one in self._sentences]
        return self._grams[size]

    def best(self, claim: str) -> str:
        """Return the sentence that holds most of a claim; the first of equals."""
        held = self._held(self.rewritten(claim))
        return self._sentences[held.index(max(held))].text

    def denies(self, claim: str) -> bool:
        """Whether the best sentence denies a claim: in a clause that alone holds a word of it."""
        best, wanted = self.best(claim), frozenset(_terms(self.rewritten(claim), self.language))
        affirmed, denied = (wanted.intersection(_terms(part, self.language)) for part in scopes(best))
        return bool(denied - affirmed) if affirmed else denies(best)

    def _held(self, claim: str) -> list[float]:
        """Return how much of a claim each sentence holds."""
        by_terms = _held([one.terms for one in self._sentences], _terms(claim, self.language))
        by_letters = _held(self._grams_of(_run(claim)), _grams(claim, _run(claim)))
        return [terms + _LETTERS_SHARE * letters for terms, letters in zip(by_terms, by_letters, strict=True)]


def _read(passage: str) -> Iterator[tuple[int, int, str]]:
    """Yield where each sentence of a passage stands, and what is read there."""
    first = ""
    for span in sentences(passage):
        text = passage[span.start : span.end]
        if not is_row(text):
            first = ""
        yield span.start, span.end, f"{first} {text}" if first else text
        if is_row(text):
            first = first or text


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


def _written(text: str) -> list[Value]:
    """Return what can be written in another way: the values of a text, and the words that say yes or no."""
    found = (
        Value(f"yes_no {of}", yes, start, end, limit_start=start, limit_end=end)
        for of, yes, start, end in switches(text)
    )
    return sorted((*all_values(text), *found), key=lambda one: one.start)


def _share(wanted: Sequence[str], held: frozenset[str]) -> float:
    return sum(term in held for term in wanted) / len(wanted) if wanted else 0.0


def _stands_in(code: str, text: str) -> bool:
    return bool(re.search(rf"(?<![\w.]){re.escape(code)}(?![\w.]*\d)", text, re.IGNORECASE))


def _run(claim: str) -> int:
    return 2 if _CJK.search(claim) else 4


def _grams(text: str, size: int) -> tuple[str, ...]:
    folded = re.sub(r"\W+", " ", text.lower())
    return tuple(dict.fromkeys(folded[at : at + size] for at in range(len(folded) - size + 1)))


def _terms(text: str, language: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(term for _, _, term in telling_words(text, language)))
