"""`dump` and `fsck`: the logical content of a state directory, and whether its bytes are whole.

Owns: how a finding is printed.
Knows nothing of: what is checked.
Invariants: 1. both only read, beside a running daemon too.
Purity: shell (reads a state directory).
See: docs/on-disk-format.md, docs/operations.md.
"""

import os

import click

from indexerd.cli.local import no_index, opened
from indexerd.cli.options import as_json, selecting, take_selection
from indexerd.cli.place import Selection, here
from indexerd.cli.printing import escape, write, write_json
from indexerd.cli.reaching import local_config, state_dir_of
from indexerd.errors import ConfigError, NotFoundError, UnreachableError
from indexerd.indexing import settings_fingerprint, text_problems
from indexerd.store import open_reader
from indexerd.store.dump import canonical_digest, canonical_dump
from indexerd.store.snapshot import empty_snapshot
from indexerd.store.verify import Finding, Remade, fsck
from indexerd.wiring.ground import was_synced


@click.command("dump")
@click.option("--canonical", is_flag=True, help="The logical content alone, sorted (the only form there is).")
@click.option("--digest", is_flag=True, help="Print the SHA-256 of the canonical dump instead of the dump.")
@selecting
def dump_command(canonical: bool, digest: bool, **flags: object) -> int:
    """Print what the index holds: documents, chunks, terms, one line each.

    Two indexes with equal content have equal dumps, whatever their history.
    """
    del canonical
    state_dir = state_dir_of(take_selection(flags), here())
    with opened(state_dir) as filesystem:
        snapshot = open_reader(filesystem)
        if snapshot is None:
            # An index of folders without documents is as good as any other: its content is nothing.
            if not was_synced(state_dir):
                raise no_index(state_dir)
            snapshot = empty_snapshot()
        if digest:
            write(1, f"{canonical_digest(snapshot)}\n")
            return 0
        for line in canonical_dump(snapshot):
            if not write(1, line.rstrip("\n").encode("utf-8", "surrogatepass") + b"\n"):
                raise BrokenPipeError
    return 0


@click.command("fsck", epilog="Exit status: 0 good, 1 problems, 2 error.")
@as_json
@selecting
def fsck_command(is_json: bool, **flags: object) -> int:
    """Check every byte and every rule of an index; print one line per problem.

    The stored text is parsed and analysed again, and compared with what is searched.
    """
    selection = take_selection(flags)
    state_dir = state_dir_of(selection, here())
    with opened(state_dir) as filesystem:
        if not filesystem.names() and not was_synced(state_dir):
            raise NotFoundError(f"{state_dir}: there is no index here")
        # A daemon may have said which one is meant; its profile has the settings.
        name = os.path.basename(state_dir)
        own = selection._replace(profile=name) if here().places.state_dir(name) == state_dir else selection
        remade, notes = _remade(own if own.profile else selection._replace(state_dir=state_dir))
        findings = (*fsck(filesystem, remade), *notes)
    if is_json:
        entries = [{"kind": one.kind, "where": one.where, "detail": one.detail} for one in findings]
        write_json(entries)
    else:
        for one in findings:
            line = f"{escape(one.where)}: {escape(one.detail)}"
            write(1 if one.kind == "problem" else 2, f"{'' if one.kind == 'problem' else 'note: '}{line}\n")
    return 1 if any(one.kind == "problem" for one in findings) else 0


def _remade(selection: Selection) -> tuple[Remade | None, tuple[Finding, ...]]:
    """Return how stored text is analysed again; a note where the settings for that cannot be had."""
    try:
        settings = local_config(selection, here()).settings
    except (ConfigError, UnreachableError) as error:
        return None, (Finding("note", "settings", f"no text was analysed again: {error}"),)
    return Remade(settings_fingerprint(settings), lambda segment: text_problems(segment, settings)), ()
