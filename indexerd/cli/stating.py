"""`status`, `metrics` and `config`: what the daemon says of itself, and which settings hold and why.

Owns: how a status looks to a person.
Knows nothing of: how any figure comes about.
Invariants: 1. every problem, skipped and held count of the status is in what people read.
Purity: shell (through what it calls).
See: docs/operations.md (status).
"""

from collections.abc import Iterator, Mapping
from typing import cast

import click

from indexerd.cli.asking_there import asking_backend
from indexerd.cli.options import as_json, selecting, setting, take_selection, take_settings
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
    yield f"{_STATES.get(state, state)}"
    if "documents" not in status:
        # Others than the daemon's owner are told no counts.
        yield f"  generation   {status['generation']}"
        return
    progress = cast("Mapping[str, int] | None", status.get("progress"))
    if progress:
        yield f"  progress     {progress['done']:,} of {count(progress['total'], 'file')}"
    yield f"  documents    {status['documents']:,} in {count(cast('int', status['chunks']), 'chunk')}"
    for root in cast("list[dict[str, str]]", status["roots"]):
        note = "" if root["state"] == "ok" else f"  ({root['state'].replace('_', ' ')}: its documents are held)"
        yield f"  root         {escape(root['label'])}  {escape(root['path'])}{note}"
    durable = status["durable_generation"]
    behind = "" if durable == status["generation"] else f", {durable} on disk for good"
    yield f"  generation   {status['generation']}{behind}"
    yield from _figures(status)
    if status.get("profile"):
        yield f"  profile      {escape(str(status['profile']))}, process {status.get('pid')}"
    for problem in cast("list[dict[str, object]]", status["problems"]):
        times = f" ({problem['count']} times)" if cast("int", problem.get("count") or 0) > 1 else ""
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


def size_of(value: object) -> int:
    """Return a count, whether it came as a number or as the list itself."""
    return len(value) if isinstance(value, list | tuple) else int(cast("int", value or 0))


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
@click.argument("roots", nargs=-1)
@setting
@selecting
def config_command(roots: tuple[str, ...], **flags: object) -> int:
    """Print the effective settings as a valid file, with where each comes from."""
    settings, selection, place = take_settings(flags), take_selection(flags), here()
    profile = selection.profile or (None if roots else profile_here(place))
    if roots or profile is None:
        config = place.load(selection, roots=roots, settings=settings)
    else:
        config = local_config(selection, place, settings)
    write(1, effective_toml(config, place.places.config_file))
    return 0
