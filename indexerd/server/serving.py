"""The server: accepts, counts, refuses, and tells subscribers.

Owns: the event loop and its thread, the table of connections.
Knows nothing of: what is said on a connection.
Invariants: 1. connections are counted per user, and other users can never take the owner's last ones. 2. the owner
    always gets in: where there is no room, the owner's longest silent connection makes some. 3. `stop` returns only
    when nothing is served any more.
Purity: shell (asyncio, threads).
See: docs/protocol.md (limits), docs/operations.md.
"""

import asyncio
import functools
import logging
import resource
import socket
import threading
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from types import MappingProxyType

from indexerd.errors import IndexerdError, ShutdownError
from indexerd.protocol.messages import Payload, WireError
from indexerd.server.listening import Listener
from indexerd.server.peers import peer_of
from indexerd.server.talking import Dispatch, Hall, Limits, Refusal, Talk
from indexerd.service.callers import Caller

__all__ = ["Dispatch", "Limits", "Server"]

_log = logging.getLogger(__name__)

# File descriptors that the rest of the process needs: segments, watches, the store, workers' pipes.
_OTHER_DESCRIPTORS = 192
_STOP_SECONDS = 5.0
# After so many answers to what was sent ahead the loop sleeps: a thread that answers a query gives up the interpreter
# at each read, and beside a loop that never sleeps would wait 5 ms for it each time. p99 of a good client beside 30
# that never read (2026-11-30): 11 times that in peace without, 1.6 times with.
_TURNS, _PAUSE_SECONDS = 8, 0.001
# How soon a socket whose file was removed is made anew.
_LOOK_SECONDS = 2.0


