"""Whatever parameters a peer sends, each method answers or refuses by name, quickly and within bounds."""

import math
import random

import pytest

from indexerd.errors import IndexerdError, RequestError
from indexerd.protocol.connection import Connection
from indexerd.protocol.messages import RPC_NUMBERS, wire_error
from tests.fakes.costs import costs_less_than, is_linear
from tests.fakes.service_parts import OWNER, SmallHouse, guest

FIELDS = (
    "text", "k", "roles", "as_of", "generation", "paths", "tags", "where", "since", "until", "must", "phrase", "not",
    "prefix", "sort", "max_per_document", "distinct", "explain", "trace", "safe", "wait_ms", "after", "store_id",
    "budget_chars", "budget_tokens", "context", "min_coverage", "answer", "evidence", "claims", "fix", "language",
    "citation", "source_path", "start_line", "end_line", "deleted", "prefix", "limit", "history", "protocol",
)  # fmt: skip
HOSTILE = (
    None, True, False, 0, -1, 1, 2**31, 2**53 + 1, 2**63, -(2**63), 1.5, -0.0, math.nan, math.inf, 1e308, "", " ", "a",
    "a" * 8_192, "a" * 8_193, "\x00", "\x1b]0;x\x07", "\u202e", "\ud800", "../../etc/passwd", "/", "//", "[", "**",
    "*a" * 1000, "[!]", "[z-a]", "2026-02-30", "0000-00-00", "99999999d", "9" * 400, "guide.md#L1-L2",
    "guide.md#L2-L1@xx", "guide.md#L999999999999999999999-L1", [], ["a"], ["a"] * 1_025, [1], [[]], [None], {},
    {"a": "b"}, {"a": ["b"]}, {"a": {"b": []}}, {"": ""}, [{}], [{"text": "a"}], ["a=b"], ["=", "a"],
    {f"k{n}": "v" for n in range(2_000)}, "the of and to", "数据库" * 500, "a" + "\u0301" * 500,
)  # fmt: skip
ROUNDS = 250


@pytest.fixture(scope="module")
def house():
    """A small index; nothing in these tests may change or break it."""
    return SmallHouse({"guide.md": "# Guide\n\nalpha beta\n", "b.md": "---\ntags: [t]\n---\ngamma\n"})


def refusal(house, method, params, caller=OWNER):
    """Return the error that a call is refused with, None if it is answered; any other exception is a fault."""
    try:
        reply = house.call(method, params, caller)
    except IndexerdError as error:
        return error
    return None if Connection().reply(1, reply) else AssertionError("an empty reply")


def methods(house):
    """Return every method of the dispatch table."""
    return sorted({*house.service._quick, *house.service._slow} - {"shutdown", "sync", "forget"})


def test_any_parameters_are_answered_or_refused_by_a_known_code(house):
    """No value of any parameter of any method reaches the inside: never an internal error, for owner and guest."""
    dice = random.Random(20_261_130)
    for method in methods(house):
        for _ in range(ROUNDS):
            chosen = dice.sample(FIELDS, dice.randint(0, 3)) + (["text"] if method in {"query", "evidence"} else [])
            params = {name: dice.choice(HOSTILE) for name in chosen}
            if "wait_ms" in params:
                params["wait_ms"] = 0
            refused = refusal(house, method, params, dice.choice([OWNER, guest("r")]))
            if refused is not None:
                assert wire_error(refused).code in RPC_NUMBERS.keys() - {"internal_error"}, (method, params)
                assert len(str(refused)) < 30_000, (method, list(params))


def test_each_parameter_alone_takes_each_value(house):
    """Every pair of parameter and value, given to `query` beside a text, is answered or refused."""
    for name in FIELDS:
        for value in HOSTILE:
            params = {"text": "alpha", name: 0 if name == "wait_ms" else value}
            refused = refusal(house, "query", params)
            assert refused is None or wire_error(refused).code != "internal_error", (name, value)


