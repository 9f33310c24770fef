"""An answer from a generation of the past, for a caller who may see today what was seen then.

Owns: which generation and which day such an answer is of; what is said of it beside the answer.
Knows nothing of: scoring, proof, how generations are kept.
Invariants: 1. equal requests get equal answers, save for what today hides. 2. where the program or its settings have
    changed since, the answer says which.
Purity: shell (through its parts).
See: docs/protocol.md (generation), docs/consistency.md (replay).
"""

from collections.abc import Iterator
from typing import NamedTuple

from indexerd.errors import RequestError
from indexerd.search import SearchRequest, hidden_today
from indexerd.search.outcome import SearchOutcome
from indexerd.service.parts import Parts
from indexerd.service.rendering import Json, moment
from indexerd.store import Snapshot


class Recalled(NamedTuple):
    """An answer of the past, and what the reply says of that under `historical`."""

    snapshot: Snapshot
    outcome: SearchOutcome
    about: Json


def recall(parts: Parts, request: SearchRequest, generation: int) -> Recalled:
    """Answer a request from a kept generation, as of the day it was published on unless the request names one.

    Raises:
        GenerationError: The generation is not kept, or damaged.
        RequestError: The request asks for times of files, of which no history is kept.
    """
    if request.since_ns is not None or request.until_ns is not None or request.sort == "modified":
        raise RequestError("times of files are not kept: 'since', 'until' and the order by 'modified' are of now alone")
    past = parts.store.past()
    snapshot, published_at_ns = past.open(generation), past.info(generation).published_at_ns
    day = request.as_of or parts.clock.day_of(published_at_ns)
    hidden = hidden_today(snapshot, past.current, past.last_versions(generation), request.roles, parts.access)
    outcome = parts.engine(
        snapshot, request._replace(as_of=day), held=hidden, building=False, seen={}, now=past.current
    )
    about: Json = {
        "published_at": moment(published_at_ns),
        "changed": list(_changed(parts, snapshot)),
        "erased": snapshot.erased,
    }
    return Recalled(snapshot, outcome, about)


def _changed(parts: Parts, snapshot: Snapshot) -> Iterator[str]:
    """Yield what makes answers from a generation differ from those that were given then."""
    then, now = snapshot.versions, parts.versions
    if then.analyzer != now.analyzer:
        yield f"analyzer version {then.analyzer}, now {now.analyzer}"
    if then.ranking != now.ranking:
        yield f"ranking version {then.ranking}, now {now.ranking}"
    from indexerd.indexing import settings_fingerprint  # noqa: PLC0415 - as `rights_of_bytes`

    settings = settings_fingerprint(parts.settings)
    if snapshot.settings != settings:
        yield f"settings {snapshot.settings}, now {settings}"
