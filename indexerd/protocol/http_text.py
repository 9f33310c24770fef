"""HTTP/1.1 on the same socket, for `curl --unix-socket`, health checks and scrapers of metrics.

Owns: what of HTTP is spoken, the routes, the status of each error code.
Knows nothing of: what a method does, sockets, time.
Invariants: 1. a message that cannot be delimited for certain ends the connection. 2. every request gets one response,
    in order, also what is a notification in JSON-RPC. 3. a response holds what the other framings give as result.
Purity: pure.
See: docs/protocol.md (HTTP), RFC 9112.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import parse_qsl

from indexerd.protocol.json_lines import JsonLines, encode_json, error_json, read_message
from indexerd.protocol.messages import Fault, Limits, Message, MessageId, Payload, Request, WireError

_MAX_HEAD = 16 << 10
_MAX_FIELDS = 256
# Behind a proxy's form of the target, with scheme and host, stands what it would be without one.
_REQUEST_LINE = re.compile(r"([A-Z]{1,16}) (?:[Hh][Tt]{2}[Pp][Ss]?://[!-.0->@-~]+)?(/[!-~]*) HTTP/1\.([01])")
# A line ends with CR LF, or with LF alone as printf writes it.
_HEAD_END = re.compile(rb"\n\r?\n")
# No white space around the value here: each part that may take it or not would try all divisions of a long run.
_HEADER = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):([^\r\n]*)")
# Paths, the methods they take, and what they ask. POST /rpc carries a request of its own.
_ROUTES: Mapping[str, tuple[tuple[str, ...], str]] = {
    "/query": (("GET", "HEAD"), "query"),
    "/evidence": (("GET", "HEAD"), "evidence"),
    "/metrics": (("GET", "HEAD"), "metrics"),
    "/healthz": (("GET", "HEAD"), "status"),
    "/rpc": (("POST",), ""),
}
# Everything in an address is text: these parameters of query and evidence are not.
_WHOLE = {
    "k", "after", "generation", "wait_ms", "max_per_document", "protocol", "budget_chars", "budget_tokens", "context",
}  # fmt: skip
_SHARE = "min_coverage"
_FLAGS = {"prefix", "distinct", "explain", "trace", "safe", "conflicts"}
_LISTS = {"roles", "paths", "tags", "where", "must", "phrase", "not"}
_REASONS = {
    200: "OK", 204: "No Content", 400: "Bad Request", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed",
    408: "Request Timeout", 409: "Conflict", 411: "Length Required", 413: "Content Too Large",
    431: "Request Header Fields Too Large", 500: "Internal Server Error", 503: "Service Unavailable",
    505: "HTTP Version Not Supported",
}  # fmt: skip
_STATUS = {
    "method_not_found": 404, "not_found": 404, "generation_not_kept": 404, "forbidden": 403, "too_large": 413,
    "busy": 503, "shutting_down": 503, "timeout": 408, "other_store": 409, "still_indexed": 409, "internal_error": 500,
    "store_error": 500, "generation_damaged": 500,
}  # fmt: skip
_JSON, _TEXT, _METRICS = "application/json", "text/plain; charset=utf-8", "text/plain; version=0.0.4; charset=utf-8"


class _Head(NamedTuple):
    method: str
    target: str
    length: int
    keeps_alive: bool
    wants_continue: bool


class _Asked(NamedTuple):
    """How the response to the request at work looks. `kind` is its path; `is_notice`: it has no body."""

    kind: str = ""
    is_head: bool = False
    keeps_alive: bool = False
    is_notice: bool = False


class _RefusedError(Exception):
    def __init__(self, status: int, message: str, code: str = "invalid_request", allow: str = "") -> None:
        details: Payload = {"status": status, "allow": allow} if allow else {"status": status}
        self.error = WireError(code=code, message=message, details=details)
        super().__init__(message)


class HttpText:
    """The framing of a connection whose first byte is the first letter of an HTTP method."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._buffer = bytearray()
        self._searched = 0
        self._head: _Head | None = None
        self._asked = _Asked()
        self._owed = b""
        self.ends = False

    def feed(self, data: bytes) -> None:
        """Take bytes in any pieces."""
        self._buffer += data

    def end(self) -> None:
        """Do nothing: a cut-off request is no request."""

    @property
    def unfinished(self) -> bool:
        """Whether part of a request waits for the rest."""
        return self._head is not None or bool(self._buffer)

    def owed(self) -> bytes:
        """Return, once, what the peer waits for before it sends the rest of its request."""
        owed, self._owed = self._owed, b""
        return owed

    def next_message(self) -> Message | None:
        """Return the next whole message, or None until more bytes come."""
        # What was asked before is answered: whatever is said from here on without a request ends the connection.
        self._asked = _Asked()
        try:
            if self._head is None:
                self._head = self._next_head()
            if self._head is None or len(self._buffer) < self._head.length:
                return None
        except _RefusedError as refused:
            return Fault(id=None, error=refused.error, fatal=True)
        head, self._head = self._head, None
        body = bytes(self._buffer[: head.length])
        del self._buffer[: head.length]
        return self._message(head, body)

    def _next_head(self) -> _Head | None:
        """Take the head of a request off the buffer.

        Raises:
            _RefusedError: It cannot be understood, or announces more than the limits.
        """
        if self._searched == 0:
            del self._buffer[: len(self._buffer) - len(self._buffer.lstrip(b"\r\n"))]
        end = _HEAD_END.search(self._buffer, self._searched)
        if (end.start() if end else len(self._buffer)) > _MAX_HEAD:
            raise _RefusedError(431, f"the head of a request may have {_MAX_HEAD} bytes", "too_large")
        if end is None:
            self._searched = max(0, len(self._buffer) - 2)
            return None
        text = self._buffer[: end.start()].decode("latin-1")
        del self._buffer[: end.end()]
        self._searched = 0
        head = _head(text)
        if head.length > self._limits.in_bytes:
            raise _RefusedError(413, f"a message may have {self._limits.in_bytes} bytes", "too_large")
        if head.wants_continue and len(self._buffer) < head.length:
            self._owed = b"HTTP/1.1 100 Continue\r\n\r\n"
        return head

    def _message(self, head: _Head, body: bytes) -> Message:
        path, _, query = head.target.partition("?")
        is_head = head.method == "HEAD"
        self._asked = _Asked("", is_head, head.keeps_alive)
        try:
            method = _route(head.method, path)
            self._asked = self._asked._replace(kind=path)
            if path != "/rpc":
                return Request(id=None, method=method, params=_params(path, query))
        except _RefusedError as refused:
            return Fault(id=None, error=refused.error)
        return self._called(read_message(body, self._limits.depth))

    def _called(self, message: Message) -> Message:
        if isinstance(message, Fault):
            # The body is whole, so the connection can go on whatever is in it.
            return message._replace(fatal=False)
        if message.method == "subscribe":
            error = WireError(code="invalid_request", message="nothing can be pushed over HTTP: subscribe otherwise")
            return Fault(id=message.id, error=error)
        self._asked = self._asked._replace(is_notice=not message.wants_reply)
        return message._replace(wants_reply=True)

    def reply(self, request_id: MessageId, result: object) -> bytes:
        """Encode a result."""
        asked, body, kind = self._asked, encode_json(result), _JSON
        if asked.is_notice:
            return self._response(204, b"", "")
        if asked.kind == "/rpc":
            body = JsonLines(self._limits).reply(request_id, result)
        elif asked.kind == "/healthz" and isinstance(result, Mapping):
            body, kind = f"{result['state']}\n".encode(), _TEXT
        elif asked.kind == "/metrics" and isinstance(result, Mapping):
            body, kind = str(result["text"]).encode(), _METRICS
        return self._response(200, body, kind)

    def failure(self, request_id: MessageId, error: WireError) -> bytes:
        """Encode an error; what nobody asked for by a request ends the connection."""
        status = error.details.get("status", _STATUS.get(error.code, 400))
        allow = error.details.get("allow")
        body = encode_json({"error": error_json(error)})
        if self._asked.kind == "/rpc":
            body = JsonLines(self._limits).failure(request_id, error)
        extra = f"Allow: {allow}\r\n" if allow else ""
        return self._response(status if isinstance(status, int) else 400, body, _JSON, extra)

    def notification(self, topic: str, payload: Payload) -> bytes:  # noqa: ARG002 - the shape of a framing
        """Send nothing: a client of HTTP waits for no message."""
        return b""

    def _response(self, status: int, body: bytes, kind: str, extra: str = "") -> bytes:
        self.ends = not self._asked.keeps_alive
        lines = f"Content-Type: {kind}\r\nContent-Length: {len(body)}\r\n" if kind else ""
        end = "close" if self.ends else "keep-alive"
        extra += f"Cache-Control: no-store\r\nConnection: {end}\r\n"
        head = f"HTTP/1.1 {status} {_REASONS[status]}\r\n{lines}{extra}\r\n"
        return head.encode() + (b"" if self._asked.is_head else body)


