"""`replay`: a saved result asked again of its generation, and compared with what comes.

Owns: what a saved result must have, which fields are outside "identical", how a difference is told.
Knows nothing of: how answers from the past are made.
Invariants: 1. `identical` is said only of equal values of equal fields. 2. a result is only asked of its own store.
Purity: shell (one file, through what it calls).
See: docs/operations.md (replay), docs/protocol.md (answers from the past).
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import click

from indexerd.cli.asking_there import asking_backend, call_whole
from indexerd.cli.options import as_json, read_json, selecting, take_selection
from indexerd.cli.place import here
from indexerd.cli.printing import count, escape, flatten, write_result
from indexerd.cli.reaching import Backend, Result
from indexerd.cli.tracing import STAGES, check_trace, evidence_in, trace_of
from indexerd.errors import RequestError

# Of the answer, not in it: when and how long, where on this disk; times of files and the disk's state have no history.
_OUTSIDE = frozenset({"took_ms", "freshness", "store_id", "durable", "historical"})
_OUTSIDE_HITS = frozenset({"path", "path_b64", "validated_at", "modified"})
_REMEDY = "save the output of `indexerd evidence --json`"
_SHOWN = 20
_MISSING = object()


class Difference(NamedTuple):
    """A value that is not as saved: where it stands, and both; `None` is also what is not there at all."""

    where: str
    saved: object
    now: object


@click.command("replay", epilog="Exit status: 0 identical, 1 not, 2 error, 3 no daemon.")
@click.argument("file", type=click.Path())
@as_json
@selecting
def replay_command(file: str, is_json: bool, **flags: object) -> int:
    """Ask a saved result (`query --json`) again of its generation; say whether it is identical.

    Of a trace (`evidence --trace`) it says at which stage it differs first. FILE may be - for standard input.
    """
    saved = _saved(file)
    was = _compared(saved, file)
    request = dict(saved["request"])
    method = str(request.pop("method"))
    asked = {**request, "generation": saved["generation"], "store_id": saved["store_id"]}
    with asking_backend(take_selection(flags), here()) as backend:
        now = call_whole(backend, method, asked)
        again = _traced(backend, saved, now) if "trace" in saved else now
    differences = list(_differences(was, _compared(again)))
    stage = _stage(differences) if "trace" in saved else None
    about = now["historical"]
    gravest = "erased" if about["erased"] else "changed" if about["changed"] else "different"
    verdict = gravest if differences else "identical"
    report = {
        "verdict": verdict,
        **({"stage": stage} if "trace" in saved else {}),
        "generation": now["generation"],
        "changed": about["changed"],
        "erased": about["erased"],
        "differences": [one._asdict() for one in differences],
    }
    write_result(report, _told(verdict, about, now["generation"], differences, stage), is_json=is_json)
    return 0 if verdict == "identical" else 1


def _saved(file: str) -> Result:
    """Read a saved result.

    Raises:
        RequestError: It is none, or not one that says what was asked.
    """
    saved = read_json(file, _REMEDY)
    if not (isinstance(saved, dict) and ("trace" in saved or isinstance(saved.get("hits"), list))):
        raise RequestError(f"{file}: no result of query or evidence: {_REMEDY}")
    request = saved.get("request")
    names = {"generation": int, "store_id": str}
    if (
        not isinstance(request, dict)
        or str(request.get("method")) not in {"query", "evidence"}
        or not all(isinstance(saved.get(name), kind) for name, kind in names.items())
    ):
        raise RequestError(f"{file}: this result does not say what was asked of which store: it cannot be replayed")
    if "trace" in saved:
        check_trace(saved, file)
    return saved


def _traced(backend: Backend, saved: Result, now: Result) -> Result:
    """Return the trace of a reply with what a model answered then, checked again."""
    trace = trace_of(now) | {"model": saved["model"]}
    if saved["citations"] is None:
        return trace
    asked = {"answer": saved["model"].get("answered"), "evidence": evidence_in(saved)}
    return trace | {"citations": backend.call("check", {**asked, "roles": saved["request"].get("roles", [])})}


def _stage(differences: Sequence[Difference]) -> str | None:
    """Return the first stage in which there is a difference; `request` for what comes before all of them."""
    found = {one.where.partition(".")[0].partition("[")[0] for one in differences}
    return next((name for name in (*STAGES,) if name in found), "request" if found else None)


def _compared(result: Result, file: str = "") -> Result:
    """Return what of a result must be the same.

    Raises:
        RequestError: It is not as any result is: it must have come from the file.
    """
    try:
        return _kept(result)
    except (AttributeError, TypeError) as error:
        raise RequestError(f"{file}: no whole result of query or evidence: {_REMEDY}") from error


def _kept(result: Result) -> Result:
    kept = {name: value for name, value in result.items() if name not in _OUTSIDE}
    if "trace" in result:
        report = result["citations"]
        kept["sources"] = [_sides(one) for one in result["sources"]]
        kept["citations"] = _kept(report | {"hits": []}) if isinstance(report, dict) else report
        return kept
    if "conflicts" in result:
        # By what a conflict is settled may be the time of a file.
        told = ("kind", "one", "other")
        kept["conflicts"] = [{k: _sides(v) for k, v in one.items() if k in told} for one in result["conflicts"]]
    return kept | {"hits": [{k: v for k, v in hit.items() if k not in _OUTSIDE_HITS} for hit in result["hits"]]}


def _sides(value: object) -> object:
    return {k: v for k, v in value.items() if k not in _OUTSIDE_HITS} if isinstance(value, dict) else value


def _differences(saved: object, now: object, where: str = "") -> Iterator[Difference]:
    """Yield the innermost values that differ, in the order of the saved result."""
    if isinstance(saved, Mapping) and isinstance(now, Mapping):
        for name in dict.fromkeys([*saved, *now]):
            yield from _differences(saved.get(name, _MISSING), now.get(name, _MISSING), f"{where}.{name}".lstrip("."))
    elif isinstance(saved, list) and isinstance(now, list):
        for at in range(max(len(saved), len(now))):
            one, other = (items[at] if at < len(items) else _MISSING for items in (saved, now))
            yield from _differences(one, other, f"{where}[{at}]")
    elif type(saved) is not type(now) or saved != now:
        yield Difference(where, *(None if value is _MISSING else value for value in (saved, now)))


def _told(
    verdict: str, about: Result, generation: object, differences: list[Difference], stage: str | None
) -> Iterator[str]:
    if verdict == "identical":
        yield f"identical (generation {generation})"
        return
    reasons = {
        "erased": f"erased: {count(about['erased'], 'document')} of generation {generation} had to be forgotten",
        "changed": f"changed: {'; '.join(map(str, about['changed']))}",
        "different": f"different (generation {generation})",
    }
    yield escape(reasons[verdict]) + (f": {stage}" if stage else "")
    for one in differences[:_SHOWN]:
        yield f"  {escape(one.where)}: {_brief(one.saved)} was saved, now {_brief(one.now)}"
    if len(differences) > _SHOWN:
        yield f"  and {len(differences) - _SHOWN:,} more: --json has all"


def _brief(value: object) -> str:
    text = flatten(json.dumps(value, ensure_ascii=False))
    return text if len(text) <= 60 else f"{text[:57]}..."
