"""`query` and `evidence`: argument conversion, one call, rendering.

Owns: the click form of both commands.
Knows nothing of: ranking, proof, how a daemon is found.
Invariants: 1. `query` understands exactly the flags that the fast path understands, and more.
Purity: shell (through what it calls).
See: docs/operations.md.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import click

from indexerd.cli.asking import FLAGS, Asking, is_undecodable
from indexerd.cli.asking_there import asking_backend, call_whole, here_globs
from indexerd.cli.hits import answer_bytes, conflict_lines, finish, none_passes, notes, notes_beside
from indexerd.cli.options import Share, Whole, as_json, filtering, one_of, selecting, take_selection, taking, words
from indexerd.cli.place import Place, Selection, here
from indexerd.cli.printing import escape, terminal_safe, write, write_json
from indexerd.cli.reaching import Backend, Result
from indexerd.cli.tracing import ASKED, trace_of, write_trace
from indexerd.errors import RequestError

# Parameters of the socket that are typed as flags.
_OF_EVIDENCE = ("context", "budget_chars", "budget_tokens", "max_per_document")
_FLAG_NAMES = {
    "must": "--all-words",
    **{parameter: spellings.split()[-1] for spellings, _, _, parameter, *_ in FLAGS},
    **{name: f"--{name.replace('_', '-')}" for name in _OF_EVIDENCE},
}


@click.command("query", epilog="Exit status: 0 hits, 1 none, 2 error, 3 no daemon.")
@click.argument("text", nargs=-1)
@taking(*(spelling for spellings, *_ in FLAGS for spelling in spellings.split()))
def query_command(text: tuple[str, ...], **flags: object) -> int:
    """Search, and show proved hits with their lines.

    Every word counts, none is a command: quote nothing, escape nothing. Paths, tags, dates and the like are flags.
    """
    selection, place = take_selection(flags), here()
    form = _form(flags)
    asking = make_asking(words(text, _texts(flags["phrases"])), form, flags)
    with _backend(selection, place, asking) as backend:
        result = call_whole(backend, "query", asking.params())
    raw = json.dumps(result, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace")
    if asking.opens and result["hits"]:
        from indexerd.cli.citing import open_first  # noqa: PLC0415 - the modules are loaded as commands are called

        return open_first(result["hits"], place)
    out, err = answer_bytes(asking, result, raw, place.environ, place.cwd)
    return finish(result, out, err)


@contextmanager
def _backend(selection: Selection, place: Place, asking: Asking) -> Iterator[Backend]:
    """Give somebody who answers, with `--here` among the paths that are asked for."""
    with asking_backend(selection, place, "daemon" if asking.no_local else "fresh") as backend, speaking_of_flags():
        if asking.here:
            asking.globs += here_globs(backend.call("status"), place.cwd)
        yield backend


def _form(flags: dict[str, object]) -> str:
    """Take the form of the answer from the flags.

    Raises:
        click.UsageError: They ask for two.
    """
    forms = {spellings.split()[0]: attribute for spellings, attribute, kind, *_ in FLAGS if kind == "form"}
    given = {flag: flags.pop(f"as_{form}") for flag, form in forms.items()}
    form = next((forms[flag] for flag, is_given in given.items() if is_given), "people")
    # NUL separates names, as -l has them.
    one_of({**given, "-0": flags["nul"] and form != "list", "-o": flags["opens"]})
    return form


def make_asking(text: str, form: str, flags: Mapping[str, object]) -> Asking:
    """Return the flags of one query as the value that both paths share."""
    given = [text, *(value for flag in flags.values() for value in _texts(flag))]
    if any("\x00" in value for value in given):
        raise RequestError("a query cannot hold a NUL character")
    odd = next(filter(is_undecodable, given), None)
    if odd is not None:
        raise RequestError(
            f"{escape(odd)} is no UTF-8 text: search for such text, and write names as `documents` spells them"
        )
    asking = Asking()
    asking.text, asking.format = text, form
    for name, value in flags.items():
        if value is not None:
            setattr(asking, name, list(value) if isinstance(value, tuple) else value)
    return asking


def _texts(value: object) -> Sequence[str]:
    return value if isinstance(value, tuple | list) else ()


@contextmanager
def speaking_of_flags() -> Iterator[None]:
    """Where a request is refused, let the message name the flag that was typed instead of the socket's parameter."""
    try:
        yield
    except RequestError as error:
        if re.match(r"(?:give )?'\w+' (?:must|or) ", str(error)):
            error.args = (re.sub(r"'(\w+)'", lambda name: _FLAG_NAMES.get(name[1], name[0]), str(error)),)
        raise


