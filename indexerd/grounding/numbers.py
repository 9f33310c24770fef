"""The numbers of a text with what they count, from English and Chinese.

Owns: how numbers are written (thousands marks, percent, currency, ranges, magnitudes, words, Chinese numerals), and
    units.
Knows nothing of: claims, evidence, dates and other values.
Invariants: 1. a number's span is where its text stands. 2. equal numbers in other notations compare equal.
Purity: pure.
See: docs/grounding.md (values).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final


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
    "decade": "decades | decade",
    "century": "centuries | century",
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
# A month is no number of days.
_MONTH: Final = 2.629746e9
# How many of the smallest of its kind a unit is, where that is always so.
_MEASURES: Final = {
    "time": {"ms": 1.0, "s": 1e3, "min": 6e4, "h": 3.6e6, "d": 8.64e7, "wk": 6.048e8, "mo": _MONTH, "y": 12 * _MONTH,
             "decade": 120 * _MONTH, "century": 1200 * _MONTH},
    "bytes": {"B": 1.0, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30},
    "weight": {"mg": 1.0, "g": 1e3, "kg": 1e6},
    "way": {"mm": 1.0, "cm": 10.0, "m": 1e3, "km": 1e6},
}  # fmt: skip
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
# A unit behind a number.
UNIT: Final = re.compile(rf"[\s-]?(?P<unit>{_either(_UNITS)})", re.IGNORECASE)
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
# A third season is none: a third of it, by a third.
_OF_IT: Final = re.compile(r"\W*(?:$|\n|[.,;:!?)]|(?:of|less|more|fewer|by|the|in|to|from|as)\b)", re.IGNORECASE)
_MANY: Final = {"a": 1.0, "one": 1.0, "two": 2.0, "three": 3.0}
_NTHS: Final = {"third": 3.0, "quarter": 4.0, "fifth": 5.0, "tenth": 10.0}
_SHARE: Final = re.compile(
    r"(?P<of>[零〇一二三四五六七八九两十百千]+)分之(?P<han>[零〇一二三四五六七八九两十百千]+)"
    r"|(?P<tenths>[一二三四五六七八九两])成(?P<more>[一二三四五六七八九半])?(?![员立功为])"
    rf"|\b(?P<many>{'|'.join(_MANY)})[ -](?P<nth>{'|'.join(_NTHS)})s?\b|\bhalf\b|一半|半(?=[数个年天]|小时)",
    re.IGNORECASE,
)
# An hour is one; a day is any.
_ONE: Final = re.compile(r"\b(?:an?|one)[ -](?P<unit>minute|hour|week|month|year|decade|century)\b", re.IGNORECASE)
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
    found = [_quantity(match) for match in _QUANTITY.finditer(text)]
    found = [
        Quantity(one.value, other.unit, one.start, one.end)
        if other and not one.unit and other.unit and _RANGE.fullmatch(text, one.end, other.start)
        else one
        for one, other in zip(found, [*found[1:], None], strict=False)
    ]
    shares = list(_shares(text))
    taken = {at for share in shares for at in range(share.start, share.end)}
    found += shares + [one for one in (*_spelled(text), *_han(text)) if one.start not in taken]
    return tuple(sorted(found, key=lambda one: one.start))


def heading_and_unit(heading: str) -> tuple[str, str]:
    """Part the heading of a column into what it is of and the unit of its numbers, which may be empty."""
    match = _IN_HEADING.search(heading)
    if match is None or match["last"]:
        return heading, match[0].strip() if match else ""
    return (heading[: match.start()] + heading[match.end() :]).strip() or heading, match["inside"] or match["behind"]


def _quantity(match: "re.Match[str]") -> Quantity:
    digits = re.sub(r"[,\u2009\u202f']", "", match["number"]).replace("−", "-")
    is_decade = _DECADE.search(match.string, max(0, match.start() - _DECADE_CHARS), match.end())
    unit = "" if is_decade else match["unit"] or match["before"] or ""
    value = float(digits) * _MAGNITUDES.get((match["magnitude"] or "").lower(), 1.0)
    start = match.start("before") if match["before"] else match.start("number")
    # A word makes it negative.
    value *= -1 if _MINUS.search(match.string, max(0, start - 10), start) else 1
    return Quantity(value, _unit(unit), start, match.end())


def _unit(written: str) -> str:
    return _UNITS.get(written) or _UNITS.get(written.lower(), "")


def _shares(text: str) -> Iterator[Quantity]:
    """Yield the parts of something as what they are of a hundred, a third rounded."""
    for match in _SHARE.finditer(text):
        if match["many"] and match["many"].lower() == "a" and not _OF_IT.match(text, match.end()):
            continue
        share = 50.0
        if match["of"]:
            share = 100 * han_value(match["han"]) / (han_value(match["of"]) or 1.0)
        elif match["tenths"]:
            share = 10 * _HAN_DIGITS[match["tenths"]] + _HAN_DIGITS.get(match["more"] or "零", 5.0)
        elif match["many"]:
            share = 100 * _MANY[match["many"].lower()] / _NTHS[match["nth"].lower()]
        is_exact = (10 * share).is_integer()
        yield Quantity(share if is_exact else round(share), "%", *match.span())


def _spelled(text: str) -> list[Quantity]:
    found = [Quantity(_HOW_OFTEN[match[0].lower()], "次", *match.span()) for match in _TIMES.finditer(text)]
    found += [Quantity(1.0, _unit(match["unit"]), *match.span()) for match in _ONE.finditer(text)]
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
    return [
        Quantity(han_value(match[0]), *_unit_at(text, match))
        for match in _HAN_NUMBER.finditer(text)
        # A single character is more often part of a word (一个, 十分) than a count.
        if len(match[0]) > 1 or text[match.end() : match.end() + 1] in _COUNTED or UNIT.match(text, match.end())
    ]


def _unit_at(text: str, number: "re.Match[str]") -> tuple[str, int, int]:
    """Return the unit that follows a number, the number's place, and the end of both."""
    unit = UNIT.match(text, number.end())
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
