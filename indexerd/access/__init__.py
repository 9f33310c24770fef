"""Who may see what: rights, path rules, and the safety gate.

Owns: roles, validity, versions of a series, and what is held back as an instruction to a model.
Knows nothing of: callers' identities, sockets, the store, chunks.
Invariants: see the modules.
Purity: pure.
See: docs/operations.md (rules), docs/threat-model.md (safety gate).
"""

from typing import TYPE_CHECKING

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

# The gate needs numpy and many patterns; the rules alone, which every command reads with its settings, do not.
if TYPE_CHECKING:
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


def __getattr__(name: str) -> object:
    if name in {"SAFETY_VERSION", "scan_text", "scan_texts"}:
        from indexerd.access import safety  # noqa: PLC0415 - see above

        return getattr(safety, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
