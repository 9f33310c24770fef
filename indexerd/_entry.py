"""Where the `indexerd` command begins: a query that a daemon can answer, and `mcp`, skip the command-line library.

Owns: the fast path: which queries take it, its connection, its exit status.
Knows nothing of: click, numpy, msgpack, the store, settings files; json only where a result must be written anew.
Invariants: 1. the fast path prints what the full command line would print, or steps aside before printing anything.
Purity: shell (standard streams, one socket, the file of the last result).
See: docs/adr/0008.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from indexerd.cli.asking import Asking

# A daemon that says nothing for so long is left to the full command line, which says so.
_TIMEOUT_SECONDS = 10.0
_HEAD = b'{"jsonrpc":"2.0","id":1,"result":'


def main() -> None:
    """Run the command line and leave with its exit status."""
    # The linear algebra of numpy, of which nothing is used, starts threads that spin for 0.1 s of a processor each.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if sys.argv[1:2] == ["query"]:
        status = fast_query(sys.argv[2:])
        if status is not None:
            # Nothing is left to finish, and taking an interpreter down costs a millisecond.
            os._exit(status)
    if sys.argv[1:2] == ["mcp"]:
        from indexerd.cli.agenting import read_served, serve  # noqa: PLC0415 - not needed by other commands

        served = read_served(sys.argv[2:])
        if served is not None:
            os._exit(serve(served))
    from indexerd.cli.main import run  # noqa: PLC0415 - costs four times the fast path

    status = run()
    if sys.argv[1:2] == ["watch"]:
        sys.exit(status)
    for stream in (sys.stdout, sys.stderr):
        # Closed by the caller, or not there: who does not read has no use for the rest.
        if stream is not None:
            with suppress(OSError, ValueError):
                stream.flush()
    # As above: what an index leaves in memory takes 25 ms to be taken down.
    os._exit(status)


def fast_query(arguments: list[str]) -> int | None:
    """Answer a query from a running daemon; None when the full command line must do it, nothing printed."""
    from indexerd.cli.asking import read_flags  # noqa: PLC0415 - not needed by other commands

    asking = read_flags(arguments)
    if asking is None:
        return None
    try:
        socket = _find(asking, os.environ)
        answer = _call(socket, "query", asking.params()) if socket else b""
        # A caller whose error or odd framing needs words gets them from the full command line.
        result = _decode(answer[len(_HEAD) :]) if answer.startswith(_HEAD) else None
    except (OSError, ValueError, StopIteration):
        return None
    # What did not fit into one message is read page by page there.
    return None if result is None or result.get("truncated") else _print(asking, result, answer)


def _find(asking: Asking, environ: Mapping[str, str]) -> str | None:
    from indexerd.cli.sockets import choose_by_place, named_socket, present_sockets  # noqa: PLC0415 - as above

    uid = os.getuid()
    named = named_socket(asking.socket, asking.profile, environ, uid)
    if named is not None:
        return named
    sockets = present_sockets(environ, uid)
    if len(sockets) == 1:
        return sockets[0]
    roots: dict[str, list[str]] = {}
    for socket in sockets:
        try:
            status: Any = _decode(_call(socket, "status", {})[len(_HEAD) :])
        except (OSError, ValueError, StopIteration):
            continue
        roots[socket] = [root["path"] for root in status["roots"]]
    return choose_by_place(roots, os.getcwd())


def _call(socket: str, method: str, params: dict[str, object]) -> bytes:
    """Send one JSON-RPC line and return the line that answers it."""
    import _socket  # noqa: PLC0415 - `socket` itself costs 6 ms, for names this does not need

    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        connection.settimeout(_TIMEOUT_SECONDS)
        connection.connect(os.fsencode(socket))
        request = f'{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{_encode(params)}}}\n'.encode()
        while request:
            request = request[connection.send(request) :]
        parts = []
        while part := connection.recv(1 << 18):
            parts.append(part)
            if part.endswith(b"\n"):
                break
    finally:
        connection.close()
    return b"".join(parts)


def _encode(value: object) -> str:
    from _json import encode_basestring_ascii  # noqa: PLC0415 - the json package costs 10 ms, most of it for re

    if isinstance(value, dict):
        return "{" + ",".join(f"{_encode(key)}:{_encode(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_encode, value)) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int) else encode_basestring_ascii(str(value))


class _Context:
    """What the C scanner of the standard library asks of a decoder."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = None


def _decode(answer: bytes) -> dict[str, Any]:
    """Read the JSON value at the beginning of the bytes."""
    from _json import make_scanner  # noqa: PLC0415 - as above

    value: dict[str, Any] = make_scanner(_Context())(answer.decode(), 0)[0]  # type: ignore[arg-type] # the stub wants itself
    return value


def _print(asking: Asking, result: dict[str, Any], answer: bytes) -> int:
    from indexerd.cli.hits import answer_bytes, finish  # noqa: PLC0415 - as above

    raw = answer[len(_HEAD) :].rstrip().removesuffix(b"}")
    out, err = answer_bytes(asking, result, raw, os.environ, os.getcwd())
    try:
        return finish(result, out, err)
    except OSError as error:
        # Something may be printed already: the full command line would print it again.
        from indexerd.cli.main import report  # noqa: PLC0415 - as above

        return report(error, as_json=False)
