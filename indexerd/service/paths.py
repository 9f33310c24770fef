"""The two ways a request may name a file: by source path, or by absolute path below a root.

Owns: which name is meant.
Knows nothing of: whether the file exists.
Invariants: 1. of nested roots the innermost one names a file.
Purity: pure (`os.fsencode` only).
See: docs/protocol.md (paths).
"""

import os

from indexerd.errors import NotFoundError
from indexerd.model import SourcePath
from indexerd.naming import source_path
from indexerd.service.parts import Parts


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
