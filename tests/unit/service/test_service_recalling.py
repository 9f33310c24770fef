"""Answers from generations of the past: the same as then, for who may see today what was seen then."""

import pytest

from indexerd.access.rights import AccessRules, PathRule
from indexerd.errors import GenerationError, RequestError
from indexerd.store import Versions
from tests.fakes.service_parts import SmallHouse
from tests.fakes.small_stores import VERSIONS

FILES = {"a.md": "# Alpha\n\nA quokka lives here.\n", "b.md": "# Beta\n\nNo animals.\n"}
MOVING = {"took_ms", "freshness", "durable", "historical"}


@pytest.fixture
def house():
    return SmallHouse(FILES)


def paths(result):
    return [hit["source_path"] for hit in result["hits"]]


def same(result):
    """Return what must not differ between an answer and its repetition."""
    hits = [
        {name: value for name, value in hit.items() if name not in {"validated_at", "modified"}}
        for hit in result["hits"]
    ]
    return {name: value for name, value in result.items() if name not in MOVING} | {"hits": hits}


def again(house, result, **changes):
    """Ask what a reply says was asked, of the generation that it names."""
    request = dict(result["request"])
    method = request.pop("method")
    return house.call(method, {**request, "generation": result["generation"], **changes})


QUESTIONS = [
    {"text": "quokka"},
    {"text": "quokka lives", "k": 1, "explain": True, "trace": True, "max_per_document": 1},
    {"text": "alpha", "paths": ["*.md"], "must": ["quokka"], "not": ["zebra"], "prefix": True},
    {"text": "quokka", "where": {"kind": ["x", "y"]}, "sort": "path"},
    {"text": ""},
]


@pytest.mark.parametrize("method", ["query", "evidence"])
@pytest.mark.parametrize("params", QUESTIONS, ids=str)
def test_a_reply_says_all_that_asks_the_same_again(house, method, params):
    """After edits and deletions the request of a reply, asked of its generation, gives the same reply."""
    then = house.call(method, params)
    assert then["historical"] is None
    house.save({"a.md": "nothing\n", "c.md": "quokka quokka alpha lives\n"}, ["b.md"])
    replayed = again(house, then)
    assert same(replayed) == same(then)
    assert replayed["historical"] == {"published_at": "2023-11-14T22:13:20.000Z", "changed": [], "erased": 0}
    assert same(again(house, replayed)) == same(replayed)


def test_text_and_proof_come_from_what_is_kept(house):
    """A file that is gone is answered from all the same, with the hash it had; nothing is repaired."""
    then = house.call("query", text="quokka")
    house.save({}, ["a.md"])
    assert paths(house.call("query", text="quokka")) == []
    (hit,) = house.call("query", text="quokka", generation=1)["hits"]
    assert hit["text"] == then["hits"][0]["text"]
    assert hit["document_hash"] == then["hits"][0]["document_hash"]
    assert hit["modified"] is None
    assert not house.sync.repairs


def test_the_current_generation_by_number_is_answered_from_what_is_kept(house):
    """Naming the current generation does not depend on the bytes on disk either."""
    house.write("a.md", "not indexed yet\n")
    assert paths(house.call("query", text="quokka", generation=1)) == ["a.md"]


def acl(*roles):
    return f"---\nacl: [{', '.join(roles)}]\n---\n# Alpha\n\nA quokka lives here.\n"


def test_a_document_closed_since_does_not_exist_then():
    """Who lacks the role that the present version asks for gets the answer of a corpus without the document."""
    house, without = SmallHouse(FILES), SmallHouse({"b.md": FILES["b.md"]})
    house.save({"a.md": acl("board")})
    closed = house.call("query", text="quokka animals", generation=1)
    plain = without.call("query", text="quokka animals", generation=1)
    assert {**same(closed), "store_id": 0} == {**same(plain), "store_id": 0}
    assert paths(house.call("query", text="quokka", generation=1, roles=["board"])) == ["a.md"]


