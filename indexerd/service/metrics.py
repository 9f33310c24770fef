"""`metrics`: the state of the index and what was asked of it, in the text form that Prometheus reads.

Owns: names, kinds and help of every metric; the text format.
Knows nothing of: who scrapes, how anything is counted.
Invariants: 1. for owners only: counts tell of documents that others may not see. 2. no label holds text of a query or a
    name of a document.
Purity: shell (through its parts).
See: docs/operations.md (metrics), docs/protocol.md (metrics).
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple, cast, get_args

from indexerd.protocol import PROTOCOL_VERSION
from indexerd.protocol.fields import Fields
from indexerd.protocol.messages import Payload
from indexerd.service.callers import Caller
from indexerd.service.figures import Figures, Histogram
from indexerd.service.parts import Parts
from indexerd.service.rendering import Json
from indexerd.sync.status import State, SyncStatus


class Sample(NamedTuple):
    """One line: what stands behind the metric's name, the labels, the value."""

    value: float
    labels: tuple[tuple[str, str], ...] = ()
    suffix: str = ""


class Metric(NamedTuple):
    """One metric with its samples. `name` is without the prefix `indexerd_`."""

    name: str
    kind: str
    about: str
    samples: tuple[Sample, ...]


class Metrics:
    """Answers `metrics`."""

    def __init__(self, parts: Parts, figures: Figures) -> None:
        self._parts, self._figures = parts, figures

    def metrics(self, caller: Caller, params: Payload) -> Json:
        """Give every metric as text.

        Raises:
            ForbiddenError: The caller is no owner.
            StoreLockedError: Somebody else keeps the store; ask it.
        """
        Fields(params).close()
        caller.require_owner("metrics")
        with self._figures.lock:
            counted = tuple(_counted(self._figures))
        every = (*counted, *self._store(), *_sync(self._parts.sync.status()), *self._process())
        return {"protocol": PROTOCOL_VERSION, "text": "".join(map(_text, every))}

    def _store(self) -> Iterator[Metric]:
        snapshot, known = self._parts.store.snapshot(), self._parts.store.statistics()
        yield _gauge("generation", "The generation that queries are answered from", known.generation)
        yield _gauge("durable_generation", "The newest one that outlives a power cut", known.durable_generation)
        yield _gauge("documents", "Documents in the index", snapshot.document_count)
        yield _gauge("chunks", "Their chunks", snapshot.chunk_count)
        yield _gauge("unsafe_chunks", "Chunks held back from evidence", snapshot.unsafe_chunk_count)
        yield _gauge("text_bytes", "Text of the living documents", known.live_text_bytes)
        yield _gauge("stored_bytes", "Files of the current generation", known.stored_bytes)
        yield _gauge("history_bytes", "Files that only older generations need", known.history_bytes)
        yield _counter("merges_total", "Merges of segments", known.merges)
        yield _counter("checkpoints_total", "Times the index was made durable", known.checkpoints)
        published = (Sample(known.publish_seconds, suffix="_sum"), Sample(known.publishes, suffix="_count"))
        yield Metric("publish_seconds", "summary", "Time to write and publish one generation", published)
        at = known.published_at_ns / 1e9
        yield _gauge("published_timestamp_seconds", "When the current generation was published", at)

    def _process(self) -> Iterator[Metric]:
        status = self._parts.extra_status()
        for name, about in _SOCKET:
            if isinstance(value := status.get(name), int):
                yield _gauge(f"socket_{name}", about, value)
        for name, value in self._parts.process().items():
            kind = "counter" if name.endswith("_total") else "gauge"
            yield Metric(name, kind, _PROCESS[name], (Sample(value),))


_SOCKET = (("connections", "Connections open now"), ("limit", "The most at a time"))
_PROCESS = {
    "process_resident_memory_bytes": "Memory of the daemon in use (VmRSS)",
    "process_cpu_seconds_total": "Processor time, its worker processes that ended included",
    "process_open_fds": "Files and sockets open",
    "process_start_time_seconds": "When the process began",
}


