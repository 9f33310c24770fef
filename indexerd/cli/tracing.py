"""A trace: the five stages from a document to a checked answer, as one JSON file that people can read.

Owns: the form of a trace, the reading and writing of its file.
Knows nothing of: how anything was found or judged.
Invariants: 1. each stage holds what the next one was made from. 2. what came of a model is kept as the caller gave it.
Purity: shell (one file); the form is pure.
See: docs/grounding.md (trace).
"""

import json
from collections.abc import Mapping
from typing import Any

from indexerd.cli.options import read_json, save_text
from indexerd.cli.reaching import Result
from indexerd.errors import RequestError

# In the order in which they follow from one another.
STAGES = ("sources", "candidates", "context", "model", "citations")
# What must be asked of `evidence` for a whole trace.
ASKED = {"trace": True, "explain": True}
_REMEDY = "write it with `indexerd evidence --trace FILE`"

_HEAD = ("store_id", "generation", "query", "request", "as_of", "abstained", "abstention_reason")
_OF_SOURCE = ("source_path", "title", "document_hash", "content_hash", "metadata", "modified", "validated_at", "text")
_OF_CANDIDATE = ("n", "citation", "score", "explain", "matched_terms", "chunk_id")
_OF_RANKING = ("candidates", "coverage", "answerability", "unmatched", "weak", "rejected", "rejected_counts")


def trace_of(reply: Mapping[str, Any]) -> Result:
    """Return the trace of an evidence reply; no model has been asked yet."""
    hits = reply["hits"]
    return {
        "trace": 1,
        **{name: reply[name] for name in _HEAD},
        "sources": [{"citation": hit["citation"], **{name: hit[name] for name in _OF_SOURCE}} for hit in hits],
        "candidates": {
            **{name: reply[name] for name in _OF_RANKING},
            "selected": [{name: hit.get(name) for name in _OF_CANDIDATE} for hit in hits],
        },
        "context": reply["evidence"],
        "model": None,
        "citations": None,
    }


def evidence_in(trace: Mapping[str, Any]) -> Result:
    """Return what of a trace `check` takes for its evidence."""
    return {"query": trace["query"], "abstained": trace["abstained"], "evidence": trace["context"]}


def with_answer(trace: Result, answer: object, sent: str | None, report: Result) -> Result:
    """Return a trace with what a model was sent, what it answered, and what its citations lead to."""
    return trace | {"model": {"sent": sent, "answered": answer}, "citations": report}


def read_trace(name: str) -> Result:
    """Read a trace.

    Raises:
        RequestError: The file is none.
    """
    trace: Result = read_json(name, _REMEDY)
    check_trace(trace, name)
    return trace


def check_trace(trace: Any, name: str) -> None:
    """Refuse what is no trace.

    Raises:
        RequestError: It is none.
    """
    is_one = isinstance(trace, dict) and trace.get("trace") == 1 and {*_HEAD, *STAGES} <= set(trace)
    if not is_one or not (trace["citations"] is None or isinstance(trace["model"], dict)):
        raise RequestError(f"{name}: no trace: {_REMEDY}")


def write_trace(name: str, trace: Result) -> None:
    """Write a trace, indented."""
    save_text(name, json.dumps(trace, ensure_ascii=False, indent=1) + "\n")
