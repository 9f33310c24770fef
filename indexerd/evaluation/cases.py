"""Cases: what to ask, and what must and must not come of it.

Owns: the forms of case files.
Knows nothing of: who answers, how a run is measured.
Invariants: 1. a file is read whole or refused with every problem in it. 2. an unknown key is refused by name: a
    misspelt expectation would always hold.
Purity: pure.
See: docs/evaluation.md (cases).
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from indexerd.errors import InputError

_ASKING = ("case_id", "query", "top_k", "prompt_budget_chars", "roles", "as_of", "generation", "paths", "require")
_EXPECTING = (
    "expected_sources", "forbidden_sources", "should_abstain", "expect_top", "expect_text", "expect_abstain", "never",
)  # fmt: skip
_ANSWERING = ("answer", "gold_claims", "expected_pass", "expected_issue_codes")
_KNOWN = frozenset((*_ASKING, *_EXPECTING, *_ANSWERING))
_ANSWER_KEYS = frozenset(("claims", "abstained", "abstention_reason", "evidence_set_override"))

DEFAULT_TOP_K = 8
DEFAULT_BUDGET_CHARS = 12_000


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldClaim:
    """A claim that a good answer makes, and the sources that may be cited for it."""

    text: str
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One question with what is known of its answer.

    Attributes:
        expected: Source paths that should be selected; empty where the answer is to abstain.
        forbidden: Source paths that must not be selected.
        never: Source paths that must not occur anywhere in a reply.
        top: Source path that should come first; empty says nothing.
        texts: Texts that the evidence must contain.
        abstains: Whether evidence should be withheld.
        answer: A scripted answer whose check is to be judged; None for a case of retrieval alone.
        passes: Whether that answer should pass.
        issue_codes: The codes its check should give.
    """

    case_id: str
    query: str
    top_k: int = DEFAULT_TOP_K
    budget_chars: int = DEFAULT_BUDGET_CHARS
    roles: tuple[str, ...] | None = None
    as_of: str | None = None
    generation: int | None = None
    paths: tuple[str, ...] = ()
    expected: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    top: str = ""
    texts: tuple[str, ...] = ()
    abstains: bool = False
    answer: Mapping[str, Any] | None = None
    gold: tuple[GoldClaim, ...] = ()
    passes: bool = True
    issue_codes: tuple[str, ...] = ()

    def params(self) -> dict[str, object]:
        """Return the parameters of the `evidence` call."""
        given = {
            "text": self.query,
            "k": self.top_k,
            "budget_chars": self.budget_chars,
            "roles": None if self.roles is None else list(self.roles),
            "as_of": self.as_of,
            "generation": self.generation,
            "paths": list(self.paths) or None,
        }
        return {name: value for name, value in given.items() if value is not None}


