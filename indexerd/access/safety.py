"""The safety gate: lines that try to instruct a model.

Owns: what counts as such a line, in which languages.
Knows nothing of: rules, documents, what is done with a finding.
Invariants: 1. a pattern has no repetition inside a repetition, and gaps are bounded: linear time. 2. a text without
    any cue costs a few substring searches. 3. findings are in line order, one for a line and pattern.
Purity: pure.
See: docs/threat-model.md (safety gate) for recall and false alarms; benchmarks/bench_safety.py measures them.
"""

from collections.abc import Iterator

from indexerd.access.disguise import reveal
from indexerd.access.injections import PATTERNS
from indexerd.model import UnsafeFinding

SAFETY_VERSION = 1

_MAX_FINDINGS = 100


def scan_text(text: str) -> tuple[UnsafeFinding, ...]:
    """Return the lines of a text that try to instruct a model, with the names of the patterns; at most 100.

    Args:
        text: The decoded source. Lines are counted at LF.
    """
    revealed = reveal(text)
    found: set[UnsafeFinding] = set()
    if revealed.hidden_at >= 0:
        found.add(UnsafeFinding(text.count("\n", 0, revealed.hidden_at) + 1, "hidden_text"))
    for reading in revealed.texts:
        found.update(_scan(reading.lower()))
    return tuple(sorted(found)[:_MAX_FINDINGS])


def _scan(reading: str) -> Iterator[UnsafeFinding]:
    for name, pattern in PATTERNS:
        for match in pattern.finditer(reading):
            yield UnsafeFinding(reading.count("\n", 0, match.start()) + 1, name)
