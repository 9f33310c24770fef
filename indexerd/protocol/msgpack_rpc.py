"""MessagePack-RPC, as Neovim speaks it.

Owns: the envelope `[0, id, method, [params]]`, `[1, id, error, result]`, `[2, topic, [payload]]`.
Knows nothing of: methods, sockets.
Invariants: 1. the library sees only whole messages within the limits. 2. after bytes that are no message the connection
    ends: there
    is no line end to start again from.
Purity: pure.
See: docs/protocol.md (MessagePack-RPC).
"""

import msgpack  # type: ignore[import-untyped]  # it ships no type information

from indexerd.protocol.messages import Fault, Limits, Message, MessageId, Payload, Request, WireError
from indexerd.protocol.msgpack_walk import RefusedError, Walker

_REQUEST, _REPLY, _NOTIFICATION = 0, 1, 2
# Neovim shows an error's text only when the first element is 0 (exception) or 1 (validation).
_EXCEPTION, _VALIDATION = 0, 1
_MAX_ID = 2**32


class MsgpackRpc:
    """The framing of a connection whose first byte is an array header."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._buffer = bytearray()
        self._walker = Walker(limits)

    def feed(self, data: bytes) -> None:
        """Take bytes in any pieces."""
        self._buffer += data

    def end(self) -> None:
        """Do nothing: a cut-off value is no value."""

    @property
    def unfinished(self) -> bool:
        """Whether part of a value waits for the rest."""
        return bool(self._buffer)

    def next_message(self) -> Message | None:
        """Return the next whole message, or None until more bytes come."""
        try:
            length = self._walker.walk(self._buffer)
        except RefusedError as error:
            return Fault(id=None, error=WireError(code=error.code, message=str(error)), fatal=True)
        if length is None:
            return None
        message = bytes(self._buffer[:length])
        del self._buffer[:length]
        self._walker = Walker(self._limits)
        return _message(message)

    def reply(self, request_id: MessageId, result: object) -> bytes:
        """Encode a result."""
        return _pack([_REPLY, request_id, None, result])

    def failure(self, request_id: MessageId, error: WireError) -> bytes:
        """Encode an error; number and stable code stand in the text, because that is all an editor shows."""
        kind = _VALIDATION if error.number in (-32602, -32600) else _EXCEPTION
        return _pack([_REPLY, request_id, [kind, f"{error.number} {error.code}: {error.message}"], None])

    def notification(self, topic: str, payload: Payload) -> bytes:
        """Encode a message that nobody asked for by id."""
        return _pack([_NOTIFICATION, topic, [payload]])


def _pack(value: object) -> bytes:
    # default=dict: read-only mappings travel as maps. A lone surrogate is a bug elsewhere; it must not cost the
    # connection.
    packed: bytes = msgpack.packb(value, use_bin_type=True, default=dict, unicode_errors="replace")
    return packed


def _unique(pairs: list[tuple[object, object]]) -> dict[object, object]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("a map names a key twice")
    return result


def _message(data: bytes) -> Message:
    try:
        value = msgpack.unpackb(data, raw=False, strict_map_key=True, object_pairs_hook=_unique)
    except (ValueError, TypeError, msgpack.UnpackException) as error:
        return _fault(None, "parse_error", f"not MessagePack: {error}", fatal=True)
    match value:
        case [int(kind), int(request_id), str(method), params] if kind == _REQUEST and 0 <= request_id < _MAX_ID:
            return _request(request_id, method, params, wants_reply=True)
        case [int(kind), str(method), params] if kind == _NOTIFICATION:
            return _request(None, method, params, wants_reply=False)
        case _:
            shapes = "[0, id, method, [params]] or [2, method, [params]]"
            return _fault(None, "invalid_request", f"expected {shapes}", fatal=True)


def _request(request_id: int | None, method: str, params: object, *, wants_reply: bool) -> Message:
    only = params[0] if isinstance(params, list) and len(params) == 1 else params
    fields = {} if only == [] else only
    if not isinstance(fields, dict) or not all(isinstance(key, str) for key in fields):
        return _fault(request_id, "invalid_params", "params must be one map with text keys")
    return Request(id=request_id, method=method, params=fields, wants_reply=wants_reply)


def _fault(request_id: MessageId, code: str, message: str, *, fatal: bool = False) -> Fault:
    return Fault(id=request_id, error=WireError(code=code, message=message), fatal=fatal)
