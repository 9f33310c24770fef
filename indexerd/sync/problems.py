"""The list of what makes a promise weaker at the moment: cause, since when, how often, in words.

Owns: which problems stand, and that each clears itself when its cause goes.
Knows nothing of: who reports them, how they are shown.
Invariants: 1. one code is one entry, however often it is reported. 2. `since` is the first report since it last
    cleared.
Purity: pure.
See: docs/operations.md (problems and what to do).
"""

from dataclasses import dataclass, field, replace

from indexerd.ports import Clock


@dataclass(frozen=True, slots=True)
class Problem:
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


class Standing:
    """The standing problems as they change; what is read is one moment."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._problems = Problems()

    @property
    def entries(self) -> tuple[Problem, ...]:
        """Return the problems that stand now."""
        return self._problems.entries

    def report(self, code: str, detail: str) -> None:
        """Count one more occurrence of a problem."""
        self._problems = self._problems.report(code, detail, self._clock.now_ns())

    def clear(self, code: str) -> None:
        """Take a problem off: its cause is gone."""
        self._problems = self._problems.clear(code)

    def set(self, code: str, detail: str | None) -> None:
        """Let a problem stand with this detail, counted when it is new or has changed; None clears it."""
        if detail is None:
            self.clear(code)
        elif (code, detail) not in {(problem.code, problem.detail) for problem in self.entries}:
            self.report(code, detail)
