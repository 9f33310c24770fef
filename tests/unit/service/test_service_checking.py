"""`check` over a small index: what is cited is proved anew, as the caller may see it today."""

import copy
import hashlib

import pytest

from indexerd.access.rights import AccessRules, PathRule
from indexerd.errors import RequestError, ShutdownError
from tests.fakes.service_parts import SmallHouse, guest

LODGING = "# Lodging\n\nLodging is paid up to 300 yuan a night.\n"


@pytest.fixture
def house():
    return SmallHouse(
        {"lodging.md": LODGING, "secret.md": "---\nacl: [staff]\n---\n# Bonus\n\nThe bonus is 900 yuan.\n"}
    )


def evidence(house, text, **params):
    return house.call("evidence", text=text, **params)


def codes(house, answer, reply, **params):
    return house.call("check", answer=answer, evidence=reply, **params)["issue_codes"]


def test_a_good_answer_passes_and_a_changed_source_fails_it(house):
    """The proof is of the bytes on disk now."""
    reply = evidence(house, "lodging")
    assert codes(house, "Lodging is paid up to 300 yuan a night [S1].", reply) == []
    house.write("lodging.md", LODGING.replace("300", "350"))
    assert codes(house, "Lodging is paid up to 300 yuan a night [S1].", reply) == ["stale_evidence"]


def test_moved_lines_are_named(house):
    """Text that was pushed down is stale where it was cited, and the report says where it went."""
    reply = evidence(house, "lodging")
    house.write("lodging.md", "new\n\n" + LODGING)
    found = house.call("check", answer="Lodging is paid up to 300 yuan a night [S1].", evidence=reply)
    assert found["issues"][0]["detail"].endswith("is moved to lodging.md#L3-L5")


def test_evidence_of_a_document_that_is_hidden_now_is_gone_and_of_an_expired_one_not_valid(house):
    """A caller without the role is told nothing but that it is gone."""
    reply = evidence(house, "bonus", roles=["staff"])
    answer = "The bonus is 900 yuan [S1]."
    assert codes(house, answer, reply, roles=["staff"]) == []
    found = house.call("check", answer=answer, evidence=reply, caller=guest("visitor"))
    assert [issue["code"] for issue in found["issues"]] == ["stale_evidence"]
    assert "gone" in found["issues"][0]["detail"]
    house.save({"lodging.md": "---\nvalid_to: 2020-01-01\n---\n" + LODGING})
    reply = evidence(house, "lodging", as_of="2019-06-01")
    assert codes(house, "Lodging is paid up to 300 yuan a night [S1].", reply) == ["evidence_not_valid"]


def test_a_check_under_way_is_given_up_when_the_process_ends(house):
    """It may have a thousand claims left; whoever asked is told so."""
    reply = evidence(house, "lodging")
    house.is_ending = True
    with pytest.raises(ShutdownError):
        house.call("check", answer="Lodging is paid up to 300 yuan a night [S1].", evidence=reply)
    with pytest.raises(ShutdownError):
        house.call("check", claims=[{"claim": "It is.", "passages": ["It is."]}])


SERIES = AccessRules(rules=(PathRule(match="policies/**", supersede_by="series"),))


def version(number, limit, **keys):
    lines = "".join(f"{key}: {value}\n" for key, value in {"series": "lodging", "version": number, **keys}.items())
    return f"---\n{lines}---\n# Lodging\n\nLodging is paid up to {limit} yuan a night.\n"


def test_evidence_of_a_version_that_a_newer_one_replaced_is_not_valid():
    """The citation still holds, and is no evidence; a newer version that the caller may not see replaces nothing."""
    house = SmallHouse({"policies/1.md": version(1, 300)}, access=SERIES)
    reply = evidence(house, "lodging")
    answer = "Lodging is paid up to 300 yuan a night [S1]."
    house.save({"policies/9.md": version(9999, 900, acl="[board]")})
    assert codes(house, answer, reply) == []
    assert codes(house, answer, reply, roles=["board"]) == ["evidence_not_valid"]
    house.save({"policies/2.md": version(2, 400)})
    assert codes(house, answer, reply) == ["evidence_not_valid"]
    house.sync.held_paths = frozenset({"policies/2.md"})
    assert codes(house, answer, reply) == []


def test_a_version_that_was_made_the_newest_on_disk_is_evidence_at_once():
    """The bytes on disk say which version it is, not the index."""
    house = SmallHouse({"policies/1.md": version(1, 300), "policies/2.md": version(2, 400)}, access=SERIES)
    answer = "Lodging is paid up to 300 yuan a night [S1]."
    house.write("policies/1.md", version(3, 300))
    reply = {"query": "lodging", "evidence": {}} | evidence(SmallHouse({"policies/1.md": version(3, 300)}), "lodging")
    assert codes(house, answer, reply) == []


def test_claims_can_be_held_to_passages_that_come_with_them(house):
    """The same as `check --jsonl`, over the socket."""
    found = house.call("check", claims=[{"claim": "It is 5 m.", "passages": ["It is 6 m."]}, {"claim": 1}])
    assert [result.get("band", "error") for result in found["results"]] == ["not_found", "error"]


def test_a_language_that_there_is_not_is_refused_with_those_there_are(house):
    """Before anything is judged, whichever form the answer has."""
    for given in ({"claims": [{"claim": "x", "passages": ["x"]}]}, {"answer": "x", "evidence": {}}):
        with pytest.raises(RequestError, match=r"must be one of .*english.*, not 'klingon'"):
            house.call("check", language="klingon", **given)


