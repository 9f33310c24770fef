"""From phrases, as people write them down, to patterns that search text.

Owns: the small notation of the phrase lists, and the cue by which each phrase is found quickly.
Knows nothing of: which phrases there are, documents.
Invariants: 1. gaps are bounded and nothing repeats inside a repetition: linear time. 2. every match of a pattern
    contains one of its cues.
Purity: pure.
See: docs/threat-model.md (safety gate).

Notation: a space is white space (line ends and Markdown marks included); ` ~ ` is a gap of up to 24 characters inside
a sentence, ` ~~ ` one of up to 60; `{name}` is a word list; all else is a regular expression over lower-case text. It
begins at a word; with `<` in front at the start of a sentence, line or quotation; with `…` anywhere, for scripts
without spaces.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import product
from typing import NamedTuple

_SPACE = r"[\s*_>\"'`]{1,4}"
_MAYBE_SPACE = r"[\s*_>\"'`]{0,4}"
_START = r"(?:\A|[.!?:;,\n\"'“”‘’„«»(\[>*\-–—|])[\s*_>]{0,3}"


class Phrase(NamedTuple):
    """One phrase as written in a list.

    Attributes:
        kind: What it tries: the name that findings carry.
        cues: Literals, separated by a bar, of which every match contains one; `a|b + c|d` stands for four of them.
        template: The phrase in the notation above.
    """

    kind: str
    cues: str
    template: str


class Pattern(NamedTuple):
    """A phrase made ready to search.

    Attributes:
        kind: As in `Phrase`.
        expression: `compiled(expression)` is its pattern.
        needs: Every match contains, of each of these, one literal.
    """

    kind: str
    expression: str
    needs: tuple[tuple[str, ...], ...]

    def may_match(self, text: str) -> bool:
        """Return whether a text has all the literals of a match: far sooner than a search says that it has none."""
        for need in self.needs:
            for word in need:
                if word in text:
                    break
            else:
                return False
        return True


@cache
def compiled(expression: str) -> re.Pattern[str]:
    """Return the pattern of an expression, compiled when its cue is first met: all together they cost a second."""
    return re.compile(expression)


def compile_phrases(phrases: Iterable[Phrase], words: Mapping[str, str]) -> dict[str, tuple[Pattern, ...]]:
    """Return the patterns by cue.

    Args:
        phrases: The list.
        words: Word lists by name, each an alternation without group.
    """
    by_cue: dict[str, list[Pattern]] = {}
    for phrase in phrases:
        expression = _expression(phrase.template, words)
        needs = needed_literals(expression)
        for cue in expand_cues(phrase.cues):
            # Where a cue stands, a need that it meets says nothing.
            open_needs = tuple(need for need in needs if not any(word in cue for word in need))
            by_cue.setdefault(cue, []).append(Pattern(phrase.kind, expression, open_needs))
    return {cue: tuple(patterns) for cue, patterns in by_cue.items()}


def expand_cues(cues: str) -> list[str]:
    """Return the literals that a cue expression stands for."""
    parts = [part.split("|") for part in cues.split(" + ")]
    return [" ".join(choice) for choice in product(*parts)]


def _expression(template: str, words: Mapping[str, str]) -> str:
    body = template.lstrip("<…")
    for name, alternatives in words.items():
        body = body.replace(f"{{{name}}}", f"(?:{alternatives})")
    body = body.replace(" ~~ ", r"\b[^.!?;]{0,60}?\b").replace(" ~ ", r"\b[^.!?;]{0,24}?\b")
    body = body.replace(" ?", _MAYBE_SPACE).replace(" ", _SPACE)
    start = {"<": _START, "…": ""}.get(template[0], r"(?<!\w)")
    return start + body


# In UTF-8: two characters of Chinese say as much as six letters.
_SHORTEST_LITERAL = 3
# A piece of an expression: an escaped character, a class, or any other character.
_PIECE = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|.", re.DOTALL)
_OPTIONAL = re.compile(r"[?*]|\{0?,")


def needed_literals(expression: str) -> tuple[tuple[str, ...], ...]:
    """Return sets of literals of each of which every match contains one: the choices between words of an expression.

    Args:
        expression: A regular expression without groups but `(?:...)` and look-around.
    """
    if len(_split(expression)) > 1:
        return ()
    needs = []
    depth, begin = 0, 0
    for piece in _PIECE.finditer(expression):
        if piece[0] == "(":
            begin = begin if depth else piece.end()
            depth += 1
        elif piece[0] == ")":
            depth -= 1
            group = expression[begin : piece.start()]
            if not depth and group.startswith("?:") and _OPTIONAL.match(expression, piece.end()) is None:
                heads = {_literal_head(choice) for choice in _split(group[2:])}
                if min(len(head.encode()) for head in heads) >= _SHORTEST_LITERAL:
                    needs.append(tuple(sorted(heads)))
    return tuple(needs)


def _split(expression: str) -> list[str]:
    """Return the choices between which an expression lets, at its top."""
    choices, depth, begin = [], 0, 0
    for piece in _PIECE.finditer(expression):
        depth += (piece[0] == "(") - (piece[0] == ")")
        if piece[0] == "|" and not depth:
            choices.append(expression[begin : piece.start()])
            begin = piece.end()
    return [*choices, expression[begin:]]


def _literal_head(expression: str) -> str:
    """Return the plain characters that an expression begins with."""
    head = re.match(r"[^\\.^$*+?{}\[\]()|]*", expression)
    literal = head[0] if head else ""
    # What is repeated, or may be absent, is no part of it.
    return literal[:-1] if expression[len(literal) : len(literal) + 1] in {"?", "*", "{"} else literal
