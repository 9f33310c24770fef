"""JSON-RPC 2.0, one object a line.

Owns: the line framing and the JSON-RPC envelope.
Knows nothing of: methods, sockets.
Invariants: 1. one line in, at most one line out; no line end inside a message. 2. a line that is no request is answered
    and the
    connection goes on, save when it is too long.
Purity: pure.
See: docs/protocol.md (JSON-RPC lines), the JSON-RPC 2.0 specification.
"""

import json

from indexerd.protocol.messages import RPC_NUMBERS, Fault, Limits, Message, MessageId, Payload, Request, WireError
from indexerd.protocol.strict_json import TooDeepError, decode_json

_ENVELOPE = frozenset({"jsonrpc", "id", "method", "params"})
# default=dict: read-only mappings travel as objects.
_COMPACT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=dict)


class JsonLines:
    """The framing of a connection whose first byte is `{`."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._buffer = bytearray()
        # Where the next search for a line end begins: a message that comes byte by byte must not be searched anew each
        # time.
        self._searched = 0
        self._ended = False

    def feed(self, data: bytes) -> None:
        """Take bytes in any pieces."""
        self._buffer += data

    def end(self) -> None:
        """Let an unterminated last line count as a line: `printf '{…}' | nc -U` sends none."""
        self._ended = True

    @property
    def unfinished(self) -> bool:
        """Whether part of a line waits for the rest."""
        return bool(self._buffer)

    def next_message(self) -> Message | None:
        """Return the next whole message, or None until more bytes come."""
        while (line := self._next_line()) is not None:
            if len(line) > self._limits.in_bytes:
                return _fault("too_large", f"a message may have {self._limits.in_bytes} bytes", fatal=True)
            if not line.isspace() and line:
                return read_message(line, self._limits.depth)
        return None

    def _next_line(self) -> bytes | None:
        at = self._buffer.find(b"\n", self._searched)
        if at < 0:
            self._searched = len(self._buffer)
            # A line already too long is handed on as it is: its end may never come.
            if not (self._buffer and (self._ended or len(self._buffer) > self._limits.in_bytes)):
                return None
            at = len(self._buffer)
        line = bytes(self._buffer[:at])
        del self._buffer[: at + 1]
        self._searched = 0
        return line

    def reply(self, request_id: MessageId, result: object) -> bytes:
        """Encode a result."""
        return encode_json({"jsonrpc": "2.0", "id": request_id, "result": result})

    def failure(self, request_id: MessageId, error: WireError) -> bytes:
        """Encode an error."""
        return encode_json({"jsonrpc": "2.0", "id": request_id, "error": error_json(error)})

    def notification(self, topic: str, payload: Payload) -> bytes:
        """Encode a message that nobody asked for by id."""
        return encode_json({"jsonrpc": "2.0", "method": topic, "params": payload})


def encode_json(value: object) -> bytes:
    """Return a value as one line of JSON, its end included."""
    return (_COMPACT.encode(value) + "\n").encode("utf-8", "replace")


def error_json(error: WireError) -> Payload:
    """Return an error as JSON-RPC has it: the number for its clients, the stable code in `data`."""
    return {"code": error.number, "message": error.message, "data": {"code": error.code, **error.details}}


def _fault(code: str, message: str, *, id: MessageId = None, fatal: bool = False) -> Fault:  # noqa: A002
    return Fault(id=id, error=WireError(code=code, message=message), fatal=fatal)


def read_message(line: bytes, depth: int) -> Message:
    """Read one JSON-RPC object that is whole."""
    try:
        value = decode_json(line, depth)
    except TooDeepError as error:
        return _fault("too_large", f"message {error}", fatal=True)
    except (ValueError, RecursionError) as error:
        return _fault("parse_error", f"not JSON: {error}")
    if not isinstance(value, dict):
        return _fault("invalid_request", "one JSON object per line, batches are not spoken here")
    return _request(value)


def _request(value: dict[str, object]) -> Message:
    request_id = value.get("id")
    if not isinstance(request_id, int | str | None) or isinstance(request_id, bool):
        return _fault("invalid_request", "id must be a string, an integer or null")
    problem = _envelope_problem(value)
    if problem is not None:
        code, message = problem
        return _fault(code, message, id=request_id)
    params = value.get("params", {})
    return Request(
        id=request_id,
        method=str(value["method"]),
        params=params if isinstance(params, dict) else {},
        wants_reply="id" in value,
    )


def _envelope_problem(value: dict[str, object]) -> tuple[str, str] | None:
    unknown = sorted(value.keys() - _ENVELOPE)
    if unknown:
        return "unknown_field", f"unknown field {unknown[0]!r} in the request object; parameters go into 'params'"
    if value.get("jsonrpc", "2.0") != "2.0":
        return "invalid_request", "jsonrpc must be '2.0'"
    if not isinstance(value.get("method"), str):
        return "invalid_request", "method must be a string"
    if not isinstance(value.get("params", {}), dict):
        return "invalid_params", "params must be an object"
    return None


assert {"too_large", "parse_error", "invalid_request", "invalid_params", "unknown_field"} <= RPC_NUMBERS.keys()
