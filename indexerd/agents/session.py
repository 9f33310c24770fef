"""One conversation with a client of the Model Context Protocol: lines in, lines out.

Owns: the revisions spoken, both lifecycles (each request by itself; `initialize` first), batches, cancelling, numbers
    of errors.
Knows nothing of: standard streams, how tools are carried out.
Invariants: 1. each message decides by its own `_meta` which lifecycle it belongs to. 2. a notification is never
    answered, a request once, a cancelled one never. 3. any bytes in any pieces give replies, never an exception.
Purity: pure, save for the calls that the tools are given.
See: docs/agents.md (revisions).
"""

import json
from collections import deque
from collections.abc import Callable, Mapping
from typing import NamedTuple, cast

from indexerd.agents.instructions import INSTRUCTIONS
from indexerd.agents.schemas import Json, listed
from indexerd.agents.tools import SCHEME, Tools, address
from indexerd.errors import IndexerdError, NotFoundError
from indexerd.protocol.strict_json import decode_json

MODERN = ("2026-07-28",)
# Newest first: what a client is offered that asks for one unknown here.
HANDSHAKE = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
_BATCHED = "2025-03-26"
_META = "io.modelcontextprotocol/"
_PARSE, _INVALID, _NO_METHOD, _PARAMS, _INTERNAL, _VERSION, _NO_RESOURCE, _UNANSWERED = (
    -32700, -32600, -32601, -32602, -32603, -32022, -32002, -32000,
)  # fmt: skip
_MAX_LINE = 2 << 20
_MAX_DEPTH = 64
_MAX_BATCH = 64
# Lists change with the program only; results with every save.
_LIST_TTL_MS = 300_000
# Fields of what is listed, and of the server, that older revisions do not have, by the first that does.
_SINCE = {"annotations": "2025-03-26", "title": "2025-06-18", "outputSchema": "2025-06-18"}
_CODE = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=dict)

MessageId = int | str | None
Params = Mapping[str, object]


class _Refused(Exception):  # noqa: N818 - it is a reply, thrown
    def __init__(self, number: int, message: str, data: Json | None = None) -> None:
        self.number, self.data = number, data
        super().__init__(message)


class Message(NamedTuple):
    """One message, or a batch of them, as it came; or what is wrong with a line, with the number of that error."""

    value: object
    fault: tuple[int, str] | None = None

    @property
    def id(self) -> MessageId:
        """Return the id of a request, None if it has none that can be used."""
        found = self.value.get("id") if isinstance(self.value, dict) else None
        return found if isinstance(found, int | str) and not isinstance(found, bool) else None


