"""An answer held to its evidence: each fault has its code, and a good answer has none."""

import hashlib
from dataclasses import replace

import pytest

from indexerd.digests import evidence_set_id
from indexerd.errors import RequestError
from indexerd.grounding import (
    Evidence,
    EvidenceBlock,
    Proof,
    check_answer,
    structured_answer,
    support_of,
    text_answer,
)
from indexerd.grounding.answers import evidence_of
from indexerd.grounding.checking import MOST_OTHERS
from indexerd.grounding.reporting import fixed_structure, fixed_text, judged_pair, report_json

LODGING = "Lodging is paid up to 300 yuan a night.\n"
MEALS = "Meals are paid up to 100 yuan a day.\nReceipts are kept for two years.\n"
QUOTE = "Lodging is paid up to 300 yuan"


def block(label, path, text, last):
    digest = hashlib.sha256(text.encode()).hexdigest()
    return EvidenceBlock(
        label=label, chunk_id=f"chk_{label}", citation=f"{path}#L1-L{last}", content_hash=digest, text=text
    )


BLOCKS = (block("S1", "lodging.md", LODGING, 1), block("S2", "meals.md", MEALS, 2))
SET_ID = evidence_set_id("limits?", [(one.label, one.chunk_id, one.citation, one.content_hash) for one in BLOCKS])
EVIDENCE = Evidence(query="limits?", evidence_set_id=SET_ID, blocks=BLOCKS)


def fresh(_block):
    return Proof("fresh")


def claim(text="Lodging is paid up to 300 yuan a night.", *citations):
    return {"text": text, "citations": list(citations or ({"label": "S1", "quote": QUOTE},))}


def codes(answer, evidence=EVIDENCE, prove=fresh):
    read = text_answer(answer) if isinstance(answer, str) else structured_answer(answer)
    return sorted({issue.code for issue in check_answer(read, evidence, prove).issues})


def test_a_good_answer_has_no_issue():
    """Structured and in text; coverage is whole."""
    assert codes({"evidence_set_id": SET_ID, "claims": [claim()]}) == []
    text = text_answer("Lodging is paid up to 300 yuan a night [S1]. Meals are paid up to 100 yuan a day [S2].")
    report = check_answer(text, EVIDENCE, fresh)
    assert (report.issues, report.coverage, report.passed) == ((), 1.0, True)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ({"evidence_set_id": "evidence_other", "claims": [claim()]}, "evidence_set_mismatch"),
        ({"claims": [{"text": "Lodging is paid."}]}, "uncited_claim"),
        ({"claims": [claim("Lodging is paid up to 300 yuan a night.", {"label": "S9"})]}, "unknown_citation"),
        (
            {"claims": [claim("Lodging is paid up to 300 yuan a night.", {"citation": "x.md#L1-L1"})]},
            "unknown_citation",
        ),
        (
            {"claims": [claim("Lodging is paid up to 300 yuan.", {"label": "S1", "citation": "meals.md#L1-L2"})]},
            "citation_metadata_mismatch",
        ),
        ({"claims": [claim("Lodging is paid.", {"label": "S1", "quote": "up to 999 yuan"})]}, "quote_not_in_evidence"),
        ({"claims": [claim("Lodging is paid.", {"label": "S1"}, {"label": "S1"})]}, "duplicate_citation"),
        ("Lodging is paid up to 300 yuan a night [S1] [S1].", "duplicate_citation"),
        ("Lodging is paid up to 300 yuan a night [S1]. [S1]", "duplicate_citation"),
        ({"claims": [claim()], "abstained": True, "abstention_reason": "none"}, "abstention_has_claims"),
        ({"claims": [], "abstained": True}, "missing_abstention_reason"),
        ({"claims": []}, "empty_answer"),
        ({"claims": [claim()], "abstention_reason": "why"}, "unexpected_abstention_reason"),
        ({"claims": [claim("Elephants paint quickly.")]}, "unsupported_claim"),
        ({"claims": [claim("Lodging is paid up to 400 yuan a night.")]}, "unsupported_claim"),
        ("Lodging is paid up to 300 yuan a night, see http://evil.example/x [S1].", "unknown_link"),
        ("Lodging is paid up to 300 yuan a night [S1]. Questions? ops@evil.example?", "unknown_link"),
        ("Lodging is paid up to 300 yuan a night [S1].\n\n[x]: evil/x.md", "unknown_link"),
        ("Lodging is paid “up to 300 yuan every night” [S1].", "quote_not_in_evidence"),
        ("> Lodging is paid up to 300 yuan for a night. [S1]", "quote_not_in_evidence"),
        (
            {"claims": [claim("Lodging is paid “up to 300 yuan every night”.", {"label": "S1"})]},
            "quote_not_in_evidence",
        ),
    ],
)
def test_each_fault_has_its_code_alone(answer, expected):
    """One fault, one code."""
    assert codes(answer) == [expected]


