"""The tools as a client lists them: names, input and output schemas, hints.

Owns: the shape of what tools take and give; what a wrong argument is answered with, so that a model can mend its call.
Knows nothing of: how a tool is carried out, revisions of the protocol.
Invariants: 1. no input names roles, a day, paths to keep to, or safety. 2. every tool only reads, and says so.
    3. an argument that the schema does not name is refused by name. 4. a schema uses no word of JSON Schema that is
    not checked here.
Purity: pure.
See: docs/agents.md (tools).
"""

from collections.abc import Iterator, Mapping
from typing import cast

from indexerd.agents.instructions import DESCRIPTIONS

Json = dict[str, object]
Schema = Mapping[str, object]

_CHECKED = {
    "type", "properties", "required", "additionalProperties", "minLength", "maxLength", "minimum", "maximum", "items",
    "maxItems", "description", "default",
}  # fmt: skip
_TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,), "array": (list,), "string": (str,), "integer": (int,), "boolean": (bool,),
}  # fmt: skip

_HINTS: Json = {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False}
_TEXT: Json = {"type": "string"}
_NUMBER: Json = {"type": "number"}
_WHOLE: Json = {"type": "integer"}
_FLAG: Json = {"type": "boolean"}
_TEXTS: Json = {"type": "array", "items": _TEXT}
_COUNTS: Json = {"type": "object", "additionalProperties": _WHOLE}


def _object(properties: Json, required: list[str] | None = None, *, more: bool = False) -> Json:
    names = list(properties) if required is None else required
    return {"type": "object", "properties": properties, "required": names, "additionalProperties": more}


def _text(most: int, description: str) -> Json:
    return {"type": "string", "minLength": 1, "maxLength": most, "description": description}


def _whole(low: int, high: int, description: str, default: int | None = None) -> Json:
    schema: Json = {"type": "integer", "minimum": low, "maximum": high, "description": description}
    return schema if default is None else {**schema, "default": default}


_INPUTS: dict[str, Json] = {
    "search": _object(
        {
            "query": _text(4_000, "Words to look for; any text, never a grammar."),
            "limit": _whole(1, 50, "How many passages.", 10),
            "tags": {
                "type": "array",
                "items": _text(200, "A tag."),
                "maxItems": 20,
                "description": "All must be there.",
            },
        },
        ["query"],
    ),
    "fetch": _object(
        {
            "id": _text(8_000, "An id from search, a citation, or a path."),
            "start_line": _whole(1, 10_000_000, "First line, from 1; where id names no lines."),
            "end_line": _whole(1, 10_000_000, "Last line."),
        },
        ["id"],
    ),
    "evidence": _object(
        {
            "question": _text(4_000, "The question, in the user's words."),
            "limit": _whole(1, 30, "How many passages at most.", 8),
            "budget_chars": _whole(1_000, 100_000, "Characters of all passages and the guard together.", 12_000),
            "context": _whole(0, 200, "Lines by which a passage may be widened.", 0),
        },
        ["question"],
    ),
    "check": _object(
        {
            "answer": _text(200_000, "The answer, with [S1] marks."),
            "evidence_set_id": _text(100, "Of the evidence that it answers from, as given by this server."),
            "evidence": {
                "type": "object",
                "description": "Or that evidence itself, the whole result handed back.",
                "additionalProperties": True,
            },
        },
        ["answer"],
    ),
    "verify": _object({"citation": _text(8_000, "A full citation, with @sha256:….")}),
    "status": _object({}),
}
_PASSAGE: Json = {
    "id": _TEXT, "title": _TEXT, "url": _TEXT, "text": _TEXT, "citation": _TEXT, "score": _NUMBER,
    "modified": {"type": ["string", "null"]},
}  # fmt: skip
_BLOCK: Json = {
    "label": _TEXT, "citation": _TEXT, "content_hash": _TEXT, "chunk_id": _TEXT, "title": _TEXT, "heading_path": _TEXTS,
    "text": _TEXT,
}  # fmt: skip
_PROBLEM: Json = {**_object({"code": _TEXT, "detail": _TEXT}), "type": ["object", "null"]}
_STANDING: Json = {"generation": _WHOLE, "freshness": _TEXT, "held": _WHOLE, "problem": _PROBLEM}
_CLAIM: Json = {"claim_id": _TEXT, "text": _TEXT, "band": _TEXT, "issues": {"type": "array"}}
_OUTPUTS: dict[str, Json] = {
    "search": _object(
        {
            "results": {"type": "array", "items": _object(_PASSAGE)},
            "unmatched": _TEXTS,
            "weak": _FLAG,
            "rejected_counts": _COUNTS,
            **_STANDING,
        }
    ),
    "fetch": _object(
        {
            "id": _TEXT,
            "title": _TEXT,
            "text": _TEXT,
            "url": _TEXT,
            "metadata": _object(
                {
                    "source_path": _TEXT,
                    "citation": _TEXT,
                    "start_line": _WHOLE,
                    "end_line": _WHOLE,
                    "line_count": _WHOLE,
                    "next_line": {"type": ["integer", "null"]},
                    "state": {"type": ["string", "null"]},
                    "document_hash": _TEXT,
                    "modified": _TEXT,
                }
            ),
        }
    ),
    "evidence": _object(
        {
            "query": _TEXT,
            "abstained": _FLAG,
            "abstention_reason": {"type": ["string", "null"]},
            "evidence_set_id": {"type": ["string", "null"]},
            "guard": {"type": ["string", "null"]},
            "blocks": {"type": "array", "items": _object(_BLOCK)},
            "coverage": _NUMBER,
            "answerability": _NUMBER,
            "unmatched": _TEXTS,
            "rejected_counts": _COUNTS,
            "as_of": _TEXT,
            **_STANDING,
        }
    ),
    "check": _object(
        {
            "verdict": _TEXT,
            "coverage": _NUMBER,
            "abstained": _FLAG,
            "claim_count": _WHOLE,
            "citation_count": _WHOLE,
            "uncited_claim_count": _WHOLE,
            "set_aside_count": _WHOLE,
            "issue_codes": _TEXTS,
            "claims": {"type": "array", "items": _object(_CLAIM, more=True)},
            "fixed": _TEXT,
        },
        more=True,
    ),
    "verify": _object(
        {
            "citation": _TEXT,
            "source_path": _TEXT,
            "state": _TEXT,
            "moved_to": _TEXTS,
            "detail": _TEXT,
            "diff": {"type": ["string", "null"]},
        }
    ),
    "status": _object({"state": _TEXT, "problems": _TEXTS}),
}


