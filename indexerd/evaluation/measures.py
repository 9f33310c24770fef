"""The measures of a run: what was selected, cited, refused and withheld, against what the cases expect.

Owns: the definition of each measure, with its denominator; what a case failed by.
Knows nothing of: who answered.
Invariants: 1. denominators are fixed by the cases: a case that ended in an error counts as failed in every measure it
    is in, and never leaves it. 2. a measure without cases is null, not perfect.
Purity: pure.
See: docs/evaluation.md (measures).
"""

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from indexerd.access.globs import chooser
from indexerd.evaluation.cases import Case, source_of

Json = Mapping[str, Any]
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """Documents by their best chunk, from a plain query."""

    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseResult:
    """What came of one case.

    Attributes:
        reply: The `evidence` reply; None where the case ended in an error.
        stale: Citations of selected blocks that do not hold in their source.
        ranked: The ranking of a plain query.
        report: The check of the scripted answer, if there is one.
        repeated: Whether a second check gave the same report.
        error: Why there is no reply.
    """

    case: Case
    reply: Json | None = None
    stale: tuple[str, ...] = ()
    ranked: Ranked = Ranked()
    report: Json | None = None
    repeated: bool = True
    error: str = ""

    @property
    def blocks(self) -> Sequence[Json]:
        """The selected blocks."""
        evidence = (self.reply or {}).get("evidence") or {}
        return () if (self.reply or {}).get("abstained") else evidence.get("blocks", ())

    @property
    def selected(self) -> tuple[str, ...]:
        """The sources of the selected blocks, in order, once each."""
        return tuple(dict.fromkeys(map(source_of, self.blocks)))

    @property
    def abstained(self) -> bool:
        """Whether no evidence was given."""
        return self.reply is not None and not self.blocks


def failures(result: CaseResult) -> Iterator[str]:
    """Give what a case failed by; nothing where all that it expects came true."""
    case = result.case
    if result.error:
        yield f"error: {result.error}"
        return
    if case.abstains != result.abstained and (case.abstains or case.expected):
        yield "gave evidence where it should abstain" if case.abstains else "abstained"
    yield from (f"missing: {source}" for source in case.expected if source not in result.selected)
    yield from (f"forbidden: {source}" for source in case.forbidden if source in result.selected)
    yield from (f"leaked: {source}" for source in _leaked(result))
    yield from (f"outside of the paths: {source}" for source in _out_of_scope(result))
    yield from (f"stale: {citation}" for citation in result.stale)
    if case.top and result.selected[:1] != (case.top,):
        yield f"first is {result.selected[0] if result.selected else 'nothing'}, not {case.top}"
    shown = "\n".join(block["text"] for block in result.blocks)
    yield from (f"no block contains {text!r}" for text in case.texts if text not in shown)
    if _over_budget(result):
        yield f"the prompt has more than {case.budget_chars} characters"
    yield from _answer_failures(result)


def _answer_failures(result: CaseResult) -> Iterator[str]:
    if result.report is None:
        return
    if _passed(result) != result.case.passes:
        yield "the answer passed" if _passed(result) else f"the answer failed: {', '.join(codes_of(result))}"
    if codes_of(result) != result.case.issue_codes:
        yield f"codes are {list(codes_of(result))}, not {list(result.case.issue_codes)}"
    if not result.repeated:
        yield "the same check gave another report"


def codes_of(result: CaseResult) -> tuple[str, ...]:
    """Return the issue codes of a scripted answer, with those that only an evaluation can know."""
    assert result.report is not None
    return tuple(sorted({*result.report["issue_codes"], *_evaluation_codes(result)}))


def _evaluation_codes(result: CaseResult) -> Iterator[str]:
    """Find what is wrong with an answer when it is known what it should have said."""
    case, report = result.case, result.report
    assert report is not None
    if case.abstains and not report["abstained"]:
        yield "expected_abstention"
    if not case.abstains and report["abstained"]:
        yield "unexpected_abstention"
    stated = {_plain(claim["text"]): claim for claim in report["claims"]}
    for gold in case.gold if case.passes else ():
        claim = stated.get(_plain(gold.text))
        if claim is None:
            yield "missing_expected_claim"
        elif not _cited_sources(claim, result) & set(gold.sources):
            yield "wrong_gold_source"


def _plain(text: str) -> str:
    return " ".join(text.split()).rstrip(".。").casefold()


def _cited_sources(claim: Json, result: CaseResult) -> set[str]:
    by_label = {block["label"]: source_of(block) for block in result.blocks}
    return {by_label[one["label"]] for one in claim["citations"] if one["label"] in by_label}


def _passed(result: CaseResult) -> bool:
    return result.report is not None and not codes_of(result)


def _leaked(result: CaseResult) -> list[str]:
    if not result.case.never:
        return []
    written = json.dumps(result.reply, ensure_ascii=False)
    return [source for source in result.case.never if source in written]


def _out_of_scope(result: CaseResult) -> list[str]:
    """Return what was selected although the globs leave it out: by their own meaning, whatever the retriever thinks."""
    is_inside = chooser(result.case.paths)
    return [source for source in result.selected if not is_inside(source)]


def _over_budget(result: CaseResult) -> bool:
    evidence = (result.reply or {}).get("evidence") or {}
    return bool(evidence.get("prompt_chars", 0) > result.case.budget_chars)


