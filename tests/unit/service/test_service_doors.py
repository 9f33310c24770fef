"""Every way in is closed to what a caller may not see: the table of methods is the list of doors."""

import json

import pytest

from indexerd.errors import ForbiddenError, IndexerdError
from indexerd.protocol.messages import wire_error
from tests.fakes.service_parts import OWNER, SmallHouse, guest

SECRET = "---\nacl: [board]\n---\n# Merger\n\nThe quokka merger costs 900 million.\n"
CITED = "secret.md#L6-L6"
FILES = {"open.md": "# Open\n\nThe quokka sleeps.\n", "secret.md": SECRET}
# What nobody without the role may read anywhere: words, name, hashes and ids of the hidden document.
TRACES = ("merger", "900", "secret.md")

# How each method is asked for the hidden document, and what a caller without its role is told: `nothing` more than if
# it did not exist, or that the method is the `owner`'s.
DOORS = {
    "query": ({"text": "costs", "trace": True, "explain": True}, "nothing"),
    "evidence": ({"text": "costs", "trace": True}, "nothing"),
    "check": ({"answer": "It costs 900 million [S1]."}, "nothing"),
    "documents": ({}, "nothing"),
    "verify": ({}, "nothing"),
    "show": ({"citation": "secret.md"}, "nothing"),
    "status": ({}, "nothing"),
    "subscribe": ({}, "nothing"),
    "generations": ({}, "owner"),
    "sync": ({}, "owner"),
    "forget": ({"source_path": "secret.md"}, "owner"),
    "metrics": ({}, "owner"),
    "shutdown": ({}, "owner"),
}


def house_with(files):
    house = SmallHouse({"open.md": files["open.md"]})
    house.save({name: text for name, text in files.items() if name != "open.md"})
    return house


def told(house, method, params, caller, **more):
    """Return all that is said, as text."""
    try:
        reply = house.call(method, {**params, **more}, caller=caller)
    except IndexerdError as error:
        return str(wire_error(error))
    return json.dumps({**reply, "store_id": ""})


@pytest.fixture(scope="module")
def doors():
    """Two services, with and without the document, and the doors with what is asked at them."""
    full, bare = house_with(FILES), house_with({"open.md": FILES["open.md"]})
    prior = full.call("evidence", text="costs", roles=["board"])
    cited = f"{prior['hits'][0]['citation']}@sha256:{prior['hits'][0]['content_hash']}"
    asked = {method: params for method, (params, _) in DOORS.items()}
    asked["check"] = {**asked["check"], "evidence": prior}
    asked["verify"] = {"citation": cited}
    return full, bare, asked


def test_every_method_has_its_place_in_the_table():
    """A new method fails here until somebody has decided what it tells whom."""
    service = SmallHouse().service
    assert DOORS.keys() == {*service._quick, *service._slow}


OTHERS = [(method, guest(*roles)) for method in DOORS for roles in ((), ("staff",))]
# The owner is told counts, and the list of documents has a number that moves with each publish.
OWNERS = [(method, OWNER) for method, (_, rule) in DOORS.items() if rule == "nothing" and method != "status"]


@pytest.mark.parametrize(("method", "caller"), [*OTHERS, *OWNERS])
def test_without_the_role_no_door_knows_the_document(doors, method, caller):
    """The reply is that of a service that never had it; only what was asked comes back."""
    full, bare, asked = doors
    said = told(full, method, asked[method], caller)
    assert blind(said) == blind(told(bare, method, asked[method], caller))
    if DOORS[method][1] == "owner":
        assert "forbidden" in said
        assert full.stops == full.sync.asked == []
    elif method not in {"check", "verify", "show"}:
        assert not any(trace in said for trace in TRACES)


def blind(said):
    """Return what was said without the number, which two stores with other histories cannot share."""
    try:
        reply = json.loads(said)
    except ValueError:
        return said
    return {name: value for name, value in reply.items() if name != "generation"}


@pytest.mark.parametrize("method", ["query", "evidence", "check", "documents", "verify", "show"])
def test_with_the_role_the_same_question_finds_it(doors, method):
    """Otherwise the doors would be walls, and the test above proved nothing."""
    full, bare, asked = doors
    with_role, without = (told(house, method, asked[method], guest("board")) for house in (full, bare))
    assert blind(with_role) != blind(without)


def test_the_owner_alone_is_told_how_many_documents_need_a_role():
    """The one count of hidden documents there is; a guest's reply has no place for it."""
    house = house_with(FILES)
    assert house.call("status")["needs_role"] == 1
    assert not {"needs_role", "withheld", "documents", "chunks"} & house.call("status", caller=guest()).keys()
    assert "needs_role" not in house.call("query", text="quokka")


def test_more_roles_cannot_be_had_by_naming_them():
    """A guest narrows; which other roles exist is not told."""
    house = house_with(FILES)
    for method in ("query", "evidence", "documents", "show"):
        params = {"query": {"text": "x"}, "evidence": {"text": "x"}, "show": {"citation": "open.md"}}.get(method, {})
        for roles in (["board"], ["no such role"], ["staff", "board"]):
            with pytest.raises(ForbiddenError, match=r"^roles can only be narrowed to those you have$"):
                house.call(method, params, caller=guest("staff"), roles=roles)
        house.call(method, params, caller=guest("staff"), roles=[])


def test_a_number_tells_the_same_however_its_asker_narrows_his_roles():
    """A subset never asked for before, or the next day, must not show what others published meanwhile."""
    house = house_with(FILES)
    before = house.call("status", caller=guest("staff", "audit"))["generation"]
    for number in range(3):
        house.save({"secret.md": SECRET.replace("900", str(number))})
    for roles in (["staff"], ["audit"], [], None):
        more = {} if roles is None else {"roles": roles}
        reply = house.call("query", text="quokka", caller=guest("staff", "audit"), **more)
        assert reply["generation"] == before
        assert house.call("documents", caller=guest("staff", "audit"), **more)["generation"] == before
    house.clock.advance(86_400)
    assert house.call("status", caller=guest("staff", "audit"))["generation"] == before


def test_others_read_no_file_that_is_not_indexed():
    """An ignored file below a root is no document: whether it is there, and its hash, is the owner's to know."""
    house = SmallHouse({"open.md": "x\n"})
    house.write(".env", "PASSWORD=1\n")
    asked = {"citation": ".env#L1-L1@sha256:" + "0" * 64}
    assert house.call("verify", asked)["state"] == "changed"
    for caller in (guest(), guest("staff")):
        assert house.call("verify", asked, caller=caller)["state"] == "gone"
        assert "document_hash" not in house.call("verify", asked, caller=caller)


@pytest.mark.parametrize("caller", [OWNER, guest("staff")], ids=["owner", "guest"])
def test_a_hidden_file_that_cannot_be_read_is_not_there_either(caller):
    """`unreadable` would tell that it exists; who may see it is told the reason."""
    house = house_with(FILES)
    house.sources.refuse("secret.md", "source_unreadable", "EACCES")
    asked = {"citation": CITED + "@sha256:" + "0" * 64}
    assert house.call("verify", asked, caller=caller)["state"] == "gone"
    assert "EACCES" not in told(house, "show", {"citation": "secret.md"}, caller)
    assert house.call("verify", asked, roles=["board"])["state"] == "unreadable"
    assert "EACCES" in told(house, "show", {"citation": "secret.md"}, guest("board"))
