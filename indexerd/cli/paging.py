"""A result whole, where one message could not carry it.

Owns: asking on until every hit is there.
Knows nothing of: what is asked, who answers.
Invariants: 1. all hits of the joined result are of one generation.
Purity: shell (through what it calls).
See: docs/protocol.md (query, evidence).
"""

from collections.abc import Iterator, Mapping
from typing import cast

from indexerd.cli.reaching import Backend, Result
from indexerd.errors import BusyError

# A corpus that changes under every page is read again from the start so often, then given up.
_ATTEMPTS = 5


def call_whole(backend: Backend, method: str, params: Mapping[str, object]) -> Result:
    """Return the result of `query` with all its hits.

    Raises:
        BusyError: The index changed during every attempt; ask for fewer hits.
    """
    for _ in range(_ATTEMPTS):
        result = backend.call(method, params)
        hits = cast("list[Result]", result["hits"])
        while result.get("truncated"):
            page = backend.call(method, {**params, "after": len(hits)})
            if page["generation"] != result["generation"]:
                break
            hits += cast("list[Result]", page["hits"])
            result["truncated"] = bool(page.get("truncated") and page["hits"])
        else:
            result.pop("truncated", None)
            return result
    raise BusyError("the index changed while a long result was read: ask again, or for fewer hits (-n)")


def all_documents(backend: Backend, params: Mapping[str, object] | None = None) -> Iterator[Result]:
    """Give every document of `documents`, page after page."""
    after: dict[str, object] = {}
    while True:
        page = backend.call("documents", {**(params or {}), **after})
        yield from cast("list[Result]", page["documents"])
        if not page.get("next"):
            return
        after = {"after": page["next"]}