def test_what_is_missing_is_named(house):
    """Neither an answer with evidence nor claims."""
    with pytest.raises(RequestError, match="'answer' and 'evidence'"):
        house.call("check", answer="x")


OLD = "---\nvalid_from: 2025-01-01\n---\n# Travel 2025\n\nLodging is paid up to 300 yuan a night.\n"
NEW = "---\nvalid_from: 2026-01-01\n---\n# Travel 2026\n\nLodging is paid up to 350 yuan a night.\n"


def test_what_two_blocks_disagree_on_is_told_with_what_settles_it():
    """Both citations, the exact spans, and the side that is newer, in `evidence` on request and in every check."""
    house = SmallHouse({"a.md": OLD, "b.md": NEW})
    day = {"as_of": "2026-06-01"}
    assert "conflicts" not in evidence(house, "lodging paid night", **day)
    reply = evidence(house, "lodging paid night", conflicts=True, **day)
    (found,) = reply["conflicts"]
    sides = {side["source_path"]: side for side in (found["one"], found["other"])}
    assert found["kind"] == "number"
    assert sides["b.md"]["quote"] == "Lodging is paid up to 350 yuan a night."
    assert (sides["b.md"]["valid_from"], sides["a.md"]["valid_from"]) == ("2026-01-01", "2025-01-01")
    assert (found["settled_by"], found["newer"]) == ("valid_from", sides["b.md"]["label"])
    block = next(block for block in reply["evidence"]["blocks"] if block["label"] == sides["b.md"]["label"])
    assert block["text"][sides["b.md"]["start_char"] : sides["b.md"]["end_char"]] == sides["b.md"]["quote"]
    assert (sides["b.md"]["start_line"], sides["b.md"]["end_line"]) == (6, 6)
    report = house.call("check", answer="Lodging is paid up to 350 yuan a night [S1].", evidence=reply, **day)
    assert report["conflicts"] == reply["conflicts"]
    house.write("a.md", OLD.replace("300", "350"))
    report = house.call("check", answer="Lodging is paid up to 350 yuan a night [S1].", evidence=reply, **day)
    assert report["conflicts"] == []
    assert evidence(house, "quokka", conflicts=True)["conflicts"] == []


def test_a_block_that_was_edited_or_made_up_is_in_no_conflict_and_bears_nothing():
    """Cited or not: its text is compared with its hash, and its hash with the source."""
    house = SmallHouse({"a.md": LODGING, "b.md": "# Travel\n\nLodging is paid up to 350 yuan a night.\n"})
    reply = evidence(house, "lodging paid night")
    for own_hash in (False, True):
        forged = copy.deepcopy(reply)
        (block,) = (block for block in forged["evidence"]["blocks"] if block["citation"].startswith("b.md"))
        block["text"] = block["text"].replace("350", "999")
        if own_hash:
            block["content_hash"] = hashlib.sha256(block["text"].encode()).hexdigest()
        for label, band in ((block["label"], "supported"), ({"S1": "S2", "S2": "S1"}[block["label"]], "partial")):
            answer = f"Lodging is paid up to 999 yuan a night [{label}]."
            report = house.call("check", answer=answer, evidence=forged, fix=True)
            (judged,) = report["claims"]
            assert (report["verdict"], report["conflicts"], report["set_aside_count"]) == ("fail", [], 1)
            assert (judged["band"], judged["found_in"]) == (band, [])
            assert report["fixed"] == "Lodging is paid up to 999 yuan a night [unsupported]."
    assert len(house.call("check", answer="Hello!", evidence=reply)["conflicts"]) == 1


def test_a_block_whose_bytes_are_no_utf_8_holds():
    """Its hash is that of its text."""
    house = SmallHouse({"a.md": b"\xef\xbb\xbf# Lodging\n\nCaf\xe9 lodging is paid up to 300 yuan.\n"})
    reply = evidence(house, "lodging paid")
    assert reply["evidence"]["blocks"][0]["decoded"]
    report = house.call("check", answer="Lodging is paid up to 300 yuan [S1].", evidence=reply)
    assert (report["issue_codes"], report["set_aside_count"]) == ([], 0)


@pytest.mark.parametrize("context", [0, "section"])
def test_an_outer_planner_may_drop_the_last_blocks(context):
    """Guard and first blocks, joined by blank lines, are the beginning of the prompt, and their labels still hold."""
    section = "".join(f"Lodging in town {town} is paid up to {town}00 yuan.\n\n" for town in range(1, 60))
    house = SmallHouse({"a.md": f"# Lodging\n\n{section}", "b.md": LODGING, "c.md": "# Lodging\n\nLodging is free.\n"})
    reply = evidence(house, "lodging paid", context=context, k=4)
    blocks = reply["evidence"]["blocks"]
    assert len(blocks) > 2
    for kept in range(len(blocks) + 1):
        shorter = "\n\n".join([reply["evidence"]["guard"], *(block["rendered"] for block in blocks[:kept])])
        assert reply["evidence"]["prompt"].startswith(shorter)
    assert [block["label"] for block in blocks] == [f"S{number}" for number in range(1, len(blocks) + 1)]
    bearing = next(block["label"] for block in blocks if "up to 300 yuan a night" in block["text"])
    assert codes(house, f"Lodging is paid up to 300 yuan a night [{bearing}].", reply) == []
    for block in blocks:
        full = f"{block['citation']}@sha256:{block['content_hash']}"
        assert house.call("verify", citation=full)["state"] == "fresh"
