"""Any bytes in any pieces give messages or faults, and the pieces make no difference."""

import json
import random
from itertools import pairwise

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexerd.protocol.connection import Connection
from indexerd.protocol.messages import Fault
from indexerd.protocol.strict_json import decode_json, nests_deeper

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**31), 2**31) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
HTTP = [b"GET /query?q=", b"POST /rpc HTTP/1.1\r\nContent-Length: 9\r\n", b"HEAD / HTTP/1.1\r\n\r\n"]
FIRSTS = st.sampled_from([b"{", b"\x94", b"\x93", b"\xdc", b'{"id":1,', b"\x94\x00\x01\xa5query\x91", b"", *HTTP])


def read(data: bytes, cuts: list[int]) -> list[str]:
    """Return what a connection says to data cut at these offsets."""
    connection, said = Connection(), []
    edges = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    for start, end in pairwise(edges):
        connection.feed(data[start:end])
        while (message := connection.next_message()) is not None:
            said.append(repr(message))
    connection.end()
    while (message := connection.next_message()) is not None:
        said.append(repr(message))
    return said


@settings(max_examples=300, deadline=None)
@given(FIRSTS, st.binary(max_size=200), st.lists(st.integers(0, 1000), max_size=8))
def test_rubbish_never_raises_and_cuts_make_no_difference(first, rest, cuts):
    """However rubbish is cut, the same is said to it."""
    assert read(first + rest, cuts) == read(first + rest, [])


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.text(max_size=8), VALUES, max_size=5), st.lists(st.integers(0, 5000), max_size=8))
def test_all_framings_read_the_same_request(params, cuts):
    """The same call means the same in JSON lines, in MessagePack and over HTTP."""
    line = json.dumps({"id": 5, "method": "m", "params": params}, ensure_ascii=False).encode() + b"\n"
    packed = msgpack.packb([0, 5, "m", [params]])
    posted = b"POST /rpc HTTP/1.1\r\nContent-Length: %d\r\n\r\n%s" % (len(line), line)
    assert read(line, cuts) == read(packed, cuts) == read(posted, cuts)


@settings(max_examples=300, deadline=None)
@given(VALUES, st.integers(0, 8))
def test_depth_agrees_with_the_value(value, limit):
    """Text is called too deep exactly when its value is."""

    def depth(node: object) -> int:
        inner = node.values() if isinstance(node, dict) else node if isinstance(node, list) else None
        return 0 if inner is None else 1 + max(map(depth, inner), default=0)

    text = json.dumps(value).encode()
    assert nests_deeper(text, limit) == (depth(value) > limit)
    assert decode_json(text, 64) == value


@pytest.mark.parametrize("seed", range(20))
def test_mutated_messages_never_raise(seed):
    """A valid message with bytes changed gives messages or faults."""
    dice = random.Random(seed)
    for sample in (
        b'{"jsonrpc":"2.0","id":1,"method":"q","params":{"a":[1,2,{"b":"c"}]}}\n',
        msgpack.packb([0, 1, "q", [{"a": [1, {"b": "c"}]}]]),
        b"GET /query?q=a%20b&k=3 HTTP/1.1\r\nHost: x\r\n\r\n",
        b'POST /rpc HTTP/1.1\r\nContent-Length: 21\r\n\r\n{"id":1,"method":"q"}',
    ):
        for _ in range(200):
            broken = bytearray(sample * 2)
            for _ in range(dice.randint(1, 4)):
                broken[dice.randrange(1, len(broken))] = dice.randrange(256)
            for message in read(bytes(broken), [dice.randrange(100)]):
                assert message.startswith((Fault.__name__, "Request"))
