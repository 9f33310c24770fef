"""Which sockets a client may try, in which order, before it has asked anybody.

Owns: how a client looks for its daemon by name, and the file that remembers the last result for `open N`.
Knows nothing of: connections, click, settings files. Light on purpose: part of the query fast path.
Invariants: 1. a directory in `/tmp` is used only if it belongs to this user and nobody else may write to it.
Purity: shell (lists a directory; writes one disposable file of its own).
See: docs/operations.md.
"""

from __future__ import annotations

import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_ENDING = ".sock"


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
    """Return the sockets in the user's runtime directory, sorted; some may have no daemon any more."""
    folder = runtime_dir(environ, uid)
    if not is_private(folder, uid):
        return []
    return [f"{folder}/{name}" for name in sorted(os.listdir(folder)) if name.endswith(_ENDING)]


def profile_of(socket: str) -> str:
    """Return the profile name that a socket's file name carries."""
    return os.path.basename(socket).removesuffix(_ENDING)


def choose_by_place(roots: Mapping[str, list[str]], cwd: str) -> str | None:
    """Return the socket whose daemon has a root that holds the current directory (the innermost), or the only one.

    Args:
        roots: Socket path to absolute paths of the daemon's roots, for every daemon that answered.
        cwd: Current directory.
    """
    held = [(len(root), socket) for socket, own in roots.items() for root in own if _holds(root, cwd)]
    if held:
        return max(held)[1]
    return next(iter(roots)) if len(roots) == 1 else None


def _holds(root: str, path: str) -> bool:
    """Tell it by the user's spelling and, where links are in the way, by the real place."""
    real = os.path.realpath(path)
    spellings = ((root, path), (root, real), (os.path.realpath(root), real))
    return any(place == top or place.startswith(top.rstrip("/") + "/") for top, place in spellings)
