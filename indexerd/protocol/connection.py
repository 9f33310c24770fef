"""One connection's protocol state: the first byte decides the framing, and the connection keeps it.

Owns: the table of framings.
Knows nothing of: sockets, timeouts, methods.
Invariants: 1. a framing, once chosen, never changes. 2. after a fatal fault nothing more is read.
Purity: pure.
See: docs/protocol.md (which framing).
"""

from collections.abc import Callable

from indexerd.protocol.http_text import HttpText
from indexerd.protocol.json_lines import JsonLines
from indexerd.protocol.messages import Fault, Framing, Limits, Message, MessageId, Payload, WireError
from indexerd.protocol.msgpack_rpc import MsgpackRpc

_BLANK = b" \t\r\n"
# No first byte stands in two rows. CONNECT is left out of HTTP: nothing can be reached through this socket, and header
# lines ("Content-Length") can join without moving any row.
_FRAMINGS: tuple[tuple[frozenset[int], Callable[[Limits], Framing]], ...] = (
    (frozenset(b"{"), JsonLines),
    (frozenset([*range(0x90, 0xA0), 0xDC, 0xDD]), MsgpackRpc),
    (frozenset(b"GPHDO"), HttpText),
)


class Connection:
    """Bytes in, messages out; results in, bytes out. Total: never raises on what a peer sends."""

    def __init__(self, limits: Limits | None = None) -> None:
        self._limits = limits or Limits()
        self._framing: Framing | None = None
        self._refused: int | None = None
        self._closed = False

    @property
    def unfinished(self) -> bool:
        """Whether a message has begun and is not whole."""
        return not self._closed and self._framing is not None and self._framing.unfinished

    @property
    def closed(self) -> bool:
        """Whether a fatal fault was handed out: answer it and close."""
        return self._closed

    @property
    def ends(self) -> bool:
        """Whether the connection is to be closed after what was encoded last."""
        return isinstance(self._framing, HttpText) and self._framing.ends

    def owed(self) -> bytes:
        """Return, once, what the peer waits for before it sends the rest of its message."""
        return self._framing.owed() if isinstance(self._framing, HttpText) else b""

    def feed(self, data: bytes) -> None:
        """Take bytes in any pieces."""
        if self._closed:
            return
        if self._framing is None:
            data = data.lstrip(_BLANK)
            if not data:
                return
            self._framing = self._choose(data[0])
        self._framing.feed(data)

    def end(self) -> None:
        """No more bytes will come."""
        if self._framing is not None:
            self._framing.end()

    def next_message(self) -> Message | None:
        """Return the next whole message, or None until more bytes come."""
        if self._closed or self._framing is None:
            return None
        message = self._unknown_framing() if self._refused is not None else self._framing.next_message()
        self._closed = isinstance(message, Fault) and message.fatal
        return message

    def reply(self, request_id: MessageId, result: object) -> bytes:
        """Encode a result; one longer than the limit becomes an error, so that a peer can always read what comes."""
        encoded = self._encoder().reply(request_id, result)
        if len(encoded) <= self._limits.out_bytes:
            return encoded
        size = f"the reply would have {len(encoded)} bytes, the limit is {self._limits.out_bytes}"
        message = f"{size}: ask for less (k, lines, limit)"
        return self.failure(request_id, WireError(code="too_large", message=message))

    def failure(self, request_id: MessageId, error: WireError) -> bytes:
        """Encode an error."""
        return self._encoder().failure(request_id, error)

    def notification(self, topic: str, payload: Payload) -> bytes:
        """Encode a message that nobody asked for by id."""
        return self._encoder().notification(topic, payload)

    def _encoder(self) -> Framing:
        # Before the first byte nobody knows the framing; a JSON line is what a person can read too.
        return self._framing or JsonLines(self._limits)

    def _choose(self, first: int) -> Framing:
        for firsts, framing in _FRAMINGS:
            if first in firsts:
                return framing(self._limits)
        self._refused = first
        return JsonLines(self._limits)

    def _unknown_framing(self) -> Fault:
        known = "send JSON-RPC lines, MessagePack-RPC or HTTP/1.1"
        message = f"first byte 0x{self._refused:02x} begins no framing spoken here: {known}"
        return Fault(id=None, error=WireError(code="parse_error", message=message), fatal=True)
