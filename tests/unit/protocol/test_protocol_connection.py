"""The first byte decides the framing; every sample reads the same however it is cut up."""

import json

import msgpack
import pytest

from indexerd.protocol.connection import Connection
from indexerd.protocol.messages import Fault, Limits, Request
from tests.fakes.delivery import deliveries

PARAMS = {"text": "héllo", "k": 5, "roles": ["a"], "where": {"k": "v"}, "explain": True, "min_coverage": 0.5}
LINE = json.dumps({"jsonrpc": "2.0", "id": 7, "method": "query", "params": PARAMS}, ensure_ascii=False).encode() + b"\n"
PACKED = msgpack.packb([0, 7, "query", [PARAMS]])
REQUEST = Request(id=7, method="query", params=PARAMS)


def read(pieces, *, end=False, limits=None):
    """Feed pieces and return every message, with the connection."""
    connection, messages = Connection(limits), []
    for piece in pieces:
        connection.feed(piece)
        while (message := connection.next_message()) is not None:
            messages.append(message)
    if end:
        connection.end()
        while (message := connection.next_message()) is not None:
            messages.append(message)
    return messages, connection


def fault(sample, **options):
    """Return the only fault that a sample gives, the same in every delivery."""
    faults = {repr(read(pieces, **options)[0]) for pieces in deliveries(sample)}
    assert len(faults) == 1
    (message,) = read((sample,), **options)[0]
    assert isinstance(message, Fault)
    return message


@pytest.mark.parametrize("sample", [LINE, b" \r\n\t" + LINE, PACKED], ids=["line", "blank, line", "msgpack"])
def test_a_request_reads_the_same_however_it_is_cut(sample):
    """A request gives one message whole, byte by byte, and with trailing data."""
    for pieces in deliveries(sample):
        messages, connection = read(pieces)
        assert messages == [REQUEST]
        assert not connection.unfinished
    messages, connection = read((sample + sample[:9].lstrip(),))
    assert messages == [REQUEST]
    assert connection.unfinished


@pytest.mark.parametrize("sample", [LINE, PACKED], ids=["line", "msgpack"])
def test_pipelined_requests_come_in_order(sample):
    """Requests sent without waiting are handed out one by one."""
    for pieces in deliveries(sample * 3):
        assert read(pieces)[0] == [REQUEST] * 3


@pytest.mark.parametrize(
    "first",
    [
        b"CONNECT x:1 HTTP/1.1\r\n\r\n",
        b"TRACE / HTTP/1.1\r\n\r\n",
        b"\x00\x01",
        b"[1,{}]\n",
        b"Content-Length: 3\r\n\r\n{}\n",
        b"\x80\n",
    ],
)
def test_an_unknown_first_byte_is_answered_once_and_ends(first):
    """A framing that is not spoken is told so, and nothing behind it is read."""
    message = fault(first)
    assert message.fatal
    assert message.error.code == "parse_error"
    connection = read((first,))[1]
    assert connection.closed
    connection.feed(LINE)
    assert connection.next_message() is None


def test_a_last_line_without_its_end_counts_when_the_peer_is_done():
    """A client that closes its side instead of ending the line is answered."""
    for pieces in deliveries(LINE.rstrip(b"\n")):
        assert read(pieces)[0] == []
        assert read(pieces, end=True)[0] == [REQUEST]


def test_a_notification_wants_no_reply():
    """Without an id there is nothing to answer to."""
    assert read((b'{"method":"x"}\n',))[0] == [Request(id=None, method="x", params={}, wants_reply=False)]
    assert read((msgpack.packb([2, "x", []]),))[0] == [Request(id=None, method="x", params={}, wants_reply=False)]


