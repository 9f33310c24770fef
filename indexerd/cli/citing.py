"""`open`, `show`, `verify`: from a hit or a citation to the present text, and whether it is what was cited.

Owns: how an editor is started at a line; the order in which a daemon, the sources of a known watch set and the file
    alone are asked for a verdict, and which file a citation names where there is no index.
Knows nothing of: search, how a verdict is found.
Invariants: 1. an editor is started without a shell. 2. text for people is escaped; `--json` has it exactly. 3. `verify`
    needs no index, and without a daemon none is read. 4. below a root its rules decide who sees what; a file is read by
    itself only where no root of the watch set holds it.
Purity: shell (an editor process, a source).
See: docs/operations.md (without a daemon), docs/protocol.md (verify).
"""

import os
import shlex
import subprocess
from collections.abc import Iterator, Mapping, Sequence

import click

from indexerd.cli.asking import is_undecodable
from indexerd.cli.asking_there import asking_backend, name_below
from indexerd.cli.hits import path_bytes
from indexerd.cli.options import Whole, acting, as_json, one_of, read_json, read_text, selecting, take_selection
from indexerd.cli.place import Place, Selection, here
from indexerd.cli.printing import count, escape, terminal_safe, write, write_json, write_lines
from indexerd.cli.reaching import Backend, Result
from indexerd.cli.sockets import recall, remember
from indexerd.config import absolute
from indexerd.errors import NotFoundError, RequestError, UnreachableError
from indexerd.grounding.answers import evidence_of
from indexerd.model import Citation, ContentHash, LineSpan, Root, SourcePath, parse_citation
from indexerd.naming import decode_name, encode_text, source_path
from indexerd.ports import SourceFault
from indexerd.protocol import PROTOCOL_VERSION
from indexerd.service.citations import full_citation
from indexerd.service.rendering import path_fields
from indexerd.service.verdict import verdict_on_source
from indexerd.sources import SourceTree

# How editors are told a line; others get `+LINE FILE`, which vi, emacs, nano, less, micro and kakoune share.
_LINE_ARGUMENTS: Mapping[str, tuple[str, ...]] = {
    "code": ("--goto", "{file}:{line}"),
    "codium": ("--goto", "{file}:{line}"),
    "subl": ("{file}:{line}",),
    "hx": ("{file}:{line}",),
    "helix": ("{file}:{line}",),
    "zed": ("{file}:{line}",),
    "gedit": ("+{line}", "{file}"),
    "kate": ("--line", "{line}", "{file}"),
    "idea": ("--line", "{line}", "{file}"),
}


@click.command("open")
@click.argument("number", type=Whole(1), metavar="N")
def open_command(number: int) -> int:
    """Open the N-th hit of the last query in $VISUAL, at its line.

    The last query in whatever form it was printed. Where its lines moved since, they are opened where they are now.
    """
    place = here()
    found = recall(number, place.environ, place.uid)
    if found is None:
        raise NotFoundError(f"the last query had no hit {number}: run `indexerd query TEXT` first")
    path, line, first, last, content_hash = found
    return _start_editor(path, line + _moved_by(path, LineSpan(first, last), content_hash), place.environ)


def _moved_by(path: bytes, span: LineSpan, content_hash: bytes) -> int:
    """Return how many lines further down a hit is by now; where it was changed, say so.

    Raises:
        NotFoundError: Its file is gone.
    """
    cited = Citation(SourcePath(os.fsdecode(path)), span, ContentHash(content_hash))
    verdict = verdict_on_file(cited, cited.source_path)
    name = escape(cited.source_path)
    if verdict["state"] == "gone":
        raise NotFoundError(f"{name}: is gone since the query; ask again with `indexerd query TEXT`")
    moved = [parse_citation(str(place)) for place in verdict["moved_to"]]
    if moved and moved[0] is not None:
        write(2, f"indexerd: {name}: the hit moved to line {moved[0].span.first}\n")
        return moved[0].span.first - span.first
    if verdict["state"] != "fresh":
        write(2, f"indexerd: {name}: {verdict['state']} since the query, opened at its old line\n")
    return 0


def open_first(hits: Sequence[Result], place: Place) -> int:
    """Open the first of the hits just found in the editor, remember all, and return the editor's exit status."""
    paths = [path_bytes(hit) for hit in hits]
    remember(hits, paths, place.environ, place.uid)
    return _start_editor(paths[0], hits[0]["line"], place.environ)