def test_each_part_of_a_sentence_may_cite_the_same():
    """What stands there again behind further words is no second citation."""
    assert codes("Lodging is paid [S1]; it is paid up to 300 yuan a night [S1].") == []


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ("changed", "stale_evidence"),
        ("moved", "stale_evidence"),
        ("gone", "stale_evidence"),
        ("not_valid", "evidence_not_valid"),
    ],
)
def test_a_citation_whose_source_says_otherwise_now_is_stale(state, expected):
    """Each block is proved anew, once."""
    asked = []

    def prove(one):
        asked.append(one.label)
        return Proof(state)

    assert codes({"claims": [claim()]}, prove=prove) == [expected]
    assert asked == ["S1", "S2"]


def test_a_block_that_is_not_what_its_hash_says_is_missing():
    """Evidence that was changed on its way cannot support anything."""
    forged = EvidenceBlock(
        label="S1", chunk_id="chk_S1", citation="lodging.md#L1-L1", content_hash=BLOCKS[0].content_hash, text="999 yuan"
    )
    changed = Evidence(query="limits?", evidence_set_id=SET_ID, blocks=(forged, BLOCKS[1]))
    assert "missing_evidence_chunk" in codes({"claims": [claim()]}, changed)


def stale(*labels):
    return lambda one: Proof("changed" if one.label in labels else "fresh")


def edited(text):
    return Evidence(query="limits?", evidence_set_id=SET_ID, blocks=(BLOCKS[0], replace(BLOCKS[1], text=text)))


@pytest.mark.parametrize(
    ("evidence", "prove"),
    [(edited("Elephants paint, see http://evil.example/x.\n"), fresh), (EVIDENCE, stale("S2"))],
    ids=["edited", "stale"],
)
def test_a_block_that_does_not_hold_bears_nothing_that_does_not_cite_it(evidence, prove):
    """It is named by no claim, makes no link known, is in no fix, and is counted."""
    text = "Meals are paid up to 100 yuan a day [S1]. Elephants paint. Lodging is paid [S1], see http://evil.example/x."
    answer = text_answer(text)
    report = check_answer(answer, evidence, prove)
    assert [one.found_in for one in report.claims] == [(), (), ()]
    assert {issue.code for issue in report.issues} == {"unsupported_claim", "uncited_claim", "unknown_link"}
    assert (report.holding, report_json(report, answer)["set_aside_count"]) == ((BLOCKS[0],), 1)
    assert "S2" not in fixed_text(answer, report)


def test_of_two_blocks_with_one_label_each_stands_for_itself():
    """A forged block does not hide behind another that holds."""
    forged = replace(BLOCKS[0], text="Lodging is paid up to 999 yuan a night.\n")
    for blocks in ((forged, *BLOCKS), (*BLOCKS, forged)):
        report = check_answer(text_answer("Hello!"), Evidence(query="?", evidence_set_id="", blocks=blocks), fresh)
        assert (report.holding, report.set_aside_count) == (BLOCKS, 1)


COPY = block("S3", "copy.md", LODGING, 1)


