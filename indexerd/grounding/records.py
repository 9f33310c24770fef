"""What a text holds as records: rows of tables, items that name and give, settings in code.

Owns: how Markdown tables, `name: value` items and lines of settings are read as cells under columns.
Knows nothing of: claims, scores.
Invariants: 1. a record has at least two cells, none of them empty of text save in a table. 2. reading costs time in
    proportion to the text.
Purity: pure.
See: docs/grounding.md (support).
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from indexerd.grounding.alignment import CJK, Part, Said, same
from indexerd.grounding.numbers import heading_and_unit, quantities
from indexerd.grounding.sentences import is_row
from indexerd.grounding.values import Value


class Record(NamedTuple):
    """One row of a table, item of a list, or setting in code.

    Attributes:
        block: Which passage, if several are read, and number of the table, list or fenced block that it is in.
        cells: What it holds; first what it is of.
        columns: What each cell is, by the heading of its column; empty where none says.
    """

    block: tuple[int, ...]
    cells: tuple[str, ...]
    columns: tuple[str, ...] = ()


# Of longer passages the first records are read, and of wide tables the first columns.
MAX_RECORDS: Final = 300
_MAX_CELLS: Final = 16

_FENCE: Final = re.compile(r" {0,3}(?:```|~~~)")
_RULE: Final = re.compile(r"[\s|:-]*-[\s|:-]*")
_BAR: Final = re.compile(r"(?<!\\)\|")
_NUMBER: Final = re.compile(r"\s*[\d.,]+\s*")
_LINK: Final = re.compile(r"!?\[([^\]\n]{0,500})\]\([^)\n]{0,500}\)")
_ITEM: Final = re.compile(
    r"\s*(?:[-*+•]|\d{1,3}[.)])\s+(?P<name>[^:：=|]{1,60}?)[*_`]*\s*(?:[:：=]|\s[–—-]\s)[*_`]*\s*(?P<value>\S.*)"
)
_SETTING: Final = re.compile(
    r"\s*(?:(?:export|set|let|const|var|env)\s+)?[\"']?(?P<name>[\w.-]{1,60})[\"']?\s*(?:=|:(?=\s|$))\s*(?P<value>.*)"
)
_PARTS: Final = re.compile(r"[{},]\s*(?=[\"'\w.-]+\s*[:=])")
_SECTION: Final = re.compile(r"\s*\[+(?P<name>[^\]]{1,60})\]+\s*$")


@lru_cache(maxsize=64)
def with_units(text: str) -> str:
    """Return a text with the units that the headings of columns give beside the numbers of these."""
    lines, units = text.split("\n"), list[str]()
    for at, line in enumerate(lines):
        if not is_row(line):
            units = []
        elif at + 1 < len(lines) and _RULE.fullmatch(lines[at + 1]) and is_row(lines[at + 1]):
            units = [heading_and_unit(cell)[1] for cell in _cells(line)]
        elif any(units):
            edge = line.lstrip().startswith("|")
            cells = _BAR.split(line)
            for number, unit in enumerate(units[: len(cells) - edge], edge):
                if unit and _NUMBER.fullmatch(cells[number]):
                    cells[number] = f"{cells[number].rstrip()} {unit} "
            lines[at] = "|".join(cells)
    return "\n".join(lines)


def records(text: str) -> tuple[Record, ...]:
    """Return the records of a text `with_units`, in order."""
    found, lines, block, fenced = list[Record](), text.split("\n"), 0, False
    for at, line in enumerate(lines):
        if _FENCE.match(line):
            fenced, block = not fenced, block + 1
            found += _settings(lines[at + 1 :], block) if fenced else ()
        elif fenced:
            continue
        elif is_row(line):
            is_first = at == 0 or not is_row(lines[at - 1])
            block += is_first
            found += _table(lines[at:], block) if is_first else ()
        elif item := _ITEM.match(line):
            found.append(Record((block,), (_plain(item["name"]), _plain(item["value"]))))
        elif line.strip() and not line.startswith((" ", "\t")):
            block += 1
    return tuple(found[:MAX_RECORDS])


def _table(lines: list[str], block: int) -> Iterator[Record]:
    rows = []
    for line in lines:
        if not is_row(line):
            break
        rows.append(line)
    has_columns = len(rows) > 1 and bool(_RULE.fullmatch(rows[1]))
    headings = _cells(rows[0]) if has_columns else ()
    columns = tuple(heading_and_unit(heading)[0] for heading in headings)
    for row in rows[2 * has_columns :]:
        cells = _cells(row)
        if len(cells) > 1 and not _RULE.fullmatch(row):
            yield Record((block,), cells, columns if len(columns) == len(cells) else ())


def _cells(row: str) -> tuple[str, ...]:
    return tuple(_plain(cell) for cell in _BAR.split(row.strip().removeprefix("|").removesuffix("|"))[:_MAX_CELLS])


def _plain(cell: str) -> str:
    return _LINK.sub(r"\1", cell).replace("\\|", "|").strip(" \t*_`\"',;{}[]").removesuffix("。")


def _settings(lines: list[str], block: int) -> Iterator[Record]:
    """Yield the settings of a fenced block, each with the section that it is in."""
    section, depth = "", 0
    for line in lines:
        if _FENCE.match(line):
            return
        indent = len(line) - len(line.lstrip())
        if headed := _SECTION.match(line):
            section, depth = headed["name"], -1
        for setting in filter(None, map(_SETTING.match, _PARTS.split(line))):
            value = _plain(setting["value"].partition(" #")[0])
            section = "" if indent <= depth else section
            if value:
                yield Record((block,), (*((section,) if section else ()), setting["name"], value))
            else:
                section, depth = setting["name"], indent


# What joins a name and a value in a sentence, and stands in no table.
_JOIN_STEMS: Final = (
    "about after allow belong call can configur contain cost default each equal everi give handl has have includ last "
    "least limit list listen locat manag may most must name need offer out over own per provid run serv set should "
    "server servic support take up use valu will within"
)
_JOINS: Final = frozenset(_JOIN_STEMS.split())
_HAN_JOINS: Final = re.compile(
    "使用|采用|监听|需要|花费|运行|位于|属于|负责|管理|设置|设为|默认|等于|达到|包含|包括|提供|拥有|支持|收取|[的是为由有在了和与共每个用]"
)
_NO: Final = re.compile(r"no|none|never|false|off|否|无|不|[✗✘×x❌]", re.IGNORECASE)
_SWITCH: Final = re.compile(rf"{_NO.pattern}|yes|always|true|on|是|有|[✓✔✅]", re.IGNORECASE)
_NO_SWITCHES: Final = frozenset(("allow", "allows", "allowed", "permitted", "after", "before", "maximum", "minimum"))


class Bearing(NamedTuple):
    """What records bear of a claim.

    Attributes:
        missing: Words that neither they nor the rest of the passages hold: one at most.
        denies: Whether one says no in a column that the claim names.
        text: What they hold.
    """

    missing: tuple[str, ...]
    denies: bool
    text: str


def borne(claim: str, passages: Said, rows: Iterable[Record], language: str) -> Bearing | None:
    """Return what of a claim records bear: those that have two of its cells, or one and the column that it names.

    None if there is none, if a value of the claim is in none of them, or if they lack more than a word of it.
    """
    reader = _Reader(Said(claim, language), passages, language)
    bearing = [row for row in rows if reader.states(row)]
    if not bearing:
        return None
    said, held = reader.said, Said(" ".join(text for row in bearing for text in (*row.columns, *row.cells)), language)
    values = (one for one in said.values if said.text[one.start : one.end].lower() not in _NO_SWITCHES)
    if not all(any(same(one, other) for other in held.values) for one in values):
        return None
    missing = (*_missing_words(said, held.stems | passages.stems), *_missing_characters(said, held, passages))
    named = (cell for row in bearing for _, cell in reader.named(row))
    return Bearing(missing, any(map(_NO.fullmatch, named)), held.text) if len(missing) <= 1 else None


@lru_cache(maxsize=4096)
def _whole_part(text: str, language: str) -> Part:
    return Said(text, language).part(0, len(text))


class _Reader:
    """A claim, read for the cells that it states."""

    def __init__(self, said: Said, passages: Said, language: str) -> None:
        self.said, self._language = said, language
        # Where no passage has a number with its unit, a table may leave the unit to its heading.
        claimed = {(one.value.number, one.value.unit) for one in said.values if isinstance(one.value, Value)}
        given = {
            one.value
            for one in quantities(passages.text)
            if one.unit and ((one.value, one.unit) in claimed or (one.value, "") in claimed)
        }
        self._numbers = {(value, unit) for value, unit in claimed if value not in given}

    def states(self, row: Record) -> bool:
        """Whether the claim has two cells of a record, or one and its column, or one and a column of yes and no."""
        stated = [at for at, cell in enumerate(row.cells) if self._says(cell, row)]
        named = list(self.named(row))
        is_named = any((row.columns[at], row.cells[at]) in named for at in stated if at and row.columns)
        return len(stated) > 1 or (bool(stated) and (is_named or any(_SWITCH.fullmatch(cell) for _, cell in named)))

    def named(self, row: Record) -> Iterator[tuple[str, str]]:
        """Yield the columns that the claim names, with their cells."""
        return (pair for pair in zip(row.columns, row.cells, strict=False) if self._says(pair[0]))

    def _says(self, text: str, row: Record | None = None) -> bool:
        part = _whole_part(text, self._language)
        part = part._replace(words=part.words - _JOINS or part.words)
        if part and self.said.share(part) == 1:
            return True
        # What has a unit in another column has not left it to its heading.
        units = {one.unit for cell in (row.cells if row else ()) for one in quantities(cell)} - {""}
        numbers = {one.value.number for one in part.values if isinstance(one.value, Value)}
        return any(value in numbers and unit not in units for value, unit in self._numbers)


def _missing_words(said: Said, held: frozenset[str]) -> Iterator[str]:
    for start, end, stem in said.words:
        is_value = any(one.start <= start < one.end for one in said.values)
        is_known = stem in held or stem in _JOINS
        if not (is_value or is_known or CJK.search(stem)):
            yield said.text[start:end]


def _missing_characters(said: Said, held: Said, passages: Said) -> Iterator[str]:
    """Yield the runs of characters of which no two that stand beside each other are known."""
    for match in _HAN_RUN.finditer(said.text):
        known = {at for one in said.values for at in range(one.start, one.end)}
        for at in range(*match.span()):
            known |= {at, at + 1} if said.text[at : at + 2] in held.text + passages.text else set()
        rest = "".join(said.text[at] if at not in known else " " for at in range(*match.span()))
        yield from (one for one in _HAN_JOINS.sub(" ", rest).split() if one)


_HAN_RUN: Final = re.compile(rf"{CJK.pattern}{{2,}}")
