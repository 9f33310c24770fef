"""What a text says exactly: quantities with units, dates, versions, names, and whether it affirms or denies.

Owns: reading numbers (thousands marks, percent, currency, ranges, magnitudes, number words, Chinese numerals), dates,
    versions, names, negations, switches and directions from English and Chinese text.
Knows nothing of: claims, evidence, scores.
Invariants: 1. a value's span is where its text stands. 2. equal values in other notations compare equal.
Purity: pure.
See: docs/grounding.md (values).
"""

import re
from bisect import bisect_left
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

    @property
    def parts(self) -> tuple[int, int, int]:
        """Year, month and day."""
        return self.year, self.month, self.day


_MAGNITUDES: Final = {
    "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12, "mn": 1e6, "bn": 1e9, "dozen": 12.0,
    "百": 1e2, "千": 1e3, "万": 1e4, "萬": 1e4, "亿": 1e8, "億": 1e8, "万亿": 1e12,
}  # fmt: skip
# How units are written, by the one name under which they are compared.
_WRITTEN: Final = {
    "%": "% | percent | per cent | percentage points | ％",
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
    "KB": "kb",
    "KiB": "kib",
    "MB": "mb",
    "MiB": "mib",
    "GB": "gb",
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
_UNITS: Final = {word: unit for unit, written in _WRITTEN.items() for word in written.split(" | ")}


def _either(words: "dict[str, float] | dict[str, str]") -> str:
    """Return a pattern of any of these words; one of letters is not the beginning of a longer word."""
    ordered = sorted(words, key=len, reverse=True)
    return "|".join(
        re.escape(word) + (r"(?![^\W\d_])" if word[-1:].isascii() and word[-1:].isalpha() else "") for word in ordered
    )


_CURRENCY: Final = r"(?:US\$|[$€£¥￥])"
_QUANTITY: Final = re.compile(
    rf"(?P<before>{_CURRENCY})?\s?(?<![A-Za-z0-9_.])(?P<number>(?:(?<![^\s(])[-−])?(?:\d{{1,3}}(?:[,\u2009\u202f']\d{{3}})+|\d+)(?:\.\d+)?(?!\.?\d))"
    rf"(?:\s?(?P<magnitude>{_either(_MAGNITUDES)}))?(?:[\s-]?(?P<unit>{_either(_UNITS)}))?",
    re.IGNORECASE,
)
_UNIT: Final = re.compile(rf"[\s-]?(?P<unit>{_either(_UNITS)})", re.IGNORECASE)
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
_HAN_DIGITS: Final = {han: float(value) for value, han in enumerate("零一二三四五六七八九")} | {"〇": 0.0, "两": 2.0}
_HAN_STEPS: Final = {"十": 10.0, "百": 100.0, "千": 1000.0}
_COUNTED: Final = frozenset("个名人次年天元周月日秒岁倍页条")
_HAN_NUMBER: Final = re.compile(r"[零〇一二三四五六七八九两十百千]+(?:万|亿)?[零〇一二三四五六七八九两十百千]*")


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


def _signed(one: Quantity, text: str) -> Quantity:
    """Turn the sign of a number that a word makes negative."""
    if _MINUS.search(text, max(0, one.start - 10), one.start):
        return Quantity(-one.value, one.unit, one.start, one.end)
    return one


def _quantity(match: "re.Match[str]") -> Quantity:
    digits = re.sub(r"[,\u2009\u202f']", "", match["number"]).replace("−", "-")
    unit = match["unit"] or match["before"] or ""
    value = float(digits) * _MAGNITUDES.get((match["magnitude"] or "").lower(), 1.0)
    start = match.start("before") if match["before"] else match.start("number")
    return Quantity(value, _UNITS.get(unit.lower(), ""), start, match.end())


def _spelled(text: str) -> list[Quantity]:
    found = []
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
    return shares + [
        Quantity(han_value(match[0]), *_unit_at(text, match))
        for match in _HAN_NUMBER.finditer(text)
        # A single character is more often part of a word (一个, 十分) than a count.
        if (len(match[0]) > 1 or text[match.end() : match.end() + 1] in _COUNTED)
        and not any(share.start <= match.start() < share.end for share in shares)
    ]


def _unit_at(text: str, number: "re.Match[str]") -> tuple[str, int, int]:
    """Return the unit that follows a number, the number's place, and the end of both."""
    unit = _UNIT.match(text, number.end())
    return _UNITS[unit["unit"].lower()] if unit else "", number.start(), unit.end() if unit else number.end()


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
        r"(?<!年)(?<!\d)(?P<m>\d{1,2})\s?月(?:\s?(?P<d>\d{1,2})\s?[日号])",
        rf"\b{_DAY}(?:\s+of)?\s+{_NAMED}(?:,?\s+{_YEAR})?",
        rf"\b{_NAMED}\s+{_DAY}\b(?!\d)(?:,?\s+{_YEAR})?",
        rf"\b{_NAMED},?\s+{_YEAR}\b",
    )
)


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
                found.insert(at, Date(year, month, day, match.start(), match.end()))
    return tuple(found)


