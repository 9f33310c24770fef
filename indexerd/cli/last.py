"""The last result that a person saw, so that `open 3` can follow `query`.

Owns: one disposable file in the user's runtime directory.
Knows nothing of: queries, daemons. Light on purpose: part of the query fast path.
Invariants: 1. losing or damaging the file costs nothing but `open N`; failing to write it is no failure of the query.
Purity: shell (one file).
See: docs/operations.md.
"""

from __future__ import annotations

import os

from indexerd.cli.sockets import is_private, runtime_dir

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

_NAME = "last-result"
# Each record is path NUL line NUL: exact for every name, and read back without a parser.
_MAX_BYTES = 1 << 20


def remember(hits: Sequence[Mapping[str, Any]], paths: Sequence[bytes], environ: Mapping[str, str], uid: int) -> None:
    """Keep path and line of each hit shown."""
    folder = runtime_dir(environ, uid)
    if not is_private(folder, uid):
        return
    data = b"".join(b"%b\0%d\0" % (path, hit["line"]) for hit, path in zip(hits, paths, strict=True))
    try:
        handle = os.open(
            f"{folder}/{_NAME}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
        )
    except OSError:
        return
    try:
        os.write(handle, data)
    except OSError:
        return
    finally:
        os.close(handle)


def forget(path: bytes, environ: Mapping[str, str], uid: int) -> None:
    """Forget the last result if it names a file.

    Raises:
        OSError: It is still there. Remove it by hand.
    """
    place = f"{runtime_dir(environ, uid)}/{_NAME}"
    try:
        with open(place, "rb") as file:
            is_named = path in file.read(_MAX_BYTES).split(b"\0")[::2]
    except FileNotFoundError:
        return
    if is_named:
        os.unlink(place)


def recall(number: int, environ: Mapping[str, str], uid: int) -> tuple[bytes, int] | None:
    """Return absolute path and line of the N-th hit last shown; None if there was none."""
    folder = runtime_dir(environ, uid)
    if not is_private(folder, uid):
        return None
    try:
        with open(f"{folder}/{_NAME}", "rb") as file:
            fields = file.read(_MAX_BYTES).split(b"\0")
    except OSError:
        return None
    at = 2 * (number - 1)
    if number < 1 or at + 1 >= len(fields) or not fields[at + 1].isdigit():
        return None
    return fields[at], int(fields[at + 1])
