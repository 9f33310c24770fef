"""Answers and the evidence they answer, as values read from JSON or from text.

Owns: the forms in which an answer and its evidence may be handed in.
Knows nothing of: support, proof, issues.
Invariants: 1. what is read is whole and typed, or one error says where it is not. 2. an answer in text keeps its
    offsets.
Purity: pure.
See: docs/grounding.md (answers).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count

from indexerd.errors import RequestError
from indexerd.grounding.claims import Statement, abstains, statements
from indexerd.grounding.marks import quotations
from indexerd.grounding.sentences import Span

# An answer is as long as a model writes; these bound what a request may cost.
MAX_CLAIMS = 1000
MAX_ANSWER_CHARS = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerCitation:
    """What a claim points at: a label, a citation, or both, and perhaps the words it quotes."""

    label: str = ""
    citation: str = ""
    quote: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerClaim:
    """One statement of an answer.

    Attributes:
        claim_id: As the answer names it, else, and in text, `c1`, `c2`, … in order; no two claims share one.
        start_char: Where it stands in a text; -1 in a structured answer.
        is_claim: Whether it is to be held to a source.
        marks: Where its marks stand in a text.
        quotes: What it says in the words of its source.
    """

    claim_id: str
    text: str
    citations: tuple[AnswerCitation, ...]
    start_char: int = -1
    end_char: int = -1
    is_claim: bool = True
    marks: tuple[Span, ...] = ()
    quotes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer.

    Attributes:
        evidence_set_id: The set it says it answers; empty in text, which names none.
        text: Its whole text, where it came as text.
        abstained: Whether it declines to answer.
    """

    claims: tuple[AnswerClaim, ...]
    evidence_set_id: str = ""
    text: str = ""
    abstained: bool = False
    abstention_reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceBlock:
    """One block of the evidence that was handed to a model."""

    label: str
    chunk_id: str
    citation: str
    content_hash: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The evidence that an answer answers, as its reply was handed back."""

    query: str
    evidence_set_id: str
    blocks: tuple[EvidenceBlock, ...]


def text_answer(text: str) -> Answer:
    """Read an answer in plain text or Markdown.

    Raises:
        RequestError: It is too long.
    """
    if len(text) > MAX_ANSWER_CHARS:
        raise RequestError(f"answer: {len(text)} characters, at most {MAX_ANSWER_CHARS} are checked")
    found = statements(text)
    _bounded(len(found))
    claims = tuple(_claim_of(number, statement) for number, statement in enumerate(found, 1))
    declining = next((one.text for one in found if abstains(one.text)), None)
    abstained = declining is not None and not any(one.is_claim for one in claims)
    return Answer(claims=claims, text=text, abstained=abstained, abstention_reason=declining if abstained else None)


def _claim_of(number: int, statement: Statement) -> AnswerClaim:
    return AnswerClaim(
        claim_id=f"c{number}",
        text=statement.text,
        citations=tuple(AnswerCitation(label=label) for label in statement.labels),
        start_char=statement.start,
        end_char=statement.end,
        is_claim=statement.is_claim,
        marks=tuple(dict.fromkeys(Span(mark.start, mark.end) for mark in statement.marks)),
        quotes=statement.quotes,
    )


def structured_answer(value: Mapping[str, object]) -> Answer:
    """Read a structured answer.

    Raises:
        RequestError: A field is missing, unknown, or of another type; the message names it.
    """
    known = ("evidence_set_id", "claims", "abstained", "abstention_reason")
    _refuse_unknown(value, known, "answer")
    claims = _list(value.get("claims", []), "answer.claims")
    _bounded(len(claims))
    reason = value.get("abstention_reason")
    return Answer(
        claims=_distinct([_claim(claim, number) for number, claim in enumerate(claims, 1)]),
        evidence_set_id=_text(value.get("evidence_set_id", ""), "answer.evidence_set_id"),
        abstained=_flag(value.get("abstained", False), "answer.abstained"),
        abstention_reason=None if reason is None else _text(reason, "answer.abstention_reason"),
    )


def _distinct(claims: Sequence[AnswerClaim]) -> tuple[AnswerClaim, ...]:
    """Return claims of which each has an id of its own: the second that is named `c1` is `c1-2`."""
    given, taken = {claim.claim_id for claim in claims}, dict[str, AnswerClaim]()
    for claim in claims:
        others = (f"{claim.claim_id}-{number}" for number in count(2))
        free = (name for name in others if name not in taken and name not in given)
        own = claim.claim_id if claim.claim_id not in taken else next(free)
        taken[own] = replace(claim, claim_id=own)
    return tuple(taken.values())


def _claim(value: object, number: int) -> AnswerClaim:
    where = f"answer.claims[{number - 1}]"
    claim = _table(value, where)
    _refuse_unknown(claim, ("claim_id", "text", "citations", "unsupported"), where)
    _flag(claim.get("unsupported", False), f"{where}.unsupported")
    text = _text(claim.get("text"), f"{where}.text")
    return AnswerClaim(
        claim_id=_text(claim.get("claim_id", f"c{number}"), f"{where}.claim_id"),
        text=text,
        quotes=tuple(text[quoted.start : quoted.end] for quoted in quotations(text)),
        citations=tuple(
            _citation(citation, f"{where}.citations[{at}]")
            for at, citation in enumerate(_list(claim.get("citations", []), f"{where}.citations"))
        ),
    )


def _citation(value: object, where: str) -> AnswerCitation:
    citation = _table(value, where)
    _refuse_unknown(citation, ("label", "citation", "quote"), where)
    return AnswerCitation(
        label=_text(citation.get("label") or "", f"{where}.label"),
        citation=_text(citation.get("citation") or "", f"{where}.citation"),
        quote=_text(citation.get("quote") or "", f"{where}.quote"),
    )


def evidence_of(reply: Mapping[str, object]) -> Evidence:
    """Read the evidence from the reply that `evidence` gave, unchanged.

    Raises:
        RequestError: It is no such reply.
    """
    evidence = reply.get("evidence")
    if evidence is None and reply.get("abstained"):
        return Evidence(query=_text(reply.get("query"), "evidence.query"), evidence_set_id="", blocks=())
    found = _table(evidence, "evidence.evidence")
    blocks = _list(found.get("blocks"), "evidence.evidence.blocks")
    return Evidence(
        query=_text(reply.get("query"), "evidence.query"),
        evidence_set_id=_text(found.get("evidence_set_id"), "evidence.evidence.evidence_set_id"),
        blocks=tuple(_block(block, f"evidence.evidence.blocks[{at}]") for at, block in enumerate(blocks)),
    )


def _block(value: object, where: str) -> EvidenceBlock:
    block = _table(value, where)
    return EvidenceBlock(
        label=_text(block.get("label"), f"{where}.label"),
        chunk_id=_text(block.get("chunk_id"), f"{where}.chunk_id"),
        citation=_text(block.get("citation"), f"{where}.citation"),
        content_hash=_text(block.get("content_hash"), f"{where}.content_hash"),
        text=_text(block.get("text") or "", f"{where}.text"),
    )


def _bounded(count: int) -> None:
    if count > MAX_CLAIMS:
        raise RequestError(f"answer: {count} claims, at most {MAX_CLAIMS} are checked")


def _refuse_unknown(value: Mapping[str, object], known: Sequence[str], where: str) -> None:
    unknown = sorted(set(value) - set(known))
    if unknown:
        raise RequestError(f"{where}: unknown field {unknown[0]!r}; known are {', '.join(known)}")


def _table(value: object, where: str) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise RequestError(f"{where}: must be an object")
    return value


def _list(value: object, where: str) -> Sequence[object]:
    if not isinstance(value, list | tuple):
        raise RequestError(f"{where}: must be a list")
    return value


def _text(value: object, where: str) -> str:
    if not isinstance(value, str):
        raise RequestError(f"{where}: must be a text")
    return value


def _flag(value: object, where: str) -> bool:
    if not isinstance(value, bool):
        raise RequestError(f"{where}: must be true or false")
    return value