def measured(results: Sequence[CaseResult]) -> dict[str, float | None]:
    """Return every measure of a run; None where no case speaks of it."""
    positive = [one for one in results if one.case.expected]
    negative = [one for one in results if one.case.abstains]
    blocks = [(one, block) for one in results for block in one.blocks]
    answers = [one for one in results if one.case.answer is not None]
    return {
        "recall_at_k": _mean(positive, lambda one: _share(one.case.expected, one.selected)),
        "citation_precision": _mean(positive, _precision),
        "stale_citation_rate": _rate(blocks, lambda pair: pair[1]["citation"] in pair[0].stale),
        "negative_abstention_accuracy": _mean(negative, lambda one: float(one.abstained)),
        "forbidden_source_rate": _worst([one for one in results if one.case.forbidden], _has_forbidden),
        "unsafe_evidence_rate": _rate(blocks, lambda pair: _is_unsafe(*pair)),
        "prompt_budget_violation_rate": _worst(results, _over_budget),
        "permission_leak_rate": _worst([one for one in results if one.case.never], lambda one: bool(_leaked(one))),
        "scope_leak_rate": _worst([one for one in results if one.case.paths], lambda one: bool(_out_of_scope(one))),
        "mrr": _mean(positive, lambda one: _reciprocal(one.case.expected, one.ranked.sources)),
        "ndcg_at_10": _mean(positive, lambda one: ndcg(dict.fromkeys(one.case.expected, 1), one.ranked.sources)),
        "candidate_recall_at_100": _mean(positive, lambda one: _share(one.case.expected, one.ranked.sources[:100])),
        **_answer_measures(answers),
    }


def _answer_measures(answers: Sequence[CaseResult]) -> dict[str, float | None]:
    claims = [(one, claim) for one in answers if one.report for claim in one.report["claims"]]
    citations = [(one, claim, cited) for one, claim in claims for cited in claim["citations"]]
    good = [pair for pair in claims if pair[0].case.passes]
    gold = [(one, claim) for one in answers if one.case.passes for claim in one.case.gold]
    return {
        "verdict_accuracy": _mean(answers, lambda one: float(_is_as_expected(one))),
        "claim_citation_coverage": _rate(good, lambda pair: bool(pair[1]["citations"])),
        "citation_validity_rate": _rate(
            [triple for triple in citations if triple[0].case.passes], lambda triple: not set(triple[1]["issues"])
        ),
        "gold_source_alignment": _rate(gold, lambda pair: _is_aligned(*pair)),
        "unsupported_claim_rate": _rate(good, lambda pair: "unsupported_claim" in pair[1]["issues"]),
        "adversarial_rejection_rate": _mean(
            [one for one in answers if not one.case.passes],
            lambda one: float(one.report is not None and not _passed(one)),
        ),
        "deterministic_replay": _mean(answers, lambda one: float(one.report is not None and one.repeated)),
    }


def _is_as_expected(one: CaseResult) -> bool:
    return one.report is not None and _passed(one) == one.case.passes and codes_of(one) == one.case.issue_codes


def _is_aligned(one: CaseResult, gold: Any) -> bool:
    claims = (one.report or {}).get("claims", ())
    return any(
        _plain(claim["text"]) == _plain(gold.text) and _cited_sources(claim, one) & set(gold.sources)
        for claim in claims
    )


def _has_forbidden(one: CaseResult) -> bool:
    return not set(one.case.forbidden).isdisjoint(one.selected)


def _is_unsafe(one: CaseResult, block: Json) -> bool:
    hits = (one.reply or {}).get("hits", ())
    return any(hit["chunk_id"] == block["chunk_id"] and hit["unsafe"] for hit in hits)


def _precision(one: CaseResult) -> float:
    sources = [source_of(block) for block in one.blocks]
    return sum(source in one.case.expected for source in sources) / len(sources) if sources else 0.0


def _share(wanted: Sequence[str], found: Iterable[str]) -> float:
    return len(set(wanted) & set(found)) / len(set(wanted))


def _reciprocal(wanted: Sequence[str], ranked: Sequence[str]) -> float:
    return next((1 / place for place, source in enumerate(ranked, 1) if source in wanted), 0.0)


def ndcg(gains: Mapping[str, int], ranked: Sequence[str], depth: int = 10) -> float:
    """Return nDCG: gains discounted by log2 of place plus one, over those of the best order; 0 where nothing gains."""
    best = sum(
        gain / math.log2(place + 1) for place, gain in enumerate(sorted(gains.values(), reverse=True)[:depth], 1)
    )
    found = sum(gains.get(source, 0) / math.log2(place + 1) for place, source in enumerate(ranked[:depth], 1))
    return found / best if best else 0.0


def _mean(cases: Sequence[CaseResult], value: Callable[[CaseResult], float]) -> float | None:
    """Average over cases; one that ended in an error counts as nothing."""
    if not cases:
        return None
    return sum(0.0 if one.error else value(one) for one in cases) / len(cases)


def _worst(cases: Sequence[CaseResult], is_bad: Callable[[CaseResult], bool]) -> float | None:
    """Return the share of bad cases; one that ended in an error counts as bad."""
    return sum(bool(one.error) or is_bad(one) for one in cases) / len(cases) if cases else None


def _rate(items: Sequence[Item], is_so: Callable[[Item], bool]) -> float | None:
    return sum(map(is_so, items)) / len(items) if items else None
