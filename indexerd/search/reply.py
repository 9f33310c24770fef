"""A search outcome as plain JSON values.

Owns: the names and forms of fields in a result.
Knows nothing of: searching, sockets, freshness of the index.
Invariants: 1. every value is a JSON type. 2. bytes that are not UTF-8 go out as base64, never replaced.
Purity: pure.
See: docs/protocol.md (result of query and evidence).
"""

import base64
import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from indexerd.model import Citation, LineSpan, MetadataValue, SourcePath
from indexerd.search.outcome import EvidenceSet, Hit, Part, SearchOutcome

if TYPE_CHECKING:
    from indexerd.store.snapshot import Snapshot

Json = dict[str, object]

_EPOCH: Final = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_FIRST_NS: Final = -30_610_224_000_000_000_000  # 1000-01-01
_LAST_NS: Final = 253_402_300_799_999_999_999  # 9999-12-31


def as_json(outcome: SearchOutcome, snapshot: "Snapshot") -> Json:
    """Return a result without `protocol`, `took_ms` and `freshness`: the service adds those."""
    close: Json = (
        {} if not outcome.close_terms else {"close_terms": {w: list(t) for w, t in outcome.close_terms.items()}}
    )
    if outcome.searched is not None:
        close["searched"] = outcome.searched
    if outcome.no_document:
        close["no_document"] = True
    return {
        "store_id": snapshot.store_id,
        "generation": snapshot.generation,
        "durable": snapshot.durable,
        "settings": snapshot.settings,
        "query": outcome.request.text,
        "request": request_json(outcome),
        "as_of": outcome.as_of.isoformat(),
        "candidates": outcome.candidates,
        "hits": [hit_json(hit) for hit in outcome.hits],
        "coverage": outcome.coverage,
        "answerability": outcome.answerability,
        "unmatched": list(outcome.unmatched),
        **close,
        "weak": outcome.weak,
        "abstained": outcome.abstained,
        "abstention_reason": outcome.abstention_reason,
        "rejected": [entry._asdict() for entry in outcome.rejected],
        "rejected_counts": dict(outcome.rejected_counts),
        "evidence": None if outcome.evidence is None else _evidence_json(outcome.evidence),
    }


def request_json(outcome: SearchOutcome) -> Json:
    """Return what was asked, every default and the day spelled out: asked again it is the same question."""
    asked = outcome.request
    where: dict[str, list[str]] = {}
    for key, value in asked.where:
        where.setdefault(key, []).append(value)
    fields: Json = {
        "method": "evidence" if asked.evidence else "query",
        "text": asked.text,
        "k": asked.k,
        "roles": sorted(asked.roles),
        "as_of": outcome.as_of.isoformat(),
        "paths": list(asked.paths),
        "tags": list(asked.tags),
        "where": where,
        "since": None if asked.since_ns is None else _microsecond(asked.since_ns),
        "until": None if asked.until_ns is None else _microsecond(asked.until_ns),
        "must": list(asked.must),
        "phrase": list(asked.phrase),
        "not": list(asked.exclude),
        "prefix": asked.prefix,
        "sort": asked.sort,
        "max_per_document": asked.max_per_document,
        "distinct": asked.distinct,
        "explain": asked.explain,
        "trace": asked.trace,
    }
    if asked.safe:
        fields["safe"] = True
    if asked.evidence:
        budget = {"budget_chars": asked.budget_chars}
        if asked.budget_tokens is not None:
            budget = {"budget_tokens": asked.budget_tokens}
        fields |= {**budget, "context": asked.context, "min_coverage": asked.min_coverage}
        if asked.conflicts:
            fields["conflicts"] = True
    return fields


