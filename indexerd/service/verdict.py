"""What became of cited lines: one verdict from one read of their source.

Owns: the words fresh, moved, changed, gone, unreadable.
Knows nothing of: roots, stores, who asks, how the source was read.
Invariants: 1. `fresh` and `moved` are said only of lines whose hash is the cited one.
Purity: pure.
See: docs/protocol.md (verify).
"""

from indexerd.digests import content_hash
from indexerd.model import Citation
from indexerd.ports import SourceFault, SourceRead
from indexerd.service.lines import Lines
from indexerd.service.rendering import Json


def verdict_on_source(cited: Citation, found: SourceRead | SourceFault) -> Json:
    """Return `state`, `moved_to`, `detail`, and the document's hash where there is one.

    Args:
        cited: With a hash.
        found: What reading its source gave.
    """
    if isinstance(found, SourceFault):
        state = "gone" if found.code == "source_missing" else "unreadable"
        return {"state": state, "moved_to": [], "detail": found.detail}
    return verdict_on_lines(cited, Lines(found.data)) | {"document_hash": content_hash(found.data).hex()}


def verdict_on_lines(cited: Citation, lines: Lines) -> Json:
    """Return `state`, `moved_to` (nearest first) and `detail` of a citation with a hash."""
    assert cited.content_hash is not None
    if lines.has(cited.span) and lines.hash_of(cited.span) == cited.content_hash:
        return {"state": "fresh", "moved_to": [], "detail": ""}
    places = lines.find(cited.content_hash, cited.span)
    moved = [
        str(Citation(source_path=cited.source_path, span=span, content_hash=cited.content_hash))
        for span in places.spans
    ]
    detail = "" if places.complete else "the document is too long to be searched whole"
    return {"state": "moved" if moved else "changed", "moved_to": moved, "detail": detail}
