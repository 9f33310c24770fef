"""`documents` and `generations`: what the index holds.

Owns: how lists look.
Knows nothing of: the store.
Invariants: 1. one entry a line, escaped; JSON and NUL-separated output are exact.
Purity: shell (through what it calls).
See: docs/operations.md.
"""

from collections.abc import Iterator
from typing import cast

import click

from indexerd.cli.asking_there import all_documents, asking_backend
from indexerd.cli.options import Whole, acting, as_json, naming, one_of, selecting, take_selection
from indexerd.cli.place import here
from indexerd.cli.printing import escape, write, write_result
from indexerd.cli.reaching import Result


@click.command("documents")
@click.option("--deleted", is_flag=True, help="List deleted documents that older generations still hold.")
@click.option("-0", "--null", "nul", is_flag=True, help="Print names only, separated by NUL.")
@naming
@acting
@as_json
@selecting
def documents_command(deleted: bool, nul: bool, is_json: bool, **flags: object) -> int:
    """List the documents in the index."""
    one_of({"--json": is_json, "-0": nul})
    selection = take_selection(flags)
    wanted: dict[str, object] = {name: list(cast("tuple[str, ...]", value)) for name, value in flags.items() if value}
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
        result = backend.call("generations", {} if number is None else {"generation": number})
    generations = cast("list[Result]", result["generations"])
    write_result(generations, _generation_lines(generations, number), is_json=is_json)
    return 0


def _generation_lines(generations: list[Result], number: int | None) -> Iterator[str]:
    for one in generations:
        changes = f"+{one['added']} ~{one['updated']} -{one['deleted']}"
        durable = "" if one["durable"] else "  not yet on disk for good"
        yield f"{one['generation']:>8}  {escape(str(one['published_at']))}  {changes}{durable}"
    if number is not None:
        yield from _change_lines(cast("Result | None", generations[0]["changes"]), number)


def _change_lines(changes: Result | None, number: int) -> Iterator[str]:
    if changes is None:
        yield f"          what it changed is not known any more: no generation before {number} is kept"
        return
    if changes["since"] not in {0, number - 1}:
        yield f"          since generation {changes['since']}, the last one kept before it:"
    for sign, kind in (("+", "added"), ("~", "updated"), ("-", "deleted")):
        yield from (f"          {sign} {escape(path)}" for path in cast("list[str]", changes[kind]))
    if changes["truncated"]:
        yield "          and more than one message carries"