def test_a_version_closed_then_stays_closed():
    """Opening a document does not open the versions that were closed."""
    house = SmallHouse({"a.md": acl("board")})
    house.save({"a.md": FILES["a.md"]})
    assert paths(house.call("query", text="quokka", generation=2)) == ["a.md"]
    assert paths(house.call("query", text="quokka", generation=1)) == []
    assert paths(house.call("query", text="quokka", generation=1, roles=["board"])) == ["a.md"]


def test_bytes_that_close_a_document_before_they_are_indexed_count(house):
    """The present bytes are looked at for every hit."""
    house.write("a.md", acl("board"))
    assert paths(house.call("query", text="quokka", generation=1)) == []
    assert paths(house.call("query", text="quokka", generation=1, roles=["board"])) == ["a.md"]


def test_a_deleted_document_has_the_rights_of_its_last_known_version(house):
    """What was closed before it was deleted stays closed in the generations in which it was open."""
    house.save({"a.md": acl("board")})
    house.save({}, ["a.md"])
    assert paths(house.call("query", text="quokka", generation=1)) == []
    assert paths(house.call("query", text="quokka", generation=1, roles=["board"])) == ["a.md"]


def test_rules_of_today_are_applied_to_the_past():
    """A path rule made since hides old versions too, of deleted documents as well."""
    rules = AccessRules(rules=(PathRule(match="a.md", acl=("board",)),))
    house = SmallHouse(FILES, access=rules)
    house.save({"b.md": "more\n"}, ["a.md"])
    assert paths(house.call("query", text="quokka", generation=1)) == []
    assert paths(house.call("query", text="quokka", generation=1, roles=["board"])) == ["a.md"]


def test_validity_is_that_of_the_version_on_the_day_of_its_generation():
    """Without `as_of` a generation is asked as of its own day; the dates of a later version say nothing of it."""
    text = "---\nvalid_to: 2024-01-01\n---\n# Alpha\n\nA quokka lives here.\n"
    house = SmallHouse({"a.md": text})
    house.clock.advance(400 * 86400)
    house.save({"a.md": text.replace("valid_to: 2024", "valid_from: 2030"), "b.md": "b\n"})
    then = house.call("query", text="quokka", generation=1)
    assert (paths(then), then["as_of"]) == (["a.md"], "2023-11-14")
    assert paths(house.call("query", text="quokka", generation=1, as_of="2024-01-01")) == []


def test_a_reply_says_what_has_changed_since(house):
    """Another analyzer, ranking or setting is named in the reply; the answer is given all the same."""
    house.rebuilt(versions=Versions("newer analyzer", 2))
    old = house.call("query", text="quokka", generation=1)
    assert paths(old) == ["a.md"]
    assert old["historical"]["changed"] == [
        f"analyzer version {VERSIONS.analyzer}, now newer analyzer",
        "ranking version 1, now 2",
    ]


@pytest.mark.parametrize("params", [{"since": "7d"}, {"until": "2020-01-01"}, {"sort": "modified"}], ids=str)
def test_times_of_files_are_refused(house, params):
    """No history is kept of modification times, so nothing is pretended."""
    with pytest.raises(RequestError, match="times of files are not kept"):
        house.call("query", params, text="quokka", generation=1)


def test_another_store_refuses(house):
    """A number means nothing in another store."""
    with pytest.raises(GenerationError, match="this is store st_") as caught:
        house.call("query", text="quokka", generation=1, store_id="st_other")
    assert caught.value.code == "other_store"
    assert house.call("query", text="quokka", generation=1, store_id=house.store.store_id)["hits"]


def test_what_is_not_kept_or_damaged_is_told_apart(house):
    """Each has its code and says how far history reaches."""
    with pytest.raises(GenerationError, match="reaches back to 1, the current one is 1") as caught:
        house.call("query", text="quokka", generation=9)
    assert caught.value.code == "generation_not_kept"
    house.save({"a.md": "new\n"})
    for name in [name for name in house.fs.disk.names if name.endswith(".segment")]:
        house.fs.disk.names[name].data = b"rubbish"
    with pytest.raises(GenerationError) as caught:
        house.call("query", text="quokka", generation=1)
    assert caught.value.code == "generation_damaged"
