"""`open` and `show`: from a hit or a citation to the present text.

Owns: how an editor is started at a line.
Knows nothing of: search, proof.
Invariants: 1. an editor is started without a shell. 2. text for people is escaped; `--json` has it exactly.
Purity: shell (an editor process).
See: docs/operations.md.
"""

import os
import shlex
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

import click

from indexerd.cli.asking import is_undecodable
from indexerd.cli.asking_there import asking_backend, name_below
from indexerd.cli.hits import path_bytes
from indexerd.cli.options import Whole, acting, as_json, selecting, take_selection
from indexerd.cli.place import Place, here
from indexerd.cli.printing import count, escape, terminal_safe, write, write_json, write_lines
from indexerd.cli.reaching import Backend, Result
from indexerd.cli.sockets import recall, remember
from indexerd.cli.verifying import describe_verdict, verdict_on_file
from indexerd.config import absolute
from indexerd.errors import NotFoundError
from indexerd.model import Citation, ContentHash, LineSpan, SourcePath, parse_citation
from indexerd.naming import encode_text

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
    moved = [parse_citation(str(place)) for place in cast("list[object]", verdict["moved_to"])]
    if moved and moved[0] is not None:
        write(2, f"indexerd: {name}: the hit moved to line {moved[0].span.first}\n")
        return moved[0].span.first - span.first
    if verdict["state"] != "fresh":
        write(2, f"indexerd: {name}: {verdict['state']} since the query, opened at its old line\n")
    return 0


def open_first(hits: Sequence[Mapping[str, object]], place: Place) -> int:
    """Open the first of the hits just found in the editor, remember all, and return the editor's exit status."""
    paths = [path_bytes(hit) for hit in hits]
    remember(hits, paths, place.environ, place.uid)
    return _start_editor(paths[0], cast("int", hits[0]["line"]), place.environ)


def editor_command(editor: str, path: bytes, line: int) -> list[bytes]:
    """Return the command that opens a file at a line.

    Args:
        editor: `$VISUAL` or `$EDITOR`: a program with arguments, quoted as in a shell.
        path: Absolute path; it never begins with a dash.
        line: From 1.
    """
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
    if cited is not None and cited.span.last > cast("int", result["end_line"]):
        has = count(cast("int", result["line_count"]), "line")
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
