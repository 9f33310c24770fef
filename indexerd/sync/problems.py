"""The list of what makes a promise weaker at the moment: cause, since when, how often, in words.

Owns: which problems stand, and that each clears itself when its cause goes.
Knows nothing of: who reports them, how they are shown.
Invariants: 1. one code is one entry, however often it is reported. 2. `since` is the first report since it last
    cleared.
Purity: pure, save that the list changes.
See: docs/operations.md (problems and what to do).
"""

from dataclasses import dataclass

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


class Standing:
    """The standing problems as they change; what is read is one moment.

    Writer, upkeep and server report side by side, each its own codes: one entry is exchanged at a time, in one step.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._problems: dict[str, Problem] = {}

    @property
    def entries(self) -> tuple[Problem, ...]:
        """Return the problems that stand now."""
        return tuple(self._problems.values())

    def report(self, code: str, detail: str) -> bool:
        """Count one more occurrence of a problem; the newest detail stays. Return whether that says anything new."""
        old = self._problems.get(code)
        since_ns = old.since_ns if old is not None else self._clock.now_ns()
        self._problems[code] = Problem(code, since_ns, old.count + 1 if old is not None else 1, detail)
        return old is None or old.detail != detail

    def clear(self, code: str) -> None:
        """Take a problem off: its cause is gone."""
        self._problems.pop(code, None)

    def set(self, code: str, detail: str | None) -> None:
        """Let a problem stand with this detail, counted when it is new or has changed; None clears it."""
        if detail is None:
            self.clear(code)
            return
        old = self._problems.get(code)
        if old is None or old.detail != detail:
            self.report(code, detail)
