"""One glob of an ignore file as an expression: pathspec's translation, and what git does differently.

Owns: brackets as git reads them, runs of stars, the order in which stars are tried.
Knows nothing of: comments, negation, which entry is a folder.
Invariants: 1. bytes are matched, as git matches them. 2. a glob matches an entry itself, never what lies below it. 3.
    no glob backtracks beyond depth x length of a path, however hostile.
Purity: pure.
See: docs/operations.md (what is ignored), docs/adr/0008.
"""

import re

# The C locale's, as git's. A name ends within 99 bytes: else each of many `[:` would be read to the end of the line.
_CLASSES = {
    "alnum": "0-9A-Za-z", "alpha": "A-Za-z", "blank": r" \t", "cntrl": r"\x00-\x1f\x7f", "digit": "0-9",
    "graph": "!-~", "lower": "a-z", "print": " -~", "punct": r"!-/:-@\[-`{-~", "space": r" \t-\r", "upper": "A-Z",
    "xdigit": "0-9A-Fa-f",
}  # fmt: skip
_MEMBER = r"\[:([^\]]{0,99}):\]|(\\.|[^\\])-(\\.|[^\]\\])|(\\.|[^\\])"
_ANY_MEMBER = _MEMBER.replace("(", "(?:")
_ATOM = re.compile(rf"\\.|\*+|\[[!^]?+(?>{_ANY_MEMBER})(?>(?!\])(?:{_ANY_MEMBER}))*+\]|\[", re.DOTALL)
# git compares the literal beginning by itself: stars behind it count as standing at the start of the glob.
_BEFORE_STARS = re.compile(r"([^*?\[\\]*[^*?\[\\/])(?=\*\*+(?:\\?/|$))", re.DOTALL)
# What pathspec writes for the end of a folder, for `**` at the start and between, and a star that another one follows.
_END, _START, _BETWEEN = "(?P<ps_d>/)", "(?:.+/)?", "(?:/.+)?"
_EARLY_STAR = re.compile(r"\[\^/\]\*((?:\\.|\[\^/\](?!\*)|[^\[/\\(])*)(?=\[\^/\]\*)", re.DOTALL)


def translate(glob: bytes, *, by_name: bool) -> bytes | None:
    """Return what must match an entry's name, or its path, in full; None if git has the glob match nothing.

    Args:
        glob: Without negation and without a slash at either end.
        by_name: Whether a name is matched: stars then never cross folders.
    """
    # With the first line of the first ignore file: a start that waits for no scan need not wait for it.
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern  # noqa: PLC0415 - as said above

    text, start = glob.decode("latin-1"), ""
    if not by_name:
        start = found[1] if (found := _BEFORE_STARS.match(text)) else ""
        # git lets `**/` match no folder at all, but not `**\/`.
        text = re.sub(r"(^|/)\*\*+\\/", r"\1*/**/", text[len(start) :])
    brackets: list[str] = []
    try:
        text = _ATOM.sub(lambda atom: _plain(atom[0], brackets, by_name=by_name), text)
        # Told to match a folder, pathspec says by `a/**` what git says by `a/**/*`: at any depth, but never `a` itself.
        text = text if by_name else re.sub(r"(^|/)\*\*$", r"\1**/*", text)
        written, _ = GitIgnoreSpecPattern.pattern_to_regex(f"/{text}/")
    except (ValueError, KeyError):
        return None
    assert str(written).endswith(_END), "the contract test holds pathspec to its form"
    expression = _first_fit(written.removesuffix(_END).removeprefix("^") or ".+")
    if start:  # what follows may be empty, as no whole component can be
        expression = re.sub(r"^(\.|\[\^/\])\+", r"\1*", expression)
    expression = re.sub("[\u0100-\U0010ffff]", lambda sign: brackets[ord(sign[0]) - 0x100], expression)
    return (re.escape(start) + expression).encode("latin-1")


def _plain(atom: str, brackets: list[str], *, by_name: bool) -> str:
    """Return an atom as pathspec reads it alike; a bracket becomes a sign that no byte has, and is put aside."""
    if atom[0] == "[":
        brackets.append(_bracket(atom))
        return chr(0xFF + len(brackets))
    if atom[0] == "*":
        return "*" if by_name else atom[:2]
    return "/" if atom == "\\/" else atom


def _bracket(text: str) -> str:
    if text == "[":
        raise ValueError("a bracket that never closes")
    negated = text[1] in "!^"
    spans = ""
    for name, first, last, single in re.findall(_MEMBER, text[1 + negated : -1], re.DOTALL):
        low, high = (single or first)[-1:], (single or last)[-1:]
        # A range that runs backwards still has its first byte in it.
        spans += f"\\x{ord(low):02x}-\\x{ord(max(low, high)):02x}" if low else _CLASSES[name]
    return f"(?!/)[{'^' * negated}{spans}]"


def _first_fit(expression: str) -> str:
    """Have each wildcard but the last of its kind settle for its first fit: `*a*a*a*b` then takes no exponential time.

    A later wildcard can absorb whatever an earlier one leaves, so the first fit is never worse.
    """
    expression = _EARLY_STAR.sub(r"(?>[^/]*?\1)", expression)
    first, *rest = expression.removeprefix(_START).split(_BETWEEN)
    folders = ["(?:[^/]*/)*" if expression.startswith(_START) else "", *("(?:/[^/]+)*" for _ in rest)]
    *early, last = zip(folders, (first, *rest), strict=True)
    return "".join(f"(?>{above}?{part}(?=/))" if above else part for above, part in early) + "".join(last)
