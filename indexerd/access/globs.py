"""Path patterns of access rules.

Owns: what a glob means on a source path.
Knows nothing of: files, rules, rights.
Invariants: 1. a pattern that matches a folder matches all below it, so that a rule on a folder leaves no hole.
Purity: pure.
See: docs/operations.md (rules).
"""

import re
from functools import lru_cache

_TOKEN = re.compile(r"\*\*/|\*\*|\*|\?|\[!?\]?[^\]/]*\]|[^*?\[]+|\[")


@lru_cache(maxsize=1024)
def compile_glob(glob: str) -> re.Pattern[str]:
    """Return the pattern of a glob, to be used with `fullmatch` on a source path.

    `*` and `?` stay within one folder, `**` does not, `[...]` is a set of characters. A glob without a slash (but at
    its end) matches a name at any depth; one with a slash is relative to the top.
    """
    body = glob.strip("/")
    anchored = glob.startswith("/") or "/" in body
    pattern = "".join(_translate(part) for part in _TOKEN.findall(body))
    return re.compile(("" if anchored else "(?:.*/)?") + pattern + "(?:/.*)?", re.DOTALL)


def matches(glob: str, path: str) -> bool:
    """Return whether a glob matches a source path or a folder above it."""
    return compile_glob(glob).fullmatch(path) is not None


def _translate(part: str) -> str:
    if part == "**/":
        return "(?:.*/)?"
    if part == "**":
        return ".*"
    if part == "*":
        return "[^/]*"
    if part == "?":
        return "[^/]"
    if part.startswith("[") and part.endswith("]") and part not in ("[]", "[!]"):
        return _character_set(part[1:-1])
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
