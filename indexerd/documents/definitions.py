"""Link reference definitions: lines that look like a paragraph and are none.

Owns: what a definition is.
Knows nothing of: blocks, headings.
Invariants: 1. linear time.
Purity: pure.
See: docs/search.md (chunks); the CommonMark specification, "Link reference definitions".
"""

import re

_REFERENCE = re.compile(
    r"""\[(?=[^\]]*[^\s\]])(?:[^\[\]\\]|\\.){1,999}+\]:[ \t]*+\n?[ \t]*+"""
    r"""(?:<(?:[^<>\\\n]|\\.)*+>|(?P<bare>[^\s<\x00-\x1f][^\s\x00-\x1f]*+))"""
    r"""(?:(?:[ \t]++\n?[ \t]*+|\n[ \t]*+)"""
    r"""(?:"(?:[^"\\]|\\.)*+"|'(?:[^'\\]|\\.)*+'|\((?:[^()\\]|\\.)*+\))[ \t]*+(?=\n|\Z)"""
    r"""|[ \t]*+(?=\n|\Z))\n?""",
    re.DOTALL,
)
_PARENTHESIS = re.compile(r"\\.|[()]")


def skip_definitions(paragraph: list[str]) -> int:
    """Return how many lines at the start of a paragraph are link reference definitions."""
    if not paragraph or not paragraph[0].lstrip(" \t").startswith("["):
        return 0
    content = "\n".join(line.strip(" \t\r") for line in paragraph)
    position = 0
    while position < len(content) and (match := _REFERENCE.match(content, position)):
        if match["bare"] and not _balanced(match["bare"]):
            break
        position = match.end()
    return len(paragraph) if position >= len(content) else content.count("\n", 0, position)


def may_be_title(paragraph: list[str], line: str) -> bool:
    """Return whether `line` is, or begins, the title of the last definition of a paragraph of definitions."""
    text = line.strip(" \t\r")
    if not text.startswith(('"', "'", "(")):
        return False
    closing = ")" if text[0] == "(" else text[0]
    return closing not in text[1:] or skip_definitions([*paragraph, line]) > len(paragraph)


def _balanced(destination: str) -> bool:
    """Return whether the parentheses of a link destination pair up, escaped ones aside."""
    depth = 0
    for parenthesis in _PARENTHESIS.findall(destination):
        depth += {"(": 1, ")": -1}.get(parenthesis, 0)
        if depth < 0:
            return False
    return depth == 0