def _head(text: str) -> _Head:
    first, *lines = (line.removesuffix("\r") for line in text.split("\n"))
    request = _REQUEST_LINE.fullmatch(first)
    if request is None:
        is_version = re.fullmatch(r"[A-Z]+ \S+ HTTP/\d\.\d", first) is not None and not first.endswith(("/1.0", "/1.1"))
        raise _RefusedError(505 if is_version else 400, "expected a line like GET /query?q=words HTTP/1.1")
    headers = _headers(lines)
    method, target, minor = request.groups()
    tokens = {token.strip().lower() for token in headers.get("connection", "").split(",")}
    keeps_alive = "close" not in tokens if minor == "1" else "keep-alive" in tokens
    expects = headers.get("expect", "").lower() == "100-continue"
    return _Head(method, target, _length(method, target, headers), keeps_alive, expects)


def _headers(lines: list[str]) -> Mapping[str, str]:
    headers: dict[str, str] = {}
    for line in lines:
        header = _HEADER.fullmatch(line)
        if header is None:
            raise _RefusedError(400, "a header is NAME: VALUE on one line")
        name, value = header[1].lower(), header[2].strip(" \t")
        if name == "content-length" and headers.get(name, value) != value:
            raise _RefusedError(400, "two lengths for one body")
        headers[name] = value
    return headers


