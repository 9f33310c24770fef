"""A `query` result printed: numbered hits for people, or one of the forms that scripts read; the same for both paths.

Owns: how hits look; what is said beside them on standard error; the exit status of `query`.
Knows nothing of: click, where the result came from. Light on purpose: part of the query fast path.
Invariants: 1. forms for people and `vimgrep` carry escaped text only; only JSON and NUL-separated names are exact.
    2. what was withheld is told in one line. 3. the fast path and the full command line print the same bytes for the
    same result.
Purity: pure, save `finish` (standard streams, the file of the last result) and whether somebody looks.
See: docs/protocol.md (hits), docs/operations.md.
"""

from __future__ import annotations

import os

from indexerd.cli.printing import (
    BOLD,
    BROKEN_PIPE,
    CYAN,
    DIM,
    MATCH,
    RESET,
    YELLOW,
    count,
    escape,
    flatten,
    shorten,
    wants_colour,
    write,
)  # fmt: skip
from indexerd.cli.sockets import remember

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from indexerd.cli.asking import Asking

    # A result as it came over the socket; its fields are documented with the protocol.
    Result = Mapping[str, Any]
    Hit = Mapping[str, Any]

_REASONS = {
    "unsafe_content": "trying to instruct a model",
    "source_changed": "changed since it was indexed",
    "source_missing": "gone",
    "source_unreadable": "not readable",
    "source_escapes_root": "leading out of its root",
    "citation_mismatch": "unlike its citation",
    "superseded": "superseded by a newer version",
    "proof_budget": "not proved in time",
}


def answer_bytes(
    asking: Asking, result: dict[str, Any], raw: bytes, environ: Mapping[str, str], cwd: str
) -> tuple[bytes, bytes]:
    """Return what standard output and standard error get; `raw` is the result as it came, which `--json` prints."""
    colour = wants_colour(asking.color, environ, is_terminal=os.isatty(1))
    form = asking.format
    if form == "json":
        return raw + b"\n", b""
    encode = None
    if form == "jsonl":
        import json  # noqa: PLC0415 - 10 ms that only this form needs

        encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
    links = asking.hyperlink and (asking.color == "always" or os.isatty(1))
    out = render(result, form, nul=asking.nul, cwd=cwd, colour=colour, links=links, encode=encode)
    err_colour = wants_colour(asking.color, environ, is_terminal=os.isatty(2))
    return out, notes(result, err_colour, narrowed=asking.is_narrowed).encode("utf-8", "backslashreplace")


def finish(result: dict[str, Any], out: bytes, err: bytes) -> int:
    """Write both streams, remember what was shown, and return the exit status."""
    remember(result["hits"], [path_bytes(hit) for hit in result["hits"]], os.environ, os.getuid())
    if not write(1, out):
        return BROKEN_PIPE
    write(2, err)
    return 0 if result["hits"] else 1


def render(  # noqa: PLR0913 - the ways a result can be printed
    result: Result,
    form: str,
    *,
    nul: bool,
    cwd: str,
    colour: bool,
    links: bool = False,
    encode: Callable[[object], str] | None = None,
) -> bytes:
    """Return what standard output gets for a result, in each form but `json`, which is printed as it came.

    Paths below `cwd` are shown relative to it. `encode` turns a value into JSON text; only `jsonl` needs it.
    """
    hits = result["hits"]
    if form == "list" or nul:
        return _names(hits, cwd, nul=nul)
    if form == "jsonl":
        return _json_lines(result, encode)
    lines = (_vimgrep(hit, cwd) if form == "vimgrep" else _numbered(hit, colour, links) for hit in hits)
    return "".join(lines).encode("utf-8", "backslashreplace")


def notes(result: Result, colour: bool, *, narrowed: bool = False) -> str:
    """Return what standard error gets: what was withheld, what is not up to date, why nothing was found.

    Why depends on whether flags `narrowed` the documents.
    """
    told = (_historical(result), _nothing(result, narrowed), _close(result), _weak(result), _withheld(result))
    return "".join(f"{_in(YELLOW, line, colour)}\n" for line in (*told, _freshness(result)) if line)


def _in(style: str, text: str, colour: bool) -> str:
    return f"{style}{text}{RESET}" if colour else text


def notes_beside(result: Result) -> str:
    """Return what is to be said beside a reason why there is nothing: what was withheld, what is not indexed yet."""
    lines = (_historical(result), _close(result), _withheld(result), _freshness({**result, "hits": ()}))
    return "".join(f"{line}\n" for line in lines if line)


