"""Each evidence and each check leaves one line by which an answer can be scored; no text of a question unless asked."""

import json
import logging

import pytest

from indexerd.cli.logs import JsonLines, is_for_people
from tests.fakes.service_parts import SmallHouse

FILES = {"a.md": "# Setup\n\nThe quokka daemon listens on port 4711.\n"}


@pytest.fixture
def lines(caplog, monkeypatch):
    """Return what was logged since the last look, as the JSON log has it."""
    caplog.set_level(logging.DEBUG, logger="indexerd.service.events")
    monkeypatch.setattr(logging.getLogger("indexerd"), "propagate", True)

    def read():
        found = [json.loads(JsonLines().format(record)) for record in caplog.records]
        assert not any(map(is_for_people, caplog.records))
        caplog.clear()
        return found

    return read


def test_evidence_and_its_check_are_joined_by_the_set(lines):
    """Both lines name the set; each has the four figures."""
    house = SmallHouse(FILES)
    reply = house.call("evidence", text="on which port does the quokka listen")
    house.call("check", answer="It listens on port 4711 [S1]. It is free.", evidence=reply)
    evidence, check = lines()
    assert (evidence["event"], check["event"]) == ("evidence", "check")
    assert evidence["evidence_set_id"] == check["evidence_set_id"] == reply["evidence"]["evidence_set_id"]
    figures = ("citation_count", "uncited_claim_count", "coverage", "abstained")
    assert [evidence[name] for name in figures] == [1, 0, reply["coverage"], False]
    assert [check[name] for name in figures] == [1, 1, 0.5, False]
    assert check["verdict"] == "fail"


def test_an_abstention_says_why(lines):
    """No set, no citations, the reason."""
    SmallHouse(FILES).call("evidence", text="what do wombats eat")
    (line,) = lines()
    told = (line["evidence_set_id"], line["citation_count"], line["abstained"], line["abstention_reason"])
    assert told == (None, 0, True, "no_overlap")


def test_a_question_is_named_by_a_hash_that_only_its_store_gives(lines):
    """Equal questions have one, others another, other stores another; the text stands nowhere."""
    house = SmallHouse(FILES)
    for text in ("secret quokka", "secret quokka", "quokka"):
        house.call("query", text=text)
    first, second, third = lines()
    assert first["query_hash"] == second["query_hash"] != third["query_hash"]
    assert "secret" not in json.dumps([first, second, third])
    assert first["level"] == "debug"


def test_the_text_is_told_where_the_settings_say_so(lines):
    """`[log] queries = "text"`."""
    house = SmallHouse(FILES)
    house.service.adopt(house.service._parts._replace(logs_text=True))
    house.call("query", text="secret\nquokka")
    (line,) = lines()
    assert line["query"] == "secret\nquokka"
    assert "query_hash" not in line


def test_claims_without_an_index_leave_no_line(lines):
    """There is no answer to be scored."""
    SmallHouse(FILES).call("check", claims=[{"claim": "x", "passages": ["x"]}])
    assert lines() == []
