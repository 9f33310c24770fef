"""What this process takes of the machine, read from the kernel.

Owns: reading `/proc/self`.
Knows nothing of: what the process does, how the figures are shown.
Invariants: 1. a figure that the kernel does not give is left out, never invented.
Purity: shell (reads `/proc`).
See: docs/operations.md (metrics).
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

# Fields of `stat` behind the name in brackets, from 0.
_STARTED = 19
_TICKS, _PAGE = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")


def process_figures() -> Mapping[str, float]:
    """Return memory, processor time, open files and start of this process, by the names that Prometheus gives them."""
    return dict(_figures())


def _figures() -> Iterator[tuple[str, float]]:
    used = os.times()
    yield "process_cpu_seconds_total", round(used.user + used.system + used.children_user + used.children_system, 2)
    try:
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
        yield "process_resident_memory_bytes", pages * _PAGE
        yield "process_open_fds", sum(1 for _ in Path("/proc/self/fd").iterdir())
        ticks = int(Path("/proc/self/stat").read_text("utf-8", "replace").rpartition(")")[2].split()[_STARTED])
        yield "process_start_time_seconds", _booted() + ticks / _TICKS
    except (OSError, ValueError, IndexError):
        # A container may hide them.
        return


def _booted() -> float:
    lines = Path("/proc/stat").read_text("ascii").splitlines()
    return float(next(line.split()[1] for line in lines if line.startswith("btime ")))
