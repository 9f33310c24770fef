"""What is right to the letter or wrong: times of day, versions, addresses, parts, months, days of the week.

Owns: reading these from English and Chinese text, and when two ways to write one are the same.
Knows nothing of: claims, evidence, quantities.
Invariants: 1. equal things in other notations have equal keys. 2. a span is where its text stands.
Purity: pure.
See: docs/grounding.md (values).
"""

import re
from functools import lru_cache
from typing import Final, NamedTuple

from indexerd.grounding.values import han_value


class Exact(NamedTuple):
    """Something written that is right to the letter or wrong: a time of day, a version, an address, a month, a part.

    Attributes:
        key: Equal for two ways to write the same.
        is_date: Whether it is of the calendar.
    """

    key: str
    start: int
    end: int
    is_date: bool


_CLOCK: Final = re.compile(
    r"(?<![\d.:])(?P<h>\d{1,2}):(?P<m>\d{2})(?!\d)(?:\s?(?P<half>[ap])\.?m\b\.?)?"
    r"|(?<![\d.:])(?P<h2>\d{1,2})\s?(?P<half2>[ap])\.?m\b\.?"
    r"|(?P<part>上午|早上|凌晨|中午|下午|晚上|每晚|傍晚)?\s?(?P<h3>\d{1,2}|[一二三四五六七八九十两]{1,3})点",
    re.IGNORECASE,
)
_LATE: Final = frozenset(("下午", "晚上", "每晚", "傍晚"))
_CODES: Final = re.compile(
    r"(?<![\w.])(?:v?\d+(?:\.\d+){2,}|0x[0-9a-f]+|\d+(?:\.\d+)?e[+-]?\d+)(?![\w])", re.IGNORECASE
)
_CALENDAR: Final = re.compile(
    r"\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?"
    r"|january|february|march|april|june|july|august|september|october|november|december)\b"
    r"|(?:星期|周)[一二三四五六日天]",
    re.IGNORECASE,
)
_PARTS: Final = re.compile(
    r"\b(?:half|(?:a|one) (?:third|quarter|fifth|tenth)|(?:two|three)[ -](?:thirds|quarters))\b|一半", re.IGNORECASE
)


@lru_cache(maxsize=4096)
def exacts(text: str) -> tuple[Exact, ...]:
    """Return what of a text has to be the same in a source."""
    found = [Exact(_clock_key(match), match.start(), match.end(), is_date=False) for match in _CLOCK.finditer(text)]
    found += [
        Exact(match[0].lower().removeprefix("v"), match.start(), match.end(), is_date=False)
        for pattern in (_CODES, _PARTS)
        for match in pattern.finditer(text)
    ]
    # March is a walk, too, and may a verb: a month is written large.
    found += [
        Exact(match[0].lower().removesuffix("s"), match.start(), match.end(), is_date=True)
        for match in _CALENDAR.finditer(text)
        if not match[0][0].islower()
    ]
    return tuple(sorted(found, key=lambda one: one.start))


def _clock_key(match: "re.Match[str]") -> str:
    written = match["h"] or match["h2"] or match["h3"]
    hour = int(written) if written.isdigit() else int(han_value(written))
    half = (match["half"] or match["half2"] or "").lower()
    is_late = half == "p" or match["part"] in _LATE
    if is_late and hour < 12:
        hour += 12
    return f"{0 if half == 'a' and hour == 12 else hour}:{match['m'] or '00'}"
