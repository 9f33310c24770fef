"""The tools carried out: arguments to calls of the daemon, its results to what a model reads.

Owns: which methods a tool calls, with the bounds that were fixed at the start; `indexerd://doc/` addresses.
Knows nothing of: the Model Context Protocol's messages, how a call travels.
Invariants: 1. every call that gives, finds or proves text carries the roles, the day, the paths, and (but
    `check`, which always is) `safe`. 2. what a model
    gets of a document is proved text, its name and its headings; no absolute path.
Purity: pure, save for the calls it is given.
See: docs/agents.md (tools).
"""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import NamedTuple, cast

from indexerd.agents.schemas import Json, input_schema, problems
from indexerd.errors import NotFoundError, RequestError

Call = Callable[[str, Mapping[str, object]], Mapping[str, object]]

SCHEME = "indexerd://doc/"
# A part of a long document: what a model reads at once.
_PART_CHARS = 40_000
# Evidence that may be checked by its id alone.
_REMEMBERED = 32
_SAFE_IN_ADDRESSES = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/")


class Bounds(NamedTuple):
    """What was fixed when the server was started; no tool can widen it.

    Attributes:
        roles: Roles to act under; None for those that the caller has by default.
        as_of: Day on which documents must be valid; empty for today.
        paths: Globs that choose documents; none for all.
        wait_ms: Longest wait for what was just saved.
    """

    roles: tuple[str, ...] | None = None
    as_of: str = ""
    paths: tuple[str, ...] = ()
    wait_ms: int = 2_000

    def chosen(self) -> Json:
        """Return the parameters that say for whom, for which day, and which documents."""
        roles: Json = {} if self.roles is None else {"roles": list(self.roles)}
        day: Json = {"as_of": self.as_of} if self.as_of else {}
        return roles | day | ({"paths": list(self.paths)} if self.paths else {})

    def documents(self) -> Json:
        """Return these, and that nothing unsafe is given."""
        return self.chosen() | {"safe": True}


class Tools:
    """Carries out tools. `call` raises `IndexerdError` where the daemon refuses or is not there."""

    def __init__(self, call: Call, bounds: Bounds) -> None:
        self._call, self._bounds = call, bounds
        self._evidence: OrderedDict[str, Mapping[str, object]] = OrderedDict()
        self._tools: Mapping[str, Callable[[Json], Json]] = {
            "search": self._search,
            "fetch": self._fetch,
            "evidence": self._ask_evidence,
            "check": self._check,
            "verify": self._verify,
            "status": self._status,
        }

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def run(self, name: str, arguments: Json) -> Json:
        """Carry out one tool.

        Raises:
            RequestError: The arguments are not as its schema says; names each problem.
            IndexerdError: The daemon refuses, or is not there.
        """
        wrong = list(problems(arguments, input_schema(name)))
        if wrong:
            raise RequestError("; ".join(wrong[:10]))
        return self._tools[name](arguments)

    def read(self, uri: str) -> Json:
        """Return the text of a document by its address, whole.

        Raises:
            NotFoundError: It is no address of ours, or there is no such document for this caller.
            IndexerdError: The daemon is not there.
        """
        if not uri.startswith(SCHEME):
            raise NotFoundError(f"no resource {uri!r}: addresses begin with {SCHEME}")
        return dict(self._show({"citation": named(uri)}))

    def _search(self, arguments: Json) -> Json:
        asked = {"text": arguments["query"], "k": arguments.get("limit", 10), "tags": arguments.get("tags", [])}
        reply = self._call("query", {**asked, **self._bounds.documents(), "wait_ms": self._bounds.wait_ms})
        hits = cast("list[Json]", reply["hits"])
        return {
            "results": [_passage(hit) for hit in hits],
            "unmatched": reply["unmatched"],
            "weak": reply["weak"],
            "rejected_counts": reply["rejected_counts"],
            **_standing(reply),
        }

    def _fetch(self, arguments: Json) -> Json:
        wanted = named(str(arguments["id"]))
        lines: Json = {name: arguments[name] for name in ("start_line", "end_line") if name in arguments}
        if lines and "#L" in wanted:
            raise RequestError("give start_line and end_line with a path, not with a citation")
        shown = self._show({"source_path": wanted, **lines} if lines else {"citation": wanted})
        next_line = None
        text = str(shown["text"])
        if len(text) > _PART_CHARS:
            first = cast("int", shown["start_line"])
            last = first + max(1, text.count("\n", 0, _PART_CHARS)) - 1
            next_line = last + 1 if last < cast("int", shown["end_line"]) else None
            shown = self._show({"source_path": shown["source_path"], "start_line": first, "end_line": last})
        return _document(shown, next_line)

    def _show(self, asked: Json) -> Mapping[str, object]:
        return self._call("show", asked | self._bounds.documents())

    def _ask_evidence(self, arguments: Json) -> Json:
        asked: Json = {
            "text": arguments["question"],
            "k": arguments.get("limit", 8),
            "budget_chars": arguments.get("budget_chars", 12_000),
            "context": arguments.get("context", 0),
        }
        reply = self._call("evidence", {**asked, **self._bounds.documents(), "wait_ms": self._bounds.wait_ms})
        given = _evidence(reply)
        if given["evidence_set_id"] is not None:
            self._evidence[str(given["evidence_set_id"])] = given
            while len(self._evidence) > _REMEMBERED:
                self._evidence.popitem(last=False)
        return given

    def _check(self, arguments: Json) -> Json:
        asked_id = arguments.get("evidence_set_id")
        given = arguments.get("evidence") or self._evidence.get(str(asked_id))
        if not isinstance(given, Mapping):
            unseen = f"evidence_set_id {asked_id!r} is unknown here since the start: ask evidence again"
            which = "give evidence_set_id as `evidence` returned it, or that whole result as `evidence`"
            raise RequestError(which if asked_id is None else f"{unseen}, or {which}")
        made = None if given.get("abstained") else {"blocks": given.get("blocks")}
        if made is not None:
            made["evidence_set_id"] = given.get("evidence_set_id")
        evidence = {"query": given.get("query"), "abstained": given.get("abstained"), "evidence": made}
        asked = {"answer": arguments["answer"], "evidence": evidence, "fix": True}
        return _without_protocol(self._call("check", asked | self._bounds.chosen()))

    def _verify(self, arguments: Json) -> Json:
        reply = self._call("verify", {"citation": arguments["citation"], **self._bounds.documents()})
        return {name: reply[name] for name in ("citation", "source_path", "state", "moved_to", "detail", "diff")}

    def _status(self, _: Json) -> Json:
        """Give what no hidden document shows in: neither counts nor names."""
        reply = self._call("status", {})
        problems = cast("list[Json]", reply.get("problems", []))
        return {"state": reply["state"], "problems": [str(problem["code"]) for problem in problems]}