@pytest.mark.parametrize(
    ("blocks", "text", "fixed"),
    [
        (
            BLOCKS,
            "Lodging is paid up to 300 yuan a night [S1].",
            "Lodging is paid up to 300 yuan a night [unsupported].",
        ),
        (
            (*BLOCKS, COPY),
            "Lodging is paid up to 300 yuan a night [S1].",
            "Lodging is paid up to 300 yuan a night [S3].",
        ),
        (
            (*BLOCKS, COPY),
            "Lodging is paid up to 300 yuan a night [S1] [S3].",
            "Lodging is paid up to 300 yuan a night [S3].",
        ),
        (
            BLOCKS,
            "Lodging is paid up to 300 yuan a night [S2].",
            "Lodging is paid up to 300 yuan a night [unsupported].",
        ),
        (BLOCKS, "Is lodging paid [S1]?", "Is lodging paid?"),
        (BLOCKS, "# Lodging [7]", "# Lodging [7]"),
    ],
)
def test_fixing_takes_away_the_mark_of_what_does_not_hold(blocks, text, fixed):
    """Or puts one in its place that holds and bears the claim; the text and the structured form agree."""
    evidence = Evidence(query="limits?", evidence_set_id="", blocks=blocks)
    answer = text_answer(text)
    assert fixed_text(answer, check_answer(answer, evidence, stale("S1"))) == fixed
    cited = [{"label": mark} for mark in ("S1", "S2", "S3") if mark in text]
    structured = structured_answer({"claims": [{"text": answer.claims[0].text, "citations": cited}]})
    (one,) = fixed_structure(structured, check_answer(structured, evidence, stale("S1")))["claims"]
    assert [citation["label"] for citation in one["citations"]] == [
        mark for mark in ("S1", "S2", "S3") if mark in fixed
    ]


def test_evidence_that_was_reordered_or_cut_is_another_set():
    """The id is computed anew from what is handed in."""
    assert "evidence_set_mismatch" in codes(
        {"claims": [claim()]}, Evidence(query="limits?", evidence_set_id=SET_ID, blocks=BLOCKS[::-1])
    )
    other = Evidence(query="another?", evidence_set_id=SET_ID, blocks=BLOCKS)
    assert codes({"evidence_set_id": SET_ID, "claims": [claim()]}, other) == ["evidence_set_mismatch"]


def test_a_claim_credited_to_the_wrong_source_says_where_it_stands():
    """It is unsupported by what it cites, and found in the other."""
    report = check_answer(text_answer("Meals are paid up to 100 yuan a day [S1]."), EVIDENCE, fresh)
    assert [issue.code for issue in report.issues] == ["unsupported_claim"]
    assert report.claims[0].found_in == ("S2",)


def test_an_answer_that_declines_is_an_abstention_with_its_reason():
    """In text, a sentence that says so."""
    read = text_answer("The provided evidence does not contain an answer.")
    assert (read.abstained, read.abstention_reason) == (True, "The provided evidence does not contain an answer.")
    assert codes("The provided evidence does not contain an answer.") == []


def test_fixing_corrects_marks_and_leaves_every_word():
    """Wrong marks are replaced, missing ones added, what nothing bears is marked."""
    text = "Meals are paid up to 100 yuan a day [S1]. Lodging is paid up to 300 yuan a night. Elephants paint [S2, S9]."
    answer = text_answer(text)
    assert fixed_text(answer, check_answer(answer, EVIDENCE, fresh)) == (
        "Meals are paid up to 100 yuan a day [S2]. Lodging is paid up to 300 yuan a night. [S1]"
        " Elephants paint [unsupported]."
    )
    structured = structured_answer({"claims": [claim("Meals are paid up to 100 yuan a day.", {"label": "S1"})]})
    (fixed,) = fixed_structure(structured, check_answer(structured, EVIDENCE, fresh))["claims"]
    assert (fixed["citations"], fixed["unsupported"]) == ([{"label": "S2", "citation": "", "quote": ""}], False)


def test_a_report_cites_the_exact_lines_of_the_span():
    """Lines of the document, not of the block's beginning; the same report at every repetition."""
    answer = text_answer("Receipts are kept for two years [S2].")
    report = report_json(check_answer(answer, EVIDENCE, fresh), answer)
    (found,) = report["claims"]
    assert (found["span"]["source_path"], found["span"]["start_line"], found["span"]["end_line"]) == ("meals.md", 2, 2)
    assert found["span"]["quote"] == "Receipts are kept for two years."
    assert report == report_json(check_answer(answer, EVIDENCE, fresh), answer)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"claims": [{"text": 1}]}, r"answer\.claims\[0\]\.text: must be a text"),
        ({"claims": {}}, r"answer\.claims: must be a list"),
        ({"claims": [], "abstain": True}, "unknown field 'abstain'"),
        ({"claims": [{"text": "x", "citations": [3]}]}, r"citations\[0\]: must be an object"),
        ({"claims": [], "abstained": "no"}, "abstained: must be true or false"),
    ],
)
def test_a_malformed_answer_is_refused_by_the_place_of_its_fault(value, message):
    """What and where."""
    with pytest.raises(RequestError, match=message):
        structured_answer(value)


