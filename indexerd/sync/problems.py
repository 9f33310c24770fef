"""The list of what makes a promise weaker at the moment: cause, since when, how often, in words.

Owns: which problems stand, and that each clears itself when its cause goes.
Knows nothing of: who reports them, how they are shown.
Invariants: 1. one code is one entry, however often it is reported. 2. `since` is the first report since it last cleared.
Purity: pure.
See: docs/operations.md (problems and what to do).
"""

from dataclasses import dataclass, field, replace
from typing import NamedTuple


class Problem(NamedTuple):
    """One standing problem.

    Attributes:
        code: Stable name, listed in docs/operations.md.
        since_ns: Wall time of the first report, in nanoseconds since 1970.
        count: How often it was reported since then.
        detail: For people: what, where, what to do.
    """

    code: str
    since_ns: int
    count: int
    detail: str


@dataclass(frozen=True, slots=True)
class Problems:
    """The standing problems: a value, so that a reader sees one moment of it."""

    entries: tuple[Problem, ...] = field(default=())

    def report(self, code: str, detail: str, now_ns: int) -> "Problems":
        """Return the list with this problem reported once more; the newest detail stays."""
        known = {problem.code: problem for problem in self.entries}
        old = known.get(code)
        known[code] = Problem(code, old.since_ns if old else now_ns, old.count + 1 if old else 1, detail)
        return replace(self, entries=tuple(known.values()))

    def clear(self, code: str) -> "Problems":
        """Return the list without this problem."""
        if all(problem.code != code for problem in self.entries):
            return self
        return replace(self, entries=tuple(problem for problem in self.entries if problem.code != code))
