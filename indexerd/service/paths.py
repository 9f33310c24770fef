"""A file that a request names: which one is meant, and what of it this caller may read.

Owns: the two ways to name a file, by source path or by absolute path below a root; rights at the moment of reading.
Knows nothing of: what the text is wanted for.
Invariants: 1. of nested roots the innermost one names a file. 2. what the caller may not see is missing, in the very
    words of what is missing. 3. others than the owner read what is indexed and nothing else.
Purity: shell (reads sources through the port).
See: docs/protocol.md (paths), docs/threat-model.md.
"""

import datetime
import os
from typing import Final, NamedTuple

from indexerd.access.rights import OPEN, Rights, admits, may_see, rights
from indexerd.errors import NotFoundError
from indexerd.model import SourcePath
from indexerd.naming import source_path
from indexerd.ports import SourceFault, SourceRead
from indexerd.search.rights import rights_of_bytes
from indexerd.service.callers import Caller
from indexerd.service.parts import Parts
from indexerd.store import LiveSegment

MISSING: Final = SourceFault(code="source_missing", detail="ENOENT")


def named_source(parts: Parts, path: str) -> SourcePath:
    """Return the source path that a request means.

    Raises:
        NotFoundError: An absolute path lies below no root.
    """
    if not path.startswith("/"):
        return SourcePath(path)
    raw = os.fsencode(path)
    for root in sorted(parts.roots, key=lambda root: -len(root.path)):
        beneath = os.fsencode(root.path.rstrip("/")) + b"/"
        if raw.startswith(beneath):
            return source_path(root, raw[len(beneath) :])
    raise NotFoundError(f"{path!r} lies below no root")


class Reading(NamedTuple):
    """What a caller may know of a source now, and the rights that were found."""

    source: SourceRead | SourceFault
    rights: Rights = OPEN


def read_as(
    parts: Parts, caller: Caller, path: SourcePath, roles: frozenset[str], day: datetime.date | None
) -> Reading:
    """Read a source as a caller may see it on a day, or with None on some day or other.

    The bytes decide: the index may not have seen yet that access was taken away. Where there are none, because the file
    cannot be read, the version that was indexed last does.
    """
    indexed = parts.store.snapshot().find(path)
    if indexed is None and not caller.is_owner:
        return Reading(MISSING)
    found = parts.sources.read(path)
    own = _rights(parts, path, found, indexed)
    is_seen = may_see(own, roles) if day is None else admits(own, roles, day)
    return Reading(found, own) if is_seen else Reading(MISSING)


def _rights(
    parts: Parts, path: SourcePath, found: SourceRead | SourceFault, indexed: tuple[LiveSegment, int] | None
) -> Rights:
    if isinstance(found, SourceRead):
        return rights_of_bytes(path, found.data, parts.settings, parts.access)
    if indexed is None:
        # The owner may know of any file of his.
        return OPEN
    segment, index = indexed
    return rights(segment.data.document(index), parts.access)
