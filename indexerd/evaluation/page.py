"""A run as one static page for people: measures, and each case with what was selected, rejected and why.

Owns: the page's form.
Knows nothing of: how anything was measured.
Invariants: 1. nothing of a document, a name or a case is markup: everything is escaped. 2. the page loads nothing.
Purity: pure.
See: docs/evaluation.md (page).
"""

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from indexerd.evaluation.measures import CaseResult, codes_of, failures

_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}"
    "table{border-collapse:collapse}td,th{border:1px solid #ccc;padding:.2rem .6rem;text-align:left}"
    "pre{background:#f6f6f6;padding:.6rem;overflow:auto;white-space:pre-wrap}mark{background:#ffe08a}"
    ".bad{color:#a00}.good{color:#060}details{margin:.6rem 0}"
)


def page(results: Sequence[CaseResult], measures: Mapping[str, float | None], generation: int | None) -> str:
    """Return the page."""
    bad = sum(any(failures(one)) for one in results)
    head = (
        f"{len(results)} cases, {bad} failed, {sum(bool(one.error) for one in results)} errors, generation {generation}"
    )
    rows = "".join(f"<tr><td>{escape(name)}<td>{_figure(value)}" for name, value in measures.items())
    cases = "".join(part for one in results for part in _case(one))
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>Evaluation</title><style>{_STYLE}</style>"
        f"<h1>Evaluation</h1><p>{escape(head)}<table><tr><th>measure<th>value{rows}</table>{cases}</html>\n"
    )


def _figure(value: float | None) -> str:
    return "no case" if value is None else f"{value:.4f}"


def _case(one: CaseResult) -> Iterator[str]:
    faults = list(failures(one))
    state = "bad" if faults else "good"
    title = escape(f"{one.case.case_id}: {one.case.query}")
    yield f"<details{' open' if faults else ''}><summary class={state}>{title}</summary>"
    yield from (f"<p class=bad>{escape(fault)}" for fault in faults)
    if one.report is not None:
        yield f"<p>verdict {escape(str(one.report['verdict']))}; codes {escape(', '.join(codes_of(one)) or 'none')}"
    for block in one.blocks:
        yield f"<p><b>{escape(block['label'])}</b> {escape(block['citation'])}<pre>{_marked(block, one)}</pre>"
    rejected = (one.reply or {}).get("rejected_counts") or {}
    if rejected:
        yield f"<p>rejected: {escape(', '.join(f'{code} {count}' for code, count in sorted(rejected.items())))}"
    yield "</details>"


def _marked(block: Mapping[str, Any], one: CaseResult) -> str:
    """Return a block's text with the spans that bear a claim marked."""
    text, at, parts = block["text"], 0, []
    for start, end in sorted(_spans(block["label"], one)):
        if start >= at:
            parts += [escape(text[at:start]), f"<mark>{escape(text[start:end])}</mark>"]
            at = end
    return "".join([*parts, escape(text[at:])])


def _spans(label: str, one: CaseResult) -> set[tuple[int, int]]:
    claims = (one.report or {}).get("claims", ())
    spans = (claim["span"] for claim in claims if claim["span"] and claim["span"].get("label") == label)
    return {(span["start_char"], span["end_char"]) for span in spans}