@click.command("evidence", epilog="Exit status: 0 evidence, 1 none, 2 error, 3 no daemon.")
@click.argument("text", nargs=-1)
@click.option(
    "-n", "-k", "--number", type=Whole(0), metavar="N", help="At most so many blocks (8); 0 for all that fit."
)
@click.option("--budget-chars", type=Whole(1), metavar="N", help="Hard limit on characters (12000).")
@click.option("--budget-tokens", type=Whole(1), metavar="N", help="Hard limit in tokens instead.")
@click.option("--context", metavar="LINES", default="", help="Widen blocks by lines, or to their `section`.")
@click.option("--min-coverage", type=Share(0, 1), metavar="X", help="Least share of the question's words.")
@click.option("--max-per-document", type=Whole(1), metavar="N", help="Blocks a document may give (2).")
@click.option("--trace", "trace_file", metavar="FILE", help="Write how it was found, stage by stage, as JSON.")
@click.option("--conflicts", is_flag=True, help="Say what the blocks disagree on.")
@filtering
@as_json
@taking("--no-local")
@selecting
def evidence_command(text: tuple[str, ...], trace_file: str | None, is_json: bool, **flags: object) -> int:
    """Print cited evidence within a budget, ready for a model.

    A guard says how it may be used; the blocks are exact lines of the documents, each with its citation.
    """
    selection, place = take_selection(flags), here()
    extra = {name: flags.pop(name) for name in ("budget_chars", "budget_tokens", "min_coverage", "max_per_document")}
    extra["conflicts"] = flags.pop("conflicts") or None
    context = _context(str(flags.pop("context")))
    asking = make_asking(words(text, _texts(flags["phrases"])), "people", flags)
    with _backend(selection, place, asking) as backend:
        params = {**asking.params(), **{name: value for name, value in extra.items() if value is not None}}
        traced = ASKED if trace_file else {}
        result = backend.call("evidence", {**params, **traced, **({"context": context} if context else {})})
    if trace_file:
        write_trace(trace_file, trace_of(result))
    return _print_evidence(result, is_json=is_json, narrowed=asking.is_narrowed)


def _context(text: str) -> int | str:
    if text in {"", "section"}:
        return text
    if text.isascii() and text.isdigit() and len(text) < 7:
        return int(text)
    raise click.BadParameter("a number of lines, or section", param_hint="--context")


def _print_evidence(result: Result, *, is_json: bool, narrowed: bool) -> int:
    blocks = [] if result["abstained"] else result["evidence"]["blocks"]
    if is_json:
        write_json(result)
    elif not blocks:
        write(2, f"indexerd: no evidence: {escape(_why_none(result, narrowed))}\n{notes_beside(result)}")
    else:
        # Exact lines for a model, not for a terminal: where somebody looks, control characters are escaped.
        prompt = str(result["evidence"]["prompt"])
        write(1, terminal_safe(prompt).rstrip("\n") + "\n")
        write(2, notes(result, False) + conflict_lines(result))
    return 0 if blocks else 1


def _why_none(result: Result, narrowed: bool) -> str:
    if not result["abstained"]:
        return "no passage fits into the budget (--budget-chars)"
    if none := none_passes(result):
        return none
    if narrowed and result["abstention_reason"] == "no_overlap":
        return "no overlap with the documents that the filters let through"
    return str(result["abstention_reason"]).replace("_", " ")
