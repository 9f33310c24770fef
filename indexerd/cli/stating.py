"""`status`, `metrics`, `config`, `documents`, `generations`: what there is, what holds, and since when.

Owns: how a status and lists look to a person.
Knows nothing of: how any figure comes about, the store.
Invariants: 1. every problem, skipped and held count of the status is in what people read. 2. one entry a line, escaped;
    JSON and NUL-separated output are exact.
Purity: shell (through what it calls).
See: docs/operations.md (status).
"""

from collections.abc import Iterator
from typing import Any

import click

from indexerd.cli.asking_there import all_documents, asking_backend
from indexerd.cli.options import (
    Whole,
    acting,
    as_json,
    naming,
    no_empty,
    one_of,
    selecting,
    setting,
    take_selection,
    take_settings,
)
from indexerd.cli.place import here
from indexerd.cli.printing import count, escape, write, write_result
from indexerd.cli.reaching import Result, local_config, profile_here
from indexerd.config import effective_toml

_STATES = {
    "building": "building: the first index is on its way, answers come from what is there",
    "current": "current: everything saved is searchable",
    "pending": "pending: changes are being indexed",
    "degraded": "degraded: a promise is weaker, see the problems below",
}
_LEFT_OUT = (
    ("skipped", "file", "not indexed"),
    ("held", "document", "cannot be looked at now"),
    ("unsafe", "chunk", "held back from evidence"),
    ("withheld", "document", "found by nobody"),
    ("idle_rules", "rule", "on no document"),
)


@click.command("status")
@as_json
@click.option("-w", "--watch", "is_live", is_flag=True, help="Show it again each second, until q or Ctrl-C.")
@selecting
def status_command(is_json: bool, is_live: bool, **flags: object) -> int:
    """Show what is indexed, how fresh it is, and what is wrong."""
    with asking_backend(take_selection(flags), here(), need="daemon") as backend:
        if is_live:
            from indexerd.cli.following import follow  # noqa: PLC0415 - terminals are a matter of this flag alone

            return follow(backend, status_lines, is_json=is_json)
        result = backend.call("status")
    write_result(result, status_lines(result), is_json=is_json)
    return 0


def status_lines(status: Result) -> Iterator[str]:
    """Return a status as lines for people."""
    state = str(status["state"])
    if "documents" not in status:
        # Others than the daemon's owner are told no counts and no problems.
        yield _STATES.get(state, state).partition(", see")[0]
        yield f"  generation   {status['generation']}"
        return
    yield _STATES.get(state, state)
    progress = status.get("progress")
    if progress:
        yield f"  progress     {progress['done']:,} of {count(progress['total'], 'file')}"
    yield f"  documents    {status['documents']:,} in {count(status['chunks'], 'chunk')}"
    for root in status["roots"]:
        note = "" if root["state"] == "ok" else f"  ({root['state'].replace('_', ' ')}: its documents are held)"
        yield f"  root         {escape(root['label'])}  {escape(root['path'])}{note}"
    durable = status["durable_generation"]
    behind = "" if durable == status["generation"] else f", {durable} on disk for good"
    yield f"  generation   {status['generation']}{behind}"
    yield from _figures(status)
    if status.get("profile"):
        yield f"  profile      {escape(str(status['profile']))}, process {status.get('pid')}"
    for problem in status["problems"]:
        times = f" ({problem['count']} times)" if (problem.get("count") or 0) > 1 else ""
        yield f"  problem      {escape(str(problem['code']))}: {escape(str(problem['detail']))}{times}"


def _figures(status: Result) -> Iterator[str]:
    if status.get("pending"):
        yield f"  pending      {count(size_of(status['pending']), 'path')}"
    age = status.get("reconciled_age_s")
    if isinstance(age, int | float):
        yield f"  looked at    all of it, {_age(age)} ago"
    for key, noun, text in _LEFT_OUT:
        number = size_of(status.get(key))
        if number:
            yield f"  {key:<12} {count(number, noun)} {text}: `indexerd doctor` lists them"
    if status.get("needs_role"):
        documents = count(size_of(status["needs_role"]), "document")
        yield f"  needs role   {documents} found only in a role that you name: --role"
    if status.get("overflows"):
        yield f"  overflows    {status['overflows']} (each was followed by a full scan)"
    if status.get("replay_from"):
        yield f"  replay       evidence back to generation {status['replay_from']}"


