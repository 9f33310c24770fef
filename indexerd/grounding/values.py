"""What a text says exactly: quantities with units, versions, times of day, parts, places in an order.

Owns: reading numbers (thousands marks, percent, currency, ranges, magnitudes, number words, Chinese numerals),
    versions, and what is right to the letter or wrong, from English and Chinese text.
Knows nothing of: claims, evidence, scores.
Invariants: 1. a value's span is where its text stands. 2. equal values in other notations compare equal.
Purity: pure.
See: docs/grounding.md (values).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, NamedTuple


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number with what it counts.

    Attributes:
        value: The number, magnitude included (`1.2 million` is 1,200,000).
        unit: A canonical unit, `%` and currencies included; empty if none was read.
        start: Where it stands in the text.
        end: Its end, unit included.
    """

    value: float
    unit: str
    start: int
    end: int


_MAGNITUDES: Final = {
    "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12, "mn": 1e6, "bn": 1e9, "dozen": 12.0,
    "百": 1e2, "千": 1e3, "万": 1e4, "萬": 1e4, "亿": 1e8, "億": 1e8, "万亿": 1e12,
}  # fmt: skip
# How units are written, by the one name under which they are compared.
_WRITTEN: Final = {
    "%": "% | percent | per cent | ％",
    "pp": "percentage points | percentage point | 个百分点",
    "‰": "‰",
    "kg": "kg | kilograms | kilogram | 公斤 | 千克",
    "g": "g | grams | 克",
    "mg": "mg",
    "km": "km | kilometers | kilometres | 公里 | 千米",
    "m": "m | meters | metres | 米",
    "cm": "cm | 厘米",
    "mm": "mm | 毫米",
    "mi": "miles | mile",
    "ft": "feet | ft",
    "ms": "ms | milliseconds | 毫秒",
    "s": "s | sec | secs | seconds | second | 秒",
    "min": "min | mins | minutes | minute | 分钟",
    "h": "h | hours | hour | 小时",
    "d": "days | day | 天",
    "wk": "weeks | week | 周",
    "mo": "months | month | 个月",
    "y": "years | year | 年 | 岁",
    "Kb": "Kb | kbit | kbps",
    "Mb": "Mb | mbit | mbps",
    "Gb": "Gb | gbit | gbps",
    "KB": "kb | KBps",
    "KiB": "kib",
    "MB": "mb | MBps",
    "MiB": "mib",
    "GB": "gb | GBps",
    "GiB": "gib",
    "TB": "tb",
    "B": "bytes | 字节",
    "USD": "$ | us$ | usd | dollars | 美元",
    "EUR": "€ | eur | euros | 欧元",
    "GBP": "£ | gbp | pounds | 英镑",
    "CNY": "¥ | ￥ | cny | rmb | yuan | 元 | 人民币",
    "JPY": "日元 | yen",
    "HKD": "港元",
    "C": "°c | ℃ | 摄氏度",
    "F": "°f",
    "人": "人 | people | 名",
    "个": "个",
    "次": "次 | times",
}
# A bit is told from a byte by how its letters are written, if both are.
_UNITS: Final = {word: unit for unit, written in _WRITTEN.items() for word in written.split(" | ")}
# How many of the smallest of its kind a unit is, where that is always so.
_MEASURES: Final = {
    "time": {"ms": 1.0, "s": 1e3, "min": 6e4, "h": 3.6e6, "d": 8.64e7, "wk": 6.048e8},
    "months": {"mo": 1.0, "y": 12.0},
    "bytes": {"B": 1.0, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30},
    "weight": {"mg": 1.0, "g": 1e3, "kg": 1e6},
    "way": {"mm": 1.0, "cm": 10.0, "m": 1e3, "km": 1e6},
}
_MEASURED: Final = {unit: (kind, size) for kind, sizes in _MEASURES.items() for unit, size in sizes.items()}


def measure(one: Quantity) -> tuple[str, float]:
    """Return what a number with its unit comes to: 14 days are two weeks."""
    kind, size = _MEASURED.get(one.unit, (one.unit, 1.0))
    return kind, round(one.value * size, 6)


