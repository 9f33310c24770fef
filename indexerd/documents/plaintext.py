"""Plain text: no headings, no blocks.

Owns: the decision that plain text has no structure but its blank lines.
Knows nothing of: everything else.
Invariants: 1. every text is one section.
Purity: pure.
See: docs/search.md (chunks).
"""

from indexerd.documents.outline import Outline


def outline(_text: str) -> Outline:
    """Return an empty outline."""
    return Outline([], [])
