"""Whether passages support a claim, as far as words, numbers, dates, names and polarity tell.

Owns: the comparison of a claim with passages, its score, its band, its reasons, and the span that supports it best.
Knows nothing of: citations, evidence sets, where passages come from.
Invariants: 1. the same claim and passages give the same support, to the last bit. 2. a claim whose number, date or
    unit no passage holds is never `supported`. 3. the span's quote is the text of the passage between its offsets.
Purity: pure.
See: docs/grounding.md (support), benchmarks/bench_grounding.py for the figures.
"""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from indexerd.grounding.bindings import NO_COUNT, Bound, bound, counted, exact_values, misplaced, within
from indexerd.grounding.polarity import denies, directions, names
from indexerd.grounding.records import Bearing, borne, records
from indexerd.grounding.sentences import sentences
from indexerd.grounding.shapes import Said, telling_words
from indexerd.grounding.swaps import Shapes, shapes_of, swapped
from indexerd.grounding.values import Exact, dates, exacts, part_key, quantities

Band = Literal["supported", "partial", "not_found", "not_a_claim"]


class Reason(NamedTuple):
    """One way in which passages fall short of a claim.

    Attributes:
        code: `terms`, `numbers`, `units`, `dates`, `names` or `polarity`.
        missing: What the claim says and no passage does, as the claim writes it.
    """

    code: str
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SupportSpan:
    """Where a passage supports a claim best: whole sentences."""

    passage: int
    start_char: int
    end_char: int
    quote: str


@dataclass(frozen=True, slots=True)
class Support:
    """What passages say of a claim.

    Attributes:
        band: What the score and the reasons come to.
        score: 0..1, the decision value.
        reasons: What is missing, by kind.
        spans: The sentences that hold most of the claim, best first, at most three; none if no word of it is in any
            passage.
    """

    band: Band
    score: float
    reasons: tuple[Reason, ...]
    spans: tuple[SupportSpan, ...]

    @property
    def span(self) -> SupportSpan | None:
        """The best span."""
        return self.spans[0] if self.spans else None


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


# Fitted by logistic regression on the training parts of three sets; see the benchmark's --fit.
WEIGHTS: Final = Features(2.35, 6.38, 2.04, -1.30, -0.67, -1.88, -0.24, -0.60, -2.92)
BIAS: Final = -7.18
SUPPORTED_FROM: Final = 0.5
PARTIAL_FROM: Final = 0.2
MOST_SPANS: Final = 3

# The letters count twice in choosing the sentence: rationales of scifact-claims (training part), spans of clapnq.
_LETTERS_SHARE: Final = 2.0

_PERSONAL: Final = re.compile(
    r"(?:^|[.,!?;]\s*|\b(?:and|but|so|that|because|if|when|think|know|guess)\s+)i\b(?! ?[-,.])|\bi['’](?:m|ve|d|ll)\b"
    r"|\b(?:my|me|you|your|you're)\b",
    re.IGNORECASE,
)
_CALENDAR: Final = "calendar"
_DAYS: Final = frozenset((_CALENDAR, "date", "year"))
_CJK: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_ASKS: Final = re.compile("什么|多少|哪|谁|吗|呢|几|如何|怎么|怎样|为何|是否|何时|何地")
_SET_ASIDE: Final = re.compile(
    "什么|多少|哪[个些里年位]?|谁|吗|呢|几[个位年]?|如何|怎么|为什么|请问|是在|[是的了在?？]"
)
_QUESTION_FIRST: Final = re.compile(r"(?s)(.*[?？])\s*(\S.*)")
# A claim that repeats its question is borne by what it says of it.
_QUESTION_SHARE: Final = 0.25
# The first measures are shares; only those are shared out between question and statement.
_LAST_SHARE: Final = 2


def support_of(claim: str, passages: Sequence[str], language: str = "english") -> Support:
    """Compare a claim with passages.

    Args:
        claim: One statement, in any language; if it begins with a question, what follows is its answer.
        passages: The texts that it is held to, together.
        language: The stemming language of both.
    """
    read = _read(tuple(passages), language)
    features = features_of(claim, passages, language)
    score = 1 / (1 + math.exp(-BIAS - sum(weight * value for weight, value in zip(WEIGHTS, features, strict=True))))
    reasons = read.reasons(claim)
    band = _band(score, reasons)
    if band != "supported" and not reasons:
        reasons = (Reason("terms", read.scattered(claim)),)
    return Support(band, score, reasons, read.spans(claim))


def features_of(claim: str, passages: Sequence[str], language: str = "english") -> Features:
    """Measure a claim against passages; see `support_of`."""
    read = _read(tuple(passages), language)
    question, statement = _parts(claim)
    features = read.features(statement)
    if question:
        asked = read.features(question)
        shared = (
            one if at > _LAST_SHARE else (1 - _QUESTION_SHARE) * one + _QUESTION_SHARE * other
            for at, (one, other) in enumerate(zip(features, asked, strict=True))
        )
        features = Features._make(shared)
    return features