def input_schema(tool: str) -> Json:
    """Return what a tool takes."""
    return _INPUTS[tool]


def listed() -> list[Json]:
    """Return every tool as the newest revision lists it."""
    return [
        {
            "name": name,
            "title": title,
            "description": description,
            "inputSchema": _INPUTS[name],
            "outputSchema": _OUTPUTS[name],
            "annotations": {"title": title, **_HINTS},
        }
        for name, (title, description) in DESCRIPTIONS.items()
    ]


def problems(value: object, schema: Schema, where: str = "arguments") -> Iterator[str]:
    """Yield what is wrong with a value, each as one sentence that names the place."""
    unchecked = schema.keys() - _CHECKED
    assert not unchecked, f"nobody checks {unchecked}"
    wanted = str(schema["type"])
    if not isinstance(value, _TYPES[wanted]) or (wanted == "integer" and isinstance(value, bool)):
        yield f"{where} must be of type {wanted}"
    elif isinstance(value, dict):
        yield from _in_object(value, schema, where)
    elif isinstance(value, list):
        yield from _in_list(value, schema, where)
    else:
        yield from _out_of_range(value, schema, where)


def _in_object(value: Mapping[str, object], schema: Schema, where: str) -> Iterator[str]:
    known = cast("Mapping[str, Schema]", schema.get("properties", {}))
    for name in cast("list[str]", schema.get("required", [])):
        if name not in value:
            yield f"{where}: {name!r} is missing"
    for name, inner in value.items():
        if name in known:
            yield from problems(inner, known[name], f"{where}.{name}")
        elif schema.get("additionalProperties") is False:
            yield f"{where}: there is no {name!r}; there are {', '.join(known) or 'none'}"


def _in_list(value: list[object], schema: Schema, where: str) -> Iterator[str]:
    if len(value) > cast("int", schema.get("maxItems", len(value))):
        yield f"{where} may have {schema['maxItems']} entries"
    for at, inner in enumerate(value):
        yield from problems(inner, cast("Schema", schema["items"]), f"{where}[{at}]")


def _out_of_range(value: object, schema: Schema, where: str) -> Iterator[str]:
    if isinstance(value, str):
        low, high = cast("int", schema.get("minLength", 0)), cast("int", schema.get("maxLength", len(value)))
        if not low <= len(value) <= high:
            yield f"{where} must have {low} to {high} characters"
    elif isinstance(value, int) and not isinstance(value, bool):
        low, high = cast("int", schema.get("minimum", value)), cast("int", schema.get("maximum", value))
        if not low <= value <= high:
            yield f"{where} must be from {low} to {high}"
