"""From a query and a snapshot to proved hits and evidence.

Owns: eligibility, ranking, proof, selection, excerpts, abstention, evidence.
Knows nothing of: how snapshots are made, sockets, callers' identities.
Invariants: see `engine.py`.
Purity: shell (proof reads sources through the port).
See: docs/search.md.
"""

from indexerd.search.engine import search
from indexerd.search.outcome import EvidenceSet, Hit, SearchOutcome
from indexerd.search.reply import as_json
from indexerd.search.request import SearchRequest, evidence_request, moment_ns

__all__ = [
    "EvidenceSet",
    "Hit",
    "SearchOutcome",
    "SearchRequest",
    "as_json",
    "evidence_request",
    "moment_ns",
    "search",
]
