"""Text as a model reads it: without what hides an instruction from a plain search.

Owns: which characters are invisible, which look like others, text smuggled in invisible characters or in base64.
Knows nothing of: instructions, documents.
Invariants: 1. line feeds stay what and where they are, so that lines can be counted in the result. 2. plain text costs
    one search.
Purity: pure.
See: docs/threat-model.md (safety gate).
"""

import base64
import re
import string
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

_TAG_BASE = 0xE0000
# No phrase of the lists is said in fewer characters of it.
_SHORTEST_BASE64 = 24
_FOREIGN = "\u0370-\u03ff\u0400-\u052f\u0530-\u058f\u13a0-\u13f5"  # Greek, Cyrillic, Armenian, Cherokee
_MARKS = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0e"
    "\ufeff\uffa0\U000e0000-\U000e0fff"  # invisible
    "\u0261\u0131\u1d00-\u1d7f\u2070-\u209f\u2100-\u214f\u24b6-\u24e9\uff21-\uff3a\uff41-\uff5a\U0001d400-\U0001d7ff\U0001f130-\U0001f189"
)
_ODD = re.compile(f"[{_MARKS}]")
_SUSPECT = re.compile(f"[{_MARKS}{_FOREIGN}]")
# A letter of another script counts only inside a Latin word: text in its own script is not odd.
_MIXED = re.compile(f"[A-Za-z][{_FOREIGN}]|[{_FOREIGN}][A-Za-z]")
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\U000e0000-\U000e001f\U000e007f-\U000e0fff]+"
)
_TAGS = re.compile("[\U000e0020-\U000e007e]+")
# A flag of a region is a black flag with up to six tags; longer runs, or runs without a flag, are hidden text.
_FLAG = re.compile("\U0001f3f4[\U000e0061-\U000e007a\U000e0030-\U000e0039]{1,6}\U000e007f")
_SELECTORS = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]{8,}")
_ZERO_WIDTH_RUN = re.compile("[\u200b-\u200d\u2060-\u2064\ufeff]{16,}")

# Letters of other scripts that are drawn as Latin ones.
_LOOK_ALIKES = str.maketrans(
    "аАвВсСеЕёіІїјЈкКмМнНоОрРѕЅтТуУхХһԁԛԝӏ" + "αΑΒεΕΖηΗιΙκΚΜνΝοΟρΡτΤυΥχΧγϲ" + "սոօցհԍɡıᎥ",
    "aAbBcCeEeiIijJkKmMhHoOpPsStTyYxXhdqwl" + "aABeEZnHiIkKMvNoOpPtTuYxXyc" + "unoghggii",
)
_LAST_LOOK_ALIKE = max(_LOOK_ALIKES) + 1
# What can hide text; without it only forms and look-alikes are left to fold.
_HIDING = re.compile(f"{_INVISIBLE.pattern[:-2]}{_TAGS.pattern[1:-2]}]")


class Revealed(NamedTuple):
    """What a text says when nothing is hidden.

    Attributes:
        texts: Readings to search, each with the line feeds of the original.
        hidden_at: Offset (in the original) of text that was smuggled in invisible characters; -1 if there is none.
    """

    texts: tuple[str, ...]
    hidden_at: int