def path_bytes(hit: Hit) -> bytes:
    """Return the absolute path of a hit exactly, also where it is not UTF-8."""
    path = hit.get("path")
    if path is not None:
        return str(path).encode("utf-8", "surrogateescape")
    import binascii  # noqa: PLC0415 - such names are rare; the module base64 would cost more than the whole fast path

    return binascii.a2b_base64(hit.get("path_b64") or "")


def _path(hit: Hit, cwd: str) -> str:
    raw = path_bytes(hit) or str(hit["source_path"]).encode()
    return shorten(raw.decode("utf-8", "surrogateescape"), cwd)


def _names(hits: Sequence[Hit], cwd: str, *, nul: bool) -> bytes:
    names = dict.fromkeys(_path(hit, cwd) for hit in hits)
    if nul:
        return b"".join(name.encode("utf-8", "surrogateescape") + b"\0" for name in names)
    return "".join(f"{escape(name)}\n" for name in names).encode()


def _json_lines(result: Result, encode: Callable[[object], str] | None) -> bytes:
    assert encode is not None
    summary = {"type": "summary", **{key: value for key, value in result.items() if key != "hits"}}
    lines = [*({"type": "hit", **hit} for hit in result["hits"]), summary]
    return "".join(f"{encode(line)}\n" for line in lines).encode("utf-8", "backslashreplace")


def _vimgrep(hit: Hit, cwd: str) -> str:
    line = hit["line"]
    texts = str(hit["text"]).split("\n")
    at = line - hit["start_line"]
    text = texts[at] if 0 <= at < len(texts) else hit["excerpt"]
    return f"{escape(_path(hit, cwd))}:{line}:{hit['column']}:{flatten(text.rstrip(chr(13)))}\n"


def _numbered(hit: Hit, colour: bool, links: bool) -> str:
    title, headings = flatten(str(hit["title"])), [flatten(str(text)) for text in hit["heading_path"]]
    trail = " › ".join([title, *headings[1:]] if headings[:1] == [title] else [title, *headings])
    citation = escape(str(hit["citation"]))
    if links:
        citation = _linked(citation, path_bytes(hit))
    number = f"{hit['n']:>2}. "
    lines = [
        _in(CYAN, citation, colour),
        *excerpt_lines(hit, colour),
        *(_in(YELLOW, line, colour) for line in _unsafe(hit)),
        *(_in(DIM, line, colour) for line in _explanation(hit)),
    ]
    below = "".join(f"{' ' * len(number)}{line}\n" for line in lines)
    return f"{number}{_in(BOLD, trail, colour)}\n{below}\n"


def _linked(text: str, path: bytes) -> str:
    """Return text that a terminal opens as a file; in the address only bytes stand that mean nothing else there."""
    plain = b"/._-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    address = "".join(chr(byte) if byte in plain else f"%{byte:02X}" for byte in path)
    return f"\x1b]8;;file://{address}\x1b\\{text}\x1b]8;;\x1b\\" if path else text


def excerpt_lines(hit: Hit, colour: bool) -> list[str]:
    """Return the excerpt of a hit line by line, escaped, with its matches marked."""
    text, done, pieces = str(hit["excerpt"]), 0, []
    for start, end in hit["highlights"] if colour else ():
        pieces += [_lines_escaped(text[done:start]), MATCH, _lines_escaped(text[start:end]), RESET]
        done = end
    pieces.append(_lines_escaped(text[done:]))
    return [line for line in "".join(pieces).split("\n") if line.strip()]


def _lines_escaped(text: str) -> str:
    plain = text.replace("\r\n", "\n").expandtabs(4)
    return "\n".join(escape(line) for line in plain.split("\n"))


def _unsafe(hit: Hit) -> list[str]:
    found = hit.get("unsafe")
    return [f"! line {found['line']} tries to instruct a model ({escape(str(found['pattern']))})"] if found else []


def _explanation(hit: Hit) -> list[str]:
    explained = hit.get("explain")
    if not explained:
        return []
    boost = f" (boost {explained['boost']:g})" if explained["boost"] != 1 else ""
    return [f"score {hit['score']:.6f}{boost}", *(f"  {_part(part)}" for part in explained["parts"])]


def _part(part: Mapping[str, Any]) -> str:
    word = flatten(str(part["word"])) or str(part["kind"])
    return (
        f"{part['score']:.6f}  {word}  in {count(part['df'], 'chunk')}, idf {part['idf']:.4f}, "
        f"weight {part['weight']:g}, frequency {part['frequency']:g}"
    )


def _historical(result: Result) -> str:
    about = result.get("historical")
    if not about:
        return ""
    changed = [escape(str(change)) for change in about["changed"]]
    since = f"; changed since then: {'; '.join(changed)}" if changed else ""
    erased = f"; {count(about['erased'], 'document')} erased since then" if about["erased"] else ""
    return f"as of generation {result['generation']}, published {escape(about['published_at'])}{since}{erased}"