def _either(words: "dict[str, float] | dict[str, str]") -> str:
    """Return a pattern of any of these words; one of letters is not the beginning of a longer word."""
    ordered = sorted(words, key=len, reverse=True)
    return "|".join(
        re.escape(word) + (r"(?![^\W\d_])" if word[-1:].isascii() and word[-1:].isalpha() else "") for word in ordered
    )


_CURRENCY: Final = r"(?:US\$|[$€£¥￥])"
_QUANTITY: Final = re.compile(
    rf"(?P<before>{_CURRENCY})?\s?(?<![A-Za-z0-9_.])(?P<number>(?:(?<![^\s(])[-−])?(?:\d{{1,3}}(?:[,\u2009\u202f']\d{{3}})+|\d+)(?:\.\d+)?(?!\.?\d))"
    rf"(?:\s?(?P<magnitude>(?!千[克米瓦卡])(?:{_either(_MAGNITUDES)})))?(?:[\s-]?(?P<unit>{_either(_UNITS)}))?",
    re.IGNORECASE,
)
_UNIT: Final = re.compile(rf"[\s-]?(?P<unit>{_either(_UNITS)})", re.IGNORECASE)
# What the heading of a column ends with, if it says what its numbers are counted in.
_IN_HEADING: Final = re.compile(
    rf"[(（\[]\s*(?P<inside>[^\d\s)）\]]{{1,12}})\s*[)）\]]"
    rf"|(?:\s*[,，/:：]\s*|(?<=[\u3400-\u9fff])(?=[千万亿]))(?P<behind>[千万亿]{{0,2}}(?:{_either(_UNITS)}))\s*$"
    rf"|(?<=\S\s)(?P<last>{_either(_UNITS)})\s*$",
    re.IGNORECASE,
)
# The 1990s are no seconds.
_DECADE: Final = re.compile(r"\b(?:the|late|early|mid)[\s-]+[12]\d\d0s$", re.IGNORECASE)
_DECADE_CHARS: Final = 6
_MINUS: Final = re.compile(r"(?:\b(?:minus|negative)\s|负|零下)$", re.IGNORECASE)
_HAN_SHARE: Final = re.compile(r"百分之(?P<han>[零〇一二三四五六七八九两十百]+)")
_RANGE: Final = re.compile(r"\s?(?:-|–|—|~|～|至|到|to|and)\s?", re.IGNORECASE)

_TEENS: Final = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_TENS: Final = "twenty thirty forty fifty sixty seventy eighty ninety"
_SMALL: Final = {word: float(value) for value, word in enumerate(_TEENS.split())} | {
    word: 10.0 * value for value, word in enumerate(_TENS.split(), 2)
}
_WORD_NUMBER: Final = re.compile(
    rf"\b(?:{'|'.join(_SMALL)})(?:[\s-](?:{'|'.join(_SMALL)}|hundred|thousand|million|billion|and))*\b", re.IGNORECASE
)
# Once is a number only where it says how often; else it is when.
_TIMES: Final = re.compile(r"\bonce(?=\s+(?:an?|per|every|each)\b)|\b(?:twice|thrice)\b", re.IGNORECASE)
_HOW_OFTEN: Final = {"once": 1.0, "twice": 2.0, "thrice": 3.0}
_HAN_DIGITS: Final = {han: float(value) for value, han in enumerate("零一二三四五六七八九")} | {"〇": 0.0, "两": 2.0}
_HAN_STEPS: Final = {"十": 10.0, "百": 100.0, "千": 1000.0}
_COUNTED: Final = frozenset("个名人次年天元周月日秒岁倍页条")
_HAN_NUMBER: Final = re.compile(
    r"(?<![哪某每同])[零〇一二三四五六七八九两十百千]+(?:万|亿)?[零〇一二三四五六七八九两十百千]*"
)