@pytest.mark.parametrize(
    ("sample", "code"),
    [
        (b"{nonsense}\n", "parse_error"),
        (b'{"id":1,"method":"q","params":{"a":NaN}}\n', "parse_error"),
        (b'{"id":1,"method":"q","params":{"a":1e999}}\n', "parse_error"),
        (b'{"id":1,"id":2,"method":"q"}\n', "parse_error"),
        (b'{"id":1,"method":"q","params":{"a":"\\ud800"}}\n', "parse_error"),
        (b'{"id":1,"method":"\xff"}\n', "parse_error"),
        (b'{"id":' + b"9" * 5000 + b',"method":"q"}\n', "parse_error"),
        (b'{"id":1.5,"method":"q"}\n', "invalid_request"),
        (b'{"id":true,"method":"q"}\n', "invalid_request"),
        (b'{"id":1}\n', "invalid_request"),
        (b'{"id":1,"method":3}\n', "invalid_request"),
        (b'{"jsonrpc":"1.0","id":1,"method":"q"}\n', "invalid_request"),
        (b'{"id":1,"method":"q","params":[1]}\n', "invalid_params"),
        (b'{"id":1,"method":"q","parms":{}}\n', "unknown_field"),
    ],
)
def test_a_line_that_is_no_request_is_answered_and_the_next_one_is_read(sample, code):
    """A bad line costs that line only."""
    message = fault(sample)
    assert (message.error.code, message.fatal) == (code, False)
    assert read((sample + LINE,))[0][1:] == [REQUEST]


@pytest.mark.parametrize(
    ("sample", "code"),
    [
        (b'{"a":' + b"[" * 100_000 + b"\n", "too_large"),
        (b'{"a":' + b"[" * 33 + b"]" * 33 + b"}\n", "too_large"),
        (b'{"a":"' + b"x" * (1 << 20) + b'"}\n', "too_large"),
        (b'{"a":"' + b"x" * (1 << 20), "too_large"),
        (b"\x94\x00\x01\xdb\xff\xff\xff\xff", "too_large"),
        (b"\x94\x00\x01\xa1q\xdd\x80\x00\x00\x00", "too_large"),
        (b"\x94\x00\x01\xa1q\xdf\xff\xff\xff\xff", "too_large"),
        (b"\x91" * 5000, "too_large"),
        (b"\xdd\x7f\xff\xff\xff", "too_large"),
        (b"\x94\x00\x01\xa1q\xc1", "parse_error"),
    ],
)
def test_what_breaks_a_bound_or_cannot_be_resumed_ends_the_connection(sample, code):
    """Too long, too deep, or no message at all: answered once, by the announced size and not by what was sent."""
    big = len(sample) > 200_000
    message = read((sample,))[0][0] if big else fault(sample)
    assert isinstance(message, Fault)
    assert (message.error.code, message.fatal) == (code, True)


def test_depth_is_counted_exactly_and_not_inside_strings():
    """The limit of 32 levels holds to the level, and brackets in strings do not count."""
    inner = b'{"id":1,"method":"q","params":{"a":' + b"[" * 30 + b"]" * 30 + b"}}\n"
    assert isinstance(read((inner,))[0][0], Request)
    deeper = inner.replace(b"[" * 30, b"[" * 31).replace(b"]" * 30, b"]" * 31)
    assert read((deeper,))[0][0].error.code == "too_large"
    quoted = b'{"id":1,"method":"q","params":{"a":"' + b'[{\\"' * 50 + b'"}}\n'
    assert isinstance(read((quoted,))[0][0], Request)


@pytest.mark.parametrize("params", [[], [{}], {}])
def test_messagepack_params_are_one_map_or_none(params):
    """Neovim sends no arguments as an empty array."""
    assert read((msgpack.packb([0, 1, "status", params]),))[0] == [Request(id=1, method="status", params={})]


