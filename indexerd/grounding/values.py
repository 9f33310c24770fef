"""The values of a text, which are right to the letter or wrong: dates, times of day, codes, parts, numbers.

Owns: how values are written in English and Chinese that are more than a number, when two of a kind are the same, and
    one list of all values of a text.
Knows nothing of: claims, evidence, scores.
Invariants: 1. a value's span is where its text stands. 2. equal values in other notations have one key. 3. what is
    part of a date or another value is no number of its own.
Purity: pure.
See: docs/grounding.md (values).
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple, cast

from indexerd.grounding.numbers import UNIT, Quantity, han_value, measure, quantities
from indexerd.grounding.polarity import limit

_YEARS: Final = range(1500, 2101)


class Value(NamedTuple):
    """Something written that is right to the letter or wrong.

    Attributes:
        kind: What it can be put in the place of: `date`, `year`, `clock`, `code`, `order`, `calendar`
            (a day of the week), `rate` (what something is counted by, which may go without saying), what is counted.
        key: Equal for two ways to write the same.
        number: Of a number, in its `unit`, which is empty if none was read; None of all else.
        limit: Whether it is the `most` or `least` that there may be, as is said from `limit_start` to `limit_end`.
    """

    kind: str
    key: object
    start: int
    end: int
    number: float | None = None
    unit: str = ""
    limit: str = ""
    limit_start: int = 0
    limit_end: int = 0

    @property
    def date(self) -> tuple[int, int, int] | None:
        """Year, month and day of a date or a bare year, 0 where they were not written; None of all else."""
        if self.kind == "date":
            return cast("tuple[int, int, int]", self.key)
        return (int(cast("float", self.number)), 0, 0) if self.kind == "year" else None


def agree(one: Value, other: Value) -> bool:
    """Whether two dates can be the same day, and say at least one part alike."""
    pairs = tuple(zip(one.date or (), other.date or (), strict=False))
    return all(not a or not b or a == b for a, b in pairs) and any(a and a == b for a, b in pairs)


def bears(one: Value, claimed: Value) -> bool:
    """Whether a date agrees with another and gives two parts of it, if that has so many: May is no 16 May 2001."""
    given = sum(bool(a and a == b) for a, b in zip(one.date or (), claimed.date or (), strict=False))
    return agree(one, claimed) and given >= min(2, sum(map(bool, claimed.date or ())))


_MONTH_NAMES: Final = (
    "january jan", "february feb", "march mar", "april apr", "may", "june jun", "july jul", "august aug",
    "september sep sept", "october oct", "november nov", "december dec",
)  # fmt: skip
_MONTHS: Final = {name: number for number, names in enumerate(_MONTH_NAMES, 1) for name in names.split()}
_MONTH: Final = "|".join(sorted(_MONTHS, key=len, reverse=True))
_NAMED: Final = rf"(?P<name>{_MONTH})\b\.?"
_DAY: Final = r"(?P<d>\d{1,2})(?:st|nd|rd|th)?"
_YEAR: Final = r"(?P<y>\d{4})"
_DATES: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"(?<!\d){_YEAR}[-/.](?P<m>\d{{1,2}})[-/.](?P<d>\d{{1,2}})(?!\d)",
        rf"{_YEAR}\s?年(?:\s?(?P<m>\d{{1,2}})\s?月(?:\s?(?P<d>\d{{1,2}})\s?[日号])?)?",
        r"(?<!年)(?<!\d)(?P<m>\d{1,2})\s?月(?:\s?(?P<d>\d{1,2})\s?[日号])?",
        rf"\b{_DAY}(?:\s+of)?\s+{_NAMED}(?:,?\s+{_YEAR})?",
        rf"\b{_NAMED}\s+{_DAY}\b(?!\d)(?:,?\s+{_YEAR})?",
        rf"\b{_NAMED},?\s+{_YEAR}\b",
        rf"(?<![\d.]){_DAY}\.(?P<m>0?[1-9]|1[0-2])\.{_YEAR}(?!\.?\d)",
        rf"(?<![\d/]){_DAY}/(?P<m>0?[1-9]|1[0-2])/{_YEAR}(?![/\d])",
        rf"(?<![\d/])(?P<m>0?[1-9]|1[0-2])/{_DAY}/{_YEAR}(?![/\d])",
        rf"(?<![\d-]){_YEAR}-(?P<m>0[1-9]|1[0-2])(?![-\d])",
        # March is a walk, too, and may a verb: a month that stands alone is written whole and large.
        rf"\b(?P<name>(?-i:{'|'.join(names.split()[0].title() for names in _MONTH_NAMES)}))\b",
    )
)

_YEAR_MONTH: Final = _DATES[-2]


@lru_cache(maxsize=4096)
def dates(text: str) -> tuple[Value, ...]:
    """Return the dates of a text in order; a bare year is a number, not a date."""
    found: list[Value] = []
    for pattern in _DATES:
        for match in pattern.finditer(text):
            parts = match.groupdict()
            at = bisect_left(found, match.start(), key=lambda one: one.start)
            before, behind = found[max(at - 1, 0) : at], found[at : at + 1]
            if all(one.end <= match.start() for one in before) and all(match.end() <= one.start for one in behind):
                month = _MONTHS[parts["name"].lower()] if parts.get("name") else int(parts.get("m") or 0)
                day, year = int(parts.get("d") or 0), int(parts.get("y") or 0)
                if pattern is _YEAR_MONTH and month == year % 100 + 1:
                    continue  # 2011-12 is two years
                found.insert(at, Value("date", (year, month, day), *match.span()))
    return tuple(found)


_CLOCK: Final = re.compile(
    r"(?<![\d.:])(?P<h>\d{1,2}):(?P<m>\d{2})(?!\d)(?:\s?(?P<half>[ap])\.?m\b\.?)?"
    r"|(?<![\d.:])(?P<h2>\d{1,2})\s?(?P<half2>[ap])\.?m\b\.?"
    r"|(?P<part>上午|早上|凌晨|中午|下午|晚上|每晚|傍晚)?\s?(?P<h3>\d{1,2}(?=\s?点)|[一二三四五六七八九十两]{1,3}(?=点))"
    r"\s?点(?:\s?(?P<m3>\d{1,2}|[一二三四五六七八九十]{1,3})\s?分|(?P<half3>半))?",
    re.IGNORECASE,
)
_LATE: Final = frozenset(("下午", "晚上", "每晚", "傍晚"))
_CODES: Final = re.compile(
    r"(?<![\w.])(?P<code>v?\d+(?:\.\d+){2,}|0x[0-9a-f]+|\d+(?:\.\d+)?e[+-]?\d+)(?![\w])", re.IGNORECASE
)
# Behind a name, or a word for an edition or a part of a text, 2.10 is not 2.1.
_NUMBERED: Final = re.compile(
    r"(?:\b(?:[A-Z][\w+#-]*|(?:[Vv]ersion|[Rr]elease|section|chapter)(?: is| was|:)?)[ -]|版本?[是为]?\s?|\b(?=v))"
    r"(?P<code>v?\d+\.\d+)(?![\w.]*\d)|(?<![A-Za-z0-9.])(?P<before>\d+\.\d+)(?=\s?版)"
    r"|(?<![\w.])(?P<short>v\d+)(?![\w.]*\d)|(?:\b[Vv]ersion |版本\s?)(?P<whole>\d+)(?![\w.]*\d)"
)
_CALENDAR: Final = re.compile(r"\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?\b|(?:星期|周)[一二三四五六日天]")
_ORDINALS: Final = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
_PLACES: Final = {word: place for place, word in enumerate(_ORDINALS.split(), 1)}
# A second is a time, a third of it a share, and what happens first need not be the first of anything.
_ORDER: Final = re.compile(
    r"\b(?P<digits>\d{1,18})(?:st|nd|rd|th)\b|第\s?(?P<han>\d{1,18}|[一二三四五六七八九十百]+)"
    rf"|(?:\b(?:an?|the|its|his|her|their|our)[ -](?P<word>{'|'.join(_PLACES)}))\b",
    re.IGNORECASE,
)
_RATES: Final = {
    "每秒": "second", "每分钟 每分": "minute", "hourly 每小时": "hour", "daily 每天 每日": "day", "weekly 每周": "week",
    "monthly 每月 每个月": "month", "quarterly 每季度": "quarter", "yearly annually 每年": "year",
}  # fmt: skip
_RATE_OF: Final = {word: unit for words, unit in _RATES.items() for word in words.split()}
# After a number, or one of these words, an hour is what something is counted by.
_RATE: Final = re.compile(
    rf"\b(?:every|each|per) (?P<unit>{'|'.join(_RATES.values())})\b|{'|'.join(_RATE_OF)}"
    r"|(?:\d|\b(?:once|twice|times|half|per|cost|costs)\b)[^.,;:!?]{0,60}?\b(?P<one>an?[ -](?P<by>"
    r"minute|hour|day|night|week|month|quarter|year))\b",
    re.IGNORECASE,
)


@lru_cache(maxsize=4096)
def exact_values(text: str) -> tuple[Value, ...]:
    """Return the values of a text that are more than a number, in order, dates set aside."""
    found = [Value("clock", _clock_key(match), *match.span()) for match in _CLOCK.finditer(text)]
    days = _CALENDAR.finditer(text)
    found += [Value("calendar", match[0].lower().removesuffix("s"), *match.span()) for match in days]
    codes = (match for match in _NUMBERED.finditer(text) if not UNIT.match(text, match.end()))
    for match in (*_CODES.finditer(text), *codes):
        written = match.lastgroup or ""
        found.append(Value("code", match[written].lower().removeprefix("v"), *match.span(written)))
    shares = {one.start for one in quantities(text) if one.unit == "%"}
    for match in _ORDER.finditer(text):
        if match.start() in shares or match[0].lower() == "a second":
            continue
        written = match["digits"] or match["han"] or match["word"]
        place = _PLACES.get(written.lower()) or int(written if written.isdigit() else han_value(written))
        found.append(Value("order", f"place {place}", match.start("word" if match["word"] else 0), match.end()))
    for match in _RATE.finditer(text):
        unit = match["unit"] or match["by"] or _RATE_OF[match[0].lower()]
        found.append(Value("rate", unit.lower(), *match.span("one" if match["one"] else 0)))
    return tuple(sorted(found, key=lambda one: one.start))


def _clock_key(match: "re.Match[str]") -> str:
    written = match["h"] or match["h2"] or match["h3"]
    hour = int(written) if written.isdigit() else int(han_value(written))
    half = (match["half"] or match["half2"] or "").lower()
    is_late = half == "p" or match["part"] in _LATE
    if is_late and hour < 12:
        hour += 12
    written = match["m"] or match["m3"] or ("30" if match["half3"] else "00")
    minute = int(written) if written.isdigit() else int(han_value(written))
    return f"{0 if half == 'a' and hour == 12 else hour}:{minute:02}"


def _within(one: Quantity | Value, others: Sequence[Value]) -> bool:
    """Whether it lies in the last of the others, which are in order, that begins no later."""
    at = bisect_right(others, one.start, key=lambda other: other.start)
    return at > 0 and one.end <= others[at - 1].end


@lru_cache(maxsize=4096)
def all_values(text: str) -> tuple[Value, ...]:
    """Return the values of a text in order: dates, exact ones, and numbers that are part of neither."""
    days = dates(text)
    apart = sorted((*days, *(one for one in exact_values(text) if not _within(one, days))), key=lambda one: one.start)
    numbers = [_number(one) for one in quantities(text) if not _within(one, apart)]
    limited = (Value(*one[:6], *limit(text, one.start, one.end)) for one in (*apart, *numbers))
    return tuple(sorted(limited, key=lambda one: one.start))


def _number(one: Quantity) -> Value:
    kind, size = measure(one)
    is_year = not kind and one.value in _YEARS
    return Value("year" if is_year else kind, size, one.start, one.end, one.value, one.unit)
