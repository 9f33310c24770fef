"""A check's report as plain JSON values, and the answer with its faults marked.

Owns: the names of the fields of a report; what `fix` may change in an answer.
Knows nothing of: how a claim is judged, sockets.
Invariants: 1. every value is a JSON type. 2. fixing changes marks and citations only: without its marks, a fixed text
    is the text that came in, save for `[unsupported]` and a last fence that nothing closed. 3. what was fixed needs no
    fix.
Purity: pure.
See: docs/grounding.md (report, fix).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from typing import NamedTuple

from indexerd.grounding.answers import Answer, AnswerCitation, AnswerClaim, EvidenceBlock
from indexerd.grounding.checking import CheckedClaim, Report
from indexerd.grounding.claims import spoken, statements
from indexerd.grounding.conflicts import Conflict, ConflictSpan, conflicts
from indexerd.grounding.marks import UNSUPPORTED
from indexerd.grounding.passages import SupportSpan
from indexerd.grounding.sentences import Span, is_fenced, is_row, open_fence
from indexerd.grounding.support import Support, support_of
from indexerd.model import LineSpan, parse_citation

Json = dict[str, object]


def report_json(report: Report, answer: Answer) -> Json:
    """Return a report."""
    held = [claim for claim in report.claims if claim.claim.is_claim]
    return {
        "verdict": "pass" if report.passed else "fail",
        "evidence_set_id": report.evidence_set_id,
        "abstained": answer.abstained,
        "abstention_reason": answer.abstention_reason,
        "claim_count": len(held),
        "uncited_claim_count": sum(not claim.claim.citations for claim in held),
        "citation_count": sum(len(claim.claim.citations) for claim in held),
        "set_aside_count": report.set_aside_count,
        "coverage": report.coverage,
        "issue_codes": sorted({issue.code for issue in report.issues}),
        "issues": [issue._asdict() for issue in report.issues],
        "claims": [_claim_json(claim) for claim in report.claims],
    }


def _claim_json(checked: CheckedClaim) -> Json:
    claim, support = checked.claim, checked.support
    fields: Json = {"claim_id": claim.claim_id, "text": claim.text}
    if claim.start_char >= 0:
        fields |= {"start_char": claim.start_char, "end_char": claim.end_char}
    fields["citations"] = [_citation_json(citation) for citation in claim.citations]
    if not claim.is_claim:
        fields |= _NOTHING | {"band": "not_a_claim", "score": None}
    else:
        fields |= support_json(support, checked.blocks) if support else _NOTHING
    return fields | {"found_in": list(checked.found_in), "issues": [issue.code for issue in checked.issues]}


_NOTHING: Json = {"band": "not_found", "score": 0.0, "reasons": [], "span": None, "spans": []}


def _citation_json(citation: AnswerCitation) -> Json:
    return {"label": citation.label, "citation": citation.citation, "quote": citation.quote}


def support_json(support: Support, blocks: tuple[EvidenceBlock, ...] = ()) -> Json:
    """Return what passages say of a claim; where they are blocks, the spans are cited by their exact lines."""
    spans = [_span_json(span, blocks) for span in support.spans]
    reasons = [{"code": reason.code, "missing": list(reason.missing)} for reason in support.reasons]
    span = spans[0] if spans else None
    return {"band": support.band, "score": support.score, "reasons": reasons, "span": span, "spans": spans}


def _span_json(span: SupportSpan, blocks: tuple[EvidenceBlock, ...]) -> Json:
    fields: Json = {
        "passage": span.passage,
        "start_char": span.start_char,
        "end_char": span.end_char,
        "quote": span.quote,
    }
    return fields | _lines(blocks[span.passage], span.start_char, span.end_char) if blocks else fields


def judged_pair(pair: Mapping[str, object], language: str = "english") -> Json:
    """Judge one claim against passages that came with it: no index, no citation.

    Args:
        pair: `claim`, a text, and `passages`, a list of texts; anything else in it is left alone.
        language: The stemming language.

    Returns:
        What `support_json` gives, or `error` where the pair is none.
    """
    claim, passages = pair.get("claim"), pair.get("passages")
    if not isinstance(claim, str):
        return {"error": "claim: must be a text"}
    if not isinstance(passages, list | tuple) or not all(isinstance(passage, str) for passage in passages):
        return {"error": "passages: must be a list of texts"}
    found = statements(claim)
    if found and not any(one.is_claim for one in found):
        return {"band": "not_a_claim", "score": 0.0, "reasons": [], "span": None, "spans": []}
    return support_json(support_of(spoken(claim), passages, language))


def _lines(block: EvidenceBlock, start: int, end: int) -> Json:
    cited = parse_citation(block.citation)
    fields: Json = {"label": block.label, "citation": block.citation}
    if cited is None:
        return fields
    first = cited.span.first + block.text.count("\n", 0, start)
    lines = LineSpan(first, first + block.text.count("\n", start, end))
    return fields | {"source_path": cited.source_path, "start_line": lines.first, "end_line": lines.last}


class Age(NamedTuple):
    """What tells an older source from a newer one; None and empty where nothing is known.

    Attributes:
        version: The numbers of its version.
        modified: When its file was last written, as ISO 8601 in UTC.
    """

    valid_from: date | None = None
    valid_to: date | None = None
    version: tuple[int, ...] = ()
    modified: str = ""


def disagreements(blocks: Sequence[EvidenceBlock]) -> list[tuple[EvidenceBlock, EvidenceBlock, Conflict]]:
    """Return what blocks of different documents disagree on."""
    sources = [block.citation.rpartition("#")[0] for block in blocks]
    found = conflicts([block.text for block in blocks], sources)
    return [(blocks[each.one.passage], blocks[each.other.passage], each) for each in found]


def conflict_json(one: EvidenceBlock, other: EvidenceBlock, found: Conflict, age_of: Callable[[str], Age]) -> Json:
    """Return a conflict with both citations, both spans, and what would settle it."""
    ages = [age_of(block.citation.rpartition("#")[0]) for block in (one, other)]
    by, newer = _settled(*ages)
    return {
        "kind": found.kind,
        "one": _side(one, found.one, ages[0]),
        "other": _side(other, found.other, ages[1]),
        "settled_by": by,
        "newer": None if newer is None else (one, other)[newer].label,
    }


def _side(block: EvidenceBlock, span: ConflictSpan, age: Age) -> Json:
    return {
        **_lines(block, span.start_char, span.end_char),
        "content_hash": block.content_hash,
        "start_char": span.start_char,
        "end_char": span.end_char,
        "quote": span.quote,
        "value": span.value,
        "valid_from": age.valid_from.isoformat() if age.valid_from else None,
        "valid_to": age.valid_to.isoformat() if age.valid_to else None,
        "version": ".".join(map(str, age.version)) or None,
        "modified": age.modified or None,
    }


def _settled(one: Age, other: Age) -> tuple[str | None, int | None]:
    """Return by what one side is newer, and which; the time of a file, the weakest, comes last."""
    if one.valid_from != other.valid_from:
        return "valid_from", int((one.valid_from or date.min) < (other.valid_from or date.min))
    if one.version and other.version and one.version != other.version:
        return "version", int(one.version < other.version)
    if one.modified and other.modified and one.modified != other.modified:
        return "modified", int(one.modified < other.modified)
    return None, None


def fixed_text(answer: Answer, report: Report) -> str:
    """Return a text answer whose faulty marks name blocks that hold and bear the claim, or `[unsupported]`."""
    pieces, at = [], 0
    for start, end, new in _edits(answer, report):
        pieces += [answer.text[at:start], new]
        at = end
    return "".join([*pieces, answer.text[at:]])


def _edits(answer: Answer, report: Report) -> Iterator[tuple[int, int, str]]:
    for checked in report.claims:
        claim = checked.claim
        cited = tuple(citation.label for citation in claim.citations)
        if (not checked.issues) if claim.is_claim else (checked.right == cited):
            continue
        written = "".join(f"[{label}]" for label in checked.right) or (UNSUPPORTED if claim.is_claim else "")
        spans = claim.marks
        if not spans and written:
            yield _added(answer.text, claim, written)
        elif written:
            # At the beginning of a line, a colon would make it say where a reference leads.
            is_led = answer.text.rfind("\n", 0, spans[0].start) + 1 == spans[0].start
            apart = " " * (is_led and any(answer.text.startswith(":", span.end) for span in spans))
            yield spans[0].start, spans[0].end, written + apart
            spans = spans[1:]
        yield from ((_beginning(answer.text, span), span.end, "") for span in spans)


def _beginning(text: str, span: Span) -> int:
    """Return from where a mark goes: it takes the blank before it along, and one alone on its line that line."""
    before, after = text[span.start - 1 : span.start], text[span.end : span.end + 1]
    return span.start - (before == " " or (before == "\n" and after in {"", "\n"}))


def _added(text: str, claim: AnswerClaim, written: str) -> tuple[int, int, str]:
    """Return where a mark goes that there was none for: below a fence, into the last cell of a row, else behind."""
    end = claim.end_char
    if is_fenced(text, claim.start_char):
        fence = open_fence(claim.text)
        apart = "" if text.startswith("\n\n", end) or not text[end:].strip() else "\n"
        return end, end, f"\n{fence}" * bool(fence) + f"\n\n{written}{apart}"
    if is_row(text[claim.start_char : end]) and text[end - 1] == "|":
        return end - 1, end - 1, f"{written} "
    # What follows must not make a link of it.
    return end, end, f" {written}" + " " * text.startswith(("(", "[", ":"), end)


def fixed_structure(answer: Answer, report: Report) -> Json:
    """Return a structured answer with right citations; `unsupported` marks the claims that have none."""
    return {
        "evidence_set_id": answer.evidence_set_id,
        "claims": [_fixed_claim(checked) for checked in report.claims],
        "abstained": answer.abstained,
        "abstention_reason": answer.abstention_reason,
    }


def _fixed_claim(checked: CheckedClaim) -> Json:
    kept: list[Json] = [_citation_json(citation) for citation in checked.claim.citations]
    if checked.issues:
        kept = [{"label": label, "citation": "", "quote": ""} for label in checked.right]
    return {
        "claim_id": checked.claim.claim_id,
        "text": checked.claim.text,
        "citations": kept,
        "unsupported": not kept,
    }
