"""reStructuredText: section titles, literal blocks and directives, tables.

Owns: how a reStructuredText source is divided.
Knows nothing of: chunks, bytes, front matter.
Invariants: 1. the level of a title is the order in which its style (character, overline) was first used.
    2. linear time.
Purity: pure.
See: docs/search.md (chunks); docutils' specification, "Sections".
"""

import re
from itertools import accumulate

from indexerd.documents.outline import Block, Heading, Outline, clean_title

_ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1*+[ \t]*+\r?\Z")
_LITERAL = re.compile(r"(?:::|\.\.[ ]+(?:code|code-block|sourcecode|literalinclude|math|raw|parsed-literal)::.*)\r?\Z")
_GRID = re.compile(r"[ \t]*\+(?:[-=]+\+)+[ \t]*\r?\Z")
_SIMPLE = re.compile(r"[ \t]*=+(?:[ ]+=+)+[ \t]*\r?\Z")


def outline(text: str) -> Outline:
    """Return section titles and blocks of a reStructuredText source."""
    lines = text.split("\n")
    starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
    starts[-1] = len(text)
    headings: list[Heading] = []
    blocks: list[Block] = []
    styles: dict[tuple[str, bool], int] = {}
    number, count = 0, len(lines)
    while number < count:
        line = lines[number]
        if line.rstrip().endswith("::") or line.startswith(".. "):
            behind = _literal_end(lines, number)
            if behind > number + 1:
                blocks.append(Block(starts[number], starts[behind]))
                number = behind
                continue
        behind, header = _table(lines, number)
        if behind:
            blocks.append(Block(starts[number], starts[behind], starts[header] if header else 0))
            number = behind
            continue
        found = _title(lines, number)
        if found is None:
            number += 1
            continue
        behind, title, style = found
        level = styles.setdefault(style, len(styles) + 1)
        headings.append(Heading(starts[number], starts[behind], level, clean_title(title)))
        number = behind
    return Outline(headings, blocks)


def _adornment(line: str) -> str:
    match = _ADORNMENT.match(line)
    return match[1] if match else ""


def _title(lines: list[str], number: int) -> tuple[int, str, tuple[str, bool]] | None:
    """Return (line behind, title, style) if a section title begins at `number`."""
    line = lines[number]
    if not line.strip() or (number and lines[number - 1].strip() and not _adornment(lines[number - 1])):
        return None
    over = _adornment(line)
    if over and number + 2 < len(lines):
        title, under = lines[number + 1], lines[number + 2]
        if title.strip() and _adornment(under) == over and len(under.rstrip()) == len(line.rstrip()):
            return (number + 3, title, (over, True)) if len(line.rstrip()) >= len(title.strip()) else None
    if over or line[0] in " \t" or number + 1 >= len(lines):
        return None
    under = lines[number + 1].rstrip()
    character = _adornment(under)
    if character and (len(under) >= len(line.rstrip()) or len(under) >= 4):
        return number + 2, line, (character, False)
    return None


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


def _literal_end(lines: list[str], number: int) -> int:
    """Return the line behind an indented literal block that `number` introduces, or `number` if there is none."""
    if not _LITERAL.search(lines[number].lstrip(" \t")):
        return number
    own, behind, last = _indent(lines[number]), number + 1, number + 1
    while behind < len(lines):
        if lines[behind].strip():
            if _indent(lines[behind]) <= own:
                break
            last = behind + 1
        behind += 1
    return last


def _table(lines: list[str], number: int) -> tuple[int, int]:
    """Return (line behind, line behind the header row or 0) of a table that begins at `number`; zeros for none."""
    if _GRID.match(lines[number]):
        behind = number + 1
        while behind < len(lines) and lines[behind].lstrip(" \t").startswith(("|", "+")):
            behind += 1
        return (behind, min(number + 2, behind)) if behind > number + 2 else (0, 0)
    if _SIMPLE.match(lines[number]):
        borders, behind = 1, number + 1
        while behind < len(lines) and borders < 3 and (lines[behind].strip() or borders == 2):
            borders += bool(_SIMPLE.match(lines[behind]))
            behind += 1
        return (behind, min(number + 2, behind)) if borders >= 2 else (0, 0)
    return 0, 0
