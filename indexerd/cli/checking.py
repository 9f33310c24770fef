"""`check`: an answer held to its sources, or claims to passages without any index.

Owns: how answers and evidence are read from files, the external checker, how a report is printed for people.
Knows nothing of: how a claim is judged.
Invariants: 1. `--jsonl` writes one line for each that it read, in order. 2. what cannot be judged is said in its line.
Purity: shell (reads files, runs a checker that was named).
See: docs/grounding.md.
"""

import json
import re
import shlex
import subprocess
from collections.abc import Iterable, Iterator

import click

from indexerd.analysis import known_language
from indexerd.cli.asking_there import asking_backend
from indexerd.cli.hits import conflict_lines
from indexerd.cli.options import acting, as_json, goes_with, one_of, read_text, selecting, take_selection
from indexerd.cli.place import here
from indexerd.cli.printing import count, escape, write, write_json
from indexerd.cli.reaching import Result
from indexerd.cli.tracing import evidence_in, read_trace, with_answer, write_trace
from indexerd.errors import RequestError
from indexerd.grounding.reporting import judged_pair

# So much of a line that is no JSON is shown.
_SHOWN_BYTES = 80
# So no text of an answer begins: a mark's bracket has a label in it.
_IS_JSON = re.compile(r"\s*(?:\{\s*(?:[\"}]|$)|\[\s*[{\[\"])")


@click.command(
    "check", epilog="Exit status: 0 good (with --jsonl always), 1 findings, 2 wrong usage or file, 3 no daemon."
)
@click.argument("answer", metavar="FILE", required=False)
@click.option("--evidence", "evidence_file", metavar="FILE", help="The evidence it answers: output of evidence --json.")
@click.option("--trace", "trace_file", metavar="FILE", help="The trace of its evidence; answer and report are added.")
@click.option("--sent", "sent_file", metavar="FILE", help="With --trace: what the model was sent, to be kept with it.")
@click.option("--fix", is_flag=True, help="Print the answer with citations corrected and unsupported claims marked.")
@click.option(
    "--jsonl", is_flag=True, help='Judge lines {"claim","passages"} of FILE or standard input; needs no index.'
)
@click.option("--checker", metavar="COMMAND", help="With --jsonl: a command that judges such lines instead.")
@click.option("--language", metavar="L", help="With --jsonl: the stemming language (english).")
@click.option("--as-of", metavar="DATE", default="", help="As if it were this day.")
@acting
@as_json
@selecting
def check_command(  # noqa: PLR0913, PLR0917 - one argument a flag
    answer: str | None,
    evidence_file: str | None,
    trace_file: str | None,
    sent_file: str | None,
    fix: bool,
    jsonl: bool,
    checker: str | None,
    language: str | None,
    as_of: str,
    roles: tuple[str, ...],
    is_json: bool,
    **flags: object,
) -> int:
    """Hold an answer to its sources: what it cites, and whether that says it.

    FILE is the answer: text or Markdown with marks such as [S1], or JSON; `-` is standard input. A JSON file with
    `answer` and `evidence` holds both.
    """
    one_of({"--jsonl": jsonl, "--evidence": evidence_file, "--trace": trace_file})
    goes_with(
        ("--checker", checker, "--jsonl", jsonl),
        ("--language", language, "--jsonl", jsonl),
        ("--sent", sent_file, "--trace", trace_file),
    )
    if jsonl:
        one_of({"--jsonl": True, "--fix": fix, "--as-of": as_of, "--role": roles})
        file = 0 if answer in {None, "-"} else str(answer)
        with open(file, "rb", closefd=file != 0) as lines:
            return _judge_lines(lines, checker, language or "english")
    if answer is None:
        raise click.UsageError("Name the answer's FILE, or - for standard input.")
    sent = read_text(sent_file) if sent_file else None
    trace = read_trace(trace_file) if trace_file else None
    params = (
        _params(answer, evidence_file, trace) | ({"fix": True} if fix else {}) | ({"as_of": as_of} if as_of else {})
    )
    with asking_backend(take_selection(flags), here(), need="read") as backend:
        report = backend.call("check", {**params, **({"roles": list(roles)} if roles else {})})
    if trace_file and trace:
        write_trace(trace_file, with_answer(trace, params["answer"], sent, report))
    if is_json:
        write_json(report)
    else:
        write(1, _fixed(report) if fix else "")
        write(2 if fix else 1, _for_people(report))
    return 0 if report["verdict"] == "pass" else 1


