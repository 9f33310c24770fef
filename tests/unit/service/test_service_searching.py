"""Barrier, search, repair, search again: what a reply says about how fresh it is."""

import pytest

from indexerd.errors import ForbiddenError, GenerationError, RequestError, UnknownFieldError
from indexerd.search.reply import iso_utc
from indexerd.service.rendering import keep_sendable, moment, path_fields
from indexerd.sync.problems import Problem
from tests.fakes.service_parts import OWNER, SmallHouse, guest

FILES = {"a.md": "# Alpha\n\nA quokka lives here.\n", "b.md": "# Beta\n\nNo animals.\n"}


@pytest.fixture
def house():
    return SmallHouse(FILES)


def paths(result):
    return [hit["source_path"] for hit in result["hits"]]


def test_a_reply_has_every_field_of_the_contract(house):
    """Names and shapes are those that scripts rely on."""
    result = house.call("query", text="quokka")
    assert set(result) == {
        "protocol", "store_id", "generation", "durable", "settings", "query", "as_of", "took_ms", "candidates", "hits",
        "coverage", "answerability", "unmatched", "weak", "abstained", "abstention_reason", "rejected",
        "rejected_counts", "freshness", "request", "historical",
    }  # fmt: skip
    (hit,) = result["hits"]
    assert (hit["n"], hit["label"], hit["source_path"], hit["path"]) == (1, "S1", "a.md", "/docs/a.md")
    assert hit["citation"] == f"a.md#L{hit['start_line']}-L{hit['end_line']}"
    assert result["freshness"] == {"state": "current", "waited_ms": 0.0}


def test_evidence_comes_with_its_set_and_keeps_its_generation(house):
    """An evidence reply has blocks and prompt, within the budget."""
    result = house.call("evidence", text="where does the quokka live", budget_chars=2000)
    evidence = result["evidence"]
    assert evidence["evidence_set_id"].startswith("evidence_")
    assert evidence["prompt_chars"] == len(evidence["prompt"]) <= evidence["budget_chars"] == 2000
    assert evidence["blocks"][0]["label"] == "S1"


def at_once(house, caller=OWNER, **params):
    return house.service.call_now(caller, "query", {"text": "quokka animals", **params})


def test_a_plain_query_is_answered_at_once(house):
    """The thread of the connections says what another would."""
    assert at_once(house) == house.call("query", text="quokka animals")
    with pytest.raises(RequestError):
        at_once(house, k="many")


@pytest.mark.parametrize(
    "params",
    [{"text": "q" * 129}, {"k": 0}, {"k": 51}, {"paths": ["**"]}, {"phrase": ["x"]}, {"since": "7d"}, {"prefix": True},
     {"sort": "path"}, {"trace": True}, {"generation": 1}],
    ids=str,
)  # fmt: skip
def test_what_may_cost_much_is_left_to_another_thread(house, params):
    """The connections do not wait for it."""
    assert at_once(house, **params) is None


def test_what_others_ask_is_left_to_their_threads(house):
    """They never hold up the owner."""
    assert at_once(house, guest("board")) is None


def test_what_another_machine_may_hold_up_is_left_to_another_thread(house):
    """A file system whose server is gone hangs whoever looks at it: not those who ask for anything else."""
    house.sync.is_remote = True
    assert at_once(house) is None
    assert house.call("query", text="quokka animals")["hits"]


def test_nothing_is_waited_for_at_once(house):
    """Neither what was written just now, nor a repair, nor a look at what is held."""
    house.sync.barrier_takes = 0.05
    assert at_once(house) is None
    assert at_once(house, wait_ms=0)["freshness"]["state"] == "pending"
    house.sync.barrier_takes = 0.0
    house.write("a.md", "a quokka, second version\n")
    assert at_once(house) is None
    assert house.sync.repairs == []
    house.publish_only({"a.md": "a quokka, second version\n"})
    assert at_once(house) is not None
    house.sync.held_paths = frozenset({"b.md"})
    assert at_once(house) is None


def test_a_slow_disk_is_read_by_other_threads(house, monkeypatch):
    """It holds up the connections for a moment once a second at most, and its passages are not withheld."""
    read = house.sources.read

    def slowly(path):
        house.clock.advance(0.03)
        return read(path)

    with monkeypatch.context() as patched:
        patched.setattr(house.sources, "read", slowly)
        assert at_once(house) is None
        assert len(house.call("query", text="quokka animals")["hits"]) == 2
    assert at_once(house) is None
    house.clock.advance(1.0)
    assert at_once(house) is not None