@lru_cache(maxsize=4096)
def quantities(text: str) -> tuple[Quantity, ...]:
    """Return the numbers of a text in order; the two ends of a range share their unit."""
    found = [_signed(_quantity(match), text) for match in _QUANTITY.finditer(text)]
    found = [
        Quantity(one.value, other.unit, one.start, one.end)
        if other and not one.unit and other.unit and _RANGE.fullmatch(text, one.end, other.start)
        else one
        for one, other in zip(found, [*found[1:], None], strict=False)
    ]
    found += _spelled(text) + _han(text)
    return tuple(sorted(found, key=lambda one: one.start))


def heading_and_unit(heading: str) -> tuple[str, str]:
    """Part the heading of a column into what it is of and the unit of its numbers, which may be empty."""
    match = _IN_HEADING.search(heading)
    if match is None or match["last"]:
        return heading, match[0].strip() if match else ""
    return (heading[: match.start()] + heading[match.end() :]).strip() or heading, match["inside"] or match["behind"]


def _signed(one: Quantity, text: str) -> Quantity:
    """Turn the sign of a number that a word makes negative."""
    if _MINUS.search(text, max(0, one.start - 10), one.start):
        return Quantity(-one.value, one.unit, one.start, one.end)
    return one


def _quantity(match: "re.Match[str]") -> Quantity:
    digits = re.sub(r"[,\u2009\u202f']", "", match["number"]).replace("−", "-")
    is_decade = _DECADE.search(match.string, max(0, match.start() - _DECADE_CHARS), match.end())
    unit = "" if is_decade else match["unit"] or match["before"] or ""
    value = float(digits) * _MAGNITUDES.get((match["magnitude"] or "").lower(), 1.0)
    start = match.start("before") if match["before"] else match.start("number")
    return Quantity(value, _unit(unit), start, match.end())


def _unit(written: str) -> str:
    return _UNITS.get(written) or _UNITS.get(written.lower(), "")


def _spelled(text: str) -> list[Quantity]:
    found = [Quantity(_HOW_OFTEN[match[0].lower()], "次", *match.span()) for match in _TIMES.finditer(text)]
    for match in _WORD_NUMBER.finditer(text):
        value = _spelled_value(re.split(r"[\s-]+", match[0].lower()))
        # "one" is mostly a pronoun.
        if value != 1.0:
            found.append(Quantity(value, *_unit_at(text, match)))
    return found


def _spelled_value(words: list[str]) -> float:
    total, part = 0.0, 0.0
    for word in words:
        if word in _SMALL:
            part += _SMALL[word]
        elif word == "hundred":
            part = (part or 1.0) * 100.0
        elif word in _MAGNITUDES:
            total, part = total + (part or 1.0) * _MAGNITUDES[word], 0.0
    return total + part


def _han(text: str) -> list[Quantity]:
    shares = [Quantity(han_value(match["han"]), "%", match.start(), match.end()) for match in _HAN_SHARE.finditer(text)]
    taken = {at for share in shares for at in range(share.start, share.end)}
    return shares + [
        Quantity(han_value(match[0]), *_unit_at(text, match))
        for match in _HAN_NUMBER.finditer(text)
        # A single character is more often part of a word (一个, 十分) than a count.
        if (len(match[0]) > 1 or text[match.end() : match.end() + 1] in _COUNTED or _UNIT.match(text, match.end()))
        and match.start() not in taken
    ]


def _unit_at(text: str, number: "re.Match[str]") -> tuple[str, int, int]:
    """Return the unit that follows a number, the number's place, and the end of both."""
    unit = _UNIT.match(text, number.end())
    return _unit(unit["unit"]) if unit else "", number.start(), unit.end() if unit else number.end()


def han_value(digits: str) -> float:
    """Return the value of a Chinese numeral."""
    if not any(digit in _HAN_STEPS or digit in "万亿" for digit in digits):
        return float("".join(str(int(_HAN_DIGITS[digit])) for digit in digits))
    total, part, digit = 0.0, 0.0, 0.0
    for han in digits:
        if han in _HAN_DIGITS:
            digit = _HAN_DIGITS[han]
        elif han in _HAN_STEPS:
            part, digit = part + (digit or 1.0) * _HAN_STEPS[han], 0.0
        else:
            total, part, digit = total + (part + digit) * _MAGNITUDES[han], 0.0, 0.0
    return total + part + digit