def editor_command(editor: str, path: bytes, line: int) -> list[bytes]:
    """Return the command that opens an absolute path at a line; an editor may have arguments, quoted as in a shell."""
    words = shlex.split(editor) or ["vi"]
    form = _LINE_ARGUMENTS.get(os.path.basename(words[0]), ("+{line}", "{file}"))
    arguments = [part.replace("{line}", str(line)).encode().replace(b"{file}", path) for part in form]
    return [*map(os.fsencode, words), *arguments]


def _start_editor(path: bytes, line: int, environ: Mapping[str, str]) -> int:
    editor = environ.get("VISUAL") or environ.get("EDITOR") or "vi"
    try:
        return subprocess.run(editor_command(editor, path, line), check=False).returncode  # noqa: S603 - the user's own editor
    except (FileNotFoundError, PermissionError) as error:
        raise NotFoundError(f"cannot start the editor {editor!r}: set $VISUAL ({error.strerror})") from error
    except ValueError as error:
        raise NotFoundError(f"$VISUAL cannot be read as a command: {error}") from error


@click.command("show")
@click.argument("citation")
@acting
@as_json
@selecting
def show_command(citation: str, roles: tuple[str, ...], is_json: bool, **flags: object) -> int:
    """Print the present text of a citation or path: guide/setup.md#L12-L18."""
    place = here()
    with asking_backend(take_selection(flags), place, need="read") as backend:
        result = _shown(backend, citation, roles, place)
    if is_json:
        write_json(result)
        return 0
    write_lines((f"indexerd: {escape(note)}" for note in _beside(citation, result)), 2)
    text = str(result["text"])
    write(1, terminal_safe(text.replace("\r\n", "\n")).rstrip("\n") + "\n")
    return 0


def _beside(citation: str, result: Result) -> Iterator[str]:
    """Yield in what the lines shown are not those that were named."""
    cited = parse_citation(citation)
    if cited is not None and cited.span.last > result["end_line"]:
        has = count(result["line_count"], "line")
        yield f"{result['source_path']} has {has} now: shown to its end"
    if result["state"] not in {None, "fresh"}:
        yield f"not what was cited: {describe_verdict(result)}"


def _shown(backend: Backend, citation: str, roles: tuple[str, ...], place: Place) -> Result:
    acting_as = {"roles": list(roles)} if roles else {}
    # A path as completion gives it, from the current directory, names a document too.
    typed = from_here(citation, place.cwd)
    if typed is not None and is_undecodable(citation):
        typed = name_below(backend.call("status"), typed)
    missing: NotFoundError | None = None
    # As it is cited, as a path from here, as it is named on the disk: there a `%25` of a citation is a mere `%`.
    for name in dict.fromkeys((citation, typed, encode_text(citation))):
        if name is not None and not is_undecodable(name):
            try:
                return backend.call("show", {"citation": name, **acting_as})
            except NotFoundError as error:
                missing = missing or error
    assert missing is not None
    if "#" in citation and parse_citation(citation) is None:
        raise NotFoundError(f"{missing}; lines are written path#L12-L18") from missing
    raise missing


def from_here(citation: str, cwd: str) -> str | None:
    """Return a citation with its path made absolute, if it names a file from the current directory."""
    path, mark, lines = citation.rpartition("#L")
    path, lines = (path, mark + lines) if path else (citation, "")
    there = absolute(path, cwd)
    return there + lines if os.path.isfile(there) else None


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
    moved = [escape(str(place)) for place in result.get("moved_to") or []]
    if state == "moved" and moved:
        return f"moved to {moved[0]}" + (f" ({count(len(moved), 'place')} in all)" if len(moved) > 1 else "")
    detail = str(result.get("detail") or "")
    if state == "gone":
        detail = f"looked at {result.get('path') or result['source_path']}"
    return f"{state} ({escape(detail)})" if state in {"changed", "fresh", "gone"} and detail else state


def verified(
    citation: str, selection: Selection, place: Place, roles: Sequence[str] = (), text: str | None = None
) -> Result:
    """Return the verdict on a full citation, in the form of the socket's `verify`, with a diff to the text if given.

    Its path is a source path, or leads from here to a file; where flags name a watch set only its sources are meant.

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
