"""Case files are read whole, or refused with every problem in them."""

import json

import pytest

from indexerd.errors import InputError
from indexerd.evaluation.cases import read_cases, scripted_answer


def written(*cases):
    return json.dumps({"cases": list(cases)})


def test_a_case_of_retrieval_is_read():
    """Expected and forbidden sources, k, budget; none expected means that the answer is to abstain."""
    one, two = read_cases(
        written(
            {"case_id": "a", "query": "x", "expected_sources": ["a.md"], "forbidden_sources": ["b.md"], "top_k": 2},
            {"case_id": "b", "query": "y", "expected_sources": []},
        ),
        "cases.json",
    )
    assert (one.expected, one.forbidden, one.top_k, one.abstains) == (("a.md",), ("b.md",), 2, False)
    assert two.abstains
    assert one.params() == {"text": "x", "k": 2, "budget_chars": 12_000}


def test_a_case_with_roles_and_a_day_is_read():
    """What must never occur is forbidden too; what should come first is expected."""
    (one,) = read_cases(
        written(
            {
                "case_id": "a", "query": "x", "roles": ["staff"], "as_of": "2026-01-01", "expect_top": "a.md",
                "expect_text": "400", "never": ["b.md"],
            }
        ),
        "cases.json",
    )  # fmt: skip
    assert (one.top, one.expected, one.texts, one.never, one.forbidden) == (
        "a.md",
        ("a.md",),
        ("400",),
        ("b.md",),
        ("b.md",),
    )
    assert one.params()["roles"] == ["staff"]


def test_every_problem_of_a_file_is_named():
    """Unknown keys, wrong types, ids that are there twice: all at once."""
    with pytest.raises(InputError) as refused:
        read_cases(
            written({"case_id": "a", "query": 1, "expected": []}, {"case_id": "a", "query": "x", "top_k": "two"}),
            "c.json",
        )
    problems = "\n".join(refused.value.problems)
    assert all(part in problems for part in ("unknown key 'expected'", "query must be a text", "top_k", "there twice"))


@pytest.mark.parametrize("key", ["expected_pass", "should_abstain", "expect_abstain"])
def test_what_is_expected_is_true_or_false(key):
    """A word that stands for one would always count as true."""
    with pytest.raises(InputError, match=f"{key} must be true or false"):
        read_cases(written({"case_id": "a", "query": "x", "answer": {}, key: "no"}), "c.json")


@pytest.mark.parametrize("claims", [1, ["x"], [{"citations": ["S1"]}], [{"citations": {"label": "S1"}}]], ids=str)
def test_claims_and_citations_are_objects(claims):
    """What names no source cannot be looked up among the blocks of a run."""
    with pytest.raises(InputError, match="must be lists of objects"):
        read_cases(written({"case_id": "a", "query": "x", "answer": {"claims": claims}}), "c.json")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"cases": []}', '{"cases": [1]}'])
def test_what_is_no_file_of_cases_is_refused(text):
    """Never an empty run."""
    with pytest.raises(InputError):
        read_cases(text, "c.json")


def test_a_scripted_answer_gets_this_runs_labels_and_citations():
    """By the block of the source that holds the quote; a source that was not selected stays unknown."""
    (case,) = read_cases(
        written(
            {
                "case_id": "a", "query": "x", "answer": {"claims": [
                    {"text": "t", "citations": [{"source_path": "a.md", "quote": "two"}, {"source_path": "z.md"}]}]},
            }
        ),
        "c.json",
    )  # fmt: skip
    blocks = [
        {"label": "S1", "citation": "a.md#L1-L1", "text": "one"},
        {"label": "S2", "citation": "a.md#L3-L3", "text": "two"},
    ]
    answer = scripted_answer(case, {"evidence": {"evidence_set_id": "evidence_1", "blocks": blocks}})
    first, second = answer["claims"][0]["citations"]
    assert (first["label"], first["citation"]) == ("S2", "a.md#L3-L3")
    assert "label" not in second
    assert answer["evidence_set_id"] == "evidence_1"
