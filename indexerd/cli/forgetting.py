"""`forget`: erasing a document from history, and leaving it out for good if that is asked for.

Owns: the line that leaves a file out, and where it is written.
Knows nothing of: how documents are erased, how ignore files are read.
Invariants: 1. an ignore file is only ever appended to. 2. what takes no effect is an error, and erases nothing.
Purity: shell (an ignore file, through what it calls).
See: docs/operations.md (forgetting), docs/adr/0015.
"""

import os
from collections.abc import Mapping

import click

from indexerd.cli.asking import is_undecodable
from indexerd.cli.asking_there import asking_backend, name_below
from indexerd.cli.options import as_json, no_empty, selecting, take_selection
from indexerd.cli.place import Place, here
from indexerd.cli.printing import count, escape, write, write_json
from indexerd.cli.reaching import Backend, Result, owner_status
from indexerd.cli.sockets import forget
from indexerd.config import absolute
from indexerd.errors import RequestError, StillIndexedError
from indexerd.naming import decode_name

_IGNORE_FILE = ".indexerdignore"


@click.command("forget", epilog="Exit status: 0 erased, 1 nothing was kept, 2 error, 3 no daemon.")
@click.argument("path", callback=no_empty)
@click.option("--history", is_flag=True, help="Erase older versions, keep the current one.")
@click.option(
    "--exclude", is_flag=True, help=f"Leave the file out from now on ({_IGNORE_FILE} in its root), then erase."
)
@as_json
@selecting
def forget_command(path: str, history: bool, exclude: bool, is_json: bool, **flags: object) -> int:
    """Erase a document from every kept generation: text, words, hashes, name.

    Refused while the file is indexed, unless its current version is to be kept (--history) or left out (--exclude).
    """
    if history and exclude:
        raise click.UsageError("--history keeps the current version, --exclude does not: give one of them")
    place = here()
    with asking_backend(take_selection(flags), place) as backend:
        roots = owner_status(backend, "forget")["roots"]
        names = _named(path, roots, place)
        if exclude:
            _leave_out(backend, names[0], roots)
        result = _forgotten(backend, names, history=history, exclude=exclude)
        for root, below in _places(str(result["source_path"]), roots):
            forget(os.path.join(os.fsencode(root["path"]), below), place.environ, place.uid)
    is_erased = bool(result["generations"] or result["segments"] or result["dropped"])
    if is_json:
        write_json(result)
    else:
        write(1 if is_erased else 2, f"{_told(result)}\n")
    return 0 if is_erased else 1


def _forgotten(backend: Backend, names: list[str], *, history: bool, exclude: bool) -> Result:
    """Have the first of some names forgotten of which anything is kept."""
    result: Result = {}
    for name in names:
        try:
            result = backend.call("forget", {"source_path": name, "history": history})
        except StillIndexedError as error:
            raise StillIndexedError(_refusal(name, exclude=exclude)) from error
        if result["segments"] or result["dropped"]:
            break
    return result


def _named(path: str, roots: list[dict[str, str]], place: Place) -> list[str]:
    """Return the source paths that may be meant: of a file that is there its own; else as typed, then from here."""
    typed = absolute(path, place.cwd)
    from_here = name_below({"roots": roots}, typed)
    is_here = from_here is not None and (os.path.isabs(path) or os.path.lexists(typed))
    if from_here is not None and (is_here or is_undecodable(path)):
        return [from_here]
    if is_undecodable(path):
        raise RequestError("what was typed is no UTF-8 text and lies in no root: name it as `documents` spells it")
    return [path] if from_here is None else [path, from_here]


def _refusal(name: str, *, exclude: bool) -> str:
    if exclude:
        return f"{name!r} is left out and still indexed: an ignore file below its root takes it back"
    return (
        f"{name!r} is indexed: remove the file first, or leave it out for good (--exclude), "
        "or erase its older versions only (--history)"
    )


def _places(name: str, roots: list[dict[str, str]]) -> list[tuple[Mapping[str, str], bytes]]:
    """Return the root that holds a source path, and its name below that; none where the name is none."""
    try:
        raw = decode_name(name)
    except ValueError:
        return []
    for root in roots:
        label = os.fsencode(root["label"]) + b"/"
        if not root.get("prefixed", len(roots) > 1):
            return [(root, raw)]
        if raw.startswith(label):
            return [(root, raw.removeprefix(label))]
    return []


def _leave_out(backend: Backend, name: str, roots: list[dict[str, str]]) -> None:
    """Add a line to the ignore file of the document's root, and have it acted upon.

    Raises:
        RequestError: No root holds the name, it cannot be written as a pattern, or the file cannot be written.
    """
    places = _places(name, roots)
    if not places:
        raise RequestError(f"{name!r} lies in no root of this index: there is nothing to leave out")
    [(root, below)] = places
    file = os.path.join(root["path"], _IGNORE_FILE)
    try:
        _append(file, exclusion(below))
    except OSError as error:
        remedy = "add the file to `ignore` of its profile in config.toml instead, then forget it"
        raise RequestError(f"{file}: {error.strerror}: {remedy}") from error
    backend.call("sync")


def exclusion(below: bytes) -> bytes:
    r"""Return the line of an ignore file that leaves out one file, named from the folder of that ignore file.

    Raises:
        RequestError: The name holds a line end: no line can name it.
    """
    if b"\n" in below or b"\r" in below:
        raise RequestError("a name with a line end cannot be written into an ignore file: rename the file")
    escaped = b"".join(b"\\" + bytes([byte]) if byte in b"\\*?[]! #" else bytes([byte]) for byte in below)
    return b"/" + escaped


def _append(file: str, line: bytes) -> None:
    """Add a line to a file unless it is there; a last line without an end gets one."""
    try:
        with open(file, "rb") as old:
            data = old.read()
    except FileNotFoundError:
        data = b""
    if line in data.split(b"\n"):
        return
    with open(file, "ab") as new:
        new.write((b"\n" if data and not data.endswith(b"\n") else b"") + line + b"\n")


def _told(result: Result) -> str:
    name = escape(str(result["source_path"]))
    generations, dropped = result["generations"], result["dropped"]
    lost = f"; {count(dropped, 'generation')} could not be read and went too" if dropped else ""
    if not generations and not result["segments"]:
        return f"nothing of {name} is kept{lost}: `indexerd documents --deleted` lists what is there to be forgotten"
    return f"{name} is erased from {count(generations, 'generation')}{lost}"
