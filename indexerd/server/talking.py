"""One connection: bytes to requests, requests to the service one at a time, replies back.

Owns: the deadlines and buffers of a connection.
Knows nothing of: other connections, what a method does.
Invariants: 1. at most one request is at work; the rest waits unread, so a peer that pipelines pays itself, and takes
    turns with the others that do. 2. a peer that does not finish a message, or does not read, is cut off after its
    deadline. 3. between two requests the loop serves others.
Purity: shell (asyncio).
See: docs/protocol.md (limits).
"""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import Future
from typing import NamedTuple, Protocol

from indexerd.protocol.connection import Connection
from indexerd.protocol.messages import Fault, MessageId, Payload, Request, WireError, wire_error
from indexerd.service.callers import Caller, Peer

_log = logging.getLogger(__name__)


class Limits(NamedTuple):
    """What the socket may be used for.

    Attributes:
        per_user: Connections of one user at a time.
        total: Connections at a time; other users leave room for one user's worth of the owner's.
        message_seconds: Time to finish a message that has begun.
        reply_seconds: Time in which a peer must take at least part of what waits for it.
        buffered_bytes: What may wait for a peer before its next request is looked at.
        calls: Requests that may wait or work at the same time beside the loop.
        other_calls: The same for other users than the owner, apart, so that theirs never stand before the owner's.
        long_calls: The same for methods that may take minutes, apart, so that they never hold up the others.
    """

    per_user: int = 64
    total: int = 512
    message_seconds: float = 10.0
    reply_seconds: float = 10.0
    buffered_bytes: int = 1 << 18
    calls: int = 8
    other_calls: int = 4
    long_calls: int = 2


class Dispatch(Protocol):
    """What the server needs of a service."""

    def admit(self, peer: Peer) -> Caller | None:
        """Return the caller that a peer is, or None to refuse it."""
        ...

    def call_now(self, caller: Caller, method: str, params: Payload) -> Payload | None:
        """Answer at once, or return None when the answer may take a while: then `call` is asked."""
        ...

    def call(self, caller: Caller, method: str, params: Payload) -> Payload:
        """Answer, waiting where the request says so."""
        ...

    def is_long(self, method: str) -> bool:
        """Tell whether a method may take minutes."""
        ...


class Hall(NamedTuple):
    """What a connection needs of the house it is in."""

    service: Dispatch
    limits: Limits
    submit: Callable[[Caller, str, Payload], Future[Payload]]
    loop: asyncio.AbstractEventLoop
    closed: Callable[["Talk"], None]
    heard: Callable[["Talk"], None]
    queue: Callable[["Talk"], None]
    subscribed: Callable[["Talk"], None]


