"""`eval`: a run over cases, or over topics with judgements, against one generation.

Owns: the calls of a run, thresholds, how a run is printed.
Knows nothing of: what a measure means.
Invariants: 1. a case that cannot be carried out is counted and shown, and the run fails. 2. a run in which the
    generation changed says so and fails: its figures belong to none.
Purity: shell (asks a backend, reads and writes the files that were named).
See: docs/evaluation.md.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click

from indexerd.cli.asking_there import asking_backend
from indexerd.cli.options import as_json, goes_with, read_text, save_text, selecting, take_selection
from indexerd.cli.place import here
from indexerd.cli.printing import escape, write, write_json, write_result
from indexerd.cli.reaching import Backend, Result
from indexerd.errors import IndexerdError, InputError, RequestError
from indexerd.evaluation import Case, CaseResult, Ranked, measured, read_cases
from indexerd.evaluation.cases import scripted_answer, source_of
from indexerd.evaluation.measures import failures
from indexerd.evaluation.page import page
from indexerd.evaluation.trec import Qrels, graded, read_qrels, read_topics, run_lines

_DEPTH = 100
_THRESHOLD = re.compile(r"(?P<name>\w+)\s*(?P<sign>>=|<=)\s*(?P<bound>\d+(?:\.\d*)?|\.\d+)")
Measures = dict[str, float | None]


@click.command(
    "eval",
    epilog="Exit status: 0 good, 1 a case, an error in one, or a threshold failed, 2 wrong usage or file, 3 no daemon.",
)
@click.argument("cases", metavar="CASES", required=False)
@click.option("--require", "thresholds", metavar="MEASURE>=X", multiple=True, help="Fail unless it holds; repeatable.")
@click.option("--html", "html_file", metavar="FILE", help="Write the run as a page for people.")
@click.option(
    "--topics", metavar="FILE", help="Queries instead of CASES: JSON lines with _id and text, or id<TAB>text."
)
@click.option("--qrels", metavar="FILE", help="Judgements of the topics, in TREC's form.")
@click.option("--run", "run_file", metavar="FILE", help="Write the rankings as a TREC run.")
@as_json
@selecting
def eval_command(  # noqa: PLR0913, PLR0917 - one argument a flag
    cases: str | None,
    thresholds: tuple[str, ...],
    html_file: str | None,
    topics: str | None,
    qrels: str | None,
    run_file: str | None,
    is_json: bool,
    **flags: object,
) -> int:
    """Measure retrieval, evidence and answer checks on cases with known answers.

    CASES is a JSON file with a list of cases. Each is asked of one generation; what was selected, rejected and why is
    shown.
    """
    bounds = [_threshold(text) for text in thresholds]
    if (cases is None) == (topics is None):
        raise click.UsageError("Name CASES, or --topics.")
    goes_with(
        ("--qrels", qrels, "--topics", topics),
        ("--html", html_file, "CASES", cases),
        ("--require", thresholds, "CASES or --qrels", cases or qrels),
    )
    asked = () if cases is None else read_cases(read_text(cases), cases)
    queries = {} if topics is None else read_topics(read_text(topics), topics)
    judged = None if qrels is None else read_qrels(read_text(qrels), qrels)
    with asking_backend(take_selection(flags), here()) as backend:
        if topics is not None:
            return _ranked_run(backend, queries, judged, run_file, bounds)
        results, generation = run_cases(backend, asked)
    measures = measured(results)
    if html_file:
        save_text(html_file, page(results, measures, generation))
    if run_file:
        save_text(run_file, "".join(run_lines({one.case.case_id: one.ranked.sources for one in results}, "indexerd")))
    report = _report(results, measures, generation)
    write_result(report, _for_people(report), is_json=is_json)
    broken = _broken(measures, bounds)
    return 1 if report["errors"] or report["failed"] or broken or generation is None else 0


def _threshold(text: str) -> tuple[str, str, float]:
    found = _THRESHOLD.fullmatch(text.strip())
    if found is None:
        raise click.BadParameter(f"{text!r} is no threshold such as recall_at_k>=0.9.", param_hint="--require")
    return found["name"], found["sign"], float(found["bound"])


def run_cases(backend: Backend, cases: Sequence[Case]) -> tuple[list[CaseResult], int | None]:
    """Carry out every case; return the results and the one generation they belong to, None if it changed."""
    results = [_carried_out(backend, case) for case in cases]
    generations = {one.reply["generation"] for one in results if one.reply and one.case.generation is None}
    return results, generations.pop() if len(generations) == 1 else None


def _carried_out(backend: Backend, case: Case) -> CaseResult:
    try:
        return _result(backend, case)
    except (IndexerdError, KeyError, TypeError) as error:
        return CaseResult(case=case, error=f"{type(error).__name__}: {error}")


def _result(backend: Backend, case: Case) -> CaseResult:
    params = case.params()
    reply = backend.call("evidence", params)
    if reply["freshness"]["state"] == "building":
        raise RequestError("the first index is still being built")
    blocks = _blocks(reply)
    acting: dict[str, object] = {name: params[name] for name in ("roles", "as_of") if name in params}
    report = repeated = None
    if case.answer is not None:
        asked = {"answer": scripted_answer(case, reply), "evidence": reply, **acting}
        report, repeated = backend.call("check", asked), backend.call("check", asked)
    return CaseResult(
        case=case,
        reply=reply,
        stale=tuple(block["citation"] for block in blocks if not _holds(backend, block, acting)),
        ranked=_ranking(backend, {name: value for name, value in params.items() if name not in {"k", "budget_chars"}}),
        report=report,
        repeated=report == repeated,
    )


def _blocks(reply: Result) -> Sequence[Mapping[str, Any]]:
    blocks: Sequence[Mapping[str, Any]] = () if reply["abstained"] else reply["evidence"]["blocks"]
    return blocks


def _holds(backend: Backend, block: Mapping[str, Any], acting: Mapping[str, object]) -> bool:
    full = f"{block['citation']}@sha256:{block['content_hash']}"
    return bool(backend.call("verify", {"citation": full, **acting})["state"] == "fresh")


def _ranking(backend: Backend, params: Mapping[str, object]) -> Ranked:
    found = backend.call("query", {**params, "k": _DEPTH, "max_per_document": 1})
    return Ranked(sources=tuple(dict.fromkeys(hit["source_path"] for hit in found["hits"])))


def _report(results: Sequence[CaseResult], measures: Measures, generation: int | None) -> dict[str, Any]:
    cases = [_case_report(one) for one in results]
    return {
        "metrics": measures,
        "cases": cases,
        "generation": generation,
        "errors": sum(bool(one.error) for one in results),
        "failed": sum(not case["passed"] for case in cases),
    }


def _case_report(one: CaseResult) -> dict[str, Any]:
    reply = one.reply or {}
    faults = list(failures(one))
    return {
        "case_id": one.case.case_id,
        "passed": not faults,
        "failures": faults,
        "selected": [{"citation": block["citation"], "source_path": source_of(block)} for block in one.blocks],
        "abstained": one.abstained,
        "abstention_reason": reply.get("abstention_reason"),
        "rejected": reply.get("rejected", []),
        "rejected_counts": reply.get("rejected_counts", {}),
        "ranked": list(one.ranked.sources[:10]),
        "check": one.report,
        "error": one.error or None,
    }


def _for_people(report: Mapping[str, Any]) -> Iterator[str]:
    for name, value in report["metrics"].items():
        yield f"{'no case' if value is None else format(value, '.4f'):>8}  {name}"
    for case in report["cases"]:
        yield from (f"{escape(case['case_id'])}: {escape(fault)}" for fault in case["failures"])
    count = len(report["cases"])
    generation = report["generation"]
    where = "the generation changed meanwhile" if generation is None else f"generation {generation}"
    yield f"{count - report['failed']} of {count} cases passed, {report['errors']} errors, {where}"


def _broken(measures: Mapping[str, float | None], bounds: Sequence[tuple[str, str, float]]) -> list[str]:
    """Return the thresholds that do not hold, and say them; one that names no measure is an error."""
    unknown = [name for name, _, _ in bounds if name not in measures]
    if unknown:
        raise InputError([f"--require: no measure {name!r}; there are {', '.join(measures)}" for name in unknown])
    broken = [f"{name} {sign} {bound}" for name, sign, bound in bounds if not _holds_bound(measures[name], sign, bound)]
    for text in broken:
        write(2, f"indexerd: does not hold: {text}\n")
    return broken


def _holds_bound(value: float | None, sign: str, bound: float) -> bool:
    return value is not None and (value >= bound if sign == ">=" else value <= bound)


def _ranked_run(
    backend: Backend,
    topics: Mapping[str, str],
    judged: Qrels | None,
    run_file: str | None,
    bounds: Sequence[tuple[str, str, float]],
) -> int:
    rankings = {topic: _ranking(backend, {"text": query}).sources for topic, query in topics.items()}
    if run_file:
        save_text(run_file, "".join(run_lines(rankings, "indexerd")))
    if judged is None:
        return 0
    names = {source: source.rpartition("/")[2].rpartition(".")[0] for ranked in rankings.values() for source in ranked}
    known = {document for own in judged.values() for document in own}
    document_of = {source: name for source, name in names.items() if source not in known and name in known}
    measures: Measures = {**graded(judged, rankings, document_of)}
    write_json({"metrics": measures, "topics": len(rankings)})
    return 1 if _broken(measures, bounds) else 0
