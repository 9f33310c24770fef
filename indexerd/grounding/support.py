"""Whether passages support a claim, as far as words, numbers, dates, names and polarity tell, and what they lack.

Owns: the weights of the measures, the score, the band; what counts as missing of each kind, as the claim writes it.
Knows nothing of: citations, evidence sets, where passages come from.
Invariants: 1. the same claim and passages give the same support, to the last bit. 2. a claim whose number, date or
    unit no passage holds is never `supported`. 3. what is not `supported` has a reason, and what that names stands in
    the claim.
Purity: pure.
See: docs/grounding.md (support), benchmarks/bench_grounding.py for the figures.
"""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from indexerd.grounding.alignment import CJK, Alignment, aligned, sentence_of, telling_words
from indexerd.grounding.misattribution import misplaced, moved_against, placed_values, swapped, turned
from indexerd.grounding.passages import Features, Passages, SupportSpan, read_passages
from indexerd.grounding.polarity import contrary, denials, denies, runs_against
from indexerd.grounding.values import exact_values

Band = Literal["supported", "partial", "not_found", "not_a_claim"]


# Fitted by logistic regression on the training parts of three sets; see the benchmark's --fit.
WEIGHTS: Final = Features(2.35, 6.38, 2.04, -1.30, -0.67, -1.88, -0.24, -0.60, -2.92)
BIAS: Final = -7.18
SUPPORTED_FROM: Final = 0.5
PARTIAL_FROM: Final = 0.2
# A longer claim is not judged: no sentence is so long, and what it costs grows with its length times the passages'.
MAX_CLAIM_CHARS: Final = 4000
_SHOWN_CHARS: Final = 80
# A claim that repeats its question is borne by what it says of it.
_QUESTION_SHARE: Final = 0.25
# The first measures are shares; only those are shared out between question and statement.
_LAST_SHARE: Final = 2
# A sentence so alike says the same, or the contrary.
_ALIKE_FROM: Final = 0.6
# What alone is another in a sentence of characters that is otherwise the same is a name.
_NAMES_ALIKE_FROM: Final = 0.8
_LONGEST_NAME: Final = 4
_MOST_WORDS: Final = 3
_COGNATE: Final = 3
_DAYS: Final = frozenset(("calendar", "date"))
_ASKS: Final = re.compile("什么|多少|哪|谁|吗|呢|几|如何|怎么|怎样|为何|是否|何时|何地")
_QUESTION_FIRST: Final = re.compile(r"(?s)(.*[?？])\s*(\S.*)")


class Reason(NamedTuple):
    """One way in which passages fall short of a claim.

    Attributes:
        code: `terms`, `numbers`, `units`, `dates`, `names` or `polarity`; `length` of a claim too long to be judged.
        missing: What the claim says and no passage does, as the claim writes it.
    """

    code: str
    missing: tuple[str, ...]


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


def support_of(claim: str, passages: Sequence[str], language: str = "english") -> Support:
    """Compare a claim with passages; one of more than `MAX_CLAIM_CHARS` is not found, for its length.

    Args:
        claim: One statement, in any language; if it begins with a question, what follows is its answer.
        passages: The texts that it is held to, together.
        language: The stemming language of both.
    """
    if len(claim) > MAX_CLAIM_CHARS:
        return Support("not_found", 0.0, (Reason("length", (claim[:_SHOWN_CHARS],)),), ())
    read = read_passages(tuple(passages), language)
    features = features_of(claim, passages, language)
    score = 1 / (1 + math.exp(-BIAS - sum(weight * value for weight, value in zip(WEIGHTS, features, strict=True))))
    reasons = reasons_of(read, claim)
    band = _band(score, reasons)
    if band != "supported" and not reasons:
        reasons = (Reason("terms", scattered(read, claim)),)
    return Support(band, score, reasons, read.spans(claim))


def features_of(claim: str, passages: Sequence[str], language: str = "english") -> Features:
    """Measure a claim against passages; see `support_of`."""
    read = read_passages(tuple(passages), language)
    question, statement = question_and_statement(claim)
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


def question_and_statement(claim: str) -> tuple[str, str]:
    """Part a claim into the question it repeats, if any, and what it states."""
    if match := _QUESTION_FIRST.fullmatch(claim):
        return match[1], match[2]
    if CJK.search(claim):
        pieces = claim.split()
        asking = [piece for piece in pieces if _ASKS.search(piece)]
        if asking and len(asking) < len(pieces):
            return " ".join(asking), " ".join(piece for piece in pieces if not _ASKS.search(piece))
    return "", claim