class Session:
    """Takes bytes, hands out messages in their order, answers them."""

    def __init__(self, tools: Tools, version: str) -> None:
        self._tools = tools
        self._about: Json = {"name": "indexerd", "title": "indexerd", "version": version}
        self._buffer = bytearray()
        self._is_skipping = False
        self._waiting: deque[Message] = deque()
        self._cancelled: set[MessageId] = set()
        # The revision that `initialize` settled on.
        self._settled: str | None = None

    # --- lines ---

    def feed(self, data: bytes) -> None:
        """Take bytes in any pieces; what cancels takes effect at once."""
        self._buffer += data
        while (at := self._buffer.find(b"\n")) >= 0:
            line = bytes(self._buffer[:at])
            del self._buffer[: at + 1]
            if not self._is_skipping:
                self._take(line)
            self._is_skipping = False
        if len(self._buffer) > _MAX_LINE:
            if not self._is_skipping:
                self._take(bytes(self._buffer))
            self._is_skipping = True
            self._buffer.clear()

    def end(self) -> None:
        """No more bytes will come: a last line without its end counts."""
        self.feed(b"\n")

    def _take(self, line: bytes) -> None:
        if len(line) > _MAX_LINE:
            self._waiting.append(Message(None, (_INVALID, f"a message may have {_MAX_LINE} bytes")))
        elif line.strip():
            try:
                message = Message(decode_json(line, _MAX_DEPTH))
            except (ValueError, RecursionError) as error:
                message = Message(None, (_PARSE, f"not JSON: {error}"))
            if not self._cancels(message.value):
                self._waiting.append(message)

    def _cancels(self, value: object) -> bool:
        if not isinstance(value, dict) or value.get("method") != "notifications/cancelled" or "id" in value:
            return False
        params = value.get("params")
        request_id = params.get("requestId") if isinstance(params, dict) else None
        if isinstance(request_id, int | str):
            self._cancelled.add(request_id)
        return True

    def next_message(self) -> Message | None:
        """Return the next message that is to be answered, or None until more bytes come."""
        if not self._waiting:
            # Whatever was cancelled is answered by now, or never came.
            self._cancelled.clear()
            return None
        return self._waiting.popleft()

    def is_cancelled(self, message: Message) -> bool:
        """Tell whether nobody waits for the reply any more."""
        return message.id is not None and message.id in self._cancelled

    # --- replies ---

    def answer(self, message: Message) -> bytes | None:
        """Carry out one message; return the line to send, or None where there is nothing to say."""
        if self.is_cancelled(message):
            return None
        if message.fault:
            return _line(_error(None, *message.fault))
        if isinstance(message.value, list):
            replies = self._batch(message.value)
            return _line(replies) if replies else None
        reply = self._one(message.value)
        return None if reply is None else _line(reply)

    def failure(self, message: Message) -> bytes | None:
        """Return the reply to a message on which this program failed."""
        return None if message.id is None else _line(_error(message.id, _INTERNAL, "internal error of indexerd mcp"))

    def _batch(self, values: list[object]) -> object:
        if self._settled != _BATCHED:
            return _error(None, _INVALID, f"batches are spoken in revision {_BATCHED} only")
        if not 0 < len(values) <= _MAX_BATCH:
            return _error(None, _INVALID, f"a batch has 1 to {_MAX_BATCH} messages")
        replies = [None if self.is_cancelled(Message(value)) else self._one(value) for value in values]
        return [reply for reply in replies if reply is not None]

    def _one(self, value: object) -> Json | None:
        if isinstance(value, dict) and "method" not in value and ("result" in value or "error" in value):
            # Nothing was asked, so nothing can be answered.
            return None
        request_id = Message(value).id
        try:
            method, params = _envelope(value)
            if "id" not in value:  # type: ignore[operator]  # the envelope is an object
                return None
            result = self._result(method, params)
        except _Refused as refused:
            return _error(request_id, refused.number, str(refused), refused.data)
        return {"jsonrpc": "2.0", "id": request_id, "result": result}

    def _result(self, method: str, params: Params) -> Json:
        meta = params.get("_meta")
        if method != "initialize" and isinstance(meta, Mapping) and f"{_META}protocolVersion" in meta:
            _check_meta(meta)
            return self._modern(method, params)
        if method == "initialize":
            return self._initialize(params)
        if method == "ping":
            return {}
        if self._settled is None:
            needed = f"{_META}protocolVersion and {_META}clientCapabilities"
            raise _Refused(_PARAMS, f"name {needed} in params._meta, or send initialize first")
        return self._legacy(self._settled, method, params)

    def _modern(self, method: str, params: Params) -> Json:
        result: Json = {"resultType": "complete", "_meta": {f"{_META}serverInfo": self._about}}
        if method == "server/discover":
            result |= {"supportedVersions": [*MODERN, *HANDSHAKE], **self._introduction()}
        else:
            result |= self._methods(method, _PARAMS)(params)
        if method != "tools/call":
            is_list = method != "resources/read"
            result |= {"ttlMs": _LIST_TTL_MS if is_list else 0, "cacheScope": "public" if is_list else "private"}
        return result

    def _legacy(self, version: str, method: str, params: Params) -> Json:
        result = self._methods(method, _NO_RESOURCE)(params)
        if method.endswith("/list"):
            ((name, entries),) = result.items()
            return {name: [_known_to(version, entry) for entry in cast("list[Json]", entries)]}
        if version < _SINCE["outputSchema"]:
            result.pop("structuredContent", None)
        return result

    def _initialize(self, params: Params) -> Json:
        wanted = params.get("protocolVersion")
        if not isinstance(wanted, str):
            raise _Refused(_PARAMS, "initialize needs protocolVersion")
        self._settled = wanted if wanted in HANDSHAKE else HANDSHAKE[0]
        about = _known_to(self._settled, self._about)
        return {"protocolVersion": self._settled, "serverInfo": about, **self._introduction()}

    def _introduction(self) -> Json:
        return {"capabilities": {"tools": {}, "resources": {}}, "instructions": INSTRUCTIONS}

    # --- methods ---

    def _methods(self, method: str, no_resource: int) -> Callable[[Params], Json]:
        methods: Mapping[str, Callable[[Params], Json]] = {
            "tools/list": lambda _: {"tools": listed()},
            "tools/call": self._call_tool,
            "resources/list": lambda _: {"resources": []},
            "resources/templates/list": lambda _: {"resourceTemplates": [_TEMPLATE]},
            "resources/read": lambda params: self._read(params, no_resource),
        }
        if method not in methods:
            raise _Refused(_NO_METHOD, f"no method {method!r}")
        return methods[method]

    def _call_tool(self, params: Params) -> Json:
        name, arguments = params.get("name"), params.get("arguments")
        if not isinstance(name, str) or name not in self._tools:
            raise _Refused(_PARAMS, f"no tool {name!r}")
        if not isinstance(arguments, dict | None):
            raise _Refused(_PARAMS, "arguments must be an object")
        try:
            given = self._tools.run(name, arguments or {})
        except IndexerdError as error:
            # For the model to read: it can mend its call, or tell the user what to run.
            return {"content": [_text(str(error))], "isError": True}
        return {"content": [_text(_CODE.encode(given))], "structuredContent": given, "isError": False}

    def _read(self, params: Params, no_resource: int) -> Json:
        uri = params.get("uri")
        if not isinstance(uri, str):
            raise _Refused(_PARAMS, "resources/read needs uri")
        try:
            shown = self._tools.read(uri)
        except NotFoundError as error:
            raise _Refused(no_resource, str(error), {"uri": uri}) from error
        except IndexerdError as error:
            raise _Refused(_UNANSWERED, str(error), {"uri": uri}) from error
        kind = "text/markdown" if str(shown["source_path"]).endswith((".md", ".markdown", ".mdx")) else "text/plain"
        return {"contents": [{"uri": uri, "mimeType": kind, "text": shown["text"]}]}


