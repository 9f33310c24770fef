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
    """A phrase made ready to search: `compiled(expression)` is its pattern."""

    kind: str
    expression: str


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
        pattern = Pattern(phrase.kind, _expression(phrase.template, words))
        for cue in expand_cues(phrase.cues):
            by_cue.setdefault(cue, []).append(pattern)
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