def test_a_stale_file_is_repaired_and_searched_again(house):
    """A hit whose file changed is indexed at once, and the same reply has the new text."""
    house.write("a.md", "# Alpha\n\nNow a quokka and a wombat.\n")
    house.sync.on_repair = house.publish_seen
    result = house.call("query", text="quokka")
    assert list(house.sync.repairs[0][0]) == ["a.md"]
    assert "wombat" in result["hits"][0]["text"]
    assert (result["generation"], result["freshness"]["state"]) == (2, "current")


def test_a_file_that_changes_again_meanwhile_is_answered_as_it_was_seen(house):
    """The answer comes from the one read that was indexed, and says when that was; it is never a hole."""
    house.write("a.md", "a quokka, second version\n")
    seen_at = house.clock.now_ns()

    def repaired(reads):
        snapshot = house.publish_seen(reads)
        house.clock.advance(0.01)
        house.save({"a.md": "a quokka, third version\n"})
        house.write("a.md", "a quokka, fourth version\n")
        return snapshot

    house.sync.on_repair = repaired
    result = house.call("query", text="quokka")
    (hit,) = result["hits"]
    assert hit["text"] == "a quokka, second version\n"
    assert hit["validated_at"] == iso_utc(seen_at)
    assert (result["generation"], result["rejected"], result["freshness"]["state"]) == (2, [], "current")
    assert len(house.sync.repairs) == 1


def test_another_file_that_changes_meanwhile_is_repaired_too(house):
    """Each search may meet new changes; what the earlier ones saw stays in the generation that is asked for."""
    house.save({"c.md": "another quokka\n"})
    house.write("a.md", "a quokka, second version\n")

    def repaired(reads):
        if len(house.sync.repairs) == 1:
            house.write("c.md", "another quokka, second version\n")
        return house.publish_seen(reads)

    house.sync.on_repair = repaired
    result = house.call("query", text="quokka")
    assert sorted(hit["text"] for hit in result["hits"]) == [
        "a quokka, second version\n",
        "another quokka, second version\n",
    ]
    assert [sorted(reads) for reads, _ in house.sync.repairs] == [["a.md"], ["a.md", "c.md"]]
    assert result["freshness"]["state"] == "current"


def test_repair_ends_with_the_wait(house):
    """A file that is never indexed as it was seen is withheld when the time is out, not asked for without end."""

    def repaired(reads):
        house.clock.advance(0.03)
        house.write("a.md", f"a quokka, version {len(house.sync.repairs)}\n")
        house.save({"b.md": f"# Beta {len(house.sync.repairs)}\n"})
        return house.store.snapshot()

    house.write("a.md", "a quokka, version 0\n")
    house.sync.on_repair = repaired
    result = house.call("query", text="quokka", wait_ms=100)
    assert len(house.sync.repairs) == 4
    assert (paths(result), result["freshness"]["state"]) == ([], "pending")
    assert result["rejected_counts"] == {"source_changed": 1}


def test_repair_ends_when_nothing_changes_by_it(house):
    """What was asked for once and led to no other generation is not asked for again."""
    house.write("a.md", "a quokka, second version\n")
    house.sync.on_repair = lambda reads: house.store.snapshot()
    result = house.call("query", text="quokka", wait_ms=60_000)
    assert len(house.sync.repairs) == 2
    assert (paths(result), result["freshness"]["state"]) == ([], "pending")


def test_a_file_that_is_gone_is_gone_from_the_answer(house):
    """Its absence is what was seen; the generation without it is answered from."""
    house.sources.remove("a.md")
    house.sync.on_repair = house.publish_seen
    result = house.call("query", text="quokka")
    assert (result["hits"], result["rejected_counts"], result["freshness"]["state"]) == ([], {}, "current")


def test_bytes_that_hide_a_document_leave_no_trace_after_a_repair_either(house):
    """A document that got an acl meanwhile is neither given nor counted, whether it could be repaired or not."""
    house.save({"c.md": "another quokka\n"})
    house.write("a.md", "---\nacl: [board]\n---\na quokka\n")
    for on_repair in (lambda reads: None, house.publish_seen):
        house.sync.on_repair = on_repair
        result = house.call("query", text="quokka")
        assert paths(result) == ["c.md"]
        assert (result["rejected"], result["rejected_counts"], result["candidates"]) == ([], {}, 1)


