"""From values of the inner rooms to the plain objects that travel.

Owns: the shape of results: names, units, which field is null when.
Knows nothing of: framings, callers, where a value came from.
Invariants: 1. the same outcome gives the same object. 2. every text is valid Unicode; a path that is none travels as
    `path_b64`.
Purity: pure.
See: docs/protocol.md (results).
"""

import base64
import datetime
import json
from collections.abc import Mapping, Sequence

from indexerd.search.outcome import Block, EvidenceSet, Hit, Part, SearchOutcome

Json = dict[str, object]

# A reply below this many characters of text cannot pass the limit of 8 MiB even if each of them is escaped.
_SURELY_SMALL = 1_000_000
_FEW_HITS = 400
_MAX_HIT_BYTES = 7 << 20
_NS = 1_000_000_000
# The years 1900 and 9999: file times outside are damage, and the calendar ends there.
_FIRST_SECOND, _LAST_SECOND = -2_208_988_800, 253_402_300_799


def moment(time_ns: int) -> str:
    """Return `2026-09-06T12:00:00.000Z` for nanoseconds since 1970; an end of the calendar for what lies beyond it."""
    seconds = min(max(time_ns // _NS, _FIRST_SECOND), _LAST_SECOND)
    at = datetime.datetime.fromtimestamp(seconds, datetime.UTC)
    return f"{at:%Y-%m-%dT%H:%M:%S}.{time_ns // 1_000_000 % 1000:03d}Z"


def path_fields(path: bytes | None) -> Json:
    """Return `path`, and `path_b64` where the path is not UTF-8."""
    if path is None:
        return {"path": None}
    try:
        return {"path": path.decode()}
    except UnicodeDecodeError:
        return {"path": None, "path_b64": base64.b64encode(path).decode()}


def printable_path(path: str) -> str:
    """Return a path in `os.fsdecode` form as valid Unicode, for display only."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def outcome_fields(outcome: SearchOutcome) -> Json:
    """Return what a search found, as `query` and `evidence` answer it."""
    return {
        "query": outcome.request.text,
        "as_of": outcome.as_of.isoformat(),
        "candidates": outcome.candidates,
        "hits": [_hit(hit) for hit in outcome.hits],
        "coverage": outcome.coverage,
        "answerability": outcome.answerability,
        "unmatched": list(outcome.unmatched),
        "weak": outcome.weak,
        "abstained": outcome.abstained,
        "abstention_reason": outcome.abstention_reason,
        "rejected": [entry._asdict() for entry in outcome.rejected],
        "rejected_counts": dict(outcome.rejected_counts),
    }


def _hit(hit: Hit) -> Json:
    fields: Json = {
        "n": hit.n,
        "label": f"S{hit.n}",
        "score": hit.score,
        "title": hit.title,
        "source_path": hit.source_path,
        **path_fields(hit.path),
        "root": hit.root,
        "citation": f"{hit.source_path}#L{hit.span.first}-L{hit.span.last}",
        "start_line": hit.span.first,
        "end_line": hit.span.last,
        "line": hit.line,
        "column": hit.column,
        "heading_path": list(hit.heading_path),
        "text": hit.text,
        "excerpt": hit.excerpt,
        "highlights": [list(mark) for mark in hit.highlights],
        "matched_terms": list(hit.matched_terms),
        "unsafe": hit.unsafe._asdict() if hit.unsafe is not None else None,
        "chunk_id": hit.chunk_id,
        "document_id": hit.document_id,
        "content_hash": hit.content_hash.hex(),
        "document_hash": hit.document_hash.hex(),
        "metadata": metadata_fields(hit.metadata),
        "tags": list(hit.tags),
        "modified": moment(hit.modified_ns),
        "validated_at": moment(hit.validated_at_ns),
    }
    if hit.explain is not None:
        fields["explain"] = _explanation(hit.explain, hit.boost)
    return fields


def _explanation(parts: Sequence[Part], boost: float) -> Json:
    return {"parts": [part._asdict() for part in parts], "boost": boost}


def metadata_fields(metadata: Mapping[str, str | tuple[str, ...]]) -> Json:
    """Return front matter as strings and lists of strings."""
    return {key: list(value) if isinstance(value, tuple) else value for key, value in metadata.items()}


def evidence_fields(evidence: EvidenceSet) -> Json:
    """Return an evidence set; blocks and guard apart, and the prompt whole."""
    fields: Json = {
        "evidence_set_id": evidence.evidence_set_id,
        "guard": evidence.guard,
        "blocks": [_block(block) for block in evidence.blocks],
        "omitted": [{**entry._asdict(), "citation": _short(str(entry.citation))} for entry in evidence.omitted],
        "prompt": evidence.prompt,
        "prompt_chars": len(evidence.prompt),
        "budget_chars": evidence.budget_chars,
    }
    if evidence.budget_tokens is not None:
        fields |= {"budget_tokens": evidence.budget_tokens, "prompt_tokens": evidence.prompt_tokens}
    return fields


def _short(citation: str) -> str:
    return citation.rpartition("@sha256:")[0] or citation


def _block(block: Block) -> Json:
    wanted = block.citation.content_hash
    return {
        "label": block.label,
        "n": block.n,
        "citation": _short(str(block.citation)),
        "title": block.title,
        "heading_path": list(block.heading_path),
        "text": block.text,
        "rendered": block.rendered,
        "chars": len(block.rendered),
        "score": block.score,
        "chunk_id": block.chunk_id,
        "content_hash": wanted.hex() if wanted is not None else None,
    }


def keep_sendable(result: Json, after: int) -> Json:
    """Leave out the first `after` hits, and those at the end that one message could not carry (`truncated`)."""
    hits = result["hits"]
    assert isinstance(hits, list)
    rest = hits[after:]
    fitting = _fitting(rest)
    result["hits"] = rest[:fitting]
    if fitting < len(rest):
        result["truncated"] = True
    return result


def _fitting(hits: Sequence[Mapping[str, object]]) -> int:
    if len(hits) <= _FEW_HITS and sum(len(str(hit["text"])) for hit in hits) < _SURELY_SMALL:
        return len(hits)
    room = _MAX_HIT_BYTES
    for count, hit in enumerate(hits):
        room -= len(json.dumps(hit, ensure_ascii=False).encode())
        # One hit always goes: a single one beyond the limit is refused by the connection with the reason.
        if room < 0 and count > 0:
            return count
    return len(hits)