def _params(answer_file: str, evidence_file: str | None, trace: Result | None) -> dict[str, object]:
    """Return the answer and the evidence as the socket takes them."""
    text = read_text(answer_file)
    answer = _json_object(text, answer_file)
    if answer is not None and "answer" in answer and "evidence" in answer:
        if trace is not None or evidence_file is not None:
            raise click.UsageError(f"{answer_file} has its own evidence: leave out --evidence and --trace.")
        return {"answer": answer["answer"], "evidence": answer["evidence"]}
    if trace is not None:
        return {"answer": answer or text, "evidence": evidence_in(trace)}
    if evidence_file is None:
        raise click.UsageError("--evidence FILE: name the evidence that the answer was given (evidence --json).")
    evidence = _json_object(read_text(evidence_file), evidence_file)
    if evidence is None or "evidence" not in evidence:
        is_trace = evidence is not None and "trace" in evidence
        remedy = "a trace is given with --trace" if is_trace else "save the output of `indexerd evidence --json`"
        raise RequestError(f"{evidence_file}: is no evidence; {remedy}")
    return {"answer": answer or text, "evidence": evidence}


def _json_object(text: str, name: str) -> dict[str, object] | None:
    """Return what a file holds that is meant to be JSON; nothing of one that is meant to be a text."""
    if not _IS_JSON.match(text):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RequestError(f"{name}: begins as JSON does and is none: {error}") from error
    if not isinstance(value, dict):
        raise RequestError(f"{name}: must be an object, not a list")
    return value


def _judge_lines(lines: Iterable[bytes], checker: str | None, language: str) -> int:
    known = known_language(language)
    results = _checked_outside(lines, checker) if checker else (_judged(line, known) for line in lines)
    for result in results:
        if not write(1, result + b"\n"):
            raise BrokenPipeError
    return 0


def _judged(line: bytes, language: str) -> bytes:
    try:
        pair = json.loads(line)
    except (ValueError, RecursionError) as error:
        return json.dumps({"error": f"is no JSON: {error}"}).encode()
    if not isinstance(pair, dict):
        return b'{"error": "must be an object with claim and passages"}'
    return json.dumps(judged_pair(pair, language), ensure_ascii=True).encode()


def _checked_outside(lines: Iterable[bytes], command: str) -> Iterator[bytes]:
    """Let a command judge the lines; another number of lines than it was given, or a line of no JSON, is an error."""
    given = list(lines)
    try:
        done = subprocess.run(  # noqa: S603 - the command is the caller's own, and no shell reads it
            shlex.split(command), input=b"".join(given), stdout=subprocess.PIPE, check=False
        )
    except (OSError, ValueError) as error:
        raise RequestError(f"--checker {command}: cannot be run: {error}") from error
    answers = done.stdout.splitlines()
    if done.returncode != 0 or len(answers) != len(given):
        told = f"ended with status {done.returncode} after {len(answers)} of {len(given)} lines"
        raise RequestError(f"--checker {command}: {told}")
    for number, answer in enumerate(answers, 1):
        if not _is_object(answer):
            shown = answer[:_SHOWN_BYTES].decode(errors="replace")
            raise RequestError(f"--checker {command}: line {number} of what it wrote is no JSON object: {shown}")
    return iter(answers)


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _fixed(report: Result) -> str:
    fixed = report["fixed"]
    return fixed if isinstance(fixed, str) else json.dumps(fixed, ensure_ascii=True) + "\n"


def _for_people(report: Result) -> str:
    lines = [line for claim in report["claims"] for line in _claim_lines(claim)]
    whole = (issue for issue in report["issues"] if not issue["claim_id"])
    lines += [f"{issue['code']}: {escape(issue['detail'])}" for issue in whole]
    if aside := report["set_aside_count"]:
        lines.append(f"set aside: {count(aside, 'block')} of the evidence, not what was given or not valid now")
    share = "there is no claim to be checked"
    if report["claim_count"]:
        good = 100 * report["coverage"]
        share = f"borne by what they cite: {good:.0f} % of {count(report['claim_count'], 'claim')}"
    return "".join(f"{line}\n" for line in lines) + conflict_lines(report) + f"{report['verdict']}: {share}\n"


def _claim_lines(claim: Result) -> Iterator[str]:
    if claim["band"] == "not_a_claim" and not claim["issues"]:
        return
    yield f"{claim['claim_id']}  {claim['band']}  {escape(str(claim['text']))}"
    span = claim["span"]
    if span is not None and "source_path" in span:
        where = f"{span['source_path']}#L{span['start_line']}-L{span['end_line']}"
        yield f"    {span['label']} {escape(where)}: {escape(' '.join(str(span['quote']).split()))}"
    for reason in claim["reasons"]:
        what = "too long to be judged" if str(reason["code"]) == "length" else f"{reason['code']} not found"
        yield f"    {what}: {escape(', '.join(reason['missing']))}"
    found_in = claim["found_in"]
    codes = claim["issues"]
    if codes:
        yield f"    {', '.join(codes)}" + (f"; {', '.join(found_in)} says it" if found_in else "")
