"""One table of methods; every call has a caller, and some are for the owner only."""

import json

import pytest

from indexerd.access.rights import AccessRules, PathRule
from indexerd.errors import ForbiddenError, NotFoundError, RequestError
from indexerd.protocol.messages import RPC_NUMBERS, wire_error
from indexerd.service.callers import Admission, Peer
from tests.fakes.service_parts import OWNER, SmallHouse, guest


@pytest.fixture
def house():
    return SmallHouse({"a.md": "quokka\n"})


def test_an_unknown_method_names_the_nearest(house):
    """A typing error is told apart from a missing document."""
    with pytest.raises(RequestError, match="did you mean 'query'") as caught:
        house.call("qurey")
    assert wire_error(caught.value).code == "method_not_found"


@pytest.mark.parametrize("method", ["sync", "shutdown", "generations"])
def test_some_methods_are_for_the_owner_only(house, method):
    """Others are refused before anything is done."""
    with pytest.raises(ForbiddenError):
        house.call(method, caller=guest("board"))
    assert house.stops == house.sync.asked == []


def test_only_methods_that_cannot_wait_are_answered_at_once(house):
    """What may take long is left to another thread."""
    for method in ("status", "subscribe"):
        assert house.service.call_now(OWNER, method, {}) is not None
    for method in ("evidence", "verify", "show", "documents", "sync"):
        assert house.service.call_now(OWNER, method, {"nonsense": 1}) is None


@pytest.mark.parametrize(
    "method",
    ["query", "evidence", "verify", "show", "sync", "status", "documents", "generations", "subscribe", "shutdown"],
)
def test_every_method_refuses_unknown_fields_and_other_protocols(house, method):
    """Nothing is silently ignored."""
    needed = {
        "query": {"text": "x"},
        "evidence": {"text": "x"},
        "verify": {"citation": "a.md#L1-L1@sha256:" + "0" * 64},
    }
    needed["show"] = {"citation": "a.md"}
    for extra, code in (({"bogus": 1}, "unknown_field"), ({"protocol": 99}, "protocol_mismatch")):
        with pytest.raises(RequestError) as caught:
            house.call(method, {**needed.get(method, {}), **extra})
        assert wire_error(caught.value).code == code
    assert house.stops == []


def test_status_tells_the_owner_everything_and_others_one_word(house):
    """Counts and names are the owner's."""
    status = house.call("status")
    assert {
        "state", "generation", "durable_generation", "documents", "chunks", "settings", "roots", "pending", "problems",
        "reconciled_age_s", "overflows", "skipped", "held", "unsafe", "replay_from", "profile", "socket", "pid",
        "state_dir",
    } <= set(status)  # fmt: skip
    assert status["roots"] == [{"label": "docs", "path": "/docs", "state": "ok", "prefixed": False}]
    assert (status["documents"], status["durable_generation"], status["reconciled_age_s"]) == (1, 0, 1.2)
    told = {"protocol": 1, "state": "current", "today": "2023-11-14", "time_zone": "UTC (UTC+0000)"}
    seen = house.call("query", text="quokka", caller=guest())["generation"]
    assert house.call("status", caller=guest()) == told | {"generation": seen}
    json.dumps(status)


def test_the_owner_is_told_how_many_documents_need_a_role():
    """Not which, and others not at all; a query's reply is the same with and without them."""
    files = {"a.md": "quokka\n", "s.md": "---\nacl: [board]\n---\nquokka secret\n"}
    house = SmallHouse(files)
    assert house.call("status")["needs_role"] == 1
    assert "needs_role" not in house.call("status", caller=guest())
    alone = SmallHouse({"a.md": "quokka\n"})
    replies = [one.call("query", text="quokka") for one in (house, alone)]
    for reply in replies:
        for name in ("took_ms", "store_id", "freshness"):
            del reply[name]
        for hit in reply["hits"]:
            del hit["validated_at"]
    assert replies[0] == replies[1]


def test_the_owner_is_told_what_nobody_can_find():
    """A document whose access key cannot be read is named with that key; to others nothing is said."""
    house = SmallHouse({"a.md": "quokka\n", "broken.md": "---\nacl: {a: b}\n---\nquokka secret\n"})
    status = house.call("status")
    assert status["withheld"] == 1
    assert status["withheld_files"] == [{"source_path": "broken.md", "reason": "acl cannot be read"}]
    assert "withheld" not in house.call("status", caller=guest())
    assert SmallHouse({"a.md": "quokka\n"}).call("status")["withheld_files"] == []


def test_sync_reports_in_the_contracts_names(house):
    """Paths are handed on as they came, and one outside of every root is not found."""
    report = house.call("sync", paths=["/docs/a.md"])
    assert house.sync.asked == [("/docs/a.md",)]
    assert report["documents_added"] == 1
    assert report["documents_skipped"] == [{"source_path": "x.md", "reason": "EACCES"}]
    house.call("sync")
    assert house.sync.asked[-1] is None
    with pytest.raises(NotFoundError):
        house.call("sync", paths=["/etc/passwd"])


def test_shutdown_asks_and_returns(house):
    """The answer comes before the end."""
    assert house.call("shutdown") == {"protocol": 1, "stopping": True}
    assert house.stops == [True]


def test_the_owner_and_root_are_owners_and_others_need_a_place():
    """Roles come from the user and all of its groups; nobody without a mapping is let in."""
    rules = Admission(owner_uid=1000, owner_roles=frozenset({"own"}), users={5: ("u",)}, groups={7: ("g",), 8: ("h",)})
    owner = rules.admit(Peer(uid=1000, gid=1))
    assert (owner.is_owner, owner.roles) == (True, {"own"})
    assert rules.admit(Peer(uid=0, gid=0)).is_owner
    assert rules.admit(Peer(uid=5, gid=7, groups=frozenset({8, 9}))).roles == {"u", "g", "h"}
    assert rules.admit(Peer(uid=6, gid=9, groups=frozenset({7}))).roles == {"g"}
    assert not rules.admit(Peer(uid=6, gid=7)).is_owner
    assert rules.admit(Peer(uid=6, gid=9)) is None


def test_every_error_has_a_documented_number():
    """Unexpected exceptions become an internal error without their text."""
    assert wire_error(ZeroDivisionError("secret")).message.count("secret") == 0
    for number in RPC_NUMBERS.values():
        assert -32800 < number <= -32001


def test_the_owner_is_told_which_rules_speak_of_no_document():
    """Also of none any more; of an empty index nothing is said, and nothing to others."""
    rules = tuple(PathRule(match=glob) for glob in ("secret/**", "secrets/**", "*.md", "a.md"))
    house = SmallHouse({"a.md": "quokka\n", "secret/b.md": "quokka\n"}, access=AccessRules(rules=rules))
    assert house.call("status")["idle_rules"] == ["secrets/**"]
    house.save({}, deleted=("a.md",))
    assert house.call("status")["idle_rules"] == ["secrets/**", "a.md"]
    assert "idle_rules" not in house.call("status", caller=guest())
    assert SmallHouse(access=AccessRules(rules=rules)).call("status")["idle_rules"] == []
