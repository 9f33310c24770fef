"""`query` and `evidence`: wait for what was written, search, repair what failed its proof, search again.

Owns: the order barrier, snapshot, search, repair, and what `freshness` says.
Knows nothing of: scoring, proof, events.
Invariants: 1. one reply comes from one generation. 2. the wait of barrier and repair together stays within `wait_ms`.
    3. a search is told whether the first index is still being built. 4. `answer_at_once` waits for nothing.
Purity: shell (through its parts).
See: docs/protocol.md (query, evidence), docs/consistency.md (the barrier), docs/adr/0011.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple

from indexerd.errors import GenerationError, RequestError
from indexerd.model import SourcePath
from indexerd.ports import SourceFault, SourceRead
from indexerd.protocol import PROTOCOL_VERSION
from indexerd.protocol.fields import Fields
from indexerd.protocol.messages import Payload
from indexerd.search import as_json
from indexerd.search.freshness import PROOF_SECONDS
from indexerd.search.outcome import SearchOutcome, Seen
from indexerd.search.reply import request_json
from indexerd.search.request import DEFAULT_BUDGET_CHARS, SORTS, SearchRequest, Sort, moment_ns
from indexerd.service.callers import Caller
from indexerd.service.parts import Parts
from indexerd.service.recalling import recall
from indexerd.service.rendering import Json, keep_sendable, printable_path
from indexerd.service.visibility import Visibility
from indexerd.store import Snapshot
from indexerd.sync.status import Barrier

_DEFAULT_WAIT_MS = 100
# Others than the owner hold a thread of the daemon while they wait: not for long.
_LONGEST_WAIT_MS, _LONGEST_WAIT_OF_OTHERS_MS = 60_000, 1_000
# The barrier leaves this much of the wait (three quarters of a short one) to repair: what it waits for is often another
# file. An idle writer needs 3 ms, one that gets a tenth of a processor 50.
_KEPT_FOR_REPAIR_SECONDS = 0.075
_MAX_K = 1_000_000
# What is answered on the thread of all connections: no more than this is asked, and read in this time. A disk that is
# slower is not tried so again for a second. 16 clients get 530 answers a second so, and 320 where each query
# goes to another thread: at each read one gives the interpreter to another, and gets it back late (2026-11-30).
_AT_ONCE_CHARS, _AT_ONCE_K, _AT_ONCE_SECONDS, _SLOW_SECONDS = 128, 50, 0.025, 1.0
# What a request may ask to look for, in all: the cost grows with the words, and each glob is held against every path.
# At k = 10 the dearest text of this length (identifiers of many parts) took 0.5 s of a processor (2026-11-30).
_MAX_QUERY_CHARS, _MAX_GLOBS = 1 << 12, 64
# Each hit is shown with each word in it: of 600 words and 1,000 hits, explained, that takes 2 s, of 4,000 ideographs 6.
_LONG_CHARS, _MOST_HITS_OF_LONG = 1 << 10, 100
_K_PEOPLE, _K_EVIDENCE = 10, 8
_NOTHING: Mapping[SourcePath, Seen] = MappingProxyType({})
_PER_DOCUMENT_PEOPLE, _PER_DOCUMENT_EVIDENCE = 3, 2


class Asked(NamedTuple):
    """A query as a caller sent it.

    Attributes:
        wait_seconds: How long barrier and repair may take.
        generation: Which generation to answer from; None for the current one.
        after: How many hits the caller has already.
        store_id: The store that `generation` is of, if the caller says so.
    """

    request: SearchRequest
    wait_seconds: float
    generation: int | None
    after: int
    store_id: str | None


def read_asked(params: Payload, caller: Caller, now_ns: Callable[[], int], *, evidence: bool) -> Asked:
    """Read the parameters of `query` or `evidence`.

    Raises:
        RequestError: One of them is wrong, unknown, or not for this caller.
    """
    fields = Fields(params)
    request = _read_request(fields, caller, now_ns, evidence=evidence)
    longest_ms = _LONGEST_WAIT_MS if caller.is_owner else _LONGEST_WAIT_OF_OTHERS_MS
    wait_ms = min(fields.integer("wait_ms", _DEFAULT_WAIT_MS, high=_LONGEST_WAIT_MS) or 0, longest_ms)
    generation = fields.integer("generation")
    after = fields.integer("after", 0) or 0
    store_id = fields.text("store_id")
    fields.close()
    return Asked(request=request, wait_seconds=wait_ms / 1000, generation=generation, after=after, store_id=store_id)


def _read_request(fields: Fields, caller: Caller, now_ns: Callable[[], int], *, evidence: bool) -> SearchRequest:
    request = SearchRequest(
        text=fields.required_text("text"),
        k=_count(fields, "k", _K_EVIDENCE if evidence else _K_PEOPLE),
        roles=caller.acting_roles(fields.maybe_texts("roles")),
        as_of=fields.date("as_of"),
        paths=fields.texts("paths"),
        tags=fields.texts("tags"),
        where=fields.pairs("where"),
        since_ns=_moment(fields.text("since"), now_ns),
        until_ns=_moment(fields.text("until"), now_ns),
        must=fields.texts("must"),
        phrase=fields.texts("phrase"),
        exclude=fields.texts("not"),
        prefix=fields.flag("prefix"),
        sort=_sort(fields),
        max_per_document=_count(
            fields, "max_per_document", _PER_DOCUMENT_EVIDENCE if evidence else _PER_DOCUMENT_PEOPLE
        ),
        distinct=fields.flag("distinct", default=True),
        explain=fields.flag("explain"),
        trace=fields.flag("trace"),
        safe=fields.flag("safe"),
        evidence=evidence,
    )
    _refuse_unbounded(request)
    return _with_evidence_fields(request, fields) if evidence else request


def _refuse_unbounded(request: SearchRequest) -> None:
    chars = sum(map(len, (request.text, *request.must, *request.phrase, *request.exclude)))
    if chars > _MAX_QUERY_CHARS:
        asked = f"'text', 'must', 'phrase' and 'not' have {chars:,} characters together"
        raise RequestError(f"{asked}, the most is {_MAX_QUERY_CHARS:,}: ask for less")
    if chars > _LONG_CHARS and not 0 < request.k <= _MOST_HITS_OF_LONG:
        raise RequestError(f"a question of {chars:,} characters gets {_MOST_HITS_OF_LONG} hits at most: ask for fewer")
    if len(request.paths) > _MAX_GLOBS:
        raise RequestError(f"'paths' has {len(request.paths):,} globs, the most is {_MAX_GLOBS}: name folders")


def _with_evidence_fields(request: SearchRequest, fields: Fields) -> SearchRequest:
    chars, tokens = fields.integer("budget_chars", low=1), fields.integer("budget_tokens", low=1)
    if chars is not None and tokens is not None:
        raise RequestError("give 'budget_chars' or 'budget_tokens', not both")
    return request._replace(
        budget_chars=chars if chars is not None else DEFAULT_BUDGET_CHARS,
        budget_tokens=tokens,
        context=_context(fields),
        min_coverage=fields.number("min_coverage", 0.0, high=1.0) or 0.0,
        conflicts=fields.flag("conflicts"),
    )


def _count(fields: Fields, name: str, default: int) -> int:
    value = fields.integer(name, default, high=_MAX_K)
    return default if value is None else value


def _moment(text: str | None, now_ns: Callable[[], int]) -> int | None:
    # To the microsecond: that is what the reply can say of it, so that the same can be asked again.
    return None if text is None else moment_ns(text, now_ns()) // 1000 * 1000


def _sort(fields: Fields) -> Sort:
    chosen = fields.choice("sort", SORTS, "score")
    return next(sort for sort in SORTS if sort == chosen)


def _context(fields: Fields) -> int | Literal["section"]:
    return "section" if fields.is_word("context", "section") else fields.integer("context", 0, high=10_000) or 0


class _Found(NamedTuple):
    snapshot: Snapshot
    outcome: SearchOutcome
    historical: Json | None = None


class _Timing(NamedTuple):
    barrier: Barrier
    waited: float
    took: float


def _is_plain(asked: Asked) -> bool:
    """Whether it is sure to cost little: a short text, a few hits, nothing that every passage is held against."""
    request = asked.request
    is_small = 0 < request.k <= _AT_ONCE_K and len(request.text) <= _AT_ONCE_CHARS and asked.generation is None
    return is_small and request.sort == "score" and not (request.is_filtered or request.prefix or request.trace)


def _problem(barrier: Barrier) -> Json:
    failure = barrier.failure
    return {"problem": {"code": failure.code, "detail": printable_path(failure.detail)}} if failure else {}


def _reads(seen: Mapping[SourcePath, Seen]) -> dict[SourcePath, SourceRead | SourceFault]:
    return {path: one.read for path, one in seen.items()}


class Searching:
    """Answers `query` and `evidence`."""

    def __init__(self, parts: Parts, visibility: Visibility) -> None:
        self._parts = parts
        self._visibility = visibility
        self._at_once_from = float("-inf")

    def answer_at_once(self, caller: Caller, params: Payload) -> Json | None:
        """Answer a plain query of an owner; None where that may take a while: then `answer` is for it.

        Raises:
            RequestError: The request is wrong.
        """
        parts, clock = self._parts, self._parts.clock
        if parts.sync.may_hang():
            return None
        asked, started = read_asked(params, caller, clock.now_ns, evidence=False), clock.monotonic()
        if not (caller.is_owner and _is_plain(asked)) or started < self._at_once_from or parts.sync.held():
            return None
        self._refuse_other_store(asked)
        barrier = parts.sync.barrier(started)
        if barrier.state != "current" and asked.wait_seconds > 0:
            return None
        building = barrier.state == "building"
        found = self._search(parts.store.snapshot(), asked, building=building, proof_seconds=_AT_ONCE_SECONDS)
        if "proof_budget" in found.outcome.rejected_counts:
            self._at_once_from = clock.monotonic() + _SLOW_SECONDS
            return None
        if found.outcome.unproved and asked.wait_seconds > 0:
            return None
        waited = barrier.waited_seconds
        return self._reply(caller, asked, found, _Timing(barrier, waited, clock.monotonic() - started - waited))

    def answer(self, caller: Caller, params: Payload, *, evidence: bool) -> Json:
        """Answer one request.

        Args:
            caller: Who asks.
            params: As sent.
            evidence: Whether it is `evidence`.

        Raises:
            RequestError: The request is wrong.
        """
        clock = self._parts.clock
        asked = read_asked(params, caller, clock.now_ns, evidence=evidence)
        self._refuse_other_store(asked)
        started = clock.monotonic()
        deadline = started + asked.wait_seconds
        kept = 0.0 if asked.generation is not None else min(asked.wait_seconds * 3 / 4, _KEPT_FOR_REPAIR_SECONDS)
        barrier = self._parts.sync.barrier(deadline - kept)
        building = barrier.state == "building"
        waited = barrier.waited_seconds
        if asked.generation is not None and (caller.is_owner or asked.generation != self._shown_now(caller)):
            found = self._recalled(caller, asked)
            return self._reply(caller, asked, found, _Timing(barrier, waited, clock.monotonic() - started - waited))
        found = self._search(self._parts.store.snapshot(), asked, building=building)
        if found.outcome.unproved and clock.monotonic() < deadline:
            found, waited_more = self._repaired(found, asked, deadline, building=building)
            waited += waited_more
        if barrier.state != "current" and clock.monotonic() < deadline:
            found, barrier, waited_more = self._waited_on(found, asked, barrier, deadline)
            waited += waited_more
        timing = _Timing(barrier, waited, clock.monotonic() - started - waited)
        return self._reply(caller, asked, found, timing)

    def _search(
        self,
        snapshot: Snapshot,
        asked: Asked,
        seen: Mapping[SourcePath, Seen] = _NOTHING,
        *,
        building: bool,
        proof_seconds: float = PROOF_SECONDS,
    ) -> _Found:
        held = self._parts.sync.held()
        outcome = self._parts.engine(
            snapshot, asked.request, held=held, building=building, seen=seen, proof_seconds=proof_seconds
        )
        return _Found(snapshot, outcome)

    def _repaired(self, found: _Found, asked: Asked, deadline: float, *, building: bool) -> tuple[_Found, float]:
        """Have what was seen indexed and search that, until everything is proved, nothing changes, or the time is out.

        Returns:
            The last search, and the seconds spent waiting.
        """
        parts, seen, waited = self._parts, dict[SourcePath, Seen](), 0.0
        while (before := parts.clock.monotonic()) < deadline and found.outcome.unproved:
            known = _reads(seen)
            seen.update(found.outcome.unproved)
            reads = _reads(seen)
            snapshot = parts.sync.repair(reads, deadline)
            waited += parts.clock.monotonic() - before
            if snapshot is None:
                # All the same: a file may have become held, or whole, in the meantime.
                return self._search(parts.store.snapshot(), asked, seen, building=building), waited
            if reads == known and snapshot.generation == found.snapshot.generation:
                break
            found = self._search(snapshot, asked, seen, building=building)
        return found, waited

    def _waited_on(
        self, found: _Found, asked: Asked, barrier: Barrier, deadline: float
    ) -> tuple[_Found, Barrier, float]:
        """Wait for the rest of what was written, and search once more if that comes in time.

        Returns:
            What to answer, the barrier that holds for it, and the seconds spent waiting.
        """
        rest = self._parts.sync.barrier(deadline, barrier)
        building = rest.state == "building"
        # Amid a bulk run, too, what was saved by itself is searchable long before the whole is.
        if rest.state != "current" and (barrier.named or not rest.named):
            return found, barrier, rest.waited_seconds
        newer, waited = self._search(self._parts.store.snapshot(), asked, building=building), rest.waited_seconds
        if newer.outcome.unproved:
            newer, waited_more = self._repaired(newer, asked, deadline, building=building)
            waited += waited_more
        # An answer without a hole that may lack the newest is better than one that has a hole.
        is_whole = not newer.outcome.unproved or bool(found.outcome.unproved)
        return (newer, rest, waited) if is_whole else (found, barrier, waited)

    def _refuse_other_store(self, asked: Asked) -> None:
        store_id = self._parts.store.store_id
        if asked.store_id not in {None, store_id}:
            raise GenerationError("other_store", f"this is store {store_id}, not {asked.store_id}")

    def _recalled(self, caller: Caller, asked: Asked) -> _Found:
        assert asked.generation is not None
        if not caller.is_owner:
            # Older generations are the owner's: their numbers would tell others what they may not see.
            shown = self._shown_now(caller)
            message = f"generation {asked.generation} is not kept; the current one is {shown}"
            raise GenerationError("generation_not_kept", message)
        return _Found(*recall(self._parts, asked.request, asked.generation))

    def _shown_now(self, caller: Caller) -> int:
        return self._shown_generation(caller, self._parts.store.snapshot())

    def _shown_generation(self, caller: Caller, snapshot: Snapshot) -> int:
        if caller.is_owner:
            return snapshot.generation
        return self._visibility.number(snapshot, caller.roles, self._parts.clock.today())

    def _held(self, request: SearchRequest, snapshot: Snapshot) -> int:
        """Return how many documents that the asker may see cannot be looked at now."""
        day = request.as_of or self._parts.clock.today()
        return self._visibility.admitted(snapshot, self._parts.sync.held(), request.roles, day)

    def _reply(self, caller: Caller, asked: Asked, found: _Found, timing: _Timing) -> Json:
        snapshot, outcome = found.snapshot, found.outcome
        reached = timing.barrier.state
        state = "pending" if outcome.unproved and reached == "current" else reached
        result: Json = {
            "protocol": PROTOCOL_VERSION,
            **as_json(outcome, snapshot),
            "historical": found.historical,
            "took_ms": round(timing.took * 1000, 3),
            "freshness": {"state": state},
        }
        if caller.is_owner:
            held = 0 if found.historical is not None else self._held(asked.request, snapshot)
            said: Json = {"state": state, "waited_ms": round(timing.waited * 1000, 3)}
            result["freshness"] = said | ({"held": held} if held else {}) | _problem(timing.barrier)
        else:
            # Becoming durable follows each publish, also of what this caller may not see.
            del result["durable"]
            result["request"] = {name: value for name, value in request_json(outcome).items() if name != "roles"}
            result["generation"] = self._shown_generation(caller, snapshot)
        if not snapshot.settings:
            from indexerd.indexing import settings_fingerprint  # noqa: PLC0415 - only before the first publish

            # A first publish may have been of what this caller may not see.
            result["settings"] = settings_fingerprint(self._parts.settings)
        if not asked.request.evidence:
            del result["evidence"]
        elif outcome.evidence is not None:
            self._parts.store.pin(snapshot.generation)
        if asked.request.conflicts:
            from indexerd.service.disagreeing import conflicts_of  # noqa: PLC0415 - 17 ms of a start, for what few ask

            result["conflicts"] = conflicts_of(self._parts, found.snapshot, outcome, result)
        return keep_sendable(result, asked.after)