_TEMPLATE: Json = {
    "uriTemplate": f"{SCHEME}{{+path}}",
    "name": "document",
    "title": "A document",
    "description": f"The present text of a document, as in {address('guide/setup.md')}; lines of it with #L12-L18.",
}


def _known_to(version: str, entry: Mapping[str, object]) -> Json:
    """Return an entry without the fields that a revision does not have."""
    return {name: field for name, field in entry.items() if version >= _SINCE.get(name, "")}


def _check_meta(meta: Mapping[str, object]) -> None:
    version, capabilities = meta[f"{_META}protocolVersion"], meta.get(f"{_META}clientCapabilities")
    if not isinstance(version, str):
        raise _Refused(_PARAMS, f"_meta: {_META}protocolVersion must be text")
    if not isinstance(capabilities, Mapping):
        raise _Refused(_PARAMS, f"_meta: {_META}clientCapabilities must be an object")
    if version not in MODERN:
        supported: Json = {"supported": [*MODERN, *HANDSHAKE], "requested": version}
        raise _Refused(_VERSION, f"revision {version!r} is not spoken in this form", supported)


def _envelope(value: object) -> tuple[str, Params]:
    if not isinstance(value, dict):
        raise _Refused(_INVALID, "a message is one JSON object")
    method, params = value.get("method"), value.get("params", {})
    if value.get("jsonrpc") != "2.0" or not isinstance(method, str):
        raise _Refused(_INVALID, "a message has jsonrpc '2.0' and a method")
    if "id" in value and Message(value).id is None:
        raise _Refused(_INVALID, "id must be a string or an integer")
    if not isinstance(params, dict):
        raise _Refused(_PARAMS, "params must be an object")
    return method, params


def _error(request_id: MessageId, number: int, message: str, data: Json | None = None) -> Json:
    error: Json = {"code": number, "message": message}
    return {"jsonrpc": "2.0", "id": request_id, "error": error if data is None else {**error, "data": data}}


def _text(text: str) -> Json:
    return {"type": "text", "text": text}


def _line(value: object) -> bytes:
    return (_CODE.encode(value) + "\n").encode("utf-8", "replace")