def address(source_path: str) -> str:
    """Return the address of a document, as the resource template expands."""
    return SCHEME + "".join(
        chr(byte) if byte in _SAFE_IN_ADDRESSES else f"%{byte:02X}" for byte in source_path.encode("utf-8", "replace")
    )


def named(text: str) -> str:
    """Return the source path or citation that an id or address stands for."""
    if not text.startswith(SCHEME):
        return text
    path, mark, lines = text[len(SCHEME) :].partition("#")
    from urllib.parse import unquote  # noqa: PLC0415 - 6 ms that the first reply does not need

    return unquote(path) + mark + lines


def _standing(reply: Mapping[str, object]) -> Json:
    freshness = cast("Mapping[str, object]", reply["freshness"])
    problem = cast("Json | None", freshness.get("problem"))
    if problem and problem["code"] != "root_unavailable":
        # Of a root it says which and why; else it may name a file that this caller may not see.
        problem = {**problem, "detail": ""}
    return {
        "generation": reply["generation"],
        "freshness": freshness["state"],
        "held": freshness.get("held", 0),
        "problem": problem,
    }


def _passage(hit: Json) -> Json:
    citation = str(hit["citation"])
    headings = cast("list[str]", hit["heading_path"])
    title = str(hit["title"])
    return {
        "id": f"{citation}@sha256:{hit['content_hash']}",
        "title": " > ".join([title, *(name for name in headings if name != title)]),
        "url": f"{address(str(hit['source_path']))}#{citation.rpartition('#')[2]}",
        "text": hit["text"],
        "citation": citation,
        "score": hit["score"],
        "modified": hit["modified"],
    }


def _document(shown: Mapping[str, object], next_line: int | None) -> Json:
    path, citation = str(shown["source_path"]), str(shown["citation"])
    kept = ("source_path", "citation", "start_line", "end_line", "line_count", "state", "document_hash", "modified")
    return {
        "id": citation,
        "title": shown["title"],
        "text": shown["text"],
        "url": f"{address(path)}#L{shown['start_line']}-L{shown['end_line']}",
        "metadata": {**{name: shown[name] for name in kept}, "next_line": next_line},
    }


def _evidence(reply: Mapping[str, object]) -> Json:
    made = cast("Mapping[str, object]", reply["evidence"] or {})
    kept = ("label", "citation", "content_hash", "chunk_id", "title", "heading_path", "text")
    return {
        "query": reply["query"],
        "abstained": reply["abstained"],
        "abstention_reason": reply["abstention_reason"],
        "evidence_set_id": made.get("evidence_set_id"),
        "guard": made.get("guard"),
        "blocks": [{name: block[name] for name in kept} for block in cast("list[Json]", made.get("blocks", []))],
        "coverage": reply["coverage"],
        "answerability": reply["answerability"],
        "unmatched": reply["unmatched"],
        "rejected_counts": reply["rejected_counts"],
        "as_of": reply["as_of"],
        **_standing(reply),
    }


def _without_protocol(reply: Mapping[str, object]) -> Json:
    return {name: value for name, value in reply.items() if name != "protocol"}