def suspects(texts: Sequence[str]) -> list[int]:
    """Return the numbers of the texts that `reveal` changes or may change: all others are what they seem.

    One table look-up a character for all texts together; a search per text takes five times as long.
    """
    numbers = [number for number, text in enumerate(texts) if not text.isascii()]
    # A zero between texts, so that letters of two texts do not stand side by side.
    encoded = [f"{texts[number]}\0".encode("utf-16-le", "surrogatepass") for number in numbers]
    kinds = _kinds().take(np.frombuffer(b"".join(encoded), "<u2"))
    starts = np.cumsum([0, *(len(part) // 2 for part in encoded)])
    before, behind = kinds[:-1], kinds[1:]
    mixed = (((before >> 1) & behind) | (before & (behind >> 1))) & np.uint8(_FOREIGN_KIND)
    found = np.concatenate((np.flatnonzero(kinds & np.uint8(_MARK_KIND)), np.flatnonzero(mixed)))
    places = set((np.searchsorted(starts, found, side="right") - 1).tolist())
    return [numbers[place] for place in sorted(places)]


# A Latin letter beside a foreign one makes a text suspect: their bits stand side by side.
_MARK_KIND, _FOREIGN_KIND, _LATIN_KIND = 1, 2, 4


@cache
def _kinds() -> npt.NDArray[np.uint8]:
    """Return the kind of each UTF-16 unit; surrogates count as marks, for what lies beyond is rare in plain text."""
    kinds = np.zeros(1 << 16, np.uint8)
    units = "".join(map(chr, range(1 << 16)))
    for kind, pattern in ((_FOREIGN_KIND, f"[{_FOREIGN}]"), (_LATIN_KIND, "[A-Za-z]"), (_MARK_KIND, f"[{_MARKS}]")):
        kinds[[match.start() for match in re.finditer(pattern, units)]] = kind
    kinds[0xD800:0xE000] = _MARK_KIND
    return kinds


def reveal(text: str) -> Revealed:
    """Return the readings of a text: invisible characters removed, compatible forms and look-alikes folded."""
    if text.isascii() or not _is_odd(text):
        return Revealed((text,), -1)
    if _HIDING.search(text) is None:
        return _readings(unicodedata.normalize("NFKC", text), -1)
    hidden_at = _hidden(text)
    plain = _FLAG.sub("", text)
    plain = _SELECTORS.sub(_selected_bytes, plain)
    plain = _TAGS.sub(lambda match: "".join(chr(ord(tag) - _TAG_BASE) for tag in match[0]), plain)
    return _readings(unicodedata.normalize("NFKC", _INVISIBLE.sub("", plain)), hidden_at)


def encoded_in(data: bytes) -> Iterator[tuple[int, str]]:
    """Yield what stands in base64 and decodes to a line of text, with its place."""
    inside = np.frombuffer(data.translate(_base64()), np.bool_)
    # Where so many stand together, found by pairs of pairs.
    runs, length = inside, 1
    while length < _SHORTEST_BASE64:
        step = min(length, _SHORTEST_BASE64 - length)
        runs, length = runs[:-step] & runs[step:], length + step
    edges = np.flatnonzero(np.diff(np.concatenate(([False], runs, [False]))))
    for start, last in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        run = data[start : last + _SHORTEST_BASE64 - 1]
        with suppress(ValueError):
            text = base64.b64decode(run + b"=" * (-len(run) % 4)).decode()
            if text.replace("\n", " ").isprintable():
                yield start, text.replace("\n", " ")


@cache
def _base64() -> bytes:
    """Return for each byte 1 if it stands in base64, padding aside."""
    return bytes(chr(byte) in f"{string.ascii_letters}{string.digits}+/" for byte in range(256))


def _readings(plain: str, hidden_at: int) -> Revealed:
    codes = np.frombuffer(plain.encode("utf-32-le", "surrogatepass"), "<u4")
    # By a table: `str.translate` takes five times as long.
    drawn = np.where(codes < _LAST_LOOK_ALIKE, _look_alikes().take(codes, mode="clip"), codes)
    if (drawn == codes).all():
        return Revealed((plain,), hidden_at)
    return Revealed((plain, drawn.tobytes().decode("utf-32-le", "surrogatepass")), hidden_at)


@cache
def _look_alikes() -> npt.NDArray[np.uint32]:
    table = np.arange(_LAST_LOOK_ALIKE, dtype=np.uint32)
    for code, latin in _LOOK_ALIKES.items():
        table[code] = latin
    return table


def _is_odd(text: str) -> bool:
    # One search for a plain set of characters settles most texts; one with alternatives takes four times as long.
    suspect = _SUSPECT.search(text)
    if suspect is None:
        return False
    at = suspect.start()
    return _ODD.search(text, at) is not None or _MIXED.search(text, max(at - 1, 0)) is not None


def _hidden(text: str) -> int:
    """Return where text is smuggled: in tag characters, in variation selectors, in bits of zero-width characters."""
    for pattern in (_SELECTORS, _ZERO_WIDTH_RUN):
        match = pattern.search(text)
        if match is not None:
            return match.start()
    flags = {match.end() - 1: match.start() for match in _FLAG.finditer(text)}
    for match in _TAGS.finditer(text):
        if match.end() not in flags and len(match[0]) > 2:
            return match.start()
    return -1


def _selected_bytes(match: re.Match[str]) -> str:
    """Read variation selectors as the bytes they number: 1 to 16, then 17 to 256."""
    values = (ord(character) for character in match[0])
    data = bytes(value - 0xFE00 if value < _TAG_BASE else value - 0xE0100 + 16 for value in values)
    # No line feed may appear that was not in the text.
    return data.decode(errors="replace").replace("\n", " ")
