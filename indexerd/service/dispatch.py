"""One table from method names to use cases; every framing and every one-shot command comes through here.

Owns: which methods exist, which are answered at once, what unknown ones are told.
Knows nothing of: sockets, framings.
Invariants: 1. every call has a caller. 2. what may take long is never carried out by `call_now`.
Purity: shell (through its parts).
See: docs/protocol.md (methods).
"""

import functools
from collections.abc import Callable, Mapping
from types import MappingProxyType

from indexerd.protocol import PROTOCOL_VERSION
from indexerd.protocol.fields import Fields
from indexerd.protocol.messages import MethodNotFoundError, Payload, meant, shown_name, wire_error
from indexerd.service.callers import Admission, Caller, Peer
from indexerd.service.condition import Condition
from indexerd.service.events import log_answer
from indexerd.service.figures import Figures
from indexerd.service.forgetting import forget
from indexerd.service.listing import Listing
from indexerd.service.metrics import Metrics
from indexerd.service.parts import Parts
from indexerd.service.rendering import Json
from indexerd.service.searching import Searching
from indexerd.service.visibility import Visibility

INDEX_CHANGED = "index/changed"

Answer = Callable[[Caller, Payload], Json]
AnswerAtOnce = Callable[[Caller, Payload], Json | None]


class Service:
    """All use cases of one profile."""

    def __init__(self, parts: Parts) -> None:
        self._figures = Figures()
        self.adopt(parts)

    @property
    def admission(self) -> Admission:
        """Return who is let in."""
        return self._parts.admission

    def adopt(self, parts: Parts) -> None:
        """Work with these parts from the next call on; a call under way keeps those that it began with."""
        self._parts = parts
        visibility = Visibility(parts.access)
        self._searching = Searching(parts, visibility)
        condition, listing = Condition(parts, visibility), Listing(parts, visibility)
        self._quick: Mapping[str, Answer] = MappingProxyType(
            {
                "status": condition.status,
                "metrics": Metrics(parts, self._figures).metrics,
                "subscribe": self._subscribe,
                "shutdown": self._shutdown,
            }
        )
        self._slow: Mapping[str, Answer] = MappingProxyType(
            {
                "query": functools.partial(self._searching.answer, evidence=False),
                "evidence": functools.partial(self._searching.answer, evidence=True),
                "check": self._check,
                "verify": self._verify,
                "show": self._show,
                "documents": listing.documents,
                "generations": listing.generations,
                "forget": functools.partial(forget, parts),
                "sync": condition.sync,
            }
        )

    def admit(self, peer: Peer) -> Caller | None:
        """Return the caller that a peer is, or None to refuse it."""
        return self._parts.admission.admit(peer)

    def call(self, caller: Caller, method: str, params: Payload) -> Json:
        """Carry out one call, waiting where it says so.

        Raises:
            RequestError: The request is wrong; `MethodNotFoundError` names the nearest method.
            IndexerdError: It could not be carried out.
        """
        result = self._counted(method, self._method(method), caller, params)
        assert result is not None
        return result

    def call_now(self, caller: Caller, method: str, params: Payload) -> Json | None:
        """Answer at once, or return None if the answer may take a while.

        Raises:
            RequestError: As `call`.
        """
        answer: AnswerAtOnce = self._method(method)
        if method == "query":
            answer = self._searching.answer_at_once
        elif method not in self._quick:
            return None
        return self._counted(method, answer, caller, params)

    def _counted(self, method: str, answer: AnswerAtOnce, caller: Caller, params: Payload) -> Json | None:
        clock = self._parts.clock
        started = clock.monotonic()
        try:
            result = answer(caller, params)
        except Exception as error:
            self._figures.failed(method, wire_error(error).code)
            raise
        if result is None:
            return None
        seconds = clock.monotonic() - started
        self._figures.answered(method, seconds, result)
        log_answer(self._parts, method, seconds, result)
        return result

    def is_long(self, method: str) -> bool:
        """Tell whether a method may take minutes: such calls must not stand in the way of queries."""
        return method in {"sync", "forget"}

    def _method(self, name: str) -> Answer:
        answer = self._quick.get(name) or self._slow.get(name)
        if answer is None:
            self._figures.failed("unknown", MethodNotFoundError.code)
            raise MethodNotFoundError(f"no method {shown_name(name)!r}; {meant(name, [*self._quick, *self._slow])}")
        return answer

    def _check(self, caller: Caller, params: Payload) -> Json:
        from indexerd.service.checking import Checking  # noqa: PLC0415 - 17 ms of a start, for what few ask

        return Checking(self._parts).check(caller, params)

    def _verify(self, caller: Caller, params: Payload) -> Json:
        from indexerd.service.citations import Citations  # noqa: PLC0415 - 6 ms of a start

        return Citations(self._parts).verify(caller, params)

    def _show(self, caller: Caller, params: Payload) -> Json:
        from indexerd.service.citations import Citations  # noqa: PLC0415 - as above

        return Citations(self._parts).show(caller, params)

    def _subscribe(self, caller: Caller, params: Payload) -> Json:  # noqa: ARG002 - every caller may
        Fields(params).close()
        return {"protocol": PROTOCOL_VERSION, "subscribed": [INDEX_CHANGED]}

    def _shutdown(self, caller: Caller, params: Payload) -> Json:
        Fields(params).close()
        caller.require_owner("shutdown")
        self._parts.stop()
        return {"protocol": PROTOCOL_VERSION, "stopping": True}
