"""`sync`: bring an index up to date once, through the daemon if one runs, else here.

Owns: what `sync PATH` means: a root, or a path inside one.
Knows nothing of: how a sync is done.
Invariants: 1. naming some paths never touches the others.
Purity: shell (through what it calls).
See: docs/operations.md.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress

import click

from indexerd.cli.asking_there import name_below
from indexerd.cli.options import as_json, no_empty, selecting, setting, take_selection, take_settings
from indexerd.cli.place import Place, Selection, here
from indexerd.cli.printing import count, escape, write_result
from indexerd.cli.reaching import (
    Result,
    find_daemon,
    holding_profile,
    local_config,
    naming_holder,
    root_paths,
)
from indexerd.config import Config, absolute, holds, split_label
from indexerd.errors import RequestError, UnreachableError

_SHOWN = 10


@click.command("sync", epilog="Exit status: 0 done, 1 with --strict if anything was skipped or held, 2 error, 75 busy.")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", callback=no_empty)
@click.option("--strict", is_flag=True, help="Exit 1 if any file was skipped or held.")
@as_json
@setting
@selecting
def sync_command(paths: tuple[str, ...], strict: bool, is_json: bool, **flags: object) -> int:
    """Index roots once, or only the named paths inside one, without watching."""
    selection, settings, place = take_selection(flags), take_settings(flags), here()
    places = tuple(absolute(split_label(path)[1], place.cwd) for path in paths)
    report = _by_daemon(selection, place, places, settings)
    if report is None:
        report = _by_hand(*plan_sync(selection, place, paths, places, settings))
    write_result(report, report_lines(report), is_json=is_json)
    is_partial = bool(report["documents_skipped"] or report.get("documents_held"))
    return 1 if strict and is_partial else 0


def _by_daemon(
    selection: Selection, place: Place, paths: tuple[str, ...], settings: Mapping[str, object]
) -> Result | None:
    """Let a running daemon do it if its roots hold every path; its settings are its own."""
    try:
        client = find_daemon(selection, place)
    except UnreachableError:
        if selection.socket:
            raise
        return None
    if client is None:
        return None
    with client:
        status = client.call("status")
        roots = root_paths(status)
        if all(any(holds(root, path) for root in roots) for path in paths):
            if settings:
                raise RequestError("a running daemon keeps its settings: stop it to sync with others")
            # What is no UTF-8 goes by the source path that stands for it.
            sent = [path if path.isprintable() else name_below(status, path) or path for path in paths]
            return client.call("sync", {"paths": sent})
    if selection.socket or selection.profile:
        outside = next(path for path in paths if not any(holds(root, path) for root in roots))
        raise RequestError(f"{outside}: lies in no root of this daemon, which has {', '.join(roots)}")
    return None


def _by_hand(config: Config, inner: tuple[str, ...] | None) -> Result:
    require_roots(config)
    from indexerd.cli.local import open_fresh  # noqa: PLC0415 - numpy and the store only where work is done here

    with naming_holder(config):
        backend, report = open_fresh(config, inner)
    backend.close()
    return report


def plan_sync(
    selection: Selection, place: Place, given: tuple[str, ...], paths: tuple[str, ...], settings: Mapping[str, object]
) -> tuple[Config, tuple[str, ...] | None]:
    """Return the watch set that is meant, and the paths inside it; None for all of it.

    The paths are `given` as typed, perhaps with labels, and absolute. The settings are keys of `[profile.NAME]`.

    Raises:
        RequestError: A file that no known root holds.
    """
    holding = None if selection.state_dir or selection.profile else holding_profile(place, paths[0])
    if holding or selection.profile or selection.state_dir:
        known = Selection(profile=selection.profile or holding or "", state_dir=selection.state_dir)
        config = None
        with suppress(UnreachableError):
            config = local_config(known, place, settings)
        if config is not None and all(any(holds(root.path, path) for root in config.roots) for path in paths):
            roots = {root.path for root in config.roots}
            return config, None if roots <= set(paths) else paths
    for path in paths:
        if not os.path.lexists(path):
            raise RequestError(f"{path}: no such file or folder, and no known root holds it")
        if not os.path.isdir(path):
            raise RequestError(f"{path}: not a folder, and no known root holds it: sync or watch its folder first")
    return place.load(selection, roots=given, settings=settings), None


def require_roots(config: Config) -> None:
    """Refuse a first run over roots that are not there; an existing index holds its documents instead.

    Raises:
        RequestError: Names the first root that cannot be one.
    """
    if os.path.isdir(config.state_dir):
        return
    for root in config.roots:
        if not os.path.exists(root.path):
            raise RequestError(f"{root.path}: no such folder")
        if not os.path.isdir(root.path):
            raise RequestError(f"{root.path}: not a folder: a root is a folder of documents")
        if not os.access(root.path, os.R_OK | os.X_OK):
            raise RequestError(f"{root.path}: permission denied: a root must be readable")


def report_lines(report: Result) -> Iterator[str]:
    """Return a sync report as lines for people."""
    numbers = {name: report[f"documents_{name}"] for name in ("added", "updated", "unchanged", "deleted")}
    changes = ", ".join(f"{number:,} {name}" for name, number in numbers.items() if number) or "nothing to index"
    yield f"{changes} (generation {report['generation']}, {count(report['chunks_active'], 'chunk')})"
    for name, text in (("skipped", "not indexed"), ("held", "cannot be looked at now, kept as it was")):
        entries = report.get(f"documents_{name}") or []
        for entry in entries[:_SHOWN]:
            yield f"  {name}  {escape(entry['source_path'])}: {escape(entry['reason'])}"
        if len(entries) > _SHOWN:
            yield f"  {len(entries) - _SHOWN:,} more {text}: `--json` lists all"
    if report["unsafe_chunks"]:
        unsafe = count(report["unsafe_chunks"], "chunk")
        yield f"  {unsafe} held back from evidence: `indexerd doctor` lists them"