def test_what_cannot_be_repaired_in_time_is_withheld_counted_and_said(house):
    """Out of time the stale passage is not shown, and the reply does not claim to be current."""
    house.write("a.md", "something else entirely\n")
    result = house.call("query", text="quokka")
    assert paths(result) == []
    assert result["rejected_counts"] == {"source_changed": 1}
    assert result["freshness"]["state"] == "pending"


def test_without_time_nothing_is_repaired(house):
    """`wait_ms` 0 answers at once from what can be proved."""
    house.write("a.md", "something else entirely\n")
    result = house.call("query", text="quokka", wait_ms=0)
    assert house.sync.repairs == []
    assert result["freshness"]["state"] == "pending"


def test_the_wait_is_bounded_by_wait_ms_and_told(house):
    """A barrier that takes longer is not waited for."""
    house.sync.barrier_takes = 5.0
    result = house.call("query", text="quokka", wait_ms=40)
    assert result["freshness"] == {"state": "pending", "waited_ms": 40.0}
    assert paths(result) == ["a.md"]
    assert house.call("query", text="quokka", wait_ms=6000)["freshness"] == {"state": "current", "waited_ms": 5000.0}


def test_owners_are_told_why_waiting_longer_would_not_help(house):
    """The problem that keeps what was saved from being published is named; others hear the state only."""
    house.sync.state = "pending"
    house.sync.failure = Problem("publish_failed", 0, 3, "ENOSPC: '/state\udcff'")
    told = house.call("query", text="quokka")["freshness"]
    assert told["problem"] == {"code": "publish_failed", "detail": "ENOSPC: '/state\ufffd'"}
    assert house.call("query", caller=guest("staff"), text="quokka")["freshness"] == {"state": "pending"}


def test_a_file_is_repaired_while_the_barrier_waits_for_others(house):
    """The barrier leaves time for repair, and the answer without a hole says that it may lack the newest."""
    house.sync.barrier_takes = 5.0
    house.write("a.md", "a quokka, second version\n")
    house.sync.on_repair = house.publish_seen
    result = house.call("query", text="quokka", wait_ms=100)
    assert [hit["text"] for hit in result["hits"]] == ["a quokka, second version\n"]
    assert result["freshness"] == {"state": "pending", "waited_ms": 100.0}


def test_what_comes_late_but_within_the_wait_is_in_the_answer(house):
    """A barrier that is reached in the last half of the wait is followed by one more search."""
    house.sync.barrier_takes = 0.08
    house.sync.on_barrier = lambda: house.save({"c.md": "another quokka\n"})
    result = house.call("query", text="quokka", wait_ms=100)
    assert sorted(paths(result)) == ["a.md", "c.md"]
    assert result["freshness"] == {"state": "current", "waited_ms": 80.0}


def test_an_answer_without_a_hole_is_kept_if_a_later_one_has_one(house):
    """What changes again behind a late barrier does not take away what was proved before."""
    house.sync.barrier_takes = 0.08
    house.sync.on_barrier = lambda: house.write("a.md", "a quokka, second version\n")
    result = house.call("query", text="quokka", wait_ms=100)
    assert paths(result) == ["a.md"]
    assert result["freshness"]["state"] == "pending"


def test_an_empty_answer_while_building_says_so():
    """Nothing found is not the same as not yet there."""
    house = SmallHouse()
    house.sync.state = "building"
    result = house.call("evidence", text="quokka")
    assert (result["freshness"]["state"], result["abstention_reason"]) == ("building", "index_building")


def test_held_documents_are_not_eligible(house):
    """What cannot be looked at now is not answered from; the owner is told how much that is, and nobody else."""
    assert "held" not in house.call("query", text="quokka")["freshness"]
    house.sync.held_paths = frozenset({"a.md"})
    reply = house.call("query", text="quokka")
    assert (paths(reply), reply["freshness"]["held"]) == ([], 1)
    assert "held" not in house.call("query", text="quokka", caller=guest())["freshness"]