# Digits with at least two full stops, or with `v` or a word for it in front.
_VERSION: Final = re.compile(
    r"(?<![\w.])v?\d+(?:\.\d+){2,3}(?![\w.]*\d)|(?<![\w.])v\d+(?:\.\d+)?(?![\w.]*\d)"
    r"|(?<=\bversion )\d+(?:\.\d+)?(?![\w.]*\d)|(?<=版本 )\d+(?:\.\d+)?(?![\w.]*\d)|(?<=版本)\d+(?:\.\d+)?(?![\w.]*\d)",
    re.IGNORECASE,
)


def versions(text: str) -> tuple[tuple[str, int, int], ...]:
    """Return the versions of a text in order: digits and full stops, start, end."""
    return tuple((match[0].lower().lstrip("v"), match.start(), match.end()) for match in _VERSION.finditer(text))


class Exact(NamedTuple):
    """Something written that is right to the letter or wrong.

    Attributes:
        kind: What it can be put in the place of; `calendar`: a day of the week; `rate`: what
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
)
_CALENDAR: Final = re.compile(r"\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?\b|(?:星期|周)[一二三四五六日天]")
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
    r"\b(?P<digits>\d{1,18})(?:st|nd|rd|th)\b|第\s?(?P<han>\d{1,18}|[一二三四五六七八九十百]+)"
    rf"|(?:\b(?:an?|the|its|his|her|their|our)[ -](?P<word>{'|'.join(_PLACES)}))\b",
    re.IGNORECASE,
)
_SPAN: Final = re.compile(
    r"\b(?:an?|one|1)[ -](?P<unit>minute|hour|week|month|year|decade|century|day|night|quarter)\b", re.IGNORECASE
)
_RATES: Final = {
    "hourly 每小时": "hour", "daily 每天 每日": "day", "weekly 每周": "week", "monthly 每月 每个月": "month",
    "quarterly 每季度": "quarter", "yearly annually 每年": "year",
}  # fmt: skip
_RATE_OF: Final = {word: unit for words, unit in _RATES.items() for word in words.split()}
_OFTEN: Final = re.compile(
    rf"\b(?:every|each|per) (?P<unit>{'|'.join(_RATES.values())})\b|{'|'.join(_RATE_OF)}", re.IGNORECASE
)
# After a number, or one of these words, an hour is what something is counted by.
_RATE: Final = re.compile(r"(?:\d|\b(?:once|twice|times|half|per|cost|costs)\b)[^.,;:!?]*$", re.IGNORECASE)
_CLAUSE: Final = 60
_ANY: Final = frozenset(("day", "night", "quarter"))


@lru_cache(maxsize=4096)
def exacts(text: str) -> tuple[Exact, ...]:
    """Return what of a text has to be the same in a source."""
    found = [Exact("clock", _clock_key(match), *match.span()) for match in _CLOCK.finditer(text)]
    found += [
        Exact("code", match[match.lastgroup].lower().removeprefix("v"), *match.span(match.lastgroup))
        for match in _codes(text)
        if match.lastgroup
    ]
    found += [
        Exact("part", part_key(_PARTS[match[0].lower().replace("-", " ")]), *match.span())
        for match in _PART.finditer(text)
    ]
    found += [
        Exact("calendar", match[0].lower().removesuffix("s"), *match.span()) for match in _CALENDAR.finditer(text)
    ]
    parts = {one.start for one in found if one.kind == "part"}
    found += [one for one in _orders(text) if one.start - len("a ") not in parts]
    found += _time_spans(text)
    return tuple(sorted(found, key=lambda one: one.start))


def _codes(text: str) -> "Iterator[re.Match[str]]":
    yield from _CODES.finditer(text)
    yield from (match for match in _NUMBERED.finditer(text) if not _UNIT.match(text, match.end()))


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
        # One day is any.
        if is_rate or match["unit"].lower() not in _ANY:
            yield Exact("rate" if is_rate else "span", f"1 {match['unit'].lower()}", *match.span())

    for match in _OFTEN.finditer(text):
        yield Exact("rate", f"1 {match['unit'] or _RATE_OF[match[0].lower()]}".lower(), *match.span())


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
