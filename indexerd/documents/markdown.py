"""Markdown: headings, fences and tables of a text, as CommonMark (and GitHub's tables) see them.

Owns: which of two scanners reads which part of a text, and tables.
Knows nothing of: chunks, bytes, front matter.
Invariants: 1. headings and fences equal those of a reference parser. 2. the quick scanner answers only where containers
    cannot matter, as the full one would, and has that one read the rest. 3. linear time, also for one long line.
Purity: pure.
See: docs/search.md (chunks).
"""

import re
from bisect import bisect_left
from functools import lru_cache

from indexerd.documents import commonmark
from indexerd.documents.htmlblocks import HTML_ENDS, html_kind
from indexerd.documents.outline import Block, Heading, Outline, clean_title, new_tuple

# The text is scanned with a line feed in front and behind, so that every line is `\n` + line and a lookahead finds its
# end. A pattern that begins with a literal character is searched far faster than one that begins with `^`.
#
# Structure at column 0 is structure of the top level whatever list or quote came before it, for nothing at column 0
# continues a container but the plain text of a paragraph. `inner` and `hard` are structure at any other column: there
# only the full scanner knows whether it is code, or inside a list.
#
# Each alternative begins with its character, outside its group: by it all others are passed over at once.
_EVENT = re.compile(
    r"\n(?:"
    r"\#(?P<atx>\#{0,5})(?=[ \t\r\n])"
    r"|`(?P<ticks>`{2,}+)"
    r"|~(?P<tildes>~{2,}+)"
    r"|<(?P<html>(?=[A-Za-z/!?]))"
    r"|=(?P<equals>=*+[ \t]*+\r?(?=\n))"
    r"|-(?P<hyphens>-*+[ \t]*+\r?(?=\n))"
    r"|\ (?P<inner_html>\ {0,2}<(?=[A-Za-z/!?]))"
    r"|[ \t](?P<inner>(?![ \t]*+\r?\n)[ \t>*+\-\d.)]*+(?:\#{1,6}(?=[ \t\r\n])|```|~~~|[=\r\n]))"
    r"|[>*+\-\d](?P<hard>[ \t>*+\-\d.)]*+(?:\#{1,6}(?=[ \t\r\n])|```|~~~|[=\r\n]))"
    r")"
)
_FENCES = frozenset({"ticks", "tildes"})
_RULES = frozenset({"equals", "hyphens"})
_HTML = frozenset({"html", "inner_html"})
# A line that begins so is part of a top-level paragraph if it stands in one at all.
_PARAGRAPH_LINE = re.compile(r"[^ \t\r\n>*+\-\d<\[_=#`~]")
_DELIMITER_ROW = re.compile(r"\n(?=[ \t>|:]*+-)[ \t>]*+([|:-][ \t|:-]*+)\r?(?=\n)")
_BLANK_LINE = re.compile(r"\n[ \t\r]*+(?=\n)")


def outline(text: str) -> Outline:
    """Return headings and blocks of a Markdown text."""
    scanner = _Scanner(text)
    scanner.run()
    headings, fences = scanner.headings, scanner.fences
    # The line feed put behind the text is no part of it.
    if headings and headings[-1].end > len(text):
        headings[-1] = headings[-1]._replace(end=len(text))
    if fences and fences[-1].end > len(text):
        fences[-1] = fences[-1]._replace(end=len(text))
    return Outline(headings, _with_tables(text, headings, fences) if "|" in text else fences)


