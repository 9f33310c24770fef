"""Arguments of a tool held to its input schema: the few words of JSON Schema that our schemas use.

Owns: what a wrong argument is answered with, so that a model can mend its call.
Knows nothing of: which tools there are.
Invariants: 1. an argument that the schema does not name is refused by name. 2. a word of JSON Schema that is not
    checked here cannot be used by a schema.
Purity: pure.
See: docs/agents.md (tools).
"""

from collections.abc import Iterator, Mapping
from typing import cast

Schema = Mapping[str, object]

_CHECKED = {
    "type", "properties", "required", "additionalProperties", "minLength", "maxLength", "minimum", "maximum", "items",
    "maxItems", "description", "default",
}  # fmt: skip
_TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,), "array": (list,), "string": (str,), "integer": (int,), "boolean": (bool,),
}  # fmt: skip


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