def _band(score: float, reasons: Iterable[Reason]) -> Band:
    if score < PARTIAL_FROM:
        return "not_found"
    exact = {reason.code for reason in reasons} - {"terms"}
    return "supported" if score >= SUPPORTED_FROM and not exact else "partial"


def _parts(claim: str) -> tuple[str, str]:
    """Part a claim into the question it repeats, if any, and what it states."""
    if match := _QUESTION_FIRST.fullmatch(claim):
        return match[1], match[2]
    if _CJK.search(claim):
        pieces = claim.split()
        asking = [piece for piece in pieces if _ASKS.search(piece)]
        if asking and len(asking) < len(pieces):
            return " ".join(asking), " ".join(piece for piece in pieces if not _ASKS.search(piece))
    return "", claim


class _Sentence(NamedTuple):
    passage: int
    start: int
    end: int
    text: str
    terms: frozenset[str]


class _Passages:
    """Passages, read once for all claims that are held to them."""

    def __init__(self, passages: tuple[str, ...], language: str) -> None:
        self._language = language
        self._passages = passages
        self._sentences = [
            _Sentence(number, span.start, span.end, text, frozenset(_terms(text, language)))
            for number, passage in enumerate(passages)
            for span in sentences(passage)
            for text in (passage[span.start : span.end],)
        ] or [_Sentence(0, 0, 0, "", frozenset())]
        self._all_terms = frozenset[str]().union(*(one.terms for one in self._sentences))
        self._text = "\n".join(passages)
        self._notations = {(one.kind, one.key): self._text[one.start : one.end] for one in exact_values(self._text)}
        self._values = {quantity.value for quantity in quantities(self._text)}
        self._grams: dict[int, list[frozenset[str]]] = {}
        self._said = Said(self._text, language)
        self._records = [row for passage in passages for row in records(passage)]
        self._bound: list[Bound] | None = None
        self._beside: tuple[Shapes, ...] | None = None

    def features(self, claim: str) -> Features:
        """Measure a claim."""
        claim = self.rewritten(claim)
        wanted = _terms(claim, self._language)
        asked = _SET_ASIDE.sub(" ", claim) if _CJK.search(claim) else claim
        best = self._sentences[self._best(claim)].text
        bearing, many = self._borne(claim), len(self._sentences)
        missing_names = sum(name.lower() not in self._text.lower() for name in names(claim))
        rises, falls = directions(claim)
        best_rises, best_falls = directions(best)
        if bearing is None:
            terms = _share(wanted, self._all_terms)
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
            number=float(any(one.value not in self._values for one in counted(claim, NO_COUNT))),
            names=float(min(missing_names, 3)),
            opposite=float((rises and best_falls and not best_rises) or (falls and best_rises and not best_falls)),
            length=math.log(many + 1),
            denies_alone=float(denies(claim) and not (bearing.denies if bearing else denies(best))),
            personal=float(bool(_PERSONAL.search(claim)) and not _PERSONAL.search(self._text)),
        )

    def rewritten(self, claim: str) -> str:
        """Return a claim with its values as the passages write them, where they do so in another way."""
        pieces, at = [], 0
        for one in exact_values(claim):
            as_there = self._notations.get((one.kind, one.key))
            if as_there and one.start >= at and claim[one.start : one.end] not in self._text:
                pieces += [claim[at : one.start], as_there]
                at = one.end
        return "".join([*pieces, claim[at:]])

    def spans(self, claim: str) -> tuple[SupportSpan, ...]:
        """Return the sentences that hold most of a claim, best first."""
        claim = self.rewritten(claim)
        if self._all_terms.isdisjoint(_terms(claim, self._language)):
            return ()
        held = self._held(claim)
        best = sorted((at for at, share in enumerate(held) if share > 0), key=lambda at: (-held[at], at))[:MOST_SPANS]
        return tuple(
            SupportSpan(one.passage, one.start, one.end, one.text) for one in (self._sentences[at] for at in best)
        )

    def reasons(self, claim: str) -> tuple[Reason, ...]:
        """Return what of a claim is in no passage, or said there of something else."""
        numbers, days = [*self._missing_numbers(claim)], [*self._missing_dates(claim)]
        others = [name for name in names(claim) if name.lower() not in self._text.lower()]
        polarity = [*self._polarity(claim)]
        bearing = self._borne(claim)
        for one in () if bearing else misplaced(bound(claim, self._language), self._bound_there()):
            (days if one.kind in _DAYS else numbers).append(claim[one.start : one.end])
        mixed = dict[str, list[str]](numbers=numbers, dates=days, names=others, polarity=polarity)
        for code, written in swapped(claim, self._shapes(), self._language):
            mixed[code] += [written] if not any(written in known for known in mixed[code]) else []
        found = (
            Reason("terms", tuple(self._missing_terms(claim))),
            Reason("numbers", tuple(dict.fromkeys(numbers))),
            Reason("units", tuple(self._other_units(claim))),
            Reason("dates", tuple(dict.fromkeys(days))),
            Reason("names", tuple(dict.fromkeys(others))),
            Reason("polarity", tuple(dict.fromkeys(polarity))),
        )
        return tuple(reason for reason in found if reason.missing)

    def _borne(self, claim: str) -> Bearing | None:
        return borne(claim, self._said, self._records, self._language) if self._records else None

    def scattered(self, claim: str) -> tuple[str, ...]:
        """Return the words that the best sentence lacks, though each is in a passage; all words if it lacks none."""
        claim = self.rewritten(claim)
        missing = self._lacking(claim, self._sentences[self._best(claim)].terms)
        return tuple(missing) or (claim.strip(),)

    def _missing_terms(self, claim: str) -> Iterable[str]:
        # What is asked need not be in a passage that answers it.
        bearing, (_, statement) = self._borne(claim), _parts(claim)
        return bearing.missing if bearing else self._lacking(self.rewritten(statement), self._all_terms)

    def _lacking(self, claim: str, held: frozenset[str]) -> Iterable[str]:
        """Give the words that are not held; pairs of characters that overlap are one run."""
        runs: list[list[int]] = []
        for start, end, term in telling_words(claim, self._language):
            if term in held or term.isdigit():
                continue
            if runs and start < runs[-1][1]:
                runs[-1][1] = max(end, runs[-1][1])
            else:
                runs.append([start, end])
        return dict.fromkeys(claim[start:end] for start, end in runs)

    def _missing_numbers(self, claim: str) -> Iterable[str]:
        yield from (claim[one.start : one.end] for one in counted(claim) if one.value not in self._values)
        for one in self._missing_exact(claim):
            if one.kind != _CALENDAR and not within(one, dates(claim)):
                yield claim[one.start : one.end]

    def _missing_exact(self, claim: str) -> Iterable[Exact]:
        held = {one.key for one in exacts(self._text)}
        held |= {part_key(one.value / 100) for one in quantities(self._text) if one.unit == "%"}
        return (one for one in exacts(claim) if one.key not in held and one.kind != "rate")

    def _shapes(self) -> tuple[Shapes, ...]:
        if self._beside is None:
            self._beside = shapes_of(self._passages, self._language)
        return self._beside

    def _bound_there(self) -> list[Bound]:
        if self._bound is None:
            # Far apart: what stands beside something stands in the same passage.
            self._bound = [
                one._replace(sentence=one.sentence + number * len(self._text))
                for number, passage in enumerate(self._passages)
                for one in bound(passage, self._language)
            ]
        return self._bound

    def _other_units(self, claim: str) -> Iterable[str]:
        for one in quantities(claim):
            units = {other.unit for other in quantities(self._text) if other.value == one.value}
            if one.unit and units and "" not in units and one.unit not in units:
                yield claim[one.start : one.end]

    def _missing_dates(self, claim: str) -> Iterable[str]:
        known = dates(self._text)
        yield from (claim[one.start : one.end] for one in dates(claim) if not any(map(one.agrees, known)))
        for one in self._missing_exact(claim):
            # A month within a date is compared with it.
            if one.kind == _CALENDAR and not within(one, dates(claim)):
                yield claim[one.start : one.end]

    def _polarity(self, claim: str) -> Iterable[str]:
        best = self._sentences[self._best(self.rewritten(claim))].text
        bearing = self._borne(claim)
        if denies(claim) != (bearing.denies if bearing else denies(best)):
            yield "denial"
        rises, falls = directions(claim)
        best_rises, best_falls = directions(best)
        if (rises and best_falls and not best_rises) or (falls and best_rises and not best_falls):
            yield "direction"

    def _grams_of(self, size: int) -> list[frozenset[str]]:
        if size not in self._grams:
            self._grams[size] = [frozenset(_grams(one.text, size)) for one in self._sentences]
        return self._grams[size]

    def _best(self, claim: str) -> int:
        """Return the sentence that holds most of a claim; the first of equals."""
        held = self._held(claim)
        return held.index(max(held))

    def _held(self, claim: str) -> list[float]:
        """Return how much of a claim each sentence holds."""
        by_terms = _held([one.terms for one in self._sentences], _terms(claim, self._language))
        by_letters = _held(self._grams_of(_run(claim)), _grams(claim, _run(claim)))
        return [terms + _LETTERS_SHARE * letters for terms, letters in zip(by_terms, by_letters, strict=True)]


# An answer's claims are held to the same few passages one after the other.
@lru_cache(maxsize=8)
def _read(passages: tuple[str, ...], language: str) -> _Passages:
    return _Passages(passages, language)


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