def _counted(figures: Figures) -> Iterator[Metric]:
    sums = figures.sums
    yield _labelled("requests_total", "Requests by method", ("method",), figures.requests)
    yield _labelled("request_errors_total", "Requests refused or failed", ("method", "code"), figures.errors)
    timed = [sample for method, one in figures.seconds.items() for sample in _buckets(one, (("method", method),))]
    yield Metric("request_seconds", "histogram", "Time to answer, waiting included", tuple(timed))
    yield _counter("hits_total", "Proved hits that were given", sums["hits"])
    yield _labelled("rejected_total", "Candidates found and not given, by code", ("code",), figures.rejected)
    yield _labelled("abstentions_total", "Evidence withheld, by reason", ("reason",), figures.abstentions)
    yield _counter("claims_total", "Claims of answers that were checked", sums["claim_count"])
    yield _counter("uncited_claims_total", "Those without a citation", sums["uncited_claim_count"])
    yield _counter("citations_total", "Citations of answers that were checked", sums["citation_count"])
    verdicts = {word: sums[f"verdict_{word}"] for word in ("pass", "fail")}
    yield _labelled("checks_total", "Answers that were checked, by verdict", ("verdict",), verdicts)
    about = "Share of an answer's claims that are supported and cited without fault"
    yield Metric("citation_coverage", "histogram", about, tuple(_buckets(figures.coverage, ())))


def _sync(status: SyncStatus) -> Iterator[Metric]:
    states = {state: int(state == status.state) for state in get_args(State)}
    yield _labelled("state", "1 for the state that the index is in", ("state",), states, "gauge")
    yield _gauge("pending", "Paths that still need a look", status.pending)
    yield _gauge("skipped", "Files that are not indexed", len(status.skipped))
    yield _gauge("held", "Documents that cannot be looked at now", len(status.held))
    yield _gauge("watches", "Folders watched", status.watches)
    yield _counter("event_overflows_total", "How often the kernel lost events", status.overflows)
    problems = {problem.code: problem.count for problem in status.problems}
    yield _labelled("problem", "What makes a promise weaker, and how often it was met", ("code",), problems, "gauge")
    if status.reconciled_age_seconds is not None:
        yield _gauge("reconciled_age_seconds", "Since the last complete scan", status.reconciled_age_seconds)


def _gauge(name: str, about: str, value: float) -> Metric:
    return Metric(name, "gauge", about, (Sample(value),))


def _counter(name: str, about: str, value: float) -> Metric:
    return Metric(name, "counter", about, (Sample(value),))


def _labelled(
    name: str, about: str, labels: tuple[str, ...], values: Mapping[str, int] | Mapping[tuple[str, str], int],
    kind: str = "counter",
) -> Metric:  # fmt: skip
    counts = cast("Mapping[str | tuple[str, str], int]", values)
    keyed = sorted(((key,) if isinstance(key, str) else key, count) for key, count in counts.items())
    return Metric(name, kind, about, tuple(Sample(count, tuple(zip(labels, key, strict=True))) for key, count in keyed))


def _buckets(histogram: Histogram, labels: tuple[tuple[str, str], ...]) -> Iterator[Sample]:
    reached = 0
    for bound, count in zip((*histogram.bounds, None), histogram.counts, strict=True):
        reached += count
        yield Sample(reached, (*labels, ("le", "+Inf" if bound is None else repr(bound))), "_bucket")
    yield Sample(histogram.total, labels, "_sum")
    yield Sample(reached, labels, "_count")


def _text(metric: Metric) -> str:
    name = metric.name if metric.name.startswith("process_") else f"indexerd_{metric.name}"
    lines = [f"# HELP {name} {metric.about}.", f"# TYPE {name} {metric.kind}"]
    for sample in metric.samples:
        labels = ",".join(f'{key}="{_escaped(value)}"' for key, value in sample.labels)
        lines.append(f"{name}{sample.suffix}{'{' + labels + '}' if labels else ''} {sample.value!r}")
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
