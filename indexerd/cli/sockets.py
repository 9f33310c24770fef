"""The user's runtime directory: which sockets a client may try, and the last result that a person saw.

Owns: how a client looks for its daemon by name, and the file that remembers the last result for `open N`.
Knows nothing of: connections, click, settings files. Light on purpose: part of the query fast path.
Invariants: 1. a directory in `/tmp` is used only if it belongs to this user and nobody else may write to it.
    2. losing or damaging the last result costs nothing but `open N`; failing to write it is no failure of the query.
Purity: shell (lists a directory; writes one disposable file of its own).
See: docs/operations.md.
"""

from __future__ import annotations

import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

_ENDING = ".sock"
_NAME = "last-result"
# Each record is path, line, first and last line, hash, each with a NUL behind it: exact for every name, and read back
# without a parser.
_FIELDS = 5


def runtime_dir(environ: Mapping[str, str], uid: int) -> str:
    """Return the directory of the user's sockets, as `indexerd.config.find_places` does."""
    place = environ.get("XDG_RUNTIME_DIR", "")
    return f"{place.rstrip('/')}/indexerd" if place.startswith("/") else f"/tmp/indexerd-{uid}"  # noqa: S108 - checked by is_private


def is_private(folder: str, uid: int) -> bool:
    """Tell whether a folder is a real one that belongs to the user and that nobody else can write to."""
    try:
        found = os.lstat(folder)
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == uid and not found.st_mode & 0o022


def named_socket(socket: str, profile: str, environ: Mapping[str, str], uid: int) -> str | None:
    """Return the socket that flags or `$INDEXERD_SOCKET` name; None when the running ones must be looked at."""
    if socket:
        return os.path.abspath(socket)
    if profile:
        return f"{runtime_dir(environ, uid)}/{profile}{_ENDING}"
    named = environ.get("INDEXERD_SOCKET", "")
    return os.path.abspath(named) if named else None


def present_sockets(environ: Mapping[str, str], uid: int) -> list[str]:
    """Return the sockets in the user's runtime directory, and the links to those that lie elsewhere, sorted.

    Some may have no daemon any more.
    """
    folder = runtime_dir(environ, uid)
    if not is_private(folder, uid):
        return []
    return [f"{folder}/{name}" for name in sorted(os.listdir(folder)) if name.endswith(_ENDING)]


def choose_by_place(roots: Mapping[str, list[str]], cwd: str) -> str | None:
    """Return the socket whose daemon has a root that holds the current directory (the innermost), or the only one.

    None where none does, or several do equally. The roots are those of every daemon that answered, by its socket.
    """
    held = [(len(root), socket) for socket, own in roots.items() for root in own if _holds(root, cwd)]
    if held:
        innermost = {socket for length, socket in held if length == max(held)[0]}
        return innermost.pop() if len(innermost) == 1 else None
    return next(iter(roots)) if len(roots) == 1 else None


def _holds(root: str, path: str) -> bool:
    """Tell it by the user's spelling and, where links are in the way, by the real place."""
    real = os.path.realpath(path)
    spellings = ((root, path), (root, real), (os.path.realpath(root), real))
    return any(place == top or place.startswith(top.rstrip("/") + "/") for top, place in spellings)


def remember(hits: Sequence[Mapping[str, Any]], paths: Sequence[bytes], environ: Mapping[str, str], uid: int) -> None:
    """Keep where each hit shown lies and what it was; of a result without hits, that there is none."""
    folder = runtime_dir(environ, uid)
    records = [
        b"%b\0%d\0%d\0%d\0%b\0" % (path, hit["line"], hit["start_line"], hit["end_line"], hit["content_hash"].encode())
        for hit, path in zip(hits, paths, strict=True)
    ]
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        if not os.path.isdir(folder):
            os.mkdir(folder, 0o700)
        if is_private(folder, uid):
            with open(os.open(f"{folder}/{_NAME}", flags, 0o600), "wb", buffering=0) as file:
                file.write(b"".join(records))
    except OSError:
        return


def forget(path: bytes, environ: Mapping[str, str], uid: int) -> None:
    """Forget the last result if it names a file.

    Raises:
        OSError: It is still there. Remove it by hand.
    """
    place = f"{runtime_dir(environ, uid)}/{_NAME}"
    try:
        with open(place, "rb") as file:
            is_named = path in file.read().split(b"\0")[::_FIELDS]
    except FileNotFoundError:
        return
    if is_named:
        os.unlink(place)


def recall(number: int, environ: Mapping[str, str], uid: int) -> tuple[bytes, int, int, int, bytes] | None:
    """Return the N-th hit last shown; None if there was none.

    Returns:
        Absolute path, best line, first and last line, and the hash of these.
    """
    folder = runtime_dir(environ, uid)
    if not is_private(folder, uid):
        return None
    try:
        with open(f"{folder}/{_NAME}", "rb") as file:
            fields = file.read().split(b"\0")
    except OSError:
        return None
    at = _FIELDS * (number - 1)
    try:
        path, line, first, last, content_hash = fields[at : at + _FIELDS] if number > 0 else []
        return path, int(line), int(first), int(last), bytes.fromhex(content_hash.decode("ascii", "replace"))
    except ValueError:
        return None
