"""A line in the log for each request whose answer may be scored: evidence, checks, and, when debugging, queries.

Owns: the fields of these lines.
Knows nothing of: the form of the log, where it goes.
Invariants: 1. what was asked stands there as a hash unless the settings say otherwise; text of documents never does.
    2. a line that nobody asked for costs one comparison.
Purity: shell (the log).
See: docs/operations.md (log events).
"""

import hashlib
import logging
from collections.abc import Mapping, Sequence
from typing import cast

from indexerd.service.parts import Parts
from indexerd.service.rendering import Json

_log = logging.getLogger(__name__)


def log_answer(parts: Parts, method: str, seconds: float, result: Mapping[str, object]) -> None:
    """Log one answer."""
    took_ms = {"took_ms": round(seconds * 1000, 3)}
    if method == "evidence" and _log.isEnabledFor(logging.INFO):
        _log.info("evidence", extra={"fields": _asked(parts, result) | _given(result) | took_ms})
    elif method == "check" and "verdict" in result and _log.isEnabledFor(logging.INFO):
        _log.info("check", extra={"fields": _checked(result) | took_ms})
    elif method == "query" and _log.isEnabledFor(logging.DEBUG):
        _log.debug("query", extra={"fields": _asked(parts, result) | took_ms})


def _asked(parts: Parts, result: Mapping[str, object]) -> Json:
    text = str(result["query"])
    # With the store's random identity in it, so that short questions cannot be guessed from a log alone.
    digest = hashlib.sha256(f"{parts.store.store_id}\n{text}".encode("utf-8", "replace")).hexdigest()
    asked: Json = {"query": text} if parts.logs_text else {"query_hash": digest[:24]}
    return asked | {
        "generation": result["generation"],
        "freshness": cast("Mapping[str, object]", result["freshness"])["state"],
        "hit_count": len(cast("Sequence[object]", result["hits"])),
        "candidates": result["candidates"],
        "coverage": result["coverage"],
        "weak": result["weak"],
        "rejected_counts": result["rejected_counts"],
    }


def _given(result: Mapping[str, object]) -> Json:
    evidence = cast("Mapping[str, object]", result["evidence"] or {})
    return {
        "evidence_set_id": evidence.get("evidence_set_id"),
        "citation_count": len(cast("Sequence[object]", evidence.get("blocks", ()))),
        # Evidence claims nothing: the field is there so that one query of the log serves both events.
        "uncited_claim_count": 0,
        "prompt_chars": evidence.get("prompt_chars", 0),
        "answerability": result["answerability"],
        "abstained": result["abstained"],
        "abstention_reason": result["abstention_reason"],
    }


def _checked(result: Mapping[str, object]) -> Json:
    kept = (
        "evidence_set_id", "verdict", "claim_count", "citation_count", "uncited_claim_count", "coverage", "abstained",
        "abstention_reason", "issue_codes",
    )  # fmt: skip
    return {name: result[name] for name in kept}
