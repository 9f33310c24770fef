"""HTTP on the socket: what is asked, what is refused with which status, what a response looks like."""

import json

import pytest

from indexerd.protocol.connection import Connection
from indexerd.protocol.messages import RPC_NUMBERS, Fault, Limits, Request, WireError
from tests.fakes.delivery import deliveries

GET = b"GET /query?q=quokka HTTP/1.1\r\nHost: x\r\n\r\n"


def post(body, *headers):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = ["POST /rpc HTTP/1.1", "Host: x", f"Content-Length: {len(data)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + data


def messages(sample, limits=None):
    """Return what a connection makes of a sample, the same however it is cut, and the connection."""
    seen = set()
    for pieces in deliveries(sample):
        connection, found = Connection(limits), []
        for piece in pieces:
            connection.feed(piece)
            while (message := connection.next_message()) is not None:
                found.append(message)
        seen.add(repr(found))
    assert len(seen) == 1
    return found, connection


def answered(sample, result=None, error=None):
    """Return status, headers and body of the response to one request."""
    connection = Connection()
    connection.feed(sample)
    message = connection.next_message()
    if isinstance(message, Fault):
        data = connection.failure(message.id, message.error)
    elif error is not None:
        data = connection.failure(message.id, error)
    else:
        data = connection.reply(message.id, result)
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines)
    assert headers.get("Content-Length", "0") == str(len(body)) or sample.startswith(b"HEAD")
    assert (headers["Connection"] == "close") == connection.ends
    return int(first.split()[1]), headers, body


