"""Answering from a generation of the past: its text, under the rights of today.

Owns: what today hides of a past generation; proof of kept text by its kept hash.
Knows nothing of: ranking, why a generation is kept, who asks.
Invariants: 1. a document is hidden if the version then, the last known one, or the bytes that are there now hide it by
    role; days of validity are those of the version then. 2. no clock decides what is given: equal questions get equal
    answers.
Purity: shell (reads sources through the port).
See: docs/consistency.md (replay), docs/protocol.md (generation).
"""

from typing import TYPE_CHECKING

import numpy as np

from indexerd.access.rights import AccessRules, may_see, rights
from indexerd.digests import content_hash
from indexerd.errors import CorruptionError, GenerationError
from indexerd.model import ContentHash, Settings, SourcePath
from indexerd.ports import Clock, SourceRead, Sources
from indexerd.search.freshness import PROOF_BYTES, Hidden, Proved, Unproved, Verdict
from indexerd.search.rights import rights_of, rights_of_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from indexerd.search.outcome import Seen
    from indexerd.store.parts import Stored
    from indexerd.store.snapshot import Snapshot


def hidden_today(
    then: "Snapshot", now: "Snapshot", later: "Iterable[Stored]", roles: frozenset[str], rules: AccessRules
) -> frozenset[SourcePath]:
    """Return the documents of a past generation that their last known version hides from these roles.

    Args:
        then: The past generation.
        now: The current one: the last known version of whatever is in it.
        later: Segments of the generations between, newest first, for what is deleted by now.
        roles: Of the caller.
        rules: In force today.
    """
    hidden = {
        segment.data.paths[index]
        for segment in now.segments
        for index, own in rights_of(segment.data, rules).items()
        if segment.live[index] and not may_see(own, roles)
    }
    missing = _paths(then) - _paths(now)
    for stored in later if missing else ():
        for path in sorted(missing):
            number = stored.data.find(path)
            if number >= 0:
                missing.discard(path)
                if not may_see(rights(stored.data.document(number), rules), roles):
                    hidden.add(path)
    return frozenset(hidden)


def _paths(snapshot: "Snapshot") -> set[SourcePath]:
    return {one.data.paths[i] for one in snapshot.segments for i in np.flatnonzero(one.live).tolist()}


class StoredProver:
    """Proves documents of a past generation by the text that is kept of them. Nothing is ever `unproved`."""

    def __init__(  # noqa: PLR0913 - what a proof needs
        self,
        then: "Snapshot",
        now: "Snapshot",
        *,
        sources: Sources,
        clock: Clock,
        settings: Settings,
        rules: AccessRules,
        roles: frozenset[str],
        bounded: bool,
    ) -> None:
        """Prove what `then` holds; `now` and the sources say what the roles may see of it."""
        self._then, self._now, self._sources, self._clock = then, now, sources, clock
        self._settings, self._rules, self._roles, self._bounded = settings, rules, roles, bounded
        self._verdicts: dict[SourcePath, Verdict] = {}
        self._bytes_read = 0
        self.unproved: dict[SourcePath, Seen] = {}

    def document(self, source_path: SourcePath, expected: ContentHash) -> Verdict:
        """Prove a document by its kept text.

        Raises:
            GenerationError: The kept text is not what was indexed.
        """
        known = self._verdicts.get(source_path)
        if known is not None:
            return known
        if self._bounded and self._bytes_read > PROOF_BYTES:
            return Unproved("proof_budget")
        verdict = self._verdicts[source_path] = self._proved(source_path, expected)
        return verdict

    def mismatch(self, source_path: SourcePath) -> Unproved:
        """Say that a passage of a proved document is not what its index says.

        Raises:
            GenerationError: Always: there is no newer file that could mend it.
        """
        raise self._damage(source_path)

    def _proved(self, source_path: SourcePath, expected: ContentHash) -> Verdict:
        found = self._then.find(source_path)
        try:
            data = bytes(found[0].data.raw(found[1])) if found is not None else b""
        except CorruptionError as error:
            raise self._damage(source_path) from error
        if found is None or content_hash(data) != expected:
            raise self._damage(source_path)
        self._bytes_read += len(data)
        if self._is_hidden(source_path):
            return Hidden()
        return Proved(data, None, self._clock.now_ns())

    def _is_hidden(self, source_path: SourcePath) -> bool:
        """Whether the bytes that are there now hide the document; those that are indexed were asked before."""
        read = self._sources.read(source_path)
        if not isinstance(read, SourceRead):
            return False
        indexed = self._now.find(source_path)
        if indexed is not None and content_hash(read.data) == indexed[0].data.content_hashes[indexed[1]].tobytes():
            return False
        return not may_see(rights_of_bytes(source_path, read.data, self._settings, self._rules), self._roles)

    def _damage(self, source_path: SourcePath) -> GenerationError:
        message = f"generation {self._then.generation} is damaged: the kept text of {source_path!r} is not what it was"
        return GenerationError("generation_damaged", message)
