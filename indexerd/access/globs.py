"""Path patterns of access rules and of requests.

Owns: what a glob means on a source path.
Knows nothing of: files, rules, rights.
Invariants: 1. a pattern that matches a folder matches all below it, so that a rule on a folder leaves no hole. 2. no
    pattern backtracks beyond the square of a path's length, however hostile: globs come from callers.
Purity: pure.
See: docs/operations.md (rules).
"""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

_TOKEN = re.compile(r"(?:(?<=/)|^)(?:\*\*/)+|\*\*+|\*|\?|\[!?\]?[^\]/]*\]|[^*?\[]+|\[")
# Any folders or none, where a component begins; anything at all.
_FOLDERS, _ANYTHING = "folders", "anything"


# Globs come from callers too: 1,024 of the longest that may be sent take 150 MB, those of people 2.
@lru_cache(maxsize=1024)
def compile_glob(glob: str) -> re.Pattern[str]:
    """Return the pattern of a glob, to be used with `fullmatch` on a source path.

    `*` and `?` stay within one folder, `**` does not, `[...]` is a set of characters. A glob without a slash (but at
    its end) matches a name at any depth; one with a slash is relative to the top.
    """
    body = glob.strip("/")
    anchored = glob.startswith("/") or "/" in body
    first, *rest = _split(_TOKEN.findall(body), anchored=anchored)
    *early, last = [first, *rest]
    pattern = "".join(f"(?>{_reach(kind)}{_piece(tokens, is_last=False)})" for kind, tokens in early)
    return re.compile(f"{pattern}{_reach(last[0])}{_piece(last[1], is_last=True)}(?:/.*)?", re.DOTALL)


def matches(glob: str, path: str) -> bool:
    """Return whether a glob matches a source path or a folder above it."""
    return compile_glob(glob).fullmatch(path) is not None


def chooser(globs: Sequence[str]) -> Callable[[str], bool]:
    """Return what tells whether some globs choose a path: any must match, unless none is given; `!GLOB` leaves out."""
    wanted = [glob for glob in globs if not glob.startswith("!")]
    unwanted = [glob[1:] for glob in globs if glob.startswith("!")]

    def chooses(path: str) -> bool:
        is_wanted = not wanted or any(matches(glob, path) for glob in wanted)
        return is_wanted and not any(matches(glob, path) for glob in unwanted)

    return chooses


def _split(tokens: Sequence[str], *, anchored: bool) -> list[tuple[str, list[str]]]:
    """Return the pieces between the wildcards that cross folders, each with the one before it (empty for none)."""
    pieces: list[tuple[str, list[str]]] = [("" if anchored else _FOLDERS, [])]
    for token in tokens:
        kind = (_FOLDERS if token.endswith("/") else _ANYTHING) if token.startswith("**") else ""
        if not kind:
            pieces[-1][1].append(token)
        elif pieces[-1][1] or not pieces[-1][0]:
            pieces.append((kind, []))
        elif kind == _ANYTHING:
            # Of two that follow one another, this one includes the other.
            pieces[-1] = (kind, [])
    return pieces


def _reach(kind: str) -> str:
    return {_FOLDERS: "(?:.*?/)??", _ANYTHING: ".*?"}.get(kind, "")


def _piece(tokens: Sequence[str], *, is_last: bool) -> str:
    """Return a piece whose stars settle for their first fit: `*a*a*a*b` then takes no exponential time.

    What follows a star in one folder, or stands behind a wildcard that crosses folders, can absorb whatever a first fit
    leaves, so it is never worse; only the last star has to reach the end.
    """
    parts: list[str] = [""]
    for part in tokens:
        if part == "*":
            parts.append("")
        else:
            parts[-1] += _translate(part)
    start, *stars = parts
    *early, final = stars or [""]
    if not stars:
        return start
    first_fits = "".join(f"(?>[^/]*?{part})" for part in early)
    return start + first_fits + (f"[^/]*?{final}" if is_last else f"(?>[^/]*?{final})")


def _translate(part: str) -> str:
    if part == "?":
        return "[^/]"
    if part.startswith("[") and part.endswith("]") and part not in ("[]", "[!]"):
        return f"(?!/){_character_set(part[1:-1])}"
    return re.escape(part)


def _character_set(content: str) -> str:
    """Return a set of characters and ascending ranges; nothing in it has another meaning."""
    negated, members = ("^", content[1:]) if content.startswith("!") else ("", content)
    parts: list[str] = []
    at = 0
    while at < len(members):
        first, last = members[at], members[at + 2 : at + 3]
        if members[at + 1 : at + 2] == "-" and last and first <= last:
            parts.append(f"{re.escape(first)}-{re.escape(last)}")
            at += 3
        else:
            parts.append(re.escape(first))
            at += 1
    return f"[{negated}{''.join(parts)}]"
