"""The dates of a text, or as much of each as is written, from English and Chinese.

Owns: how dates are written, and when one bears another.
Knows nothing of: claims, evidence, other numbers.
Invariants: 1. a date's span is where its text stands. 2. spans are disjoint and in order.
Purity: pure.
See: docs/grounding.md (values).
"""

import re
from bisect import bisect_left
from dataclasses import dataclass
from functools import lru_cache
from typing import Final


@dataclass(frozen=True, slots=True)
class Date:
    """A calendar date, or as much of one as was written; 0 where it was not."""

    year: int
    month: int
    day: int
    start: int
    end: int

    def agrees(self, other: "Date") -> bool:
        """Whether both can be the same day, and say at least one part alike."""
        pairs = tuple(zip(self.parts, other.parts, strict=True))
        return all(not a or not b or a == b for a, b in pairs) and any(a and a == b for a, b in pairs)

    def bears(self, claimed: "Date") -> bool:
        """Whether it agrees with another and gives two parts of it, if that has so many: May is no 16 May 2001."""
        given = [bool(a and a == b) for a, b in zip(self.parts, claimed.parts, strict=True)]
        return self.agrees(claimed) and sum(given) >= min(2, sum(map(bool, claimed.parts)))

    @property
    def parts(self) -> tuple[int, int, int]:
        """Year, month and day."""
        return self.year, self.month, self.day


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
def dates(text: str) -> tuple[Date, ...]:
    """Return the dates of a text in order; a bare year is a number, not a date."""
    found: list[Date] = []
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
                found.insert(at, Date(year, month, day, match.start(), match.end()))
    return tuple(found)