@pytest.mark.parametrize(
    ("params", "error", "words"),
    [
        ({"text": "x", "tagz": ["a"]}, UnknownFieldError, "did you mean 'tags'"),
        ({"text": "x", "collecton": "y"}, UnknownFieldError, "'collecton'; there are after, as_of, "),
        ({"text": "x", "n": 5}, UnknownFieldError, "'n'; there are after, as_of, distinct, explain, generation, k, "),
        ({"text": "x", "budget_chars": 100}, UnknownFieldError, "'budget_chars'"),
        ({}, RequestError, "'text' is missing"),
        ({"text": 5}, RequestError, "'text' must be text"),
        ({"text": "x", "k": -1}, RequestError, "'k' must be"),
        ({"text": "x", "k": 2**31}, RequestError, "'k' must be"),
        ({"text": "x", "k": True}, RequestError, "'k' must be"),
        ({"text": "x", "tags": [1]}, RequestError, "'tags' must be text"),
        ({"text": "x", "where": ["novalue"]}, RequestError, "key=value"),
        ({"text": "x", "as_of": "yesterday"}, RequestError, "2026-09-06"),
        ({"text": "x", "since": "soon"}, RequestError, "soon"),
        ({"text": "x", "sort": "size"}, RequestError, "modified"),
        ({"text": "x", "explain": "yes"}, RequestError, "true or false"),
        ({"text": "x", "protocol": 2}, RequestError, "this daemon speaks 1"),
        ({"text": "x", "generation": 99}, GenerationError, "99 is not kept"),
        ({"text": "x" * 8_193}, RequestError, "8,193 characters, the most is 8,192"),
        ({"text": "x", "must": ["y" * 2_048], "not": ["z" * 2_048]}, RequestError, "4,097 characters together"),
        ({"text": "x", "paths": ["a/**"] * 65}, RequestError, "65 globs"),
    ],
)
def test_wrong_parameters_are_named(house, params, error, words):
    """Each refusal says which parameter and what it may be."""
    with pytest.raises(error) as caught:
        house.call("query", params)
    assert words in str(caught.value)


def test_evidence_parameters_are_checked_too(house):
    """Two budgets, or one that cannot hold the guard, are refused."""
    with pytest.raises(RequestError, match="not both"):
        house.call("evidence", text="x", budget_chars=1000, budget_tokens=1000)
    with pytest.raises(RequestError, match="budget"):
        house.call("evidence", text="quokka lives", budget_chars=3)
    assert house.call("evidence", text="quokka lives", context="section")["hits"]
    with pytest.raises(RequestError, match="context"):
        house.call("evidence", text="quokka", context="chapter")


ACL = {"open.md": "# Open\n\nquokka\n", "secret.md": "---\nacl: [board]\n---\n# Secret\n\nquokka merger\n"}


def test_roles_are_taken_by_the_owner_and_only_narrowed_by_others():
    """Until a role is named that admits it, a document with an acl is not there."""
    house = SmallHouse(ACL)
    assert paths(house.call("query", text="quokka")) == ["open.md"]
    assert sorted(paths(house.call("query", text="quokka", roles=["board"]))) == ["open.md", "secret.md"]
    assert paths(house.call("query", text="quokka", caller=guest("staff"))) == ["open.md"]
    assert sorted(paths(house.call("query", text="quokka", caller=guest("board")))) == ["open.md", "secret.md"]
    assert paths(house.call("query", text="quokka", caller=guest("board"), roles=[])) == ["open.md"]
    with pytest.raises(ForbiddenError):
        house.call("query", text="quokka", caller=guest("staff"), roles=["board"])


def test_what_others_are_told_does_not_move_with_what_they_may_not_see():
    """For a guest, edits of hidden documents change nothing in the whole reply."""
    house = SmallHouse(ACL)

    def told(caller):
        result = house.call("query", text="quokka", caller=caller, k=5)
        del result["took_ms"]
        for hit in result["hits"]:
            del hit["validated_at"]
        return result

    before = told(guest("staff"))
    assert before["freshness"] == {"state": "current"}
    assert "durable" not in before
    for number in range(3):
        house.save({"secret.md": f"---\nacl: [board]\n---\n# Secret\n\nquokka merger {number}\n"})
        house.store.checkpoint()
        assert told(guest("staff")) == before
    numbers = {told(guest("board"))["generation"], before["generation"]}
    house.save({"open.md": "# Open\n\nquokka again\n"})
    numbers |= {told(guest("staff"))["generation"], told(guest("board"))["generation"]}
    assert len(numbers) == 4