def test_no_two_claims_share_an_id():
    """Neither those that were named alike nor those without a name; the same answer gives the same ids."""
    names = ["c2", None, "c1", "c2", "c2", "c2-2"]
    claims = [claim() | ({"claim_id": name} if name else {}) for name in names]
    expected = ["c2", "c2-3", "c1", "c2-4", "c2-5", "c2-2"]
    assert [one.claim_id for one in structured_answer({"claims": claims}).claims] == expected


def test_a_reply_that_is_no_evidence_is_refused():
    """A query's reply has none; an abstained one is evidence of nothing."""
    with pytest.raises(RequestError, match="must be an object"):
        evidence_of({"query": "x", "evidence": None, "abstained": False})
    assert evidence_of({"query": "x", "evidence": None, "abstained": True}).blocks == ()


def test_a_pair_is_judged_without_any_index():
    """A claim, passages; courtesies are no claims; what is no pair says why."""
    assert judged_pair({"claim": "Lodging is paid.", "passages": [LODGING]})["band"] == "supported"
    assert judged_pair({"claim": "Hello!", "passages": []})["band"] == "not_a_claim"
    assert judged_pair({"passages": []}) == {"error": "claim: must be a text"}
    assert judged_pair({"claim": "x", "passages": "y"}) == {"error": "passages: must be a list of texts"}


def test_an_unknown_link_is_told_with_the_claim_that_has_it():
    """In text and in a structured answer; the claim is judged by its words, not by the address."""
    text = (
        "Lodging is paid up to [300 yuan](http://evil.example/900) a night [S1]. "
        "Meals are paid up to 100 yuan a day [S2]."
    )
    for answer in (
        text_answer(text),
        structured_answer(
            {
                "claims": [
                    claim(text.partition(" [S1]")[0] + "."),
                    claim("Meals are paid up to 100 yuan a day.", {"label": "S2"}),
                ]
            }
        ),
    ):
        report = check_answer(answer, EVIDENCE, fresh)
        first, second = report.claims
        assert [(one.code, one.claim_id) for one in report.issues] == [("unknown_link", first.claim.claim_id)]
        assert (first.support.band, [one.code for one in first.issues]) == ("supported", ["unknown_link"])
        assert (second.issues, report.coverage) == ((), 0.5)


def test_a_quotation_is_credited_by_a_fix_to_the_block_that_has_it():
    """Else it is marked; a link to a source that was given is known."""
    text = "It says [S1]:\n\n> Meals are paid up to 100 yuan a day.\n\nMeals are “paid up to 100 yuan daily” [S2]."
    answer = text_answer(text)
    assert fixed_text(answer, check_answer(answer, EVIDENCE, fresh)) == (
        "It says [S1]:\n\n> Meals are paid up to 100 yuan a day. [S2]\n\n"
        "Meals are “paid up to 100 yuan daily” [unsupported]."
    )
    assert codes("Lodging is paid up to [300 yuan](lodging.md#L1-L1) a night [S1].") == []


def test_a_fix_stays_out_of_fences_and_within_rows():
    """A fence that nothing closes is closed first; behind a row a mark would be a cell of its own."""
    text = "| Bed | 900 |\n\n```\nls\n```\nMore.\n\n~~~\nrm"
    answer = text_answer(text)
    assert fixed_text(answer, check_answer(answer, EVIDENCE, fresh)) == (
        "| Bed | 900 [unsupported] |\n\n```\nls\n```\n\n[unsupported]\n\nMore. [unsupported]\n\n"
        "~~~\nrm\n~~~\n\n[unsupported]"
    )


