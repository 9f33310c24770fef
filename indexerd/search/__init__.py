"""From a query and a snapshot to proved hits and evidence.

Owns: eligibility, ranking, proof, selection, excerpts, abstention, evidence.
Knows nothing of: how snapshots are made, sockets, callers' identities.
Invariants: see `engine.py`.
Purity: shell (proof reads sources through the port).
See: docs/search.md.
"""

from indexerd.search.engine import search
from indexerd.search.outcome import EvidenceSet, Hit, SearchOutcome
from indexerd.search.recall import hidden_today
from indexerd.search.reply import as_json
from indexerd.search.request import SearchRequest, evidence_request, moment_ns

RANKING_VERSION = 7
"""Raised with every change after which equal generations, requests and rights may be answered otherwise."""

__all__ = [
    "RANKING_VERSION",
    "EvidenceSet",
    "Hit",
    "SearchOutcome",
    "SearchRequest",
    "as_json",
    "evidence_request",
    "hidden_today",
    "moment_ns",
    "search",
]
