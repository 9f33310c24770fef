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
# Possessive, and only from the first mark on: a long run of marks is read once, not once from each of them. A label in
# brackets may follow at once.
_END: Final = re.compile(
    r"(?<![.!?])[.!?]++[\"'”’)\]]*+(?=\s|\[(?:S?\d|\^|unsupported\]))|[。！？；…]+[”’」』）)]*|\n", re.IGNORECASE
)
_LAST_WORD: Final = re.compile(r"[\w.]*$")
# No abbreviation is longer; a sentence without an end would be read again at each of its full stops.
_LONGEST_WORD: Final = 32
# It speaks of what the sentence before speaks of.
PRONOUN: Final = re.compile(r"(?:it|its|they|their|he|his|she|her|this|these|there)\b|[它他她其该]", re.IGNORECASE)
_LISTED: Final = re.compile(
    r"\s*(?:(?:[-*+•—–]|\(?\d{1,3}[.)])\s|\d{1,3}、|（\d{1,3}）|[\u2460-\u2473]|[一二三四五六七八九十]{1,3}、)"
)
_CLAUSE: Final = re.compile(r"[,;:](?!\d)|[，；：、]|\b(?:and|but|while|whereas)\b|而", re.IGNORECASE)
_ROW: Final = re.compile(r"\s*\||[^\n]*\S \| \S")
_FENCE: Final = re.compile(r"^[ \t]{0,40}(?P<fence>`{3,}(?=[^`\n]*$)|~{3,})(?P<info>[^\n]*)", re.MULTILINE)
_HEADING: Final = re.compile(r"[ \t]{0,12}(?:> ?){0,4}#{1,6}\s")
_QUOTED: Final = re.compile(r"\s{0,12}(?:>\s?)+")
# A heading's underline, a line in bold, and where a reference or a footnote leads.
_APART: Final = re.compile(
    r"\s*(?:=+|-{2,})\s*$|\s{0,3}\[[^\[\]\n]{1,100}\]:|\s*\*\*[^*\n]{1,200}\*\*:?(?:[ \t]*\[[^\[\]\n]{0,40}\])*\s*$"
)


# What is whole: code inside a line, and what stands in quotation marks; a mark without its other half is none.
_WHOLE: Final = re.compile(
    r"(?<!`)(?P<ticks>`++)[^\n]{0,4000}?(?<!`)(?P=ticks)(?!`)"
    r"|“(?:(?!\n\s*\n)[^“”]){1,300}”|「(?:(?!\n\s*\n)[^「」]){1,300}」|(?<![\w\"])\"(?=\S)(?:(?!\n\s*\n)[^\"]){1,300}\"(?!\w)"
)


def sentences(text: str) -> tuple[Span, ...]:
    """Return the sentences of a text.

    Lines that hold an item of a list, a row of a table, or a heading are sentences of their own; other line ends are
    white space within a sentence, except an empty line. A fenced block is one sentence.
    """
    return tuple(span for start, end, fenced in _blocks(text) for span in _within(text, start, end, whole=fenced))


def fences(text: str) -> Iterator[Span]:
    """Yield the fenced blocks of a text, with their fences; one that nothing closes goes on to the end."""
    opened: re.Match[str] | None = None
    for match in _FENCE.finditer(text):
        if opened is None:
            opened = match
        elif match["fence"].startswith(opened["fence"]) and not match["info"].strip():
            yield Span(opened.start(), min(match.end() + 1, len(text)))
            opened = None
    if opened is not None:
        yield Span(opened.start(), len(text))


def _blocks(text: str) -> Iterator[tuple[int, int, bool]]:
    """Part a text at its fences: (start, end, whether it is a fenced block)."""
    at = 0
    for start, end in fences(text):
        yield at, start, False
        yield start, end, True
        at = end
    yield at, len(text), False


def _within(text: str, start: int, end: int, *, whole: bool) -> Iterator[Span]:
    cuts = [end] if whole else [*_cuts(text, start, end), end]
    for cut in cuts:
        piece = text[start:cut]
        if piece.strip():
            lead = len(piece) - len(piece.lstrip())
            yield Span(start + lead, start + len(piece.rstrip()))
        start = cut


def _cuts(text: str, start: int, end: int) -> Iterator[int]:
    begin, whole, inside = start, _WHOLE.finditer(text, start, end), (start, start)
    is_heading = is_headed(text, begin)
    for match in _END.finditer(text, start, end):
        while inside[1] <= match.start():
            found = next(whole, None)
            inside = found.span() if found else (end, end + 1)
        if (inside[0] < match.start() and match.end() < inside[1]) or (is_heading and match[0] != "\n"):
            continue
        ends_here = _ends_line(text, begin, match.start(), end) if match[0] == "\n" else _ends(text, begin, match)
        if ends_here:
            begin = match.end()
            is_heading = is_headed(text, begin)
            yield begin


def _ends_line(text: str, begin: int, at: int, end: int) -> bool:
    """Whether a line end is the end of a sentence, and not just where a line was broken."""
    line_end = text.find("\n", at + 1, end)
    following = text[at + 1 : end if line_end < 0 else line_end]
    line_start = text.rfind("\n", 0, at) + 1
    line, is_line_quoted = text[line_start:at] if begin <= line_start else "", is_quoted(text, at)
    if is_line_quoted != is_quoted(text, at + 1):
        return True
    if is_line_quoted:
        line, following = _QUOTED.sub("", line, count=1), _QUOTED.sub("", following, count=1)
    return not following.strip() or _stands_alone(following) or _stands_alone(line)


def is_quoted(text: str, at: int) -> bool:
    """Whether a place is in a line of a block quote."""
    return bool(_QUOTED.match(text, text.rfind("\n", 0, at) + 1))


def unquoted(text: str) -> str:
    """Return the lines of a block quote without what marks them."""
    return "\n".join(_QUOTED.sub("", line, count=1) for line in text.split("\n"))


def is_headed(text: str, at: int) -> bool:
    """Whether a place is in the line of a heading: one sentence, whatever stands in it."""
    return bool(_HEADING.match(text, text.rfind("\n", 0, at) + 1))


def _stands_alone(line: str) -> bool:
    return line.lstrip().startswith("#") or is_row(line) or bool(_LISTED.match(line) or _APART.match(line))


def open_fence(text: str) -> str:
    """Return the fence of a fenced block that nothing closes; nothing of one that is closed."""
    found = _FENCE.match(text)
    last = text.rpartition("\n")[2].strip()
    is_closed = found is None or (last.startswith(found["fence"]) and set(last) == set(found["fence"]) and "\n" in text)
    return "" if is_closed or found is None else found["fence"]


def is_fenced(text: str, at: int = 0) -> bool:
    """Whether the sentence that begins at a place is a fenced block."""
    return bool(_FENCE.match(text, text.rfind("\n", 0, at) + 1))


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