@pytest.mark.parametrize(
    ("sample", "request_id", "code", "text"),
    [
        (b"\x94\x00\x01\xa1q\xd4\x01\x00", 1, "invalid_request", "extension types"),
        (b"\x94\x00\x01\xa1q\xd6\xff\x00\x00\x00\x00", 1, "invalid_request", "extension types"),
        (b"\x94\x00\x01\xa1q\xc7\x01\x05\x00", 1, "invalid_request", "extension types"),
        (b"\x94\x00\x01\xa1q\xc7\x01\xff\x00", None, "invalid_request", "extension types"),
        (b"\x94\x00\x01\xa2\xff\xfe\x90", 1, "invalid_request", "a text is no UTF-8"),
        (b"\x94\x00\x01\xa1q\x82\xa1a\x01\xa1a\x02", 1, "invalid_params", "names a key twice"),
        (b"\x94\x00\x01\xa1q\x81\x01\x02", 1, "invalid_params", "keys of a map must be text"),
        (b"\x94\x00\x01\xa1q\x81\x90\x02", 1, "invalid_params", "keys of a map must be text"),
        (b"\x93\x00\x01\xa1q", 1, "invalid_request", "expected"),
        (b"\x94\x00\x01\x05\x90", 1, "invalid_request", "expected"),
        (b"\x94\x00\xff\xa1q\x90", None, "invalid_request", "expected"),
        (b"\x94\x07\x01\xa1q\x90", None, "invalid_request", "expected"),
        (b"\x90", None, "invalid_request", "expected"),
    ],
)
def test_a_messagepack_value_that_is_no_request_is_answered_and_the_next_one_is_read(sample, request_id, code, text):
    """Its end is known: the reply says in the protocol's words what is wrong, by id where there is one."""
    wrong, right = read((sample + msgpack.packb([0, 7, "status", []]),))[0]
    assert (wrong.id, wrong.error.code, wrong.fatal) == (request_id, code, False)
    assert text in wrong.error.message
    assert right == Request(id=7, method="status", params={})


@pytest.mark.parametrize(
    "sample", [b'{"id":1,"method":"\xff"}\n', b'{"id":1,"method":"q","params":{"text":"\\ud800"}}\n', b'{"id":1,}\n']
)
def test_what_is_no_json_is_refused_in_words_of_the_protocol(sample):
    """Nothing of the program's own machinery is told."""
    message = read((sample,))[0][0]
    assert message.error.code == "parse_error"
    assert not any(word in message.error.message for word in ("codec", "\\ud", "strict", "0x", "position"))


@pytest.mark.parametrize("params", [[1], [{}, {}], "x", [{b"a": 1}], None])
def test_other_messagepack_params_are_refused_by_id(params):
    """The caller learns which of its calls was wrong."""
    (message,) = read((msgpack.packb([0, 9, "status", params]),))[0]
    assert (message.id, message.error.code, message.fatal) == (9, "invalid_params", False)


def test_replies_and_notifications_speak_the_connections_framing():
    """A result, an error and a notification are what the client's library expects."""
    lines, packed = read((LINE,))[1], read((PACKED,))[1]
    assert json.loads(lines.reply(7, {"a": "é"})) == {"jsonrpc": "2.0", "id": 7, "result": {"a": "é"}}
    assert lines.reply(7, {"a": "x\ny"}).count(b"\n") == 1
    assert msgpack.unpackb(packed.reply(7, {"a": "é"})) == [1, 7, None, {"a": "é"}]
    wrong = read((b'{"id":3,"x":1}\n',))[0][0].error
    assert json.loads(lines.failure(3, wrong))["error"]["data"]["code"] == "unknown_field"
    assert msgpack.unpackb(packed.failure(3, wrong))[2][1].startswith("-32602 unknown_field: ")
    assert msgpack.unpackb(packed.notification("index/changed", {"generation": 4})) == [
        2,
        "index/changed",
        [{"generation": 4}],
    ]
    assert "id" not in json.loads(lines.notification("index/changed", {"generation": 4}))


def test_a_reply_beyond_the_limit_becomes_an_error():
    """A peer can always read what comes."""
    connection = read((LINE,), limits=Limits(out_bytes=1000))[1]
    told = json.loads(connection.reply(7, {"a": "x" * 2000}))
    assert told["error"]["data"]["code"] == "too_large"


def test_a_lone_surrogate_in_a_result_does_not_cost_the_reply():
    """Whatever a bug puts into a result, the peer gets valid Unicode."""
    for sample in (LINE, PACKED):
        encoded = read((sample,))[1].reply(7, {"a": "x\udce9"})
        encoded.decode("utf-8") if sample is LINE else msgpack.unpackb(encoded)
