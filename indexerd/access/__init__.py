"""Who may see what: rights, path rules, and the safety gate.

Owns: roles, validity, versions of a series, and what is held back as an instruction to a model.
Knows nothing of: callers' identities, sockets, the store, chunks.
Invariants: see the modules.
Purity: pure.
See: docs/operations.md (rules), docs/threat-model.md (safety gate).
"""

from indexerd.access.globs import matches
from indexerd.access.rights import (
    OPEN,
    AccessRules,
    PathRule,
    Rights,
    admits,
    effective_metadata,
    rights,
    superseded,
)
from indexerd.access.safety import SAFETY_VERSION, scan_text, scan_texts

__all__ = [
    "OPEN",
    "SAFETY_VERSION",
    "AccessRules",
    "PathRule",
    "Rights",
    "admits",
    "effective_metadata",
    "matches",
    "rights",
    "scan_text",
    "scan_texts",
    "superseded",
]
