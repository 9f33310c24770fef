"""Whether passages support a claim, as far as words, numbers, dates, names and polarity tell.

Owns: the weights of the measures, the score, the band.
Knows nothing of: citations, evidence sets, where passages come from.
Invariants: 1. the same claim and passages give the same support, to the last bit. 2. a claim whose number, date or
    unit no passage holds is never `supported`. 3. what is not `supported` has a reason.
Purity: pure.
See: docs/grounding.md (support), benchmarks/bench_grounding.py for the figures.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from indexerd.grounding.passages import Features, SupportSpan, read_passages
from indexerd.grounding.reasons import Reason, question_and_statement, reasons_of, scattered

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