@pytest.mark.parametrize(
    ("target", "params"),
    [
        ("/query?q=two+words", {"text": "two words"}),
        ("/query?text=h%C3%A9llo%26&k=5&explain=true&safe&distinct=0", {
            "text": "h\u00e9llo&", "k": 5, "explain": True, "safe": True, "distinct": False}),
        ("/query?q=5&tags=a&tags=b&where=x%3Dy&roles=", {
            "text": "5", "tags": ["a", "b"], "where": ["x=y"], "roles": [""]}),
        ("/query?q=x&k=many&colour=red", {"text": "x", "k": "many", "colour": "red"}),
        ("/evidence?q=x&budget_chars=90&budget_tokens=7&context=3&min_coverage=.5&conflicts", {
            "text": "x", "budget_chars": 90, "budget_tokens": 7, "context": 3, "min_coverage": 0.5, "conflicts": True}),
        ("/evidence?q=x&context=section&min_coverage=1e9", {"text": "x", "context": "section", "min_coverage": "1e9"}),
    ],
)  # fmt: skip
def test_an_address_is_a_query(target, params):
    """`q` is the text, a repeated name a list, numbers and flags what they are; the rest is left to the service."""
    found, connection = messages(f"GET {target} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    assert found == [Request(id=None, method=target[1:].partition("?")[0], params=params)]
    assert not connection.unfinished


def test_requests_follow_one_another_on_one_connection():
    """Pipelined, with blank lines between, a body that nobody asked for, and a request object."""
    call = {"jsonrpc": "2.0", "id": 3, "method": "status", "params": {}}
    sample = GET + b"\r\n" + b"GET /healthz HTTP/1.1\r\nContent-Length: 2\r\n\r\nhi" + post(call) + GET
    found, connection = messages(sample)
    assert [message.method for message in found] == ["query", "status", "status", "query"]
    assert not connection.unfinished


def test_a_body_is_the_request_of_the_json_framing():
    """What JSON-RPC says in a line, it says in a body, faults included; those do not end the connection."""
    (request,), _ = messages(post({"jsonrpc": "2.0", "id": "a", "method": "show", "params": {"citation": "c"}}))
    assert request == Request(id="a", method="show", params={"citation": "c"})
    for body in (b"{", b"[]", b"[" * 40 + b"]" * 40, b'{"id":1,"method":"x","extra":1}', b'{"method":"subscribe"}'):
        (fault, after), connection = messages(post(body) + GET)
        assert isinstance(fault, Fault)
        assert isinstance(after, Request)
        assert not connection.closed


@pytest.mark.parametrize(
    ("sample", "status", "ends"),
    [
        (b"GET /nowhere HTTP/1.1\r\n\r\n", 404, False),
        (b"POST /query HTTP/1.1\r\nContent-Length: 0\r\n\r\n", 405, False),
        (b"GET /rpc HTTP/1.1\r\n\r\n", 405, False),
        (b"DELETE /query?q=x HTTP/1.1\r\n\r\n", 405, False),
        (b"OPTIONS /healthz HTTP/1.1\r\n\r\n", 405, False),
        (b"GET /query?q=%ff HTTP/1.1\r\n\r\n", 400, False),
        (b"GET /query?k=1&k=2 HTTP/1.1\r\n\r\n", 400, False),
        (b"GET /query HTTP/1.1\r\n\r\n", 400, False),
        (b"GET /evidence?k=1 HTTP/1.1\r\n\r\n", 400, False),
        (b"GET /query?q=%20&k=1 HTTP/1.1\r\n\r\n", 400, False),
        (b"GET /query?" + b"&".join([b"a=1"] * 300) + b" HTTP/1.1\r\n\r\n", 400, False),
        (b"POST /rpc HTTP/1.1\r\n\r\n", 411, True),
        (b"POST /query HTTP/1.1\r\n\r\n", 405, True),
        (b"POST /evidence?q=x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 405, True),
        (b"POST /nowhere HTTP/1.1\r\n\r\n", 404, True),
        (b"POST /rpc HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 411, True),
        (b"POST /rpc HTTP/1.1\r\nContent-Length: 2000000\r\n\r\n", 413, True),
        (b"POST /rpc HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400, True),
        (b"POST /rpc HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400, True),
        (b"GET /query HTTP/1.1\r\n folded: x\r\n\r\n", 400, True),
        (b"GET /query HTTP/1.1\r\nno colon\r\n\r\n", 400, True),
        (b"GET query HTTP/1.1\r\n\r\n", 400, True),
        (b"GET http:///query HTTP/1.1\r\n\r\n", 400, True),
        (b"GET http://x HTTP/1.1\r\n\r\n", 400, True),
        (b"GET  /query HTTP/1.1\r\n\r\n", 400, True),
        (b"GET /query HTTP/2.0\r\n\r\n", 505, True),
        (b"GARBAGE\r\n\r\n", 400, True),
        (b"GET /query HTTP/1.1\r\nX: " + b"x" * 17000, 431, True),
        (b"GET /query?q=" + b"x" * 17000 + b" HTTP/1.1\r\n\r\n", 431, True),
    ],
    ids=lambda value: repr(value[:60]) if isinstance(value, bytes) else repr(value),
)
def test_what_is_not_spoken_has_its_status(sample, status, ends):
    """A request that can be delimited leaves the connection open; one that cannot ends it."""
    (fault,), connection = messages(sample)
    assert isinstance(fault, Fault)
    assert (fault.fatal, connection.closed) == (ends, ends)
    told, headers, body = answered(sample)
    assert told == status
    assert headers["Connection"] == ("close" if ends else "keep-alive")
    assert json.loads(body)["error"]["message"]
    assert ("Allow" in headers) == (status == 405)


@pytest.mark.parametrize(
    "sample",
    [
        GET.replace(b"\r\n", b"\n"),
        GET.replace(b"\r\n", b"\n", 1),
        GET.replace(b"/query", b"http://x/query"),
        GET.replace(b"/query", b"HTTPS://user@[::1]:80/query"),
    ],
)
def test_a_request_means_the_same_in_each_form_that_http_has_for_it(sample):
    """Lines may end with a bare LF, and the target may be absolute as proxies have it."""
    assert messages(sample + GET)[0] == messages(GET + GET)[0]


@pytest.mark.parametrize("target", ["/query?q=%ff", "/query?" + "&".join(["a=1"] * 300)])
def test_a_wrong_address_is_told_in_words_of_the_protocol(target):
    """Nothing of the program's own machinery is told."""
    text = json.loads(answered(f"GET {target} HTTP/1.1\r\n\r\n".encode())[2])["error"]["message"]
    assert text in {"the address is not percent-encoded UTF-8", "an address may have 256 parameters"}


@pytest.mark.parametrize(
    ("line", "header", "keeps"),
    [
        ("HTTP/1.1", "X: y", True),
        ("HTTP/1.1", "Connection: close", False),
        ("HTTP/1.1", "Connection: Upgrade, Close", False),
        ("HTTP/1.0", "X: y", False),
        ("HTTP/1.0", "Connection: keep-alive", True),
    ],
)
def test_the_connection_ends_when_its_client_says_so(line, header, keeps):
    """By version and header."""
    sample = f"GET /query?q=x {line}\r\n{header}\r\n\r\n".encode()
    assert answered(sample, {})[1]["Connection"] == ("keep-alive" if keeps else "close")


def test_each_path_has_its_form():
    """A result as JSON, health as a word, metrics as their text, a request object as its reply."""
    assert answered(GET, {"hits": []})[::2] == (200, b'{"hits":[]}\n')
    assert answered(b"GET /healthz HTTP/1.1\r\n\r\n", {"state": "current"})[::2] == (200, b"current\n")
    status, headers, body = answered(b"GET /metrics HTTP/1.1\r\n\r\n", {"text": "a 1\n"})
    assert (status, headers["Content-Type"], body) == (200, "text/plain; version=0.0.4; charset=utf-8", b"a 1\n")
    reply = answered(post({"id": 4, "method": "status"}), {"a": 1})[2]
    assert json.loads(reply) == {"jsonrpc": "2.0", "id": 4, "result": {"a": 1}}


def test_head_is_answered_without_its_body():
    """The length is that of the body that GET would have got."""
    status, headers, body = answered(GET.replace(b"GET", b"HEAD"), {"hits": []})
    assert (status, headers["Content-Length"], body) == (200, "12", b"")


def test_a_notification_is_answered_with_nothing_in_it():
    """HTTP has a response for each request."""
    assert answered(post({"method": "sync"}), {"a": 1})[::2] == (204, b"")


@pytest.mark.parametrize("code", RPC_NUMBERS)
def test_every_error_has_a_status(code):
    """The client's faults are 4xx, ours 5xx; the body has the stable code."""
    error = WireError(code=code, message="m")
    status, _, body = answered(GET, error=error)
    ours = code in {"internal_error", "store_error", "generation_damaged", "busy", "shutting_down"}
    assert (500 <= status < 600) == ours
    assert json.loads(body)["error"]["data"]["code"] == code
    envelope = json.loads(answered(post({"id": 4, "method": "x"}), error=error)[2])
    assert (envelope["id"], envelope["error"]["data"]["code"]) == (4, code)


def test_a_client_that_asks_before_it_sends_is_told_to():
    """`Expect: 100-continue` is answered once, before the body, and not where the body has come."""
    body = post({"id": 1, "method": "status"}, "Expect: 100-continue")
    head, _, rest = body.partition(b"\r\n\r\n")
    connection = Connection()
    connection.feed(head + b"\r\n\r\n")
    assert connection.next_message() is None
    assert connection.owed() == b"HTTP/1.1 100 Continue\r\n\r\n"
    assert connection.owed() == b""
    connection.feed(rest)
    assert isinstance(connection.next_message(), Request)
    whole = Connection()
    whole.feed(body)
    assert isinstance(whole.next_message(), Request)
    assert whole.owed() == b""


def test_an_error_that_nobody_asked_for_ends_the_connection():
    """A deadline, or the end of the daemon, on an idle connection."""
    connection = Connection()
    connection.feed(GET)
    connection.next_message()
    connection.reply(None, {})
    assert not connection.ends
    assert connection.next_message() is None
    assert connection.failure(None, WireError(code="shutting_down", message="m")).startswith(b"HTTP/1.1 503 ")
    assert connection.ends


def test_a_reply_too_long_is_an_error_in_the_form_of_its_request():
    """The id and the kind of the request are not lost on the way."""
    connection = Connection(Limits(out_bytes=500))
    connection.feed(post({"id": 9, "method": "x"}))
    connection.next_message()
    data = connection.reply(9, {"text": "x" * 600})
    assert data.startswith(b"HTTP/1.1 413 ")
    assert json.loads(data.partition(b"\r\n\r\n")[2])["id"] == 9