def _nothing(result: Result, narrowed: bool) -> str:
    if result["hits"]:
        return ""
    state = result["freshness"]["state"]
    if state == "building":
        how = "could not be built so far" if result["freshness"].get("problem") else "is still being built"
        return f"nothing found yet: the first index {how}; `indexerd status` shows how far it is"
    if none := none_passes(result):
        return f"nothing found: {none}"
    text = str(result.get("query") or "x")
    if not any(map(str.isalnum, text)):
        return "nothing found: only words are searched for, of letters or digits"
    # A document that is held or on its way may have it all: nothing is said of those.
    limits = ["the index has"] if state == "pending" else []
    limits += ["can be looked at now"] if _is_partial(result) else []
    limits += ["the filters let through"] if narrowed else []
    where = f" that {' and that '.join(limits)}" if limits else ""
    words = [escape(str(word)) for word in result.get("unmatched") or ()]
    if words:
        return f"nothing found; in no document{where}: {', '.join(words[:10])}"
    return f"nothing found{' among the documents' + where if where else ''}"


def _is_partial(result: Result) -> bool:
    """Whether there may be documents that cannot be looked at now."""
    freshness = result["freshness"]
    return bool(freshness.get("held")) or _of_a_root(freshness.get("problem"))


def _of_a_root(problem: Mapping[str, Any] | None) -> bool:
    return problem is not None and problem["code"] == "root_unavailable"


def none_passes(result: Result) -> str:
    """Return what to say where the flags that choose documents leave none; nothing where that is not sure."""
    if not result.get("no_document") or result["freshness"]["state"] != "current" or _is_partial(result):
        return ""
    asked = result["request"]
    given = [("-g", glob) for glob in asked["paths"]] + [("--tag", tag) for tag in asked["tags"]]
    given += [("--where", f"{key}={value}") for key, values in asked["where"].items() for value in values]
    given += [(f"--{name}", asked[name]) for name in ("since", "until") if asked[name]]
    flags = " ".join(f"{flag} '{escape(str(value))}'" for flag, value in given)
    return f"no document passes {flags}; `indexerd documents` lists what there is"


def _close(result: Result) -> str:
    if result.get("searched"):
        missing = ", ".join(escape(str(word)) for word in result["close_terms"])
        return f"in no document: {missing}; these are the hits for: {escape(str(result['searched']))}"
    terms = [escape(term) for some in (result.get("close_terms") or {}).values() for term in some]
    return f"did you mean: {', '.join(terms)}" if terms else ""


def _weak(result: Result) -> str:
    is_weak = result["hits"] and result.get("weak") and not result.get("searched")
    return "weak: these hits share few words with the question" if is_weak else ""


def _withheld(result: Result) -> str:
    counts = {code: number for code, number in (result.get("rejected_counts") or {}).items() if code in _REASONS}
    parts = [f"{number} {_REASONS[code]}" for code, number in sorted(counts.items())]
    hidden = result.get("needs_role") or 0
    parts += [f"{count(hidden, 'document')} need a role that was not named (--role)"] if hidden else []
    return f"withheld: {', '.join(parts)}" if parts else ""


def _freshness(result: Result) -> str:
    state, held = result["freshness"]["state"], result["freshness"].get("held", 0)
    problem = result["freshness"].get("problem")
    said = []
    if problem:
        what = "a root cannot be looked at" if _of_a_root(problem) else "what was saved last is not indexed"
        said.append(f"{what}, see `indexerd doctor`: {escape(str(problem['detail']))}")
    elif state == "pending":
        said.append("some files changed just now and are not indexed yet; ask again, or wait longer with --wait MS")
    elif state == "building" and result["hits"]:
        said.append("the first index is still being built: this is what was found so far")
    if held:
        are = "is" if held == 1 else "are"
        said.append(f"{count(held, 'document')} cannot be looked at now and {are} left out: see `indexerd doctor`")
    return "; ".join(said)


def conflict_lines(result: Result) -> str:
    """Return a line for each conflict between blocks of evidence; nothing where none was asked for or found."""
    return "".join(f"conflict: {escape(_both_sides(one))}\n" for one in result.get("conflicts") or ())


def _both_sides(found: Mapping[str, Any]) -> str:
    sides = " / ".join(
        f"{side['label']} {side['source_path']}#L{side['start_line']}-L{side['end_line']}: "
        f"{side['value'] or 'not denied'}"
        for side in (found["one"], found["other"])
    )
    return sides if found["newer"] is None else f"{sides} ({found['newer']} is newer by {found['settled_by']})"
