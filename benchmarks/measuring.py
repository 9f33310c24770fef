"""How figures are taken and shown."""

import statistics
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple


class Line(NamedTuple):
    """One line of the table: what was measured, ours, theirs, and ours over theirs (or against the target).

    `point` is the figure as a point of a plot: title of the plot, name of the line, x, y.
    """

    what: str
    ours: str
    beside: str = ""
    ratio: str = ""
    point: tuple[str, str, float, float] | None = None


def seconds(work: Callable[[], object]) -> float:
    """Return the wall time of one call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def processor_seconds(work: Callable[[], object]) -> float:
    """Return the processor time of one call, that of all threads: what other work on the machine changes least."""
    start = time.process_time()
    work()
    return time.process_time() - start


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value below which `share` of the values lie (nearest rank)."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def interleaved(works: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Run each work in turn, `rounds` times over; return each one's median seconds."""
    taken: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            taken[name].append(seconds(work))
    return {name: statistics.median(values) for name, values in taken.items()}


def milliseconds(value: float) -> str:
    """Show seconds as milliseconds."""
    return f"{value * 1e3:.2f} ms"


def ratio(ours: float, theirs: float) -> str:
    """Show ours over theirs; below 1 is better where less is better."""
    return f"{ours / theirs:.2f}x"
