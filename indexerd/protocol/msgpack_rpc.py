"""MessagePack-RPC, as Neovim speaks it.

Owns: the envelope `[0, id, method, [params]]`, `[1, id, error, result]`, `[2, topic, [payload]]`.
Knows nothing of: methods, sockets.
Invariants: 1. the library sees only whole messages within the limits. 2. a value that is no request is answered and the
    connection goes on; it ends only where the next value's beginning is not known.
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
        walker, self._walker = self._walker, Walker(self._limits)
        if walker.has_extension:
            return _fault(_id_of(message), "invalid_request", "extension types are not spoken here")
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


class _MapError(ValueError):
    pass


def _map(pairs: list[tuple[object, object]]) -> dict[str, object]:
    result = {key: value for key, value in pairs if isinstance(key, str)}
    if not all(isinstance(key, str) for key, _ in pairs):
        raise _MapError("the keys of a map must be text")
    if len(result) != len(pairs):
        raise _MapError("a map names a key twice")
    return result


def _message(data: bytes) -> Message:
    try:
        value = msgpack.unpackb(data, raw=False, strict_map_key=False, object_pairs_hook=_map)
    except _MapError as error:
        return _fault(_id_of(data), "invalid_params", str(error))
    except UnicodeDecodeError:
        return _fault(_id_of(data), "invalid_request", "a text is no UTF-8")
    match value:
        case [int(kind), int(request_id), str(method), params] if kind == _REQUEST and 0 <= request_id < _MAX_ID:
            return _request(request_id, method, params, wants_reply=True)
        case [int(kind), str(method), params] if kind == _NOTIFICATION:
            return _request(None, method, params, wants_reply=False)
        case _:
            shapes = "[0, id, method, [params]] or [2, method, [params]]"
            return _fault(_id_of(data), "invalid_request", f"expected {shapes}")


def _id_of(data: bytes) -> int | None:
    """Return the id of what was meant as a request, whatever is wrong with the rest of it."""
    try:
        value = msgpack.unpackb(data, raw=True, strict_map_key=False, object_pairs_hook=list)
    except ValueError:
        # A timestamp of a length that there is not.
        return None
    is_request = isinstance(value, list) and len(value) > 1 and value[0] == _REQUEST and type(value[1]) is int
    return value[1] if is_request and 0 <= value[1] < _MAX_ID else None


def _request(request_id: int | None, method: str, params: object, *, wants_reply: bool) -> Message:
    only = params[0] if isinstance(params, list) and len(params) == 1 else params
    fields = {} if only == [] else only
    if not isinstance(fields, dict):
        return _fault(request_id, "invalid_params", "params must be one map with text keys")
    return Request(id=request_id, method=method, params=fields, wants_reply=wants_reply)


def _fault(request_id: MessageId, code: str, message: str, *, fatal: bool = False) -> Fault:
    return Fault(id=request_id, error=WireError(code=code, message=message), fatal=fatal)
