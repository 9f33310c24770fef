"""Proof that a passage still stands in its source, from one read of the bytes.

Owns: what counts as proof, the limit on reading, and what happens when the bytes now hide the document.
Knows nothing of: ranking, why a passage was chosen, how files are opened.
Invariants: 1. the text that is given is cut from the bytes that proved it. 2. a source is read at most once a search;
    what an earlier search of the same query saw is not read again where the index now holds just that. 3. a document
    whose present bytes the caller may not see leaves no trace in the reply.
Purity: shell (reads sources through the port).
See: docs/consistency.md (proof).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

from indexerd.digests import content_hash
from indexerd.model import Chunk, ContentHash, SourcePath
from indexerd.ports import Clock, SourceFault, SourceRead, Sources
from indexerd.search.outcome import RejectionCode, Seen

# A query may read this much, or this long, before the rest is withheld: the promise is to say so, not to stall.
PROOF_BYTES: Final = 64 * 1024 * 1024
PROOF_SECONDS: Final = 0.25


class Proved(NamedTuple):
    """The bytes a document consists of, now, equal to those that were indexed.

    Attributes:
        data: Raw bytes.
        modified_ns: Modification time at the read; None for text that is kept: of files no times are.
        validated_at_ns: When they were read.
    """

    data: bytes
    modified_ns: int | None
    validated_at_ns: int


class Unproved(NamedTuple):
    """Why a document or passage is withheld."""

    code: RejectionCode


@dataclass(frozen=True, slots=True)
class Hidden:
    """The present bytes hide the document from the caller: it must not be mentioned."""


Verdict = Proved | Unproved | Hidden


class Proof(Protocol):
    """What proves documents for one search."""

    def document(self, source_path: SourcePath, expected: ContentHash) -> Verdict:
        """Prove a document whose bytes have this hash."""
        ...

    def mismatch(self, source_path: SourcePath) -> Unproved:
        """Record that a passage of a proved document is not what the index says."""
        ...


class Prover:
    """Proves documents for one search. `unproved` collects what was seen of the files that should be indexed anew.

    Args:
        hides: Given a path and its present bytes, says whether they hide the document from the caller.
        seen: What an earlier search of this query saw: proof as good as a new read, where it is what is indexed now.
        seconds: How long, and with it how much, may be read, a first document in any case; None where every hit was
            asked for: then only the caller's patience limits the reading.
    """

    def __init__(
        self,
        sources: Sources,
        clock: Clock,
        hides: Callable[[SourcePath, bytes], bool],
        seen: Mapping[SourcePath, Seen],
        seconds: float | None,
    ) -> None:
        self._sources, self._clock, self._hides = sources, clock, hides
        self._seen = dict(seen)
        self._verdicts: dict[SourcePath, Verdict] = {}
        self._bytes_read = 0
        # Of reading alone: what a busy machine takes between two reads must not withhold what is on the disk.
        self._seconds_read, self._seconds = 0.0, seconds
        self.unproved: dict[SourcePath, Seen] = {}

    def document(self, source_path: SourcePath, expected: ContentHash) -> Verdict:
        """Prove a document, by reading it unless this query did so already."""
        verdict = self._verdicts.get(source_path)
        if verdict is None:
            if self._seconds is not None and (self._bytes_read > PROOF_BYTES or self._seconds_read > self._seconds):
                # Not remembered: the limit is about this moment, not about the document.
                return Unproved("proof_budget")
            verdict = self._verdicts[source_path] = self._read(source_path, expected)
            if not isinstance(verdict, Proved):
                self.unproved[source_path] = self._seen[source_path]
        return verdict

    def _read(self, source_path: SourcePath, expected: ContentHash) -> Verdict:
        before = self._seen.get(source_path)
        if before is not None and isinstance(before.read, SourceRead) and content_hash(before.read.data) == expected:
            return Proved(before.read.data, before.read.stat.mtime_ns, before.at_ns)
        started = self._clock.monotonic()
        read = self._sources.read(source_path)
        self._seconds_read += self._clock.monotonic() - started
        seen = self._seen[source_path] = Seen(read, self._clock.now_ns())
        if isinstance(read, SourceFault):
            return Unproved(read.code)
        self._bytes_read += len(read.data)
        if content_hash(read.data) == expected:
            return Proved(read.data, read.stat.mtime_ns, seen.at_ns)
        return Hidden() if self._hides(source_path, read.data) else Unproved("source_changed")

    def mismatch(self, source_path: SourcePath) -> Unproved:
        """Record that a document's bytes are right and a passage of it is not: the index must be redone."""
        self.unproved[source_path] = self._seen[source_path]
        return Unproved("citation_mismatch")


def is_in_place(proved: Proved, stored: Chunk) -> bool:
    """Whether a chunk begins at the line that the index says: its text is cut, and hashed, by its bytes."""
    return proved.data.count(b"\n", 0, stored.byte_start) == stored.span.first - 1