class Server:
    """Serves one listener from a thread of its own."""

    def __init__(
        self,
        listener: Listener,
        service: Dispatch,
        limits: Limits | None = None,
        *,
        listen_again: Callable[[], Listener] | None = None,
        report: Callable[[str | None], None] = lambda _: None,
    ) -> None:
        """Serve what comes in through `listener`, once started.

        Args:
            listener: Closed by `stop`.
            service: Answers.
            limits: Of connections and calls.
            listen_again: Makes the socket anew when its file is gone; may wait. None to leave it.
            report: Told why the socket cannot be reached at the moment; None once it can.
        """
        self._listener = listener
        self._listen_again, self._report = listen_again, report
        self._service = service
        self._limits = limits or Limits()
        self._total = min(self._limits.total, _descriptors_left())
        self._loop = asyncio.new_event_loop()
        # Ordered by who was heard last.
        self._talks: OrderedDict[Talk, None] = OrderedDict()
        self._subscribers: set[Talk] = set()
        self._line: deque[Talk] = deque()
        self._turns = 0
        self._users: Counter[int] = Counter()
        self._refused = 0
        self._calls = ThreadPoolExecutor(self._limits.calls, thread_name_prefix="indexerd-call")
        self._other_calls = ThreadPoolExecutor(self._limits.other_calls, thread_name_prefix="indexerd-other-call")
        self._long_calls = ThreadPoolExecutor(self._limits.long_calls, thread_name_prefix="indexerd-long-call")
        self._thread = threading.Thread(target=self._run, name="indexerd-socket", daemon=True)
        self._accepting: asyncio.Task[None] | None = None
        self._keeping: asyncio.Task[None] | None = None
        self._pending: set[Future[Payload]] = set()
        self._hall = Hall(
            service=service,
            limits=self._limits,
            submit=self._submit,
            loop=self._loop,
            closed=self._forget,
            heard=self._talks.move_to_end,
            queue=self._queue,
            subscribed=self._subscribers.add,
        )

    def start(self) -> None:
        """Begin to answer; returns at once."""
        self._thread.start()

    def stop(self) -> None:
        """Stop accepting, finish what is at work, close every connection, and return. A second call does nothing."""
        if self._thread.ident is None:
            self._listener.close()
            self._loop.close()
        if self._loop.is_closed():
            return
        # The calls first: what they answer must still be sent by a living loop.
        self._loop.call_soon_threadsafe(self._stop_accepting)
        pools = (self._calls, self._other_calls, self._long_calls)
        for calls in pools:
            calls.shutdown(wait=False, cancel_futures=True)
        _, left = wait(tuple(self._pending), _STOP_SECONDS)
        # A call counts as done an instant before its thread tells its connection: the threads' end comes after that.
        for calls in pools if not left else ():
            calls.shutdown()
        self._loop.call_soon_threadsafe(self._say_goodbye)
        self._thread.join(_STOP_SECONDS)

    def tell(self, topic: str, payload_for: Callable[[Caller], Payload | None]) -> None:
        """Notify every subscriber; from any thread.

        Args:
            topic: What happened.
            payload_for: What this caller is told; None for nothing. Called on the server's thread, must not block.
        """
        # Waking the loop for nobody makes the publishing thread wait for the interpreter.
        if self._subscribers and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._tell, topic, payload_for)

    def statistics(self) -> Payload:
        """Return how many connections there are and were refused."""
        return MappingProxyType({"connections": len(self._talks), "refused": self._refused, "limit": self._total})

    # --- on the loop's thread ---

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._listener.socket.setblocking(False)
        self._accepting = self._loop.create_task(self._accept_all(self._listener.socket))
        self._keeping = self._loop.create_task(self._keep_listening())
        try:
            self._loop.run_forever()
        finally:
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.close()

    async def _keep_listening(self) -> None:
        """Make the socket anew when its file was removed or replaced; connections live on."""
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            if self._listener.is_in_place():
                self._report(None)
                continue
            lost = f"the socket {self._listener.path} was removed or replaced"
            if self._listen_again is None:
                self._report(f"{lost}; the service manager made it: start its socket unit again")
                continue
            self._report(f"{lost}; it is made anew")
            try:
                listener = await self._loop.run_in_executor(None, self._listen_again)
            except (OSError, IndexerdError) as error:
                self._report(f"{lost}, and cannot be made: {error}")
                continue
            _log.warning("socket_renewed: %s was removed or replaced, and is made anew", listener.path)
            self._change_to(listener)

    def _change_to(self, listener: Listener) -> None:
        listener.socket.setblocking(False)
        old, self._listener = self._listener, listener
        if self._accepting is not None:
            self._accepting.cancel()
        self._accepting = self._loop.create_task(self._accept_all(listener.socket))
        # As in `_stop_accepting`: not before the loop has let go of the descriptor.
        self._loop.call_soon(old.close)

    async def _accept_all(self, listening: socket.socket) -> None:
        while True:
            try:
                connection, _ = await self._loop.sock_accept(listening)
            except OSError as error:
                if listening.fileno() < 0:
                    return
                # Out of descriptors: those who are in are served on; the others wait in the backlog.
                _log.warning("accept_failed: %s", error)
                await asyncio.sleep(1.0)
                continue
            await self._loop.connect_accepted_socket(functools.partial(self._receive, connection), connection)

    def _receive(self, connection: socket.socket) -> asyncio.Protocol:
        """Decide who this is and whether there is room."""
        try:
            caller = self._service.admit(peer_of(connection))
        except OSError:
            caller = None
        if caller is None:
            return self._refuse("forbidden", "this daemon does not serve you")
        if not self._has_room(caller) and not (caller.is_owner and self._make_room(caller)):
            return self._refuse("busy", "too many connections: try again later")
        talk = Talk(self._hall, caller)
        self._talks[talk] = None
        self._users[caller.uid] += 1
        return talk

    def _queue(self, talk: Talk) -> None:
        if not self._line:
            self._loop.call_soon(self._give_turn)
        self._line.append(talk)

    def _give_turn(self) -> None:
        """Let one connection that has sent ahead be answered: one in each round of the loop, however many there are."""
        try:
            self._line[0].take_turn()
        finally:
            # In the line until now: were it empty meanwhile, a second round would begin beside this one.
            self._line.popleft()
            self._turns += 1
            if self._line:
                self._loop.call_later(0 if self._turns % _TURNS else _PAUSE_SECONDS, self._give_turn)

    def _submit(self, caller: Caller, method: str, params: Payload) -> "Future[Payload]":
        usual = self._calls if caller.is_owner else self._other_calls
        calls = self._long_calls if self._service.is_long(method) else usual
        try:
            call = calls.submit(self._service.call, caller, method, params)
        except RuntimeError as error:
            raise ShutdownError("the daemon is stopping") from error
        self._pending.add(call)
        call.add_done_callback(self._pending.discard)
        return call

    def _has_room(self, caller: Caller) -> bool:
        reserve = 0 if caller.is_owner else min(self._limits.per_user, self._total // 2)
        return len(self._talks) < self._total - reserve and self._users[caller.uid] < self._limits.per_user

    def _make_room(self, caller: Caller) -> bool:
        """Close a connection of this user: one that never asked, else the longest silent, a subscriber's last.

        Returns whether there was one; those at work are never closed.
        """
        own = [talk for talk in self._talks if talk.caller.uid == caller.uid and not talk.is_at_work]
        if not own:
            return False
        least = min(own, key=lambda talk: (talk in self._subscribers, talk.has_asked))
        least.refuse(WireError(code="busy", message="closed to let a new connection in: connect again"))
        # Not only closed: a peer that does not read would keep its descriptor for the whole of its deadline.
        least.abort()
        self._forget(least)
        return True

    def _refuse(self, code: str, message: str) -> Refusal:
        self._refused += 1
        return Refusal(WireError(code=code, message=message))

    def _forget(self, talk: Talk) -> None:
        if talk in self._talks:
            del self._talks[talk]
            self._subscribers.discard(talk)
            self._users[talk.caller.uid] -= 1

    def _tell(self, topic: str, payload_for: Callable[[Caller], Payload | None]) -> None:
        for talk in tuple(self._subscribers):
            payload = payload_for(talk.caller)
            if payload is not None:
                talk.tell(topic, payload)

    def _stop_accepting(self) -> None:
        for task in (self._accepting, self._keeping):
            if task is not None:
                task.cancel()
        # Behind the cancellation's own step: the loop must have let go of the descriptor before it is closed.
        self._loop.call_soon(self._listener.close)

    def _say_goodbye(self) -> None:
        for talk in tuple(self._talks):
            talk.refuse(WireError(code="shutting_down", message="the daemon is stopping"))
        # One turn of the loop sends what the sockets take at once; who does not read must not hold up the end.
        self._loop.call_later(0.05, self._end)

    def _end(self) -> None:
        for talk in tuple(self._talks):
            talk.abort()
        self._loop.call_soon(self._loop.stop)


def _descriptors_left() -> int:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max(16, soft - _OTHER_DESCRIPTORS) if soft != resource.RLIM_INFINITY else 1 << 20
