"""Outline to chunks: which lines stand together.

Owns: sections and their heading paths, where a section is cut, which chunk lends its words to which.
Knows nothing of: formats, bytes, hashes, front matter.
Invariants: 1. chunks are whole lines, in order, not overlapping; only blank lines are left out. 2. a chunk never mixes
    headings. 3. cost is linear in the text: no step looks at a line more than a fixed number of times.
Purity: pure.
See: docs/search.md (chunks).
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate, count
from operator import add
from typing import NamedTuple

from indexerd.documents.outline import Block, Heading, Outline, new_tuple

_BLANK_RUN = re.compile(r"[ \t\r\n]*")
BLANK = " \t\r\n"


class Section(NamedTuple):
    """The lines under one heading.

    Attributes:
        start: Offset of its first line.
        end: Offset behind its last line.
        stack: The headings it stands under, outermost first; the last one is its own.
        path: Their titles.
    """

    start: int
    end: int
    stack: tuple[Heading, ...]
    path: tuple[str, ...]


class Cut(NamedTuple):
    """One chunk, in offsets of the text.

    Attributes:
        start: Offset of its first line.
        end: Offset behind its last line.
        section: Where it stands.
        columns: Block of the table that is continued here, or None.
    """

    start: int
    end: int
    section: Section
    columns: Block | None


def cut_chunks(text: str, outline: Outline, max_chars: int) -> list[Cut]:
    """Return the chunks of a text.

    Args:
        text: The body, without front matter.
        outline: Headings and blocks of that text.
        max_chars: Target size; a single longer line stays whole.
    """
    cuts: list[Cut] = []
    blocks = outline.blocks
    # No comprehension: a section that fits, the usual case, must cost no more than its own trim.
    for section in sections(len(text), outline.headings):
        start, end = _trim(text, section.start, section.end)
        if start >= end:
            continue
        if end - start <= max_chars:
            cuts.append(new_tuple(Cut, (start, end, section, None)))
        else:
            whole = section._replace(start=start, end=end)
            cuts.extend(_split(text, whole, _within(blocks, start, end), max_chars))
    return cuts


def sections(length: int, headings: Sequence[Heading]) -> Iterator[Section]:
    """Yield the sections of a text in order.

    A heading holds until the next one of its level or above. One inside a block quote or list item stands below
    all that encloses it, and holds until that container ends: then the path is again what it was outside.
    """
    section = Section(0, length, (), ())
    for heading in headings:
        start, stack, path = heading.start, section.stack, section.path
        if stack and 0 <= stack[-1].scope_end <= start:
            yield from _close_scopes(section, start)
            section = _after_scopes(section, start)
            stack, path = section.stack, section.path
        if start > section.start:
            yield new_tuple(Section, (section.start, start, stack, path))
        keep = len(stack)
        while keep and stack[keep - 1].depth == heading.depth and stack[keep - 1].level >= heading.level:
            keep -= 1
        section = new_tuple(Section, (start, length, (*stack[:keep], heading), (*path[:keep], heading.title)))
    if section.stack and section.stack[-1].scope_end >= 0:
        yield from _close_scopes(section, length)
        section = _after_scopes(section, length)
    if section.start < length:
        yield section


def _close_scopes(section: Section, until: int) -> Iterator[Section]:
    """Yield what ends inside containers that close before `until`."""
    while section.stack and 0 <= section.stack[-1].scope_end <= until:
        end = section.stack[-1].scope_end
        if end > section.start:
            yield section._replace(end=end)
        section = _outside(section, end)


def _after_scopes(section: Section, until: int) -> Section:
    while section.stack and 0 <= section.stack[-1].scope_end <= until:
        section = _outside(section, section.stack[-1].scope_end)
    return section


def _outside(section: Section, end: int) -> Section:
    """Return the section that goes on at `end`, where the innermost container closed."""
    keep = len(section.stack)
    while keep and 0 <= section.stack[keep - 1].scope_end <= end:
        keep -= 1
    return Section(max(end, section.start), section.end, section.stack[:keep], section.path[:keep])


def _trim(text: str, start: int, end: int) -> tuple[int, int]:
    """Drop blank lines at both edges, keeping whole lines."""
    if text[start] in BLANK:
        first = _BLANK_RUN.match(text, start, end).end()  # type: ignore[union-attr]  # an empty match always exists
        if first >= end:
            return end, end
        start = max(text.rfind("\n", start, first) + 1, start)
    if end - start > 1 and text[end - 1] == "\n" and text[end - 2] not in BLANK:
        return start, end
    last = start + len(text[start:end].rstrip(BLANK))
    line_end = text.find("\n", last, end)
    return start, line_end + 1 if line_end >= 0 else end


def _within(blocks: Sequence[Block], start: int, end: int) -> Sequence[Block]:
    """Return the blocks that begin inside a range, in O(log n + found)."""
    if not blocks:
        return ()
    low = bisect_left(blocks, (start,))
    return blocks[low : bisect_left(blocks, (end,), low)]


def _split(text: str, section: Section, blocks: Sequence[Block], max_chars: int) -> Iterator[Cut]:
    """Yield the chunks of a trimmed section that is longer than `max_chars`."""
    lines = text[section.start : section.end].split("\n")
    if not lines[-1]:
        lines.pop()
    # Each line feed before a line moves it on by one more.
    starts = list(map(add, accumulate(map(len, lines), initial=section.start), count()))
    starts[-1] = section.end
    spans = [(bisect_left(starts, block.start), bisect_left(starts, block.end), block) for block in blocks]
    whole = [(first, behind) for first, behind, block in spans if block.end - block.start <= max_chars]
    blank = _cut_points(lines, whole)
    tables = [(first, behind, block) for first, behind, block in spans if block.header_end]
    line, line_count = 0, len(lines)
    while line < line_count:
        cut = _next_cut(starts, line, max_chars, blank, whole)
        behind = cut
        while behind > line and not lines[behind - 1].strip(BLANK):
            behind -= 1
        if behind > line:
            continued = _continued_table(tables, line) if tables else None
            yield new_tuple(Cut, (starts[line], starts[behind], section, continued))
        line = cut
        while line < line_count and not lines[line].strip(BLANK):
            line += 1


def _cut_points(lines: Sequence[str], whole: Sequence[tuple[int, int]]) -> list[int]:
    """Return the numbers of the blank lines where a cut hurts nobody, ascending."""
    # Most lines tell by their first character.
    blank = [at for at, line in enumerate(lines) if not line or (line[0] in BLANK and not line.strip(BLANK))]
    if not whole or not blank:
        return blank
    kept: list[int] = []
    position = 0
    for first, behind in whole:
        inside = bisect_left(blank, first, position)
        kept += blank[position:inside]
        position = bisect_left(blank, behind, inside)
    return kept + blank[position:]


def _next_cut(
    starts: Sequence[int], line: int, max_chars: int, blank: Sequence[int], whole: Sequence[tuple[int, int]]
) -> int:
    """Return the line before which the chunk that begins at `line` ends."""
    count = len(starts) - 1
    # `full` lines fit; the first line is taken even when it does not.
    full = max(bisect_right(starts, starts[line] + max_chars, line) - 1, line + 1)
    if full >= count:
        return count
    last_blank = bisect_right(blank, full) - 1
    if last_blank >= 0 and blank[last_blank] > line:
        return blank[last_blank]
    if whole:
        index = bisect_right(whole, (full, count + 1)) - 1
        if index >= 0 and line < whole[index][0] and full < whole[index][1]:
            return whole[index][0]
    return full


def _continued_table(tables: Sequence[tuple[int, int, Block]], line: int) -> Block | None:
    """Return the table of which `line` is a later row."""
    index = bisect_left(tables, (line,)) - 1
    if index >= 0 and line < tables[index][1]:
        return tables[index][2]
    return None