def _microsecond(moment_ns: int) -> str:
    return (_EPOCH + datetime.timedelta(microseconds=moment_ns // 1000)).isoformat()


def hit_json(hit: Hit) -> Json:
    """Return one hit."""
    first, last = hit.span
    fields: Json = {
        "n": hit.n,
        "label": f"S{hit.n}",
        "score": hit.score,
        "title": hit.title,
        "source_path": hit.source_path,
        **_path_json(hit.path),
        "root": hit.root,
        "citation": f"{hit.source_path}#L{first}-L{last}",
        "start_line": first,
        "end_line": last,
        "line": hit.line,
        "column": hit.column,
        "heading_path": list(hit.heading_path),
        "text": hit.text,
        "excerpt": hit.excerpt,
        "highlights": list(map(list, hit.highlights)),
        "matched_terms": list(hit.matched_terms),
        "unsafe": None if hit.unsafe is None else {"line": hit.unsafe.line, "pattern": hit.unsafe.pattern},
        "chunk_id": hit.chunk_id,
        "document_id": hit.document_id,
        "content_hash": hit.content_hash.hex(),
        "document_hash": hit.document_hash.hex(),
        "metadata": {key: _metadata_json(value) for key, value in hit.metadata.items()} if hit.metadata else {},
        "tags": list(hit.tags),
        "modified": None if hit.modified_ns is None else iso_utc(hit.modified_ns),
        "validated_at": iso_utc(hit.validated_at_ns),
    }
    if hit.decoded:
        fields["decoded"] = True
    if hit.explain is not None:
        fields["explain"] = {"parts": [_part_json(part) for part in hit.explain], "boost": hit.boost}
    return fields


def _short(source_path: SourcePath, span: LineSpan) -> str:
    return str(Citation(source_path=source_path, span=span))


def iso_utc(moment_ns: int) -> str:
    """Return nanoseconds since 1970 as ISO 8601 in UTC with milliseconds and `Z`."""
    # A file's times may be anything; ISO dates end with the year 9999.
    if not _FIRST_NS <= moment_ns <= _LAST_NS:
        moment_ns = min(max(moment_ns, _FIRST_NS), _LAST_NS)
    seconds, rest = divmod(moment_ns, 1_000_000_000)
    return f"{_second(seconds)}.{rest // 1_000_000:03d}Z"


# The hits of a query are read in one second or two, and files written together stay together.
@lru_cache(maxsize=1024)
def _second(seconds: int) -> str:
    return (_EPOCH + datetime.timedelta(seconds=seconds)).isoformat()[:19]


def _path_json(path: bytes | None) -> Json:
    if path is None:
        return {"path": None}
    try:
        return {"path": path.decode()}
    except UnicodeDecodeError:
        return {"path": None, "path_b64": base64.b64encode(path).decode()}


def _metadata_json(value: MetadataValue) -> str | list[str]:
    return value if isinstance(value, str) else list(value)


def _part_json(part: Part) -> Json:
    return {
        "word": part.word,
        "kind": part.kind,
        "df": part.df,
        "idf": part.idf,
        "weight": part.weight,
        "frequency": part.frequency,
        "score": part.score,
    }


def _evidence_json(evidence: EvidenceSet) -> Json:
    fields: Json = {
        "evidence_set_id": evidence.evidence_set_id,
        "guard": evidence.guard,
        "blocks": [
            {
                "label": block.label,
                "n": block.n,
                "citation": _short(block.citation.source_path, block.citation.span),
                "content_hash": block.citation.content_hash.hex() if block.citation.content_hash else None,
                "chunk_id": block.chunk_id,
                "title": block.title,
                "heading_path": list(block.heading_path),
                "text": block.text,
                "rendered": block.rendered,
                "chars": len(block.rendered),
                "score": block.score,
                **({"decoded": True} if block.decoded else {}),
            }
            for block in evidence.blocks
        ],
        "omitted": [
            {
                "citation": _short(omitted.citation.source_path, omitted.citation.span),
                "chars": omitted.chars,
                "code": omitted.code,
            }
            for omitted in evidence.omitted
        ],
        "prompt": evidence.prompt,
        "prompt_chars": len(evidence.prompt),
        "budget_chars": evidence.budget_chars,
    }
    if evidence.budget_tokens is not None:
        fields |= {
            "budget_tokens": evidence.budget_tokens,
            "prompt_tokens": evidence.prompt_tokens,
            "tokenizer": "estimate",
        }
    return fields
