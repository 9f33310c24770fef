"""What is right to the letter or wrong: times of day, versions, addresses, parts, places in an order, months, weekdays.

Owns: reading these from English and Chinese text, and when two ways to write one are the same.
Knows nothing of: claims, evidence, quantities.
Invariants: 1. equal things in other notations have equal keys. 2. a span is where its text stands.
Purity: pure.
See: docs/grounding.md (values).
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from indexerd.grounding.values import han_value


class Exact(NamedTuple):
    """Something written that is right to the letter or wrong.

    Attributes:
        kind: What it can be put in the place of; `calendar`: a month or a day of the week; `rate`: what
            something is counted by, which may go without saying.
        key: Equal for two ways to write the same.
    """

    kind: Literal["clock", "code", "part", "order", "span", "rate", "calendar"]
    key: str
    start: int
    end: int


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
_PARTS: Final = {
    "half": 1 / 2, "a third": 1 / 3, "one third": 1 / 3, "two thirds": 2 / 3, "a quarter": 1 / 4, "one quarter": 1 / 4,
    "three quarters": 3 / 4, "a fifth": 1 / 5, "one fifth": 1 / 5, "a tenth": 1 / 10, "one tenth": 1 / 10,
    "一半": 1 / 2, "半数": 1 / 2, "半个": 1 / 2, "半小时": 1 / 2, "半年": 1 / 2, "半天": 1 / 2,
    "三分之一": 1 / 3, "三分之二": 2 / 3, "四分之一": 1 / 4, "四分之三": 3 / 4,
}  # fmt: skip
# A third season is none: a third of it, by a third.
_OF_IT: Final = r"(?=\W*(?:$|\n|[.,;:!?)]|(?:of|less|more|fewer|by|the|in|to|from|as)\b))"
_PART: Final = re.compile(
    "|".join(
        part if not part.isascii() else rf"\b{part.replace(' ', '[ -]')}\b{_OF_IT if part.startswith('a ') else ''}"
        for part in sorted(_PARTS, key=len, reverse=True)
    ),
    re.IGNORECASE,
)
_ORDINALS: Final = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
_PLACES: Final = {word: place for place, word in enumerate(_ORDINALS.split(), 1)}
# A second is a time, too (`a second` is left alone), and what happens first need not be the first of anything.
_ORDER: Final = re.compile(
    r"\b(?P<digits>\d+)(?:st|nd|rd|th)\b|第\s?(?P<han>\d+|[一二三四五六七八九十百]+)"
    rf"|(?:\b(?:an?|the|its|his|her|their|our)[ -](?P<word>{'|'.join(_PLACES)}))\b",
    re.IGNORECASE,
)
_SPAN: Final = re.compile(r"\b(?:an?|one|1)[ -](?P<unit>minute|hour|week|month|year|decade|century)\b", re.IGNORECASE)
# After a number, or one of these words, an hour is what something is counted by.
_RATE: Final = re.compile(r"(?:\d|\b(?:once|twice|times|half|per|cost|costs)\b)[^.,;:!?]*$", re.IGNORECASE)
_CLAUSE: Final = 60


@lru_cache(maxsize=4096)
def exacts(text: str) -> tuple[Exact, ...]:
    """Return what of a text has to be the same in a source."""
    found = [Exact("clock", _clock_key(match), *match.span()) for match in _CLOCK.finditer(text)]
    found += [Exact("code", match[0].lower().removeprefix("v"), *match.span()) for match in _CODES.finditer(text)]
    found += [
        Exact("part", part_key(_PARTS[match[0].lower().replace("-", " ")]), *match.span())
        for match in _PART.finditer(text)
    ]
    # March is a walk, too, and may a verb: a month is written large.
    found += [
        Exact("calendar", match[0].lower().removesuffix("s"), *match.span())
        for match in _CALENDAR.finditer(text)
        if not match[0][0].islower()
    ]
    parts = {one.start for one in found if one.kind == "part"}
    found += [one for one in _orders(text) if one.start - len("a ") not in parts]
    found += _time_spans(text)
    return tuple(sorted(found, key=lambda one: one.start))


def part_key(share: float) -> str:
    """Return the key of a part of something, 0..1, however it is written: half of it, 50 %."""
    return f"part {share:.2f}"


def _orders(text: str) -> Iterator[Exact]:
    for match in _ORDER.finditer(text):
        group = match.lastgroup or "digits"
        written = match[group]
        place = (
            _PLACES[written.lower()] if group == "word" else int(written if written.isdigit() else han_value(written))
        )
        if match[0].lower() != "a second":
            yield Exact("order", f"place {place}", match.start(group if group == "word" else 0), match.end())


def _time_spans(text: str) -> Iterator[Exact]:
    for match in _SPAN.finditer(text):
        is_rate = match[0][0] in "aA" and _RATE.search(text, max(0, match.start() - _CLAUSE), match.start())
        yield Exact("rate" if is_rate else "span", f"1 {match['unit'].lower()}", *match.span())


def _clock_key(match: "re.Match[str]") -> str:
    written = match["h"] or match["h2"] or match["h3"]
    hour = int(written) if written.isdigit() else int(han_value(written))
    half = (match["half"] or match["half2"] or "").lower()
    is_late = half == "p" or match["part"] in _LATE
    if is_late and hour < 12:
        hour += 12
    return f"{0 if half == 'a' and hour == 12 else hour}:{match['m'] or '00'}"
