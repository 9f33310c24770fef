"""What `watch` shows: progress while the first index is built, then what was found and what to type next.

Owns: the words of the first screen.
Knows nothing of: where the status comes from, how wide the terminal is.
Invariants: 1. what was skipped is counted with the command that lists it.
Purity: pure.
See: docs/operations.md (first start).
"""

import shlex
from collections.abc import Iterator, Mapping
from typing import cast

from indexerd.cli.plain import count, escape
from indexerd.cli.stating import size_of

_LEFT_OUT = (
    ("skipped", "skipped"),
    ("held", "cannot be looked at"),
    ("withheld", "found by nobody"),
    ("unsafe", "held back from evidence"),
)
_BAR = 30
_SHORTEST_BAR = 5


def first_screen(status: Mapping[str, object], seconds: float) -> Iterator[str]:
    """Return the lines that follow the first index.

    Args:
        status: The owner's `status`.
        seconds: From the start of the daemon until everything seen was published.
    """
    documents, chunks = cast("int", status["documents"]), cast("int", status["chunks"])
    yield f"{count(documents, 'document')} in {count(chunks, 'chunk')}, indexed in {_seconds(seconds)}"
    for root in cast("list[dict[str, str]]", status["roots"]):
        note = "" if root["state"] == "ok" else f"  ({root['state'].replace('_', ' ')})"
        yield f"  watching  {escape(root['path'])}{note}"
    if not documents:
        yield "  nothing to index yet: files that end in .md, .mdx, .txt, .rst or .org are (--format names others)"
    yield from _left_out(status)
    for problem in cast("list[dict[str, object]]", status["problems"]):
        yield f"  problem   {escape(str(problem['code']))}: {escape(str(problem['detail']))}"
    yield f"  profile   {escape(str(status.get('profile')))}"
    yield f"  socket    {escape(str(status.get('socket')))}"
    yield "try:"
    yield from (f"  {command}" for command in next_commands(status))


def _left_out(status: Mapping[str, object]) -> Iterator[str]:
    parts = []
    for key, text in _LEFT_OUT:
        number = size_of(status.get(key))
        if number:
            parts.append(f"{count(number, 'chunk' if key == 'unsafe' else 'file')} {text}")
    if parts:
        yield f"  left out  {', '.join(parts)}: `indexerd doctor` lists them with the reason"


def next_commands(status: Mapping[str, object]) -> list[str]:
    """Return commands that work as they stand, from any folder."""
    profile = shlex.quote(str(status.get("profile")))
    return [
        "indexerd query SOME WORDS",
        "indexerd evidence A QUESTION",
        "indexerd status",
        f"indexerd stop --profile {profile}",
    ]


def progress_line(status: Mapping[str, object], columns: int = 80) -> str:
    """Return one line about a running first index that leaves the last column of a terminal free."""
    progress = cast("Mapping[str, int] | None", status.get("progress"))
    if not progress or not progress["total"]:
        return "looking for documents"
    share = min(progress["done"] / progress["total"], 1.0)
    figures = f"{share:4.0%}  {progress['done']:,} of {count(progress['total'], 'file')}"
    # Redrawn in place, a line that wraps would leave its first half behind.
    width = min(_BAR, columns - len(f"indexing [] {figures}") - 1)
    if width < _SHORTEST_BAR:
        return f"indexing{figures}"[: max(columns - 1, 0)]
    filled = int(share * width)
    bar = "#" * filled + "-" * (width - filled)
    return f"indexing [{bar}] {figures}"


def _seconds(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"
