"""A blocking client of the daemon: JSON lines over the Unix socket.

Owns: how a wire error becomes an exception; how long is waited.
Knows nothing of: what a method does, the store, other framings.
Invariants: 1. only `IndexerdError` escapes. 2. imports stay few: a command that only asks must start fast.
Purity: shell (sockets).
See: docs/protocol.md.
"""

import _socket
import errno
import json
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from indexerd.errors import (
    GENERATION_CODES,
    BudgetError,
    BusyError,
    ForbiddenError,
    FrameTooLargeError,
    GenerationError,
    IndexerdError,
    NotFoundError,
    RequestError,
    ShutdownError,
    StillIndexedError,
    StoreError,
    UnknownFieldError,
    UnreachableError,
)
from indexerd.protocol import PROTOCOL_VERSION

_CHUNK = 1 << 18
_BY_CODE: Mapping[str, type[IndexerdError]] = {
    "not_found": NotFoundError,
    "method_not_found": NotFoundError,
    "forbidden": ForbiddenError,
    "budget_too_small": BudgetError,
    "still_indexed": StillIndexedError,
    "too_large": FrameTooLargeError,
    "busy": BusyError,
    "timeout": BusyError,
    "shutting_down": ShutdownError,
    "store_error": StoreError,
    "invalid_params": RequestError,
    "invalid_request": RequestError,
    "protocol_mismatch": RequestError,
}


class Client:
    """One connection. Use it as a context; calls are answered in order.

    Attributes:
        path: The daemon's socket.
    """

    def __init__(self, path: str, timeout_seconds: float = 60.0) -> None:
        """Connect.

        Args:
            path: The daemon's socket.
            timeout_seconds: Longest silence before a call fails.

        Raises:
            UnreachableError: Nobody answers there.
            BusyError: The daemon lives and has no room.
        """
        self.path = path
        self._number = 0
        self._rest = b""
        self._socket = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM | _socket.SOCK_CLOEXEC)
        self._socket.settimeout(timeout_seconds)
        try:
            self._socket.connect(path)
        except OSError as error:
            self._socket.close()
            raise _connect_error(path, error) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def call(self, method: str, params: Mapping[str, object] | None = None) -> dict[str, Any]:
        """Ask and wait for the result.

        Raises:
            UnreachableError: The daemon went away.
            IndexerdError: What the daemon refused, as the class of its code.
        """
        self._number += 1
        given = {"protocol": PROTOCOL_VERSION, **(params or {})}
        request = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": given}
        self._send(json.dumps(request).encode() + b"\n")
        while True:
            reply = json.loads(self._line())
            # What has no id and a method is a notification: nobody here asked for it.
            if "method" in reply and "id" not in reply:
                continue
            return _result(reply)

    def _send(self, data: bytes) -> None:
        try:
            self._socket.sendall(data)
        except OSError as error:
            # A refused connection is closed before we write; why it was refused can still be read.
            if error.errno not in (errno.EPIPE, errno.ECONNRESET):
                raise _lost(self.path, error) from error

    def _line(self) -> bytes:
        parts = [self._rest]
        while b"\n" not in parts[-1]:
            try:
                data = self._socket.recv(_CHUNK)
            except OSError as error:
                raise _lost(self.path, error) from error
            if not data:
                raise UnreachableError(f"the daemon at {self.path} closed the connection without an answer")
            parts.append(data)
        line, _, self._rest = b"".join(parts).partition(b"\n")
        return line


def call(
    path: str, method: str, params: Mapping[str, object] | None = None, timeout_seconds: float = 60.0
) -> dict[str, Any]:
    """Connect, ask once, and close; see `Client`.

    Raises:
        UnreachableError: Nobody answers there.
        IndexerdError: What the daemon refused.
    """
    with Client(path, timeout_seconds) as client:
        return client.call(method, params)


def _result(reply: Mapping[str, object]) -> dict[str, Any]:
    error = reply.get("error")
    if isinstance(error, dict):
        raise _remote(error)
    result = reply.get("result")
    if not isinstance(result, dict):
        raise IndexerdError("the daemon's answer has no result: is it an indexerd socket?")
    if result.get("protocol", PROTOCOL_VERSION) != PROTOCOL_VERSION:
        raise RequestError(f"the daemon speaks protocol {result['protocol']}, this client {PROTOCOL_VERSION}")
    return result


def _remote(error: Mapping[str, object]) -> IndexerdError:
    """Rebuild the exception that the daemon's error stands for."""
    data = error.get("data")
    data = data if isinstance(data, dict) else {}
    code, message = str(data.get("code", "")), str(error.get("message", "unknown error"))
    if code == "unknown_field":
        return UnknownFieldError(str(data.get("field", "")), message)
    if code in GENERATION_CODES:
        return GenerationError(code, message)
    return _BY_CODE.get(code, IndexerdError)(message)


def _connect_error(path: str, error: OSError) -> IndexerdError:
    if isinstance(error, TimeoutError | BlockingIOError):
        return BusyError(f"the daemon at {path} does not accept connections now: try again later")
    return UnreachableError(f"no daemon answers at {path} ({error.strerror or error})")


def _lost(path: str, error: OSError) -> IndexerdError:
    if isinstance(error, TimeoutError):
        return BusyError(f"the daemon at {path} did not answer in time")
    return UnreachableError(f"lost the daemon at {path} ({error.strerror or error})")