def test_of_many_blocks_the_likeliest_are_looked_at():
    """However many there are, a claim is judged for a few, and the one that has its words is among them."""
    others = tuple(block(f"S{n}", f"{n}.md", f"Thing {n} of many is here.\n", 1) for n in range(3, 500))
    asked = []

    def judge(said, passages):
        asked.append(said)
        return support_of(said, passages)

    evidence = Evidence(query="?", evidence_set_id="", blocks=(*others, *BLOCKS))
    report = check_answer(text_answer("Meals are paid up to 100 yuan a day [S7]."), evidence, fresh, judge)
    assert (report.claims[0].found_in, len(asked) <= 1 + MOST_OTHERS) == (("S2",), True)


def test_an_issue_of_what_is_no_claim_is_in_its_entry():
    """So that whoever reads the report sees why it fails."""
    answer = text_answer("Lodging is paid up to 300 yuan a night [S1]. Is it http://evil.example/x?")
    report = report_json(check_answer(answer, EVIDENCE, fresh), answer)
    assert [one["issues"] for one in report["claims"]] == [[], ["unknown_link"]]


SAID = (
    "Lodging is paid up to 300 yuan a night [S1]. Meals are paid up to 150 yuan a day [S2]. "
    "Receipts are kept for two years [S1]. Elephants paint [S2][S1]. Taxis are free."
)


def whole_report(answer, evidence=EVIDENCE):
    report = check_answer(answer, evidence, fresh)
    return report_json(report, answer)


def test_a_report_is_the_same_again_and_in_whatever_order_the_blocks_come():
    """To the last bit; only the set's id, and labels that name several blocks, follow the order."""
    answer = text_answer(SAID)
    first = whole_report(answer)
    assert first == whole_report(text_answer(SAID))
    turned = Evidence(query="limits?", evidence_set_id="", blocks=BLOCKS[::-1])
    assert whole_report(answer, turned)["claims"] == first["claims"]


def test_blocks_that_nothing_speaks_of_change_no_claim():
    """Further evidence that neither is cited nor bears a claim leaves everything as it was."""
    more = block("S3", "other.md", "Quokkas live on islands.\n", 1)
    answer = text_answer(SAID)
    wider = Evidence(query="limits?", evidence_set_id="", blocks=(*BLOCKS, more))
    assert whole_report(answer, wider)["claims"] == whole_report(answer)["claims"]


def test_claims_do_not_touch_one_another():
    """Each is judged as it would be alone."""
    whole = whole_report(text_answer(SAID))["claims"]
    assert len(whole) == 5
    for one in whole:
        alone = text_answer(SAID[one["start_char"] : one["end_char"]])
        (judged,) = whole_report(alone)["claims"]
        for name in ("text", "band", "score", "reasons", "span", "spans", "found_in", "issues"):
            assert judged[name] == one[name], (one["text"], name)


def test_a_long_answer_takes_time_in_proportion():
    """Each claim is judged once for what it cites and at most once for each other block."""
    asked = []
    answer = structured_answer({"claims": [claim(f"Thing {n} is here.") for n in range(1000)]})

    def judge(said, passages):
        asked.append(said)
        return support_of(said[:20], passages)

    check_answer(answer, EVIDENCE, fresh, judge)
    assert len(asked) <= 1000 * len(BLOCKS)


def test_what_is_borne_in_part_is_not_borne():
    """A claim that the check itself calls partial is never among the good ones."""
    answer = text_answer("Lodging costs are paid up to 300 yuan a night for staff [S1].")
    report = check_answer(answer, EVIDENCE, fresh)
    assert report.claims[0].support.band == "partial"
    assert (report.passed, report.coverage) == (False, 0.0)


def test_fixing_leaves_code_links_and_years_alone():
    """What only looks like a mark is none."""
    text = "Use `a[1]` at [x](http://e.example/[2]) since [2023] for elephants [S1] [S2].\n\n```\ny = a[1]\n```\n"
    answer = text_answer(text)
    fixed = fixed_text(answer, check_answer(answer, EVIDENCE, fresh))
    assert fixed.startswith("Use `a[1]` at [x](http://e.example/[2]) since [2023] for elephants [unsupported].")
    assert "y = a[1]" in fixed
