"""What was asked and answered since the start, counted: numbers only, of no document and no caller.

Owns: which facts of a reply are counted, the bounds of the histograms.
Knows nothing of: how anything is answered, how the counts are shown.
Invariants: 1. counting costs a query microseconds: one lock, a few additions. 2. text of queries is never kept.
Purity: pure, save that it counts. Safe for threads.
See: docs/operations.md (metrics).
"""

import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, cast

# A proved query takes about a millisecond; one that waits for a save up to its `wait_ms`.
SECONDS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
SHARES: Final = (0.0, 0.25, 0.5, 0.75, 0.9, 1.0)
# Methods whose time people wait for.
TIMED: Final = ("query", "evidence", "check", "verify", "show")


class Histogram:
    """Counts of values by upper bound, and their sum."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def add(self, value: float) -> None:
        """Count one value."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value


class Figures:
    """The counts since the start."""

    def __init__(self) -> None:
        self.requests: Counter[str] = Counter()
        self.errors: Counter[tuple[str, str]] = Counter()
        self.rejected: Counter[str] = Counter()
        self.abstentions: Counter[str] = Counter()
        self.sums: Counter[str] = Counter()
        self.seconds = {method: Histogram(SECONDS) for method in TIMED}
        self.coverage = Histogram(SHARES)
        # Guards all of the above: requests are answered on several threads.
        self.lock = threading.Lock()

    def answered(self, method: str, seconds: float, result: Mapping[str, object]) -> None:
        """Count one reply."""
        with self.lock:
            self.requests[method] += 1
            if method in self.seconds:
                self.seconds[method].add(seconds)
            if method in {"query", "evidence"}:
                self._searched(method, result)
            elif method == "check" and "verdict" in result:
                self._checked(result)

    def failed(self, method: str, code: str) -> None:
        """Count one request that was refused or failed."""
        with self.lock:
            self.requests[method] += 1
            self.errors[method, code] += 1

    def _searched(self, method: str, result: Mapping[str, object]) -> None:
        rejected = cast("Mapping[str, int]", result["rejected_counts"])
        for code, count in rejected.items():
            self.rejected[code] += count
        self.sums["hits"] += len(cast("Sequence[object]", result["hits"]))
        if method == "evidence" and result["abstained"]:
            self.abstentions[str(result["abstention_reason"])] += 1

    def _checked(self, result: Mapping[str, object]) -> None:
        for name in ("claim_count", "uncited_claim_count", "citation_count"):
            self.sums[name] += cast("int", result[name])
        self.sums[f"verdict_{result['verdict']}"] += 1
        self.coverage.add(cast("float", result["coverage"]))
