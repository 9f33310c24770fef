"""The values on the wire: requests, faults, errors with stable codes, and the limits on all of them.

Owns: the mapping from exceptions to stable codes, and from stable codes to JSON-RPC numbers.
Knows nothing of: bytes, framings, sockets.
Invariants: 1. each code of `RPC_NUMBERS` is documented and never renamed. 2. an unexpected exception tells the peer
    nothing of itself.
Purity: pure.
See: docs/protocol.md (errors, limits).
"""

import difflib
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple, Protocol

from indexerd.errors import BusyError, IndexerdError, RequestError, ShutdownError, StoreError, UnknownFieldError

MessageId = int | str | None
Payload = Mapping[str, object]

# JSON-RPC keeps -32768..-32000 for itself and implementations; ours begin at -32001. Clients decide by the string.
RPC_NUMBERS: Mapping[str, int] = MappingProxyType(
    {
        "parse_error": -32700,
        "invalid_request": -32600,
        "method_not_found": -32601,
        "invalid_params": -32602,
        "unknown_field": -32602,
        "internal_error": -32603,
        "not_found": -32001,
        "forbidden": -32002,
        "budget_too_small": -32003,
        "too_large": -32004,
        "busy": -32005,
        "shutting_down": -32006,
        "protocol_mismatch": -32007,
        "store_error": -32008,
        "timeout": -32009,
        "generation_not_kept": -32010,
        "generation_damaged": -32011,
        "other_store": -32012,
        "still_indexed": -32013,
    }
)


class Limits(NamedTuple):
    """What one connection may cost.

    Attributes:
        in_bytes: Longest message accepted.
        out_bytes: Longest message sent.
        depth: Deepest nesting accepted; checked before a library parses.
        items: Most elements in one MessagePack message (a byte each, they are cheap to send and dear to walk).
    """

    in_bytes: int = 1 << 20
    out_bytes: int = 8 << 20
    depth: int = 32
    items: int = 20_000


class Request(NamedTuple):
    """One call. `wants_reply` is False for a notification: it is carried out and never answered."""

    id: MessageId
    method: str
    params: Payload
    wants_reply: bool = True


class WireError(NamedTuple):
    """An error as the peer sees it: a stable code, a sentence, and fields that need no parsing."""

    code: str
    message: str
    details: Payload = MappingProxyType({})

    @property
    def number(self) -> int:
        """Return the JSON-RPC number of the code."""
        return RPC_NUMBERS[self.code]


class Fault(NamedTuple):
    """A message that is not a request.

    After a fatal one the connection cannot be understood any more: answer, close.
    """

    id: MessageId
    error: WireError
    fatal: bool = False


Message = Request | Fault


class Framing(Protocol):
    """How messages lie in a byte stream. A new framing is one module with this shape and one row in `connection`."""

    def feed(self, data: bytes) -> None:
        """Take bytes in any pieces."""
        ...

    def end(self) -> None:
        """No more bytes will come."""
        ...

    def next_message(self) -> Message | None:
        """Return the next whole message, or None until more bytes come."""
        ...

    @property
    def unfinished(self) -> bool:
        """Whether a message has begun and is not whole."""
        ...

    def reply(self, request_id: MessageId, result: object) -> bytes:
        """Encode a result."""
        ...

    def failure(self, request_id: MessageId, error: WireError) -> bytes:
        """Encode an error."""
        ...

    def notification(self, topic: str, payload: Payload) -> bytes:
        """Encode a message that nobody asked for by id."""
        ...


# No method and no parameter has a longer name. To compare a longer one takes its peer's time and everybody's loop.
_LONGEST_NAME = 64


def nearest_name(name: str, known: Iterable[str]) -> str | None:
    """Return which known name a misspelt one was meant to be; None if it is like none."""
    near = difflib.get_close_matches(name, sorted(known), n=1) if len(name) <= _LONGEST_NAME else []
    return near[0] if near else None


def meant(name: str, known: Iterable[str]) -> str:
    """Return the end of a sentence about a name that is not known: which was meant or, if it is like none, all."""
    names = sorted(known)
    near = nearest_name(name, names)
    return f"did you mean {near!r}?" if near else f"there are {', '.join(names)}"


def shown_name(name: str) -> str:
    """Return a peer's name as an error repeats it: the beginning of one that is too long for a name."""
    return name if len(name) <= _LONGEST_NAME else name[:_LONGEST_NAME] + "…"


class MethodNotFoundError(RequestError):
    """No method has this name."""

    code = "method_not_found"


class ProtocolMismatchError(RequestError):
    """The client speaks another protocol version: upgrade the older of the two."""

    code = "protocol_mismatch"


def wire_error(error: Exception) -> WireError:
    """Turn an exception into what the peer may see.

    Anything not raised on purpose becomes `internal_error`, without its text.
    """
    if isinstance(error, UnknownFieldError):
        return WireError(code="unknown_field", message=str(error), details={"field": error.name})
    if isinstance(error, RequestError):
        # A request that was understood and is wrong has wrong parameters; `invalid_request` on the wire is one that is
        # no request.
        code = "invalid_params" if error.code == "invalid_request" else error.code
        return WireError(code=code if code in RPC_NUMBERS else "invalid_params", message=str(error))
    if isinstance(error, IndexerdError):
        return WireError(code=_code_of(error), message=str(error))
    return WireError(code="internal_error", message="internal error; the daemon's log has the details")


def _code_of(error: IndexerdError) -> str:
    match error:
        case BusyError():
            return "busy"
        case ShutdownError():
            return "shutting_down"
        case StoreError():
            return "store_error"
        case _:
            return "internal_error"


def mismatch(version: object, supported: int) -> ProtocolMismatchError:
    """Say which versions do not fit."""
    named = f"protocol {version}" if type(version) is int else "a protocol that is no whole number"
    return ProtocolMismatchError(f"{named} is not spoken here, this daemon speaks {supported}")