def test_the_number_of_others_is_the_same_in_every_daemon_over_the_same_documents():
    """It is made of what they see: not of hidden documents, of the order of publishes, of merges, of a start."""
    first, second = SmallHouse(ACL), SmallHouse({"open.md": "something else\n"})
    numbers = []
    for house in (first, second):
        house.save({"other.md": "quokka here\n"})
        house.save({"open.md": ACL["open.md"]})
        numbers.append(house.call("query", text="quokka", caller=guest("staff"))["generation"])
    assert numbers[0] == numbers[1]
    assert first.store.snapshot().generation == second.store.snapshot().generation == 3
    again = SmallHouse({"other.md": "quokka here\n"} | ACL)
    assert again.call("status", caller=guest("staff"))["generation"] == numbers[0]
    assert again.call("documents", caller=guest("staff"))["generation"] == numbers[0]
    assert again.call("status", caller=guest("board"))["generation"] not in {1, numbers[0]}


def test_hidden_documents_alone_are_as_an_index_that_was_never_published():
    """Not even that there were settings to publish them with is told."""
    hidden, empty = SmallHouse({"secret.md": ACL["secret.md"]}), SmallHouse({})
    asked = {"query": {"text": "quokka"}, "evidence": {"text": "quokka"}, "documents": {}, "status": {}}
    for method, params in asked.items():
        replies = [house.call(method, params, caller=guest("staff")) for house in (hidden, empty)]
        for reply in replies:
            reply.pop("store_id", None)
            reply.pop("took_ms", None)
        assert replies[0] == replies[1], method


def test_two_documents_that_change_places_are_another_number():
    """Paths and contents are not added up apart."""
    house = SmallHouse({"a.md": "quokka\n", "b.md": "wombat\n"})
    before = house.call("status", caller=guest("staff"))["generation"]
    house.save({"a.md": "wombat\n", "b.md": "quokka\n"})
    assert house.call("status", caller=guest("staff"))["generation"] != before
    house.save({}, deleted=("a.md", "b.md"))
    assert house.call("status", caller=guest("staff"))["generation"] == 0


def test_a_guest_cannot_probe_generations():
    """A number that was not told does not exist, whatever it is."""
    house = SmallHouse(ACL)
    told = house.call("query", text="quokka", caller=guest())["generation"]
    house.save({"secret.md": "---\nacl: [board]\n---\nmore\n"})
    assert house.call("query", text="quokka", caller=guest(), generation=told)["generation"] == told
    for number in (0, 1, 2, 3):
        with pytest.raises(GenerationError, match=f"the current one is {told}"):
            house.call("query", text="quokka", caller=guest(), generation=number)


def test_pages_of_hits_join_without_gap_or_repeat(house):
    """`after` leaves out what the caller has; the numbers go on."""
    house.save({f"n{n}.md": f"quokka number {n}\n" for n in range(7)})
    whole = paths(house.call("query", text="quokka", k=0))
    assert len(whole) == 8
    assert paths(house.call("query", text="quokka", k=0, after=3)) == whole[3:]


def test_a_reply_too_large_for_one_message_is_cut_between_hits_and_says_so():
    """What one message can carry is sent whole, and the rest can be asked for."""
    hits = [{"n": n, "text": "x" * 100_000} for n in range(100)]
    first = keep_sendable({"hits": list(hits)}, 0)
    assert first["truncated"] is True
    rest = keep_sendable({"hits": list(hits)}, len(first["hits"]))
    assert first["hits"] + rest["hits"] == hits
    assert "truncated" not in rest
    assert len(keep_sendable({"hits": [{"n": 1, "text": "x" * 10_000_000}]}, 0)["hits"]) == 1


@pytest.mark.parametrize("time_ns", [0, 1_700_000_000_123_000_000, -1, 2**63, -(2**63), 10**30])
def test_any_file_time_is_a_moment(time_ns):
    """A file's time may be nonsense; the reply still has a time."""
    assert moment(time_ns).endswith("Z")
    assert moment(1_700_000_000_123_000_000) == "2023-11-14T22:13:20.123Z"


def test_a_path_that_is_no_text_travels_as_base64():
    """Bytes are never replaced."""
    assert path_fields(b"/d/\xe9.md") == {"path": None, "path_b64": "L2Qv6S5tZA=="}
    assert path_fields("/d/é.md".encode()) == {"path": "/d/é.md"}
    assert path_fields(None) == {"path": None}