def read_cases(text: str, name: str) -> tuple[Case, ...]:
    """Read a file of cases.

    Args:
        text: JSON with a list `cases`.
        name: The file's name, for messages.

    Raises:
        InputError: It is none, or cases in it are wrong; every problem is listed.
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError([f"{name}: is no JSON: {error}"]) from error
    rows = value.get("cases") if isinstance(value, dict) else None
    if not isinstance(rows, list) or not rows:
        raise InputError([f'{name}: needs a list "cases" with at least one case'])
    problems = [f"{name}: {problem}" for number, row in enumerate(rows, 1) for problem in _problems(row, number)]
    ids = [str(row["case_id"]) for row in rows if isinstance(row, dict) and "case_id" in row]
    problems += [
        f"{name}: case_id {one!r} is there twice" for one in sorted({one for one in ids if ids.count(one) > 1})
    ]
    if problems:
        raise InputError(problems)
    return tuple(_case(row) for row in rows)


def _problems(row: object, number: int) -> Iterator[str]:
    if not isinstance(row, dict):
        yield f"case {number}: must be an object"
        return
    where = f"case {row.get('case_id', number)!r}"
    yield from (f"{where}: unknown key {key!r}" for key in row if key not in _KNOWN)
    yield from (f"{where}: {key} must be a text" for key in ("case_id", "query") if not isinstance(row.get(key), str))
    texts = ("expected_sources", "forbidden_sources", "never", "roles", "paths", "require", "expected_issue_codes")
    yield from (f"{where}: {key} must be a list of texts" for key in texts if not _is_texts(row.get(key, [])))
    counts = ("top_k", "prompt_budget_chars", "generation")
    yield from (f"{where}: {key} must be a whole number" for key in counts if not _is_count(row.get(key, 1)))
    single = ("expect_text", "expect_top", "as_of")
    yield from (f"{where}: {key} must be a text" for key in single if not isinstance(row.get(key, ""), str))
    flags = ("should_abstain", "expect_abstain", "expected_pass")
    yield from (f"{where}: {key} must be true or false" for key in flags if not isinstance(row.get(key, True), bool))
    gold = row.get("gold_claims", [])
    if not isinstance(gold, list) or not all(_is_gold(claim) for claim in gold):
        yield f"{where}: gold_claims must be a list of objects with text and sources"
    for key in ("gold_claims", "expected_pass", "expected_issue_codes"):
        if key in row and "answer" not in row:
            yield f"{where}: {key} says nothing without an answer"
    answer = row.get("answer", {})
    if not isinstance(answer, dict):
        yield f"{where}: answer must be an object"
    else:
        yield from (f"{where}: unknown key {key!r} in answer" for key in answer if key not in _ANSWER_KEYS)
        claims = answer.get("claims", [])
        if not _is_objects(claims) or not all(_is_objects(claim.get("citations", [])) for claim in claims):
            yield f"{where}: claims of the answer, and citations of these, must be lists of objects"


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _is_objects(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, dict) for item in value)


def _is_gold(value: object) -> bool:
    return isinstance(value, dict) and isinstance(value.get("text"), str) and _is_texts(value.get("sources"))


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _case(row: Mapping[str, Any]) -> Case:
    expected = tuple(row.get("expected_sources", ())) or ((row["expect_top"],) if row.get("expect_top") else ())
    is_known = bool({"expected_sources", "should_abstain", "expect_abstain", "expect_top"} & set(row))
    return Case(
        case_id=row["case_id"],
        query=row["query"],
        top_k=row.get("top_k", DEFAULT_TOP_K),
        budget_chars=row.get("prompt_budget_chars", DEFAULT_BUDGET_CHARS),
        roles=tuple(row["roles"]) if "roles" in row else None,
        as_of=row.get("as_of"),
        generation=row.get("generation"),
        paths=tuple(row.get("paths", ())),
        expected=expected,
        forbidden=(*row.get("forbidden_sources", ()), *row.get("never", ())),
        never=tuple(row.get("never", ())),
        top=row.get("expect_top", ""),
        texts=(*row.get("require", ()), *([row["expect_text"]] if "expect_text" in row else [])),
        abstains=row.get("should_abstain", row.get("expect_abstain", is_known and not expected)),
        answer=row.get("answer"),
        gold=tuple(GoldClaim(text=gold["text"], sources=tuple(gold["sources"])) for gold in row.get("gold_claims", ())),
        passes=row.get("expected_pass", True),
        issue_codes=tuple(sorted(row.get("expected_issue_codes", ()))),
    )


def scripted_answer(case: Case, reply: Mapping[str, Any]) -> dict[str, object]:
    """Return a case's answer with labels and citations of this run in place of source paths and quotes.

    A source of which several blocks were selected is cited by the one that holds the quote, else by the first. A source
    of which none was keeps its name, which no evidence has.
    """
    assert case.answer is not None
    evidence = reply.get("evidence") or {}
    answer: dict[str, Any] = {key: value for key, value in case.answer.items() if key != "evidence_set_override"}
    answer["claims"] = [_claim(claim, evidence.get("blocks", [])) for claim in case.answer.get("claims", [])]
    answer["evidence_set_id"] = case.answer.get("evidence_set_override") or evidence.get("evidence_set_id", "")
    return answer


def _claim(claim: Mapping[str, Any], blocks: Sequence[Mapping[str, Any]]) -> dict[str, object]:
    return {**claim, "citations": [_citation(one, blocks) for one in claim.get("citations", [])]}


def _citation(given: Mapping[str, Any], blocks: Sequence[Mapping[str, Any]]) -> dict[str, object]:
    if "source_path" not in given:
        return dict(given)
    quote = given.get("quote", "")
    own = [block for block in blocks if source_of(block) == given["source_path"]]
    chosen = next((block for block in own if quote in block["text"]), own[0] if own else None)
    if chosen is None:
        return {"citation": given["source_path"], "quote": quote}
    return {"label": chosen["label"], "citation": chosen["citation"], "quote": quote}


def source_of(block: Mapping[str, Any]) -> str:
    """Return the source path of a block's citation."""
    return str(block["citation"]).rpartition("#")[0]