def size_of(value: Any) -> int:
    """Return a count, whether it came as a number or as the list itself."""
    return len(value) if isinstance(value, list | tuple) else int(value or 0)


def _age(seconds: float) -> str:
    for unit, size in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= size:
            return count(int(seconds // size), unit)
    return count(int(seconds), "second")


@click.command("metrics")
@selecting
def metrics_command(**flags: object) -> int:
    """Print the daemon's metrics as text that Prometheus reads."""
    with asking_backend(take_selection(flags), here(), need="daemon") as backend:
        write(1, str(backend.call("metrics")["text"]))
    return 0


@click.command("config")
@click.argument("roots", nargs=-1, callback=no_empty)
@setting
@selecting
def config_command(roots: tuple[str, ...], **flags: object) -> int:
    """Print the effective settings as a valid file, with where each comes from."""
    selection, settings, place = take_selection(flags), take_settings(flags), here()
    profile = selection.profile or (None if roots else profile_here(place))
    if roots or profile is None:
        config = place.load(selection, roots=roots, settings=settings)
    else:
        config = local_config(selection, place, settings)
    write(1, effective_toml(config, place.places.config_file))
    return 0


@click.command("documents")
@click.option("--deleted", is_flag=True, help="List deleted documents that older generations still hold.")
@click.option("-0", "--null", "nul", is_flag=True, help="Print names only, separated by NUL.")
@naming
@acting
@as_json
@selecting
def documents_command(deleted: bool, nul: bool, is_json: bool, **flags: Any) -> int:
    """List the documents in the index."""
    one_of({"--json": is_json, "-0": nul})
    selection = take_selection(flags)
    wanted = {name: list(value) for name, value in flags.items() if value}
    with asking_backend(selection, here(), need="read") as backend:
        documents = list(all_documents(backend, wanted | ({"deleted": True} if deleted else {})))
    if nul:
        write(1, "".join(f"{document['source_path']}\0" for document in documents))
    else:
        lines = (_document_line(document, is_deleted=deleted) for document in documents)
        write_result(documents, lines, is_json=is_json)
    return 0


def _document_line(document: Result, *, is_deleted: bool) -> str:
    path = escape(str(document["source_path"]))
    if is_deleted:
        known = f", last {str(document['document_hash'])[:12]}" if document.get("document_hash") else ""
        return f"{path}  (deleted by generation {document.get('generation')}{known})"
    marks = [word for word in ("unsafe", "held", "withheld") if document.get(word)]
    return f"{path}  {escape(str(document.get('title') or ''))}{'  ! ' + ', '.join(marks) if marks else ''}"


@click.command("generations")
@click.argument("number", type=Whole(0), required=False, metavar="[N]")
@as_json
@selecting
def generations_command(number: int | None, is_json: bool, **flags: object) -> int:
    """List the generations that are kept, oldest first; of generation N the documents that it changed."""
    with asking_backend(take_selection(flags), here(), need="read") as backend:
        generations = backend.call("generations", {} if number is None else {"generation": number})["generations"]
    write_result(generations, _generation_lines(generations, number), is_json=is_json)
    return 0


def _generation_lines(generations: list[Result], number: int | None) -> Iterator[str]:
    for one in generations:
        changes = f"+{one['added']} ~{one['updated']} -{one['deleted']}"
        durable = "" if one["durable"] else "  not yet on disk for good"
        yield f"{one['generation']:>8}  {escape(str(one['published_at']))}  {changes}{durable}"
    if number is not None:
        yield from _change_lines(generations[0]["changes"], number)


def _change_lines(changes: Result | None, number: int) -> Iterator[str]:
    if changes is None:
        yield f"          what it changed is not known any more: no generation before {number} is kept"
        return
    if changes["since"] not in {0, number - 1}:
        yield f"          since generation {changes['since']}, the last one kept before it:"
    for sign, kind in (("+", "added"), ("~", "updated"), ("-", "deleted")):
        yield from (f"          {sign} {escape(path)}" for path in changes[kind])
    if changes["truncated"]:
        yield "          and more than one message carries"