def _length(method: str, target: str, headers: Mapping[str, str]) -> int:
    length = headers.get("content-length")
    if "transfer-encoding" in headers or (length is None and method == "POST"):
        _route(method, target.partition("?")[0])
        raise _RefusedError(411, "name the length of the body in Content-Length")
    if length is None:
        return 0
    if not (length.isascii() and length.isdigit() and len(length) <= 15):
        raise _RefusedError(400, "Content-Length must be a whole number")
    return int(length)


def _route(method: str, path: str) -> str:
    """Return the method of the service that a request asks; empty where its body says so.

    Raises:
        _RefusedError: There is no such path, or it does not take this method.
    """
    found = _ROUTES.get(path)
    if found is None:
        raise _RefusedError(404, f"no such path; there are {', '.join(_ROUTES)}", "not_found")
    if method not in found[0]:
        raise _RefusedError(405, f"{path} takes {' and '.join(found[0])}", allow=", ".join(found[0]))
    return found[1]


def _params(path: str, query: str) -> Payload:
    """Read the parameters of an address: `q` is the text, a repeated name is a list."""
    params: dict[str, object] = {}
    try:
        pairs = parse_qsl(query, keep_blank_values=True, errors="strict", max_num_fields=_MAX_FIELDS)
    except UnicodeDecodeError as error:
        raise _RefusedError(400, "the address is not percent-encoded UTF-8") from error
    except ValueError as error:
        raise _RefusedError(400, f"an address may have {_MAX_FIELDS} parameters") from error
    for given, text in pairs:
        name = "text" if given == "q" else given
        if name in _LISTS:
            params.setdefault(name, [])
            known = params[name]
            assert isinstance(known, list)
            known.append(text)
        elif name in params:
            raise _RefusedError(400, f"{given!r} is given twice", "invalid_params")
        else:
            params[name] = _value(name, text)
    if path in {"/query", "/evidence"} and not str(params.get("text", "")).strip():
        raise _RefusedError(400, f"say what to look for: {path}?q=WORDS", "invalid_params")
    return params


def _value(name: str, text: str) -> object:
    if name in _WHOLE and text.isascii() and text.isdigit() and len(text) <= 15:
        return int(text)
    if name == _SHARE and re.fullmatch(r"\d{0,3}\.?\d{1,15}", text, re.ASCII):
        return float(text)
    if name in _FLAGS and text in {"true", "false", "1", "0", ""}:
        return text not in {"false", "0"}
    return text
