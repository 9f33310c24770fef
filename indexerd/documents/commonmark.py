"""The block structure of CommonMark, as far as headings and fences depend on it.

Owns: containers (block quotes, list items), paragraphs with lazy lines, setext underlines, indented code, fences.
Knows nothing of: inline markup, tables, chunks, bytes.
Invariants: 1. headings and fences equal those of a reference parser. 2. each line is looked at once per open container,
    and at most `_MAX_DEPTH` containers open: linear time.
Purity: pure.
See: docs/search.md (chunks); the names follow the CommonMark specification 0.31.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from indexerd.documents.definitions import may_be_title, skip_definitions
from indexerd.documents.htmlblocks import HTML_ENDS, html_kind
from indexerd.documents.outline import Block, Heading, clean_title

# Deeper containers are read as text. Real documents nest five or six levels; the bound keeps a line of a million `>`
# from costing a million containers.
_MAX_DEPTH = 64
_MAX_DEFINITION_LINES = 8

_SETEXT = re.compile(r"(?:=++|-++)[ \t]*+\Z")
_THEMATIC = re.compile(r"(?:(?:\*[ \t]*+){3,}+|(?:-[ \t]*+){3,}+|(?:_[ \t]*+){3,}+)\Z")
_ATX = re.compile(r"(\#{1,6})(?:[ \t]|\Z)")
_ATX_LINE = re.compile(r"\#{1,6}[ \t\r\n]")
_FENCE = re.compile(r"(`{3,}+)[^`]*\Z|(~{3,}+)")
_MARKER = re.compile(r"(?:[-+*]|(\d{1,9})[.)])(?= |\Z)")
# What may hold tabs that decide structure; behind it they are text.
_PREFIX = re.compile(r"[ \t>*+\-\d.)]*+")
# A line that begins so can only be, or continue, a paragraph, and cannot continue a list item otherwise than lazily.
_PLAIN = re.compile(r"[^ \t\r\n>*+\-\d<_=#`~]")


def atx_title(content: str) -> str:
    """Return the title of an ATX heading from what follows its opening `#`s: a closing sequence is dropped."""
    content = content.strip(" \t\r")
    if content.endswith("#"):
        head = content.rstrip("#")
        if not head or head[-1] in " \t":
            content = head
    return clean_title(content)


class Scanned(NamedTuple):
    """Headings and fences of a stretch of text, and the offset behind it."""

    headings: list[Heading]
    fences: list[Block]
    end: int


def scan(text: str, start: int = 0, until: int = -1) -> Scanned:
    """Return the headings and fences of a text, those inside block quotes and list items included.

    Args:
        text: The whole text.
        start: A line start where no container and no leaf is open.
        until: Stop at the first line start behind this offset where again none is open; -1 reads to the end.
    """
    scanner = _Scanner()
    starts: list[int] = []
    position, length = start, len(text)
    while position < length and not (0 <= until < position and scanner.is_clear(text, position)):
        line_end = text.find("\n", position)
        behind = length if line_end < 0 else line_end + 1
        scanner.feed(len(starts), text[position : line_end if line_end >= 0 else length])
        starts.append(position)
        position = behind if scanner.must_read else scanner.skip(text, behind, starts)
    scanner.finish(len(starts))
    starts.append(position)
    headings = [found.at_offsets(starts) for found in scanner.headings]
    return Scanned(headings, [Block(starts[first], starts[behind]) for first, behind in scanner.fences], position)


class _Container:
    """An open block quote (`indent` is 0) or list item (`indent` columns of content offset)."""

    __slots__ = ("closed", "filled", "indent")

    def __init__(self, indent: int) -> None:
        self.indent = indent
        self.filled = False
        self.closed = 0


class _Found:
    """A heading in line numbers."""

    __slots__ = ("behind", "container", "depth", "first", "level", "title")

    def __init__(self, lines: tuple[int, int], level: int, title: str, stack: list[_Container]) -> None:
        self.first, self.behind = lines
        self.level, self.title = level, title
        self.depth = len(stack)
        self.container = stack[-1] if stack else None

    def at_offsets(self, starts: Sequence[int]) -> Heading:
        """Return the heading with offsets for line numbers."""
        scope_end = starts[self.container.closed] if self.container else -1
        return Heading(starts[self.first], starts[self.behind], self.level, self.title, self.depth, scope_end)


class _Scanner:
    """Reads lines in order. Exactly one leaf is open: a paragraph, a fence, an HTML block, or none of these."""

    def __init__(self) -> None:
        self.headings: list[_Found] = []
        self.fences: list[tuple[int, int]] = []
        self._stack: list[_Container] = []
        self._paragraph: list[str] | None = None
        self._paragraph_first = 0
        self._fence: re.Pattern[str] | None = None
        self._fence_first = 0
        self._fence_mark = ""
        self._quotes = 0
        self._html = ""

    def feed(self, number: int, line: str) -> None:
        """Read the next line."""
        if self._paragraph is not None and self._paragraph[0].lstrip(" ").startswith("["):
            self._end_definitions(line)
        if self._fence is None and not self._html and self._is_ordinary(number, line):
            return
        line = line.removesuffix("\r")
        if "\t" in line:
            prefix = _PREFIX.match(line).end()  # type: ignore[union-attr]  # an empty match always exists
            line = line[:prefix].expandtabs(4) + line[prefix:]
        matched, position = self._match_containers(line)
        if matched == len(self._stack) and (self._fence is not None or self._html):
            self._continue_leaf(number, line, position)
        else:
            self._open_blocks(number, line, matched, position)

    @property
    def must_read(self) -> bool:
        """Whether the next line may matter. Inside a fence, most lines can neither close it nor leave it."""
        return self._fence is None or self._quotes > 0

    def skip(self, text: str, position: int, starts: list[int]) -> int:
        """Return the next line of a fence that has to be read, noting the starts of those before it."""
        margin, mark = " " * sum(item.indent for item in self._stack), self._fence_mark
        while position < len(text):
            line_end = text.find("\n", position)
            behind = len(text) if line_end < 0 else line_end + 1
            blank = line_end == position or text.startswith("\r\n", position)
            if not (blank or text.startswith(margin, position)) or text.find(mark, position, behind) >= 0:
                break
            starts.append(position)
            position = behind
        return position

    def is_clear(self, text: str, position: int) -> bool:
        """Return whether the line at `position` closes all that is open, so that a scan may begin there."""
        if not self._stack and (self._fence is not None or self._html):
            return False
        if self._paragraph is None and _PLAIN.match(text, position):
            return True
        return _ATX_LINE.match(text, position) is not None

    def _end_definitions(self, line: str) -> None:
        """End a paragraph of nothing but definitions, unless `line` may be the title of its last one.

        A definition of more than `_MAX_DEFINITION_LINES` is read as text: to try each longer one would not be linear.
        """
        paragraph = self._paragraph or []
        if len(paragraph) > _MAX_DEFINITION_LINES or skip_definitions(paragraph) < len(paragraph):
            return
        if not may_be_title(paragraph, line):
            self._paragraph = None

    def _is_ordinary(self, number: int, line: str) -> bool:
        """Read a line of the most frequent kinds, a blank one or one of plain words; return whether it was one."""
        if _PLAIN.match(line):
            if self._paragraph is not None:
                self._paragraph.append(line)
            else:
                self._close(number, 0)
                self._paragraph, self._paragraph_first = [line], number
            return True
        if (not line or line == "\r") and not self._quotes and (not self._stack or self._stack[-1].filled):
            self._paragraph = None
            return True
        return False

    def finish(self, count: int) -> None:
        """Close all that is open behind the last line."""
        self._close(count, 0)
        self._end_leaf(count)

    def _match_containers(self, line: str) -> tuple[int, int]:
        """Return how many open containers this line continues, and where its rest begins."""
        position, length = 0, len(line)
        for index, container in enumerate(self._stack):
            first = length - len(line[position:].lstrip(" "))
            if container.indent == 0:
                if first - position > 3 or first >= length or line[first] != ">":
                    return index, position
                position = first + 1
                if position < length and line[position] == " ":
                    position += 1
            elif first >= length or not line[first:].strip(" \t"):
                if not container.filled:
                    return index, position
                position = first
            elif first - position >= container.indent:
                position += container.indent
            else:
                return index, position
        return len(self._stack), position

    def _continue_leaf(self, number: int, line: str, position: int) -> None:
        if self._fence is not None:
            if self._fence.match(line, position):
                self.fences.append((self._fence_first, number + 1))
                self._fence = None
        elif self._html in HTML_ENDS:
            if HTML_ENDS[self._html].search(line, position):
                self._html = ""
        elif not line[position:].strip(" \t"):
            self._html = ""

    def _open_blocks(self, number: int, line: str, matched: int, position: int) -> None:
        """Read what is left of a line behind the containers that it continues."""
        if matched < len(self._stack) and self._paragraph is None:
            self._close(number, matched)
        lazy = matched < len(self._stack)
        while True:
            first = len(line) - len(line[position:].lstrip(" "))
            rest = line[first:]
            if not rest.strip(" \t"):
                self._close(number, matched)
                self._paragraph = None
                return
            if first - position >= 4:
                break
            opened = -1
            if rest[0] in ">-+*0123456789" and (matched < _MAX_DEPTH):
                opened = self._open_container(number, rest, first - position, matched)
            if opened >= 0:
                matched, lazy, position = len(self._stack), False, first + opened
                continue
            if rest[0] in "#`~<=-*_" and self._open_leaf(number, rest, first - position, matched):
                return
            break
        if self._paragraph is not None:
            self._paragraph.append(rest)
            return
        del lazy
        self._close(number, matched)
        self._fill()
        if first - position < 4:
            self._paragraph, self._paragraph_first = [rest], number

    def _open_container(self, number: int, rest: str, indent: int, matched: int) -> int:
        """Open a block quote or list item that `rest` begins; return the width of its marker, or -1."""
        if rest[0] == ">":
            self._push(number, matched, 0)
            return 2 if rest[1:2] == " " else 1
        marker = _MARKER.match(rest)
        if marker is None:
            return -1
        own = self._paragraph is not None and matched == len(self._stack)
        if own and _SETEXT.match(rest) and self._heading_ahead():
            return -1
        if _THEMATIC.match(rest):
            return -1
        width = marker.end()
        content = rest[width:]
        blank = not content.strip(" \t")
        if own and (blank or (marker[1] not in (None, "1") and int(marker[1]) != 1)):
            return -1
        spaces = len(content) - len(content.lstrip(" "))
        if blank or spaces > 4:
            spaces = 1
        self._push(number, matched, indent + width + spaces)
        return len(rest) if blank else width + spaces

    def _heading_ahead(self) -> bool:
        """Return whether the open paragraph holds more than link reference definitions."""
        return skip_definitions(self._paragraph or []) < len(self._paragraph or [])

    def _push(self, number: int, matched: int, indent: int) -> None:
        self._close(number, matched)
        self._paragraph = None
        self._fill()
        self._stack.append(_Container(indent))
        self._quotes += indent == 0

    def _open_leaf(self, number: int, rest: str, indent: int, matched: int) -> bool:
        """Open or finish a leaf that interrupts paragraphs; return whether the line was one."""
        own = self._paragraph is not None and matched == len(self._stack)
        character = rest[0]
        if character == "#":
            return self._atx(number, rest, matched)
        if character in "`~":
            return self._open_fence(number, rest, matched)
        if character == "<":
            return self._open_html(number, rest, matched)
        if own and character in "=-" and _SETEXT.match(rest) and self._setext(number, character):
            return True
        if character in "*-_" and _THEMATIC.match(rest):
            self._start_leaf(number, matched)
            return True
        del indent
        return False

    def _start_leaf(self, number: int, matched: int) -> None:
        self._close(number, matched)
        self._paragraph = None
        self._fill()

    def _atx(self, number: int, rest: str, matched: int) -> bool:
        match = _ATX.match(rest)
        if match is None:
            return False
        self._start_leaf(number, matched)
        title = atx_title(rest[match.end() :])
        self.headings.append(_Found((number, number + 1), len(match[1]), title, self._stack))
        return True

    def _setext(self, number: int, character: str) -> bool:
        paragraph = self._paragraph or []
        skipped = skip_definitions(paragraph)
        if skipped == len(paragraph):
            # Definitions alone are no paragraph: what follows them starts one.
            self._paragraph = None
            return False
        title = clean_title("\n".join(line.strip(" \t\r") for line in paragraph[skipped:]))
        span = (self._paragraph_first + skipped, number + 1)
        self._paragraph = None
        self.headings.append(_Found(span, 1 if character == "=" else 2, title, self._stack))
        return True

    def _open_fence(self, number: int, rest: str, matched: int) -> bool:
        match = _FENCE.match(rest)
        if match is None:
            return False
        self._start_leaf(number, matched)
        opening = match[1] or match[2]
        self._fence, self._fence_first, self._fence_mark = _closing_fence(opening), number, opening[:3]
        return True

    def _open_html(self, number: int, rest: str, matched: int) -> bool:
        kind = html_kind(rest)
        # A lone tag does not interrupt a paragraph, not even one that it would continue lazily.
        if not kind or (kind == "tag" and self._paragraph is not None):
            return False
        self._start_leaf(number, matched)
        ends_here = kind in HTML_ENDS and HTML_ENDS[kind].search(rest)
        self._html = "" if ends_here else kind
        return True

    def _close(self, number: int, matched: int) -> None:
        """Close the containers behind the first `matched`; they end before line `number`."""
        if matched >= len(self._stack):
            return
        for container in self._stack[matched:]:
            container.closed = number
            self._quotes -= container.indent == 0
        del self._stack[matched:]
        self._paragraph = None
        self._end_leaf(number)

    def _end_leaf(self, number: int) -> None:
        if self._fence is not None:
            self.fences.append((self._fence_first, number))
            self._fence = None
        self._html = ""

    def _fill(self) -> None:
        if self._stack:
            self._stack[-1].filled = True


@lru_cache(maxsize=64)
def _closing_fence(opening: str) -> re.Pattern[str]:
    # Atomic, so that a long line of fence characters is read once.
    return re.compile(rf" {{0,3}}{re.escape(opening[0])}{{{len(opening)},}}+[ \t]*+\r?\Z")
