"""Answers held to their sources: claims, support, checks. Pure; knows no store, no socket, no files.

See: docs/grounding.md.
"""

from indexerd.grounding.answers import Answer, Evidence, EvidenceBlock, evidence_of, structured_answer, text_answer
from indexerd.grounding.checking import Proof, Report, check_answer
from indexerd.grounding.support import Support, support_of

__all__ = [
    "Answer",
    "Evidence",
    "EvidenceBlock",
    "Proof",
    "Report",
    "Support",
    "check_answer",
    "evidence_of",
    "structured_answer",
    "support_of",
    "text_answer",
]