# Digits with at least two full stops, or with `v` or a word for it in front.
_VERSION: Final = re.compile(
    r"(?<![\w.])v?\d+(?:\.\d+){2,3}(?![\w.]*\d)|(?<![\w.])v\d+(?:\.\d+)?(?![\w.]*\d)"
    r"|(?<=\bversion )\d+(?:\.\d+)?(?![\w.]*\d)|(?<=版本 )\d+(?:\.\d+)?(?![\w.]*\d)|(?<=版本)\d+(?:\.\d+)?(?![\w.]*\d)",
    re.IGNORECASE,
)


def versions(text: str) -> tuple[tuple[str, int, int], ...]:
    """Return the versions of a text in order: digits and full stops, start, end."""
    return tuple((match[0].lower().lstrip("v"), match.start(), match.end()) for match in _VERSION.finditer(text))


# Words of which one stands for yes and one for no, by what they speak of.
_SWITCHES: Final = (
    ("enabled enables enable 启用", "disabled disables disable 禁用 停用"),
    ("allowed allows allow permitted permits 允许", "forbidden forbids prohibited prohibits denied denies 禁止"),
    ("required requires mandatory 必须 必需", "optional 可选"),
    ("true", "false"),
    ("yes 是的", "no 否"),
    ("open opened 开启 打开", "closed 关闭"),
    ("supported", "unsupported"),
    ("included", "excluded"),
    ("safe", "unsafe"),
    ("succeeds succeeded 成功", "fails failed 失败"),
)  # fmt: skip
_SWITCH_OF: Final = {
    word: (number, side == 0)
    for number, sides in enumerate(_SWITCHES)
    for side, words in enumerate(sides)
    for word in words.split()
}
_SWITCH: Final = re.compile(
    "|".join(
        rf"\b{word}\b" if word.isascii() else word for word in sorted(_SWITCH_OF, key=lambda word: (-len(word), word))
    ),
    re.IGNORECASE,
)


def switches(text: str) -> tuple[tuple[int, bool, int, int], ...]:
    """Return the words of a text that say yes or no of something: of what, which, start, end."""
    return tuple((*_SWITCH_OF[match[0].lower()], match.start(), match.end()) for match in _SWITCH.finditer(text))


_NAME: Final = re.compile(r"(?<=[a-z,;:] )[A-Z][\w'’-]+|《[^》]{1,40}》")
_DENIAL: Final = re.compile(
    r"\b(?:no|not|never|none|neither|nor|without|cannot|lacks?|lacking|fail(?:s|ed)?|unable|unlikely|absence)\b|n['’]t\b"
    r"|不|没|未|无|非",
    re.IGNORECASE,
)
_RISE: Final = re.compile(
    r"\b(?:increas\w*|higher|high|greater|more|elevat\w*|rais\w*|enhanc\w*|promot\w*|activat\w*|improv\w*|longer|larger|"
    r"ris(?:e|es|ing|en)|rose|grow(?:s|ing|n)?|grew|above|at least|more than|began|begins?|start(?:s|ed)?|"
    r"induc\w*|gain\w*|stimulat\w*|upregulat\w*|positive\w*)\b|增|升|提高|扩大|上涨",
    re.IGNORECASE,
)
_FALL: Final = re.compile(
    r"\b(?:decreas\w*|lower|low|less|fewer|reduc\w*|diminish\w*|suppress\w*|inhibit\w*|impair\w*|worsen\w*|shorter|smaller|"
    r"fell|falls?|falling|drop(?:s|ped)?|declin\w*|below|at most|less than|ended|ends?|stop(?:s|ped)?|"
    r"prevent\w*|loss|downregulat\w*|negative\w*|deficien\w*|attenuat\w*)\b|减|降|下跌|缩小",
    re.IGNORECASE,
)


@lru_cache(maxsize=4096)
def names(text: str) -> tuple[str, ...]:
    """Return the names of a text: capitalised words inside sentences, and titles in 《》."""
    return tuple(dict.fromkeys(match[0].strip("《》") for match in _NAME.finditer(text)))


# Characters of denial that are part of a word which denies nothing.
_NO_DENIAL: Final = re.compile("非常|非洲|未来|无线|无论|不仅|不但|不过|不断|不少|不同|不久|差不多")


def denials(text: str) -> tuple[tuple[int, int], ...]:
    """Return where the words of denial stand."""
    inert = [match.span() for match in _NO_DENIAL.finditer(text)]
    return tuple(
        match.span()
        for match in _DENIAL.finditer(text)
        if not any(start <= match.start() < end for start, end in inert)
    )


def denies(text: str) -> bool:
    """Whether a text holds a word of denial."""
    return bool(_DENIAL.search(text))


def directions(text: str) -> tuple[bool, bool]:
    """Return whether a text speaks of a rise, and whether of a fall."""
    return bool(_RISE.search(text)), bool(_FALL.search(text))