class Talk(asyncio.Protocol):
    """The server's side of one connection."""

    def __init__(self, hall: Hall, caller: Caller) -> None:
        self.caller = caller
        self._hall = hall
        self._wire = Connection()
        self._transport: asyncio.Transport | None = None
        self._working = self._stuck = self._reading_paused = self._ended = self._waits = False
        self._deadline: asyncio.TimerHandle | None = None
        self._queued_bytes = 0
        self._news: tuple[str, Payload] | None = None
        self.has_asked = False

    @property
    def is_at_work(self) -> bool:
        """Whether a request is being carried out."""
        return self._working

    # --- the transport's calls ---

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.set_write_buffer_limits(high=self._hall.limits.buffered_bytes)

    def data_received(self, data: bytes) -> None:
        """Take bytes and answer what became whole."""
        self._wire.feed(data)
        if self._waits or self._stuck:
            # It sends faster than it is answered: what more it has must wait with the peer, not here.
            self._read(on=False)
        else:
            self._pump()

    def eof_received(self) -> bool:
        """Answer what has come, then close: the peer may still read."""
        self._ended = True
        self._wire.end()
        if not self._waits:
            self._pump()
        return True

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        """Let go of everything; a call at work ends by itself and its answer is dropped."""
        self._transport = None
        self._set_deadline(None)
        self._hall.closed(self)

    def pause_writing(self) -> None:
        """Stop answering: the peer does not read fast enough."""
        self._stuck = True
        self._watch_reader()

    def resume_writing(self) -> None:
        """Go on answering."""
        self._stuck = False
        self._set_deadline(None)
        if self._news is not None:
            self.tell(*self._news)
        self._wait_for_turn()

    # --- requests ---

    def take_turn(self) -> None:
        """Look at the next of the messages that were sent ahead."""
        self._waits = False
        self._pump()

    def _wait_for_turn(self) -> None:
        if not self._waits:
            self._waits = True
            self._hall.queue(self)

    def _pump(self) -> None:
        """Look at the next message, at most one: then others have their turn."""
        if self._transport is None or self._working or self._stuck or self._transport.is_closing():
            return
        message = self._wire.next_message()
        self._send(self._wire.owed())
        if message is None:
            self._rest()
            return
        self._set_deadline(None)
        if isinstance(message, Fault):
            self._fault(message)
        else:
            self.has_asked = True
            self._hall.heard(self)
            self._request(message)
        if not self._working:
            # Whoever sent nothing ahead does not stand in the line of those who did.
            self._wait_for_turn() if self._wire.unfinished else self._rest()

    def _rest(self) -> None:
        """Nothing whole has come: close after the end, else wait for more, but not for ever within a message."""
        if self._ended:
            self._close()
            return
        self._read(on=True)
        if not self._wire.unfinished:
            self._set_deadline(None)
        elif self._deadline is None:
            self._set_deadline(self._hall.limits.message_seconds, self._too_slow)

    def _fault(self, fault: Fault) -> None:
        self._send(self._wire.failure(fault.id, fault.error))
        if fault.fatal:
            self._close()

    def _request(self, request: Request) -> None:
        try:
            result = self._hall.service.call_now(self.caller, request.method, request.params)
            call = None if result is not None else self._hall.submit(self.caller, request.method, request.params)
        except Exception as error:  # noqa: BLE001 - the border of one request: nothing a peer sends may end the daemon
            self._failed(request, error)
            return
        if result is not None:
            self._answer(request, result)
        elif call is not None:
            self._working = True
            self._read(on=False)
            call.add_done_callback(lambda done: self._called(request, done))

    def _called(self, request: Request, call: Future[Payload]) -> None:
        if not self._hall.loop.is_closed():
            self._hall.loop.call_soon_threadsafe(self._done, request, call)

    def _done(self, request: Request, call: Future[Payload]) -> None:
        self._working = False
        error = None if call.cancelled() else call.exception()
        if call.cancelled() or self._transport is None:
            return
        if isinstance(error, Exception):
            self._failed(request, error)
        elif error is None:
            self._answer(request, call.result())
        self._pump()

    def _failed(self, request: Request, error: Exception) -> None:
        told = wire_error(error)
        if told.code == "internal_error":
            _log.error("request_failed: method=%s", request.method[:64], exc_info=error)
        if request.wants_reply:
            self._send(self._wire.failure(request.id, told))

    def _answer(self, request: Request, result: Payload) -> None:
        if request.method == "subscribe":
            self._hall.subscribed(self)
        if not request.wants_reply:
            return
        try:
            encoded = self._wire.reply(request.id, result)
        except (ValueError, TypeError) as error:
            self._failed(request, error)
            return
        self._send(encoded)

    # --- replies ---

    def tell(self, topic: str, payload: Payload) -> None:
        """Send a notification; to a peer that does not read, only the newest one is kept."""
        if self._stuck:
            self._news = (topic, payload)
            return
        self._news = None
        self._send(self._wire.notification(topic, payload))

    def refuse(self, error: WireError, request_id: MessageId = None) -> None:
        """Say why, and close."""
        self._send(self._wire.failure(request_id, error))
        self._close()

    def _send(self, data: bytes) -> None:
        if data and self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)
            if self._wire.ends:
                self._close()

    def _close(self) -> None:
        """Close once what was written is taken, or the peer does not take it in time."""
        if self._transport is None or self._transport.is_closing():
            return
        self._transport.close()
        self._set_deadline(self._hall.limits.reply_seconds, self._transport.abort)

    def abort(self) -> None:
        """Close now."""
        if self._transport is not None:
            self._transport.abort()

    # --- deadlines ---

    def _watch_reader(self) -> None:
        """Give the peer time to take something; as long as it does, give it more."""
        waiting = self._transport.get_write_buffer_size() if self._transport is not None else 0
        self._queued_bytes = waiting
        self._set_deadline(self._hall.limits.reply_seconds, self._check_reader)

    def _check_reader(self) -> None:
        if self._transport is None:
            return
        if self._transport.get_write_buffer_size() < self._queued_bytes:
            self._watch_reader()
        else:
            self._transport.abort()

    def _too_slow(self) -> None:
        seconds = self._hall.limits.message_seconds
        self.refuse(WireError(code="timeout", message=f"the message was not finished within {seconds:g} s"))

    def _set_deadline(self, seconds: float | None, step: Callable[[], None] | None = None) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = None
        if seconds is not None and step is not None:
            self._deadline = self._hall.loop.call_later(seconds, step)

    def _read(self, *, on: bool) -> None:
        if self._transport is None or on is not self._reading_paused or self._transport.is_closing():
            return
        self._reading_paused = not on
        if on:
            self._transport.resume_reading()
        else:
            self._transport.pause_reading()


class Refusal(asyncio.Protocol):
    """A connection that is told why it is not let in, and closed."""

    def __init__(self, error: WireError) -> None:
        self._error = error

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Say it and close."""
        assert isinstance(transport, asyncio.Transport)
        transport.write(Connection().failure(None, self._error))
        transport.close()