COSTLY = {
    "10,000 terms": {"text": " ".join(f"w{n}" for n in range(10_000))},
    "a term of 1 MB": {"text": "x" * 1_000_000},
    "10,000 terms in must": {"text": "a", "must": [" ".join(f"w{n}{m}" for n in range(500)) for m in range(20)]},
    "1,000 globs": {"text": "a", "paths": ["**/*a*b*c*" + "x" * 50] * 1_000},
    "k of 2^31": {"text": "a", "k": 2**31},
    "a method of 1 MB": None,
    "a parameter of 1 MB": {"text": "a", "x" * 1_000_000: 1},
    "10,000 keys": {"text": "a", "where": {f"k{n}": "v" for n in range(10_000)}},
}


@pytest.mark.parametrize("name", COSTLY)
def test_what_would_cost_much_is_refused_before_it_does(house, name):
    """A query beyond its bounds is refused in a sentence of ordinary length, by next to no work."""
    params, said = COSTLY[name], []

    def ask():
        with pytest.raises(RequestError) as caught:
            house.call("query" if params else "q" * 1_000_000, params or {})
        said.append(str(caught.value))

    assert costs_less_than(0.5, ask)
    assert max(map(len, said)) < 300


WITHIN = {
    "terms": " ".join(f"w{n}" for n in range(600)),
    "stop words": "the of and to " * 292,
    "ideographs": "".join(chr(0x4E00 + n) for n in range(4_096)),
    "identifiers": "".join(f"aB{n}_" for n in range(580)),
    "one term": "x" * 4_096,
    "marks": "a" + "\u0301" * 4_095,
    "zeros": "\x00" * 4_096,
}


@pytest.mark.parametrize("text", WITHIN)
@pytest.mark.parametrize("method", ["query", "evidence"])
def test_the_dearest_text_within_the_bounds_is_answered(house, method, text):
    """What the bounds let through is answered, whatever it is made of."""
    assert "hits" in house.call(method, {"text": WITHIN[text], "prefix": True, "wait_ms": 0})


@pytest.mark.parametrize("k", [0, 101, 1_000_000])
def test_a_long_question_gets_a_bounded_number_of_hits(house, k):
    """What an answer costs is the number of words times that of hits: both are not great at once."""
    long = {"text": "alpha " * 180, "explain": True, "wait_ms": 0}
    with pytest.raises(RequestError, match="1,080 characters gets 100 hits"):
        house.call("query", {**long, "k": k})
    assert house.call("query", {**long, "k": 100})["hits"]
    assert house.call("query", {"text": "alpha " * 170, "k": k})["hits"]


def test_queries_of_strangers_do_not_stay_in_memory(house):
    """What is remembered of query texts is bounded by size, not only by number: long ones are not kept."""
    from indexerd.analysis import query as analysed  # noqa: PLC0415 - its memories are the subject

    kept = (analysed._kept_words, analysed._kept_name_key)
    before = [memory.cache_info().currsize for memory in kept]
    for number in range(20):
        house.call("query", {"text": f"{number}" + "数" * 300, "wait_ms": 0})
    assert [memory.cache_info().currsize for memory in kept] == before


ANSWERS = {
    "open brackets": "[",
    "links without an end": "[a](b",
    "full stops": ".",
    "abbreviations": "e.g. a ",
    "dates": "2026-01-01 ",
    "numbers": "1,",
    "marks": "[S1]",
    "quotes": '"',
    "fences": "```\n",
    "titles": "《",
}


@pytest.mark.parametrize("piece", ANSWERS)
def test_an_answer_of_any_shape_is_checked_in_proportion_to_its_length(house, piece):
    """Four times the answer takes no more than about four times as long, not sixteen."""
    evidence = house.call("evidence", {"text": "alpha"})

    def check(chars):
        answer = (ANSWERS[piece] * chars)[:chars]
        refused = refusal(house, "check", {"answer": answer, "evidence": evidence})
        assert refused is None or "claims" in str(refused)

    check(100)
    assert is_linear(check, 4_000)
