"""A trace holds each stage from source to checked answer, and is read back as it was written."""

import json

import pytest

from indexerd.cli.replaying import Difference, _compared, _differences, _stage
from indexerd.cli.tracing import ASKED, STAGES, evidence_in, read_trace, trace_of, with_answer, write_trace
from indexerd.errors import RequestError
from tests.fakes.service_parts import SmallHouse

TEXT = "# Lodging\n\nLodging is paid up to 300 yuan a night.\n"
ANSWER = "Lodging is paid up to 300 yuan a night [S1]."


@pytest.fixture
def house():
    return SmallHouse({"lodging.md": TEXT, "meals.md": "# Meals\n\nMeals are paid up to 100 yuan a day.\n"})


def traced(house, text="lodging paid", **params):
    return trace_of(house.call("evidence", text=text, **ASKED, **params))


def test_each_stage_is_what_the_next_was_made_from(house, tmp_path):
    """Text with hashes, scores with parts and rejections with reasons, the prompt, the answer, the report."""
    trace = traced(house, k=1)
    assert trace["sources"][0]["text"] == TEXT
    assert trace["candidates"]["selected"][0]["explain"]["parts"]
    assert [one["code"] for one in trace["candidates"]["rejected"]] == ["top_k_reached"]
    assert TEXT.strip() in trace["context"]["prompt"]
    assert (trace["model"], trace["citations"]) == (None, None)
    report = house.call("check", answer=ANSWER, evidence=evidence_in(trace))
    assert report["verdict"] == "pass"
    whole = with_answer(trace, ANSWER, "the prompt", report)
    assert whole["model"] == {"sent": "the prompt", "answered": ANSWER}
    write_trace(str(tmp_path / "t.json"), whole)
    assert read_trace(str(tmp_path / "t.json")) == json.loads(json.dumps(whole))


def test_an_abstained_reply_has_a_trace_too(house):
    """Nothing was selected; why is said, and an answer that abstains can be held to it."""
    trace = traced(house, "quokka")
    assert (trace["sources"], trace["context"], trace["abstention_reason"]) == ([], None, "no_overlap")
    answer = {"claims": [], "abstained": True, "abstention_reason": "no evidence"}
    assert house.call("check", answer=answer, evidence=evidence_in(trace))["verdict"] == "pass"


def test_the_first_stage_that_differs_is_named(house):
    """In the order of the stages, whatever else differs after it; a file touched again is no difference."""
    saved = traced(house)
    assert not list(_differences(_compared(saved), _compared(traced(house))))
    house.save({"lodging.md": TEXT.replace("300", "350")})
    differences = list(_differences(_compared(saved), _compared(traced(house))))
    assert _stage(differences) == "sources"
    for number, name in enumerate(STAGES):
        later = [Difference(f"{one}[0].x", 1, 2) for one in reversed(STAGES[number:])]
        assert _stage(later) == name
    assert _stage([Difference("query", 1, 2)]) == "request"
    assert _stage([]) is None


@pytest.mark.parametrize("text", ["", "[]", '{"trace": 2}', '{"trace": 1, "sources": []}'])
def test_what_is_no_trace_is_refused(tmp_path, text):
    """With the command that writes one."""
    (tmp_path / "t.json").write_text(text)
    with pytest.raises(RequestError, match="evidence --trace"):
        read_trace(str(tmp_path / "t.json"))
