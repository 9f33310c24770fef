"""Text to sentences, in English and Chinese, with their places.

Owns: where a sentence ends: abbreviations, initials, decimals, quotations, list items, table rows, code.
Knows nothing of: claims, evidence, marks such as `[S1]`.
Invariants: 1. spans are disjoint, ascending, and hold every character of the text that is not white space. 2. a span
    neither begins nor ends with white space.
Purity: pure.
See: docs/grounding.md (sentences).
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple


class Span(NamedTuple):
    """A half-open range of characters of a text."""

    start: int
    end: int


# What stands before a full stop that ends no sentence. Lower case.
_SHORTENED: Final = (
    "mr mrs ms dr prof sr jr st no nos fig figs eq eqs sec ch vol pp p ed eds al etc vs cf approx dept est inc ltd co "
    "corp e.g i.e u.s u.k u.n a.m p.m ph.d jan feb mar apr jun jul aug sep sept oct nov dec gen col sgt capt rev hon "
    "gov sen rep art resp incl max min"
)
_ABBREVIATIONS: Final = frozenset(_SHORTENED.split())
# Possessive, and only from the first mark on: a long run of marks is read once, not once from each of them.
_END: Final = re.compile(r"(?<![.!?])[.!?]++[\"'”’)\]]*+(?=\s)|[。！？；…]+[”’」』）)]*|\n")
_LAST_WORD: Final = re.compile(r"[\w.]*$")
# No abbreviation is longer; a sentence without an end would be read again at each of its full stops.
_LONGEST_WORD: Final = 32
# It speaks of what the sentence before speaks of.
PRONOUN: Final = re.compile(r"(?:it|its|they|their|he|his|she|her|this|these|there)\b|[它他她其该]", re.IGNORECASE)
_LISTED: Final = re.compile(r"\s*(?:[-*+•]|\(?\d{1,3}[.)])\s")
_CLAUSE: Final = re.compile(r"[,;:](?!\d)|[，；：、]|\b(?:and|but|while|whereas)\b|而", re.IGNORECASE)
_ROW: Final = re.compile(r"\s*\||[^\n]*\S \| \S")
_FENCE: Final = re.compile(r"^ {0,3}(?:```|~~~)", re.MULTILINE)


# What is whole: code inside a line, and what stands in quotation marks; a mark without its other half is none.
_WHOLE: Final = re.compile(
    r"(?<!`)(?P<ticks>`++)[^\n]{0,4000}?(?<!`)(?P=ticks)(?!`)"
    r"|“(?:(?!\n\s*\n)[^“”]){1,300}”|「(?:(?!\n\s*\n)[^「」]){1,300}」|(?<![\w\"])\"(?=\S)(?:(?!\n\s*\n)[^\"]){1,300}\"(?!\w)"
)


def whole_spans(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield the quotations and the code of a text that no sentence ends in, in order."""
    return (Span(*match.span()) for match in _WHOLE.finditer(text, start, end))


def sentences(text: str) -> tuple[Span, ...]:
    """Return the sentences of a text.

    Lines that hold an item of a list, a row of a table, or a heading are sentences of their own; other line ends are
    white space within a sentence, except an empty line. A fenced block is one sentence.
    """
    return tuple(span for start, end, fenced in _blocks(text) for span in _within(text, start, end, whole=fenced))


def _blocks(text: str) -> Iterator[tuple[int, int, bool]]:
    """Part a text at its fences: (start, end, whether it is a fenced block)."""
    at, fences = 0, [match.start() for match in _FENCE.finditer(text)]
    for opening, closing in zip(fences[::2], [*fences[1::2], len(text)], strict=False):
        yield at, opening, False
        line_end = text.find("\n", closing)
        at = len(text) if line_end < 0 or closing == len(text) else line_end + 1
        yield opening, at, True
    yield at, len(text), False


def _within(text: str, start: int, end: int, *, whole: bool) -> Iterator[Span]:
    cuts = [end] if whole else [*(cut for cut in _cuts(text, start, end)), end]
    for cut in cuts:
        piece = text[start:cut]
        if piece.strip():
            lead = len(piece) - len(piece.lstrip())
            yield Span(start + lead, start + len(piece.rstrip()))
        start = cut


def _cuts(text: str, start: int, end: int) -> Iterator[int]:
    begin, whole, inside = start, whole_spans(text, start, end), Span(start, start)
    for match in _END.finditer(text, start, end):
        while inside.end <= match.start():
            inside = next(whole, Span(end, end + 1))
        if inside.start < match.start() and match.end() < inside.end:
            continue
        ends_here = _ends_line(text, begin, match.start(), end) if match[0] == "\n" else _ends(text, begin, match)
        if ends_here:
            begin = match.end()
            yield begin


def _ends_line(text: str, begin: int, at: int, end: int) -> bool:
    """Whether a line end is the end of a sentence, and not just where a line was broken."""
    line_end = text.find("\n", at + 1, end)
    following = text[at + 1 : end if line_end < 0 else line_end]
    line_start = text.rfind("\n", begin, at) + 1 or begin
    return not following.strip() or _stands_alone(following) or _stands_alone(text[line_start:at])


def _stands_alone(line: str) -> bool:
    return line.lstrip().startswith(("#", ">")) or is_row(line) or bool(_LISTED.match(line))


def is_fenced(text: str) -> bool:
    """Whether a sentence is a fenced block."""
    return bool(_FENCE.match(text))


def clauses(text: str) -> tuple[str, ...]:
    """Return the parts of a sentence that could stand alone; none if it is one."""
    parts = tuple(part for part in _CLAUSE.split(text) if part.strip())
    return parts if len(parts) > 1 else ()


def is_row(line: str) -> bool:
    """Whether a line is a row of a table."""
    return bool(_ROW.match(line))


def _ends(text: str, begin: int, match: "re.Match[str]") -> bool:
    """Whether a mark ends the sentence that began at `begin`."""
    if not match[0].startswith("."):
        return True
    word = _LAST_WORD.search(text, max(begin, match.start() - _LONGEST_WORD), match.start())
    last = word[0].lower() if word else ""
    if last in _ABBREVIATIONS or (len(last) == 1 and last.isalpha() and text[match.start() - 1].isupper()):
        return False
    following = text[match.end() : match.end() + 40].lstrip()
    is_number_of_item = bool(_LISTED.fullmatch(text[begin : match.end()].lstrip("# ") + " "))
    return not is_number_of_item and not following[:1].islower()