class _Scanner:
    """Finds structure at column 0. Offsets of `scan` are those of line feeds, so they equal the text's line starts."""

    def __init__(self, text: str) -> None:
        self.headings: list[Heading] = []
        self.fences: list[Block] = []
        self._text = text
        self._scan = f"\n{text}\n"
        # Behind the last block that ended: nothing is open there, and no paragraph reaches back over it.
        self._floor = 0

    def run(self) -> None:
        """Find everything."""
        scan, search, position = self._scan, _EVENT.search, 0
        while (event := search(scan, position)) is not None:
            kind = event.lastgroup
            if kind == "atx":
                end = scan.index("\n", event.end())
                level = event.end() - event.start() - 1
                title = commonmark.atx_title(scan[event.end() : end])
                self.headings.append(new_tuple(Heading, (event.start(), end, level, title, 0, -1)))
                position = self._floor = end
            elif kind in _FENCES:
                position = self._fence(event)
            elif kind in _RULES:
                position = self._rule(event)
            elif kind in _HTML:
                position = self._html(event)
            else:
                position = self._with_containers(event)

    def _with_containers(self, event: re.Match[str]) -> int:
        """Have the full scanner read from the floor to the first line behind the event where nothing is open."""
        found = commonmark.scan(self._text, self._floor, event.start())
        self.headings += found.headings
        self.fences += found.fences
        self._floor = found.end
        return found.end

    def _fence(self, event: re.Match[str]) -> int:
        scan, opening = self._scan, event[0][1:]
        line_end = scan.index("\n", event.end())
        if opening[0] == "`" and scan.find("`", event.end(), line_end) >= 0:
            return event.end()
        closing = _closing_fence(opening).search(scan, line_end)
        self._floor = closing.end() if closing else len(scan) - 1
        self.fences.append(new_tuple(Block, (event.start(), self._floor, 0)))
        return self._floor

    def _rule(self, event: re.Match[str]) -> int:
        """Read a line of `=` or `-`: the underline of a heading if it stands under a paragraph."""
        scan, start = self._scan, event.start()
        first = start
        while first > self._floor:
            line = scan.rfind("\n", self._floor, first)
            if not scan[line + 1 : first].strip(" \t\r"):
                break
            if _PARAGRAPH_LINE.match(scan, line + 1) is None:
                return self._with_containers(event)
            first = line
        if first < start:
            lines = scan[first + 1 : start].split("\n")
            title = clean_title("\n".join(line.strip(" \t\r") for line in lines))
            self.headings.append(Heading(first, event.end(), 1 if scan[start + 1] == "=" else 2, title))
            self._floor = event.end()
        elif scan.startswith("---", start + 1):
            self._floor = event.end()
        elif scan[start + 1] == "-":
            # One hyphen opens a list item; two are words, which the next line may underline.
            return self._with_containers(event)
        return event.end()

    def _html(self, event: re.Match[str]) -> int:
        scan, start = self._scan, event.start()
        line_end = scan.index("\n", start + 1)
        kind = html_kind(scan[start + 1 : line_end].strip(" \t\r"))
        if not kind:
            return event.end()
        if scan[start + 1] == " ":
            return self._with_containers(event)
        if kind == "tag" and start > self._floor and scan[scan.rfind("\n", 0, start) + 1 : start].strip(" \t\r"):
            return self._with_containers(event)
        ends = HTML_ENDS.get(kind)
        if ends is None:
            found = _BLANK_LINE.search(scan, line_end)
            self._floor = found.start() if found else len(scan) - 1
        else:
            found = ends.search(scan, start + 1)
            self._floor = scan.index("\n", found.end()) if found else len(scan) - 1
        return self._floor


@lru_cache(maxsize=64)
def _closing_fence(opening: str) -> re.Pattern[str]:
    return re.compile(rf"\n {{0,3}}{re.escape(opening[0])}{{{len(opening)},}}+[ \t]*+\r?(?=\n)")


def _with_tables(text: str, headings: list[Heading], fences: list[Block]) -> list[Block]:
    """Return the fences and, between them, the tables (GitHub's form: a header row over a delimiter row)."""
    scan = f"\n{text}\n"
    taken = [(heading.start, heading.end) for heading in headings] + [(fence.start, fence.end) for fence in fences]
    taken.sort()
    tables: list[Block] = []
    behind = 0
    for row in _DELIMITER_ROW.finditer(scan):
        start = scan.rfind("\n", 0, row.start())
        header = scan[start + 1 : row.start()]
        if start < behind or "|" not in header or "|" not in row[1]:
            continue
        index = bisect_left(taken, (row.end(), 0))
        if index and taken[index - 1][1] > start:
            continue
        limit = taken[index][0] if index < len(taken) else len(text)
        behind = _table_end(scan, row.end(), limit)
        tables.append(Block(start, min(behind, len(text)), row.start()))
    if not tables:
        return fences
    return sorted(fences + tables) if fences else tables


def _table_end(scan: str, position: int, limit: int) -> int:
    """Return the offset behind the last row: the first line without a bar ends a table."""
    while position < limit:
        line_end = scan.find("\n", position + 1)
        if line_end < 0 or scan.find("|", position + 1, line_end) < 0:
            break
        position = line_end
    return position
