"""The measures of a run, by hand on small runs; errors never make a figure better."""

import pytest

from indexerd.evaluation.cases import Case, GoldClaim
from indexerd.evaluation.measures import CaseResult, Ranked, failures, measured, ndcg


def block(source, number=1, text="the text"):
    return {"label": f"S{number}", "citation": f"{source}#L1-L2", "chunk_id": f"chk_{number}", "text": text}


def reply(*blocks, chars=100, unsafe=()):
    return {
        "abstained": not blocks,
        "evidence": {"blocks": list(blocks), "prompt_chars": chars} if blocks else None,
        "hits": [{"chunk_id": one["chunk_id"], "unsafe": one["chunk_id"] in unsafe} for one in blocks],
    }


def case(**given):
    return Case(**{"case_id": "c", "query": "q", "expected": ("a.md",), **given})


def result(*blocks, ranked=(), **given):
    asked = given.pop("case", case())
    return CaseResult(case=asked, reply=reply(*blocks), ranked=Ranked(sources=tuple(ranked)), **given)


def test_a_perfect_run_is_perfect():
    """Every expected source, no other."""
    found = measured([result(block("a.md"), ranked=["a.md"]), result(case=case(expected=(), abstains=True))])
    assert (found["recall_at_k"], found["citation_precision"], found["mrr"], found["ndcg_at_10"]) == (
        1.0,
        1.0,
        1.0,
        1.0,
    )
    assert (found["negative_abstention_accuracy"], found["stale_citation_rate"]) == (1.0, 0.0)
    assert found["verdict_accuracy"] is None


@pytest.mark.parametrize(
    ("measure", "broken", "value"),
    [
        ("recall_at_k", lambda: result(block("b.md")), 0.0),
        ("citation_precision", lambda: result(block("a.md"), block("b.md", 2)), 0.5),
        ("stale_citation_rate", lambda: result(block("a.md"), stale=("a.md#L1-L2",)), 1.0),
        ("forbidden_source_rate", lambda: result(block("b.md"), case=case(forbidden=("b.md",))), 1.0),
        ("scope_leak_rate", lambda: result(block("b.md"), ranked=["b.md"], case=case(paths=("a*",))), 1.0),
        ("scope_leak_rate", lambda: result(block("a.md"), case=case(paths=("*.md", "!b.md"))), 0.0),
        ("mrr", lambda: result(block("a.md"), ranked=["b.md", "a.md"]), 0.5),
        ("candidate_recall_at_100", lambda: result(block("a.md"), ranked=["b.md"]), 0.0),
        ("permission_leak_rate", lambda: result(block("a.md", text="see b.md"), case=case(never=("b.md",))), 1.0),
        (
            "negative_abstention_accuracy",
            lambda: result(block("a.md"), case=case(expected=(), abstains=True)),
            0.0,
        ),
    ],
)
def test_a_fault_of_the_retriever_shows_in_its_measure(measure, broken, value):
    """And the case says what it failed by, where it can."""
    assert measured([broken()])[measure] == value


def test_unsafe_blocks_and_prompts_over_the_budget_are_counted():
    """Each block, each case."""
    unsafe = CaseResult(case=case(), reply=reply(block("a.md"), unsafe={"chk_1"}))
    long = CaseResult(case=case(budget_chars=50), reply=reply(block("a.md"), chars=51))
    assert measured([unsafe])["unsafe_evidence_rate"] == 1.0
    assert measured([long])["prompt_budget_violation_rate"] == 1.0
    assert any("50 characters" in fault for fault in failures(long))


def test_an_error_counts_as_a_failure_in_every_measure_of_its_case():
    """The denominator stays: one good case and one error are a half."""
    found = measured([result(block("a.md"), ranked=["a.md"]), CaseResult(case=case(), error="lost")])
    assert (found["recall_at_k"], found["mrr"]) == (0.5, 0.5)
    assert found["prompt_budget_violation_rate"] == 0.5


def checked(codes=(), claim_codes=(), text="Alpha is one.", label="S1"):
    claim = {"text": text, "citations": [{"label": label}], "issues": list(claim_codes)}
    return {"issue_codes": list(codes), "claims": [claim], "abstained": False, "verdict": "fail" if codes else "pass"}


def test_answers_are_measured_by_verdict_codes_and_gold():
    """A good answer accepted, a bad one rejected with its code."""
    answer = {"claims": []}
    gold = (GoldClaim(text="Alpha is one", sources=("a.md",)),)
    good = result(block("a.md"), case=case(answer=answer, gold=gold), report=checked())
    bad = result(
        block("a.md"),
        case=case(answer=answer, passes=False, issue_codes=("uncited_claim",)),
        report=checked(["uncited_claim"], ["uncited_claim"]),
    )
    found = measured([good, bad])
    names = ("verdict_accuracy", "gold_source_alignment", "adversarial_rejection_rate", "claim_citation_coverage")
    assert [found[name] for name in names] == [1.0, 1.0, 1.0, 1.0]
    assert list(failures(good)) == list(failures(bad)) == []


def test_what_only_an_evaluation_can_know_has_codes_of_its_own():
    """An answer where none was due, a claim that is missing, a wrong source."""
    due = result(block("a.md"), case=case(expected=(), abstains=True, answer={"claims": []}), report=checked())
    missing = result(
        block("a.md"), case=case(answer={}, gold=(GoldClaim(text="Beta.", sources=("a.md",)),)), report=checked()
    )
    wrong = result(
        block("b.md"),
        case=case(answer={}, gold=(GoldClaim(text="Alpha is one.", sources=("a.md",)),)),
        report=checked(),
    )
    faults = ["\n".join(failures(one)) for one in (due, missing, wrong)]
    assert "expected_abstention" in faults[0]
    assert "missing_expected_claim" in faults[1]
    assert "wrong_gold_source" in faults[2]


def test_gains_are_discounted_by_place():
    """1 / log2(3) for the second place."""
    assert ndcg({"a": 1}, ["a"]) == 1.0
    assert ndcg({"a": 1}, ["b", "a"]) == pytest.approx(0.6309, abs=1e-4)
    assert ndcg({}, ["a"]) == 0.0