def reasons_of(read: Passages, claim: str) -> tuple[Reason, ...]:
    """Return what of a claim is in no passage, or said there of something else."""
    best = read.best(claim)
    beside = aligned(sentence_of(claim), sentence_of(best), _ALIKE_FROM)
    found = {code: dict[str, None]() for code in ("terms", "numbers", "units", "dates", "names", "polarity")}
    for code, written in _missing(read, claim):
        found[code][written] = None
    found["polarity"] |= dict.fromkeys(_polarity(read, claim, [*_opposite(claim, best, beside)]))
    for code, written in (*_contrary(read, claim, best, beside), *swapped(claim, read.parallels, read.language)):
        if not any(written in known for known in found[code]):
            found[code][written] = None
    return tuple(Reason(code, tuple(missing)) for code, missing in found.items() if missing)


def _missing(read: Passages, claim: str) -> Iterator[tuple[str, str]]:
    """Yield the words, values and names that no passage holds, and those that are there of something else."""
    # What is asked need not be in a passage that answers it.
    bearing, (_, statement) = read.borne(claim), question_and_statement(claim)
    lacking = bearing.missing if bearing else read.lacking(read.rewritten(statement), read.terms)
    yield from (("terms", word) for word in lacking)
    missing = [("dates" if one.kind in _DAYS else "numbers", one) for one in read.missing_values(claim)]
    missing += [("units", one) for one in read.other_units(claim)]
    elsewhere = () if bearing else misplaced(placed_values(claim, read.language), read.placed)
    for one in (*elsewhere, *turned(claim, read.text, read.language)):
        code = "dates" if one.date or one.kind in _DAYS else "names" if one.kind == "name" else "numbers"
        missing.append((code, one))
    yield from ((code, claim[one.start : one.end]) for code, one in missing)
    yield from (("names", name) for name in read.missing_names(claim))


def scattered(read: Passages, claim: str) -> tuple[str, ...]:
    """Return the words that the best sentence lacks, though each is in a passage; all words if it lacks none."""
    claim = read.rewritten(claim)
    missing = read.lacking(claim, frozenset(term for _, _, term in telling_words(read.best(claim), read.language)))
    return tuple(missing) or (claim.strip(),)


def _polarity(read: Passages, claim: str, opposite: Sequence[tuple[str, str]]) -> Iterable[str]:
    best, bearing, claim = read.best(claim), read.borne(claim), read.rewritten(claim)
    if bearing:
        # A cell may hold a word of denial, which the claim then has from there.
        own = [
            claim[start:end] for start, end in denials(claim) if claim[start:end].lower() not in bearing.text.lower()
        ]
        is_denied = bool(own) != bearing.denies
    else:
        is_denied = denies(claim) != read.denies(claim)
    # What is not unsafe is safe.
    if is_denied != bool(sum(denies(one) == denies(other) for one, other in opposite) % 2):
        yield from (one for one, _ in opposite) if opposite else ("denial",)
    if runs_against(claim, best) or moved_against(placed_values(claim, read.language), read.placed):
        yield "direction"


def _opposite(claim: str, best: str, beside: Alignment | None) -> Iterable[tuple[str, str]]:
    """Give the words that stand where the best sentence, which is alike, has their contrary, with that."""
    for left, right in (*beside.differing, *beside.replaced) if beside else ():
        one, other = claim[left.start : left.end], best[right.start : right.end]
        if left.key.startswith("#yes_no") or (not left.key and contrary(one, other)):
            yield one, other


def _is_another(read: Passages, mine: str, other: str, alike: float) -> bool:
    """Whether what alone differs in two sentences is another thing: a name, or what another sentence speaks of."""
    if CJK.match(mine) and CJK.match(other):
        return alike >= _NAMES_ALIKE_FROM and max(len(mine), len(other)) <= _LONGEST_NAME
    words, others = mine.lower().split(), other.lower().split()
    is_kin = any(one[:_COGNATE] == each[:_COGNATE] for one in words for each in others)
    is_known = not read.lacking(mine, read.terms)
    return is_known and not is_kin and max(len(words), len(others)) <= _MOST_WORDS


def _contrary(read: Passages, claim: str, best: str, beside: Alignment | None) -> Iterable[tuple[str, str]]:
    """Give the names, also of a machine, and rates that stand where the best sentence has others."""
    for left, _ in beside.differing if beside else ():
        if left.key == "#code" and claim[left.start : left.end].lower() not in best.lower():
            yield "names", claim[left.start : left.end]
    if beside and beside.is_even and len(beside.replaced + beside.differing) == 1:
        for left, right in beside.replaced:
            mine, other = claim[left.start : left.end], best[right.start : right.end]
            if _is_another(read, mine, other, beside.alike):
                yield "names", mine
    rates = {one.key for one in exact_values(best) if one.kind == "rate"}
    for one in exact_values(claim):
        if one.kind == "rate" and rates and one.key not in rates:
            yield "numbers", claim[one.start : one.end]
