"""What became of cited lines: one verdict from one read of their source.

Owns: the words fresh, moved, changed, gone, unreadable.
Knows nothing of: roots, stores, who asks, how the source was read.
Invariants: 1. `fresh` and `moved` are said only of lines whose hash is the cited one.
Purity: pure.
See: docs/protocol.md (verify).
"""

from difflib import unified_diff

from indexerd.digests import content_hash
from indexerd.errors import RequestError
from indexerd.model import Citation
from indexerd.ports import SourceFault, SourceRead
from indexerd.service.lines import Lines, region_of
from indexerd.service.rendering import Json

# What is said where the lines are others and nobody knows what they were.
ONLY_HASH = "what was cited is not known, only its hash: give the text, or the evidence that had it"

# What is said where `sed` and `sha256sum` do not give the hash.
DECODED = (
    "the hash is that of the text: in these lines a byte order mark was dropped, or bytes that are no UTF-8 replaced"
)

_NO_LINE_END = "\\ No newline at end of file\n"


def verdict_on_source(cited: Citation, found: SourceRead | SourceFault, text: str | None = None) -> Json:
    """Return `state`, `moved_to`, `detail`, `diff`, and the document's hash where there is one.

    Args:
        cited: With a hash.
        found: What reading its source gave.
        text: What was cited, where that is known.

    Raises:
        RequestError: The text has another hash than the citation.
    """
    if text is not None and content_hash(text.encode()) != cited.content_hash:
        raise RequestError("the text is not the one that was cited: its hash is another")
    if isinstance(found, SourceFault):
        state = "gone" if found.code == "source_missing" else "unreadable"
        return {"state": state, "moved_to": [], "detail": found.detail, "diff": None}
    lines = Lines(found.data)
    verdict: Json = verdict_on_lines(cited, lines) | {"diff": None}
    if verdict["state"] == "changed":
        verdict |= {"diff": diff_of(cited, text, lines)} if text else {"detail": verdict["detail"] or ONLY_HASH}
    return verdict | {"document_hash": content_hash(found.data).hex()}


def diff_of(cited: Citation, text: str, lines: Lines) -> str:
    """Return a unified diff from the cited lines to those that stand in their place now; it names both."""
    old, new = _lines_of(text), _lines_of(lines.text)
    span = region_of(old, new, cited.span) if new else None
    now = new[span.first - 1 : span.last] if span else []
    place = str(cited._replace(span=span, content_hash=None)) if span else cited.source_path
    steps = unified_diff(old, now, str(cited._replace(content_hash=None)), place)
    return "".join(step if step.endswith("\n") else f"{step}\n{_NO_LINE_END}" for step in steps)


def _lines_of(text: str) -> list[str]:
    *whole, rest = text.split("\n")
    return [f"{line}\n" for line in whole] + ([rest] if rest else [])


def verdict_on_lines(cited: Citation, lines: Lines) -> Json:
    """Return `state`, `moved_to` (nearest first) and `detail` of a citation with a hash."""
    assert cited.content_hash is not None
    if lines.has(cited.span) and lines.hash_of(cited.span) == cited.content_hash:
        return {"state": "fresh", "moved_to": [], "detail": DECODED if lines.is_decoded(cited.span) else ""}
    places = lines.find(cited.content_hash, cited.span)
    moved = [
        str(Citation(source_path=cited.source_path, span=span, content_hash=cited.content_hash))
        for span in places.spans
    ]
    detail = "" if places.complete else "the document is too long to be searched whole"
    return {"state": "moved" if moved else "changed", "moved_to": moved, "detail": detail}
