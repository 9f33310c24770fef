"""From a query's result to what is printed, remembered and returned as exit status: the same for both paths.

Owns: the exit status of `query`; the writing of results past a closed pipe.
Knows nothing of: click, where the result came from. Light on purpose: part of the query fast path.
Invariants: 1. the fast path and the full command line print the same bytes for the same result.
Purity: shell (standard streams, the file of the last result).
See: docs/operations.md.
"""

from __future__ import annotations

import os

from indexerd.cli.hits import notes, path_bytes, render
from indexerd.cli.plain import wants_colour
from indexerd.cli.sockets import remember

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from indexerd.cli.asking import Asking

BROKEN_PIPE = 141


def answer_bytes(
    asking: Asking, result: dict[str, Any], raw: bytes, environ: Mapping[str, str], cwd: str
) -> tuple[bytes, bytes]:
    """Return what standard output and standard error get.

    Args:
        asking: What was asked.
        result: The result, decoded.
        raw: The result as JSON, as it came: what `--json` prints.
        environ: The process environment, for colour.
        cwd: Current directory, for short paths.
    """
    colour = wants_colour(asking.color, environ, is_terminal=os.isatty(1))
    form = asking.format
    if form == "json":
        return raw + b"\n", b""
    encode = None
    if form == "jsonl":
        import json  # noqa: PLC0415 - 10 ms that only this form needs

        encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
    links = asking.hyperlink and (asking.color == "always" or os.isatty(1))
    out = render(result, form, nul=asking.nul, cwd=cwd, colour=colour, links=links, encode=encode)
    err_colour = wants_colour(asking.color, environ, is_terminal=os.isatty(2))
    return out, notes(result, err_colour, narrowed=asking.is_narrowed).encode("utf-8", "backslashreplace")


def finish(result: dict[str, Any], out: bytes, err: bytes) -> int:
    """Write both streams, remember what was shown, and return the exit status."""
    remember(result["hits"], [path_bytes(hit) for hit in result["hits"]], os.environ, os.getuid())
    if not write(1, out):
        return BROKEN_PIPE
    write(2, err)
    return 0 if result["hits"] else 1


def write_json(value: object) -> bool:
    """Write a value to standard output as one line of JSON; see `write`."""
    import json  # noqa: PLC0415 - not on the fast path

    return write(1, json.dumps(value, separators=(",", ":")) + "\n")


def write_lines(lines: Iterable[str], stream: int = 1) -> bool:
    """Write lines; see `write`."""
    return write(stream, "".join(f"{line}\n" for line in lines))


def write(stream: int, data: bytes | str) -> bool:
    """Write all bytes to a descriptor; False if nobody reads any more. Of text what is no Unicode is written as escape.

    Raises:
        OSError: Standard output takes nothing (full, closed). What is lost on standard error is lost without a word.
    """
    view = memoryview(data if isinstance(data, bytes) else data.encode("utf-8", "backslashreplace"))
    while view:
        try:
            view = view[os.write(stream, view) :]
        except BrokenPipeError:
            return False
        except OSError as error:
            if stream == 2:
                return False
            raise OSError(error.errno, error.strerror, "standard output") from error
    return True
