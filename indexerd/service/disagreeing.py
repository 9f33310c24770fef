"""What blocks of evidence disagree on, with what would settle it: validity, version, time of the file.

Owns: where the age of a document comes from.
Knows nothing of: how a conflict is found.
Invariants: 1. a side is a block of the evidence, and in a check one that holds for this caller.
Purity: pure over what was read.
See: docs/grounding.md (conflicts), docs/protocol.md (evidence, check).
"""

from collections.abc import Callable, Mapping, Sequence

from indexerd.access.rights import OPEN, Rights, rights
from indexerd.grounding.answers import EvidenceBlock, evidence_of
from indexerd.grounding.reporting import Age, conflict_json, disagreements
from indexerd.model import SourcePath
from indexerd.search.outcome import SearchOutcome
from indexerd.service.parts import Parts
from indexerd.service.rendering import Json, moment
from indexerd.store import Snapshot


def conflicts_of(parts: Parts, snapshot: Snapshot, outcome: SearchOutcome, reply: Mapping[str, object]) -> list[Json]:
    """Return the conflicts between the blocks of an evidence reply."""
    if outcome.evidence is None:
        return []
    modified = {hit.source_path: hit.modified_ns for hit in outcome.hits}

    def age_of(source: str) -> Age:
        where = snapshot.find(SourcePath(source))
        document = None if where is None else where[0].data.document(where[1])
        own = rights(document, parts.access) if document else OPEN
        return age(own, modified.get(SourcePath(source)))

    return conflicts_between(evidence_of(reply).blocks, age_of)


def conflicts_between(blocks: Sequence[EvidenceBlock], age_of: Callable[[str], Age]) -> list[Json]:
    """Return the conflicts between blocks that hold."""
    return [conflict_json(*found, age_of) for found in disagreements(blocks)]


def age(own: Rights, modified_ns: int | None) -> Age:
    """Return what tells how old a document is."""
    when = "" if modified_ns is None else moment(modified_ns)
    return Age(own.valid_from, own.valid_to, own.version_key, when)
