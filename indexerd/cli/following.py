"""`status --watch`: the status again each second, redrawn in place on a terminal, a line at a time elsewhere.

Owns: the drawing, the keys that end it, the figures that only a second look gives (requests a second).
Knows nothing of: how a status looks to a person.
Invariants: 1. a terminal is left as it was found, however it ends. 2. no line is wider than the terminal, so that the
    next drawing covers this one.
Purity: shell (standard streams, the terminal's settings).
See: docs/operations.md (status).
"""

import json
import os
import select
import termios
import tty
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from datetime import datetime

from indexerd.cli.printing import BROKEN_PIPE, count, write
from indexerd.cli.reaching import Backend, Result
from indexerd.clock import SystemClock

_SECONDS = 1.0
_QUIT = frozenset(b"qQ\x03\x04\x1b")
_TO_END = b"\x1b[K"

Lines = Callable[[Result], Iterator[str]]


def follow(backend: Backend, lines_of: Lines, *, is_json: bool) -> int:
    """Show the status until somebody ends it, in JSON one object a line; return the exit status.

    Raises:
        UnreachableError: The daemon went away.
    """
    is_watched = os.isatty(1)
    with _keys() if is_watched and os.isatty(0) else nullcontext(()) as keys:
        draws = is_watched and not is_json
        return _draw(backend, lines_of, keys) if draws else _print(backend, keys, is_json=is_json)


def _print(backend: Backend, keys: Sequence[int], *, is_json: bool) -> int:
    while True:
        status = backend.call("status")
        line = json.dumps(status, separators=(",", ":")) if is_json else summary(status, SystemClock().now_ns())
        if not write(1, line.encode("utf-8", "backslashreplace") + b"\n"):
            return BROKEN_PIPE
        if _quits(keys):
            return 0


def _draw(backend: Backend, lines_of: Lines, keys: Sequence[int]) -> int:
    drawn, clock = 0, SystemClock()
    asked, at = None, clock.monotonic()
    while True:
        status, now = backend.call("status"), clock.monotonic()
        lines, requests = [*lines_of(status)], _requests(backend, status)
        if asked is not None and requests is not None:
            # Two of them were ours.
            lines.append(f"  requests     {max(0.0, (requests - asked - 2) / (now - at)):,.0f} a second")
        asked, at = requests, now
        size = os.get_terminal_size(1)
        lines.append("press q to leave")
        # A serial line, a container's or an editor's terminal may not know its size.
        columns, height = size.columns or 80, size.lines or 24
        shown = [fitting(line, columns - 1) for line in lines[: max(1, height - 1)]]
        up = f"\x1b[{drawn}F".encode() if drawn else b""
        body = b"".join(line.encode("utf-8", "backslashreplace") + _TO_END + b"\n" for line in shown)
        write(1, up + body + b"\x1b[J")
        drawn = len(shown)
        if _quits(keys):
            return 0


def _quits(keys: Sequence[int]) -> bool:
    """Wait for a second; tell whether a key ended it."""
    ready, _, _ = select.select(keys, [], [], _SECONDS)
    return bool(ready) and not _QUIT.isdisjoint(os.read(keys[0], 64) or b"q")


def _requests(backend: Backend, status: Result) -> int | None:
    """Return how many requests were answered since the daemon's start; None to others than its owner."""
    if "pid" not in status:
        return None
    metrics = str(backend.call("metrics")["text"])
    counted = (line for line in metrics.splitlines() if line.startswith("indexerd_requests_total{"))
    return sum(int(line.rpartition(" ")[2]) for line in counted)


def summary(status: Result, now_ns: int) -> str:
    """Return one line that holds what changes: time, state, generation, documents, pending, problems."""
    at = datetime.fromtimestamp(now_ns // 1_000_000_000).astimezone().isoformat()
    parts = [f"{at} {status['state']}", f"generation {status['generation']}"]
    if "documents" in status:
        parts += [count(status["documents"], "document"), f"{status['pending']} pending"]
        parts += [str(problem["code"]) for problem in status["problems"]]
    return ", ".join(parts)


def fitting(line: str, columns: int) -> str:
    """Return the beginning of a line that a terminal shows in so many columns."""
    used = 0
    for at, char in enumerate(line):
        used += 2 if unicodedata.east_asian_width(char) in "WF" else 1
        if used > columns:
            return line[:at]
    return line


@contextmanager
def _keys() -> Iterator[Sequence[int]]:
    """Give standard input, a terminal, key by key and without echo."""
    before = termios.tcgetattr(0)
    try:
        tty.setcbreak(0)
        yield (0,)
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, before)
