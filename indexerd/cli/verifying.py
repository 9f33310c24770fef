"""Who says whether a citation holds: a daemon, the sources of a known watch set, or the file alone.

Owns: the order in which these are asked, and which file a citation names where there is no index.
Knows nothing of: how a verdict is found or printed.
Invariants: 1. no index is needed, and without a daemon none is read. 2. below a root its rules decide who sees what; a
    file is read by itself only where no root of the watch set holds it.
Purity: shell (reads a source).
See: docs/operations.md (without a daemon), docs/protocol.md (verify).
"""

import os
from collections.abc import Mapping, Sequence

from indexerd.cli.asking import is_undecodable
from indexerd.cli.asking_there import asking_backend, name_below
from indexerd.cli.place import Place
from indexerd.cli.reaching import Backend, Result, Selection
from indexerd.config import absolute
from indexerd.errors import NotFoundError, UnreachableError
from indexerd.model import Citation, Root, SourcePath
from indexerd.naming import decode_name, source_path
from indexerd.ports import SourceFault
from indexerd.protocol import PROTOCOL_VERSION
from indexerd.service.citations import full_citation
from indexerd.service.rendering import path_fields
from indexerd.service.verdict import verdict_on_source
from indexerd.sources import SourceTree


def verified(citation: str, selection: Selection, place: Place, roles: Sequence[str] = ()) -> Result:
    """Return the verdict on a full citation, in the form of the socket's `verify`.

    Args:
        citation: Its path is a source path, or leads from the current directory to a file.
        selection: Which watch set the flags name, if any; then only its source paths are meant.
        place: Where the command runs.
        roles: In which roles to ask, where a root holds the file.

    Raises:
        RequestError: It is no citation with a hash.
        UnreachableError: The flags name a daemon or a watch set that is not there.
    """
    cited = full_citation(citation)
    is_named = bool(selection.socket or selection.profile or selection.state_dir)
    path = "" if is_named else path_from_here(cited.source_path, place.cwd)
    try:
        with asking_backend(selection, place, allow_local=True, need="sources") as backend:
            result = _by_backend(backend, cited, path, {"roles": list(roles)} if roles else {})
    except UnreachableError:
        if is_named:
            raise
        result = None
    return _by_file(cited, path) if result is None else result


def path_from_here(name: str, cwd: str) -> str:
    """Return the absolute path that a citation's path means from a folder: as typed, else as citations spell names."""
    typed = absolute(name, cwd)
    if os.path.lexists(typed):
        return typed
    try:
        spelled = absolute(os.fsdecode(decode_name(name)), cwd)
    except ValueError:
        return typed
    return spelled if os.path.lexists(spelled) else typed


def _by_backend(backend: Backend, cited: Citation, path: str, acting: Mapping[str, object]) -> Result | None:
    """Ask for the source path, then for the path from here; None if no root holds that."""
    try:
        result = backend.call("verify", {"citation": str(cited), **acting})
        if result["state"] in {"gone", "unreadable"} and path:
            name = path if not is_undecodable(path) else name_below(backend.call("status"), path)
            if name is None:
                return None
            result = backend.call("verify", {"citation": str(cited._replace(source_path=SourcePath(name))), **acting})
    except NotFoundError:
        if not path:
            raise
        return None
    return result


def _by_file(cited: Citation, path: str) -> Result:
    folder, name = os.path.split(path)
    root = Root(label="", path=folder, prefixed=False)
    found = SourceTree((root,)).read(source_path(root, os.fsencode(name)))
    if not os.path.isdir(folder):
        found = SourceFault("source_missing", "ENOENT")
    return {
        "protocol": PROTOCOL_VERSION,
        "citation": str(cited),
        "source_path": cited.source_path,
        **path_fields(os.fsencode(path)),
        **verdict_on_source(cited, found),
    }
