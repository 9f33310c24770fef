"""`verify`: whether a citation holds, by a daemon, the sources of a known watch set, or the file alone.

Owns: the order in which these are asked, and which file a citation names where there is no index.
Knows nothing of: how a verdict is found.
Invariants: 1. no index is needed, and without a daemon none is read. 2. below a root its rules decide who sees what; a
    file is read by itself only where no root of the watch set holds it.
Purity: shell (reads a source).
See: docs/operations.md (without a daemon), docs/protocol.md (verify).
"""

import os
from collections.abc import Mapping, Sequence
from typing import cast

import click

from indexerd.cli.asking import is_undecodable
from indexerd.cli.asking_there import asking_backend, name_below
from indexerd.cli.options import acting, as_json, one_of, read_json, read_text, selecting, take_selection
from indexerd.cli.place import Place, Selection, here
from indexerd.cli.printing import count, escape, terminal_safe, write, write_json
from indexerd.cli.reaching import Backend, Result
from indexerd.config import absolute
from indexerd.errors import NotFoundError, RequestError, UnreachableError
from indexerd.grounding.answers import evidence_of
from indexerd.model import Citation, Root, SourcePath
from indexerd.naming import decode_name, encode_text, source_path
from indexerd.ports import SourceFault
from indexerd.protocol import PROTOCOL_VERSION
from indexerd.service.citations import full_citation
from indexerd.service.rendering import path_fields
from indexerd.service.verdict import verdict_on_source
from indexerd.sources import SourceTree


@click.command("verify", epilog="Exit status: 0 fresh, 1 moved, changed or gone, 2 error.")
@click.argument("citation")
@click.option("--text", "text_file", metavar="FILE", help="What was cited, to see what changed; - for standard input.")
@click.option("--evidence", "evidence_file", metavar="FILE", help="Evidence that has it (evidence --json) instead.")
@acting
@as_json
@selecting
def verify_command(
    citation: str,
    text_file: str | None,
    evidence_file: str | None,
    roles: tuple[str, ...],
    is_json: bool,
    **flags: object,
) -> int:
    """Say whether a full citation (…#L12-L18@sha256:HEX) still holds, and where it does not what changed.

    Needs no index: its path may also lead to any file from the current directory. Where --socket, --profile or
    --state-dir name an index, only the paths of its sources are meant. With --evidence the hash may be left out.
    """
    one_of({"--text": text_file, "--evidence": evidence_file})
    # What is no text is found by the name that citations spell.
    spelled = encode_text(citation) if is_undecodable(citation) else citation
    spelled, text = cited_text(spelled, text_file, evidence_file)
    result = verified(spelled, take_selection(flags), here(), roles, text)
    state = str(result["state"])
    if is_json:
        write_json(result)
    else:
        diff = terminal_safe(str(result.get("diff") or ""))
        write(1, f"{describe_verdict(result)}\n{diff}")
    return 0 if state == "fresh" else 1


def describe_verdict(result: Result) -> str:
    """Return one line about a verified citation."""
    state = str(result["state"])
    moved = [escape(str(place)) for place in cast("list[object]", result.get("moved_to") or [])]
    if state == "moved" and moved:
        return f"moved to {moved[0]}" + (f" ({count(len(moved), 'place')} in all)" if len(moved) > 1 else "")
    detail = str(result.get("detail") or "")
    if state == "gone":
        detail = f"looked at {result.get('path') or result['source_path']}"
    return f"{state} ({escape(detail)})" if state in {"changed", "fresh", "gone"} and detail else state


def verified(
    citation: str, selection: Selection, place: Place, roles: Sequence[str] = (), text: str | None = None
) -> Result:
    """Return the verdict on a full citation, in the form of the socket's `verify`.

    Args:
        citation: Its path is a source path, or leads from the current directory to a file.
        selection: Which watch set the flags name, if any; then only its source paths are meant.
        place: Where the command runs.
        roles: In which roles to ask, where a root holds the file.
        text: What was cited, for a diff.

    Raises:
        RequestError: It is no citation with a hash.
        UnreachableError: The flags name a daemon or a watch set that is not there.
    """
    cited = full_citation(citation)
    is_named = bool(selection.socket or selection.profile or selection.state_dir)
    path = "" if is_named else path_from_here(cited.source_path, place.cwd)
    try:
        with asking_backend(selection, place, need="sources") as backend:
            result = _by_backend(backend, cited, path, _given(roles, text))
    except UnreachableError:
        if is_named:
            raise
        result = None
    return verdict_on_file(cited, path, text) if result is None else result


def cited_text(citation: str, text_file: str | None, evidence_file: str | None) -> tuple[str, str | None]:
    """Return a citation, in full where evidence has it, and what it cites, as far as files that were named have it.

    Raises:
        RequestError: A file is no UTF-8 text, or the evidence has no such block.
    """
    if text_file is not None:
        return citation, read_text(text_file)
    if evidence_file is None:
        return citation, None
    remedy = "save the output of `indexerd evidence --json`"
    evidence = read_json(evidence_file, remedy)
    try:
        blocks = evidence_of(evidence).blocks
    except (ValueError, AttributeError) as error:
        raise RequestError(f"{evidence_file}: is no evidence ({error}): {remedy}") from error
    for block in blocks:
        full = f"{block.citation}@sha256:{block.content_hash}"
        if citation in {block.citation, full}:
            return full, block.text
    raise RequestError(f"{evidence_file}: no block of this evidence is {citation}")


def _given(roles: Sequence[str], text: str | None) -> dict[str, object]:
    return {**({"roles": list(roles)} if roles else {}), **({} if text is None else {"text": text})}


def path_from_here(name: str, cwd: str) -> str:
    """Return the absolute path that a citation's path means from a folder: as typed, else as citations spell names."""
    typed = absolute(name, cwd)
    if os.path.lexists(typed):
        return typed
    try:
        spelled = absolute(os.fsdecode(decode_name(name)), cwd)
    except ValueError:
        return typed
    return spelled if os.path.lexists(spelled) else typed


def _by_backend(backend: Backend, cited: Citation, path: str, acting: Mapping[str, object]) -> Result | None:
    """Ask for the source path, then for the path from here; None if no root holds that."""
    try:
        result = backend.call("verify", {"citation": str(cited), **acting})
        if result["state"] in {"gone", "unreadable"} and path:
            name = path if not is_undecodable(path) else name_below(backend.call("status"), path)
            if name is None:
                return None
            result = backend.call("verify", {"citation": str(cited._replace(source_path=SourcePath(name))), **acting})
    except NotFoundError:
        if not path:
            raise
        return None
    return result


def verdict_on_file(cited: Citation, path: str, text: str | None = None) -> Result:
    """Return the verdict on a citation in the file at an absolute path, whoever indexes it."""
    folder, name = os.path.split(path)
    root = Root(label="", path=folder, prefixed=False)
    found = SourceTree((root,)).read(source_path(root, os.fsencode(name)))
    if not os.path.isdir(folder):
        found = SourceFault("source_missing", "ENOENT")
    return {
        "protocol": PROTOCOL_VERSION,
        "citation": str(cited),
        "source_path": cited.source_path,
        **path_fields(os.fsencode(path)),
        **verdict_on_source(cited, found, text),
    }
