"""What each code point means to the analyzer: its flags, and the one code point it folds to.

Owns: the character tables, and how a cluster of awkward characters is rewritten into plain ones.
Knows nothing of: words, languages, chunks.
Invariants: 1. a character is *plain* when it stands for exactly one folded code point whatever its neighbours are;
    all others are AWKWARD and are rewritten with the plain character before them. 2. tables depend on nothing but the
    Unicode data of this Python, whose version is part of the settings fingerprint.
Purity: pure (tables are filled on first use).
See: docs/search.md (analysis).
"""

import unicodedata
from bisect import bisect_right
from functools import lru_cache

import numpy as np
import numpy.typing as npt

UNICODE_VERSION = unicodedata.unidata_version

WORD = 1
LOWER = 2
UPPER = 4  # LOWER << 1: a part boundary is one shift and one mask
DIGIT = 8
IDEOGRAPH = 16  # scripts without spaces: Han, Kana, Hangul, Thai, Lao, Khmer, Myanmar
TIGHT = 32  # joins words into one identifier: row_group, auth-flow, don't
LOOSE = 64  # joins identifiers into a longer one: a.b, a/b, a@b, a::b
AWKWARD = 128

# Stands between characters that NFKC puts side by side though the source has no word there: `FOO™`, `x²`. It ends a
# part, not a word. A noncharacter, so no document means anything by it.
BREAK = "\uffff"

_CODE_POINTS = 0x110000
_PAGE = 256
# A space for what a table cannot hold: lone surrogates and noncharacters.
_SPACE = 32

_TIGHT_JOINERS = "_-'"
_LOOSE_JOINERS = "./\\:@+&"
# Other spellings of a joiner that people do not tell apart when they type a query.
_SAME_AS = {"\u2019": "'", "\u2010": "-", "\u2011": "-"}

# Marks that only decorate: a word is found with and without them. Latin, Greek and Cyrillic diacritics, Hebrew
# points, Arabic short vowels. The vowel signs of Indic and South-East Asian scripts are letters in all but name and
# stay.
_DECORATION = (
    (0x0300, 0x036F), (0x0483, 0x0489), (0x0591, 0x05BD), (0x05BF, 0x05BF), (0x05C1, 0x05C2), (0x05C4, 0x05C5),
    (0x05C7, 0x05C7), (0x0610, 0x061A), (0x064B, 0x065F), (0x0670, 0x0670), (0x06D6, 0x06DC), (0x06DF, 0x06E4),
    (0x06E7, 0x06E8), (0x06EA, 0x06ED), (0x1AB0, 0x1AFF), (0x1DC0, 0x1DFF), (0x20D0, 0x20FF), (0xA66F, 0xA672),
    (0xA674, 0xA67D), (0xA69E, 0xA69F), (0xFE20, 0xFE2F),
)  # fmt: skip
# Letters of their own in every language that writes them; nobody types them without the mark, and stemmers know them.
_LETTERS_WITH_MARKS = frozenset("йїўЙЇЎ")

# Default_Ignorable_Code_Point of Unicode 14 and later (DerivedCoreProperties.txt); Python's unicodedata does not
# carry it.
_IGNORABLE = (
    (0x00AD, 0x00AD), (0x034F, 0x034F), (0x061C, 0x061C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F),
    (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF),
)  # fmt: skip

_SPACELESS = (
    (0x0E01, 0x0EDF), (0x1000, 0x109F), (0x1100, 0x11FF), (0x1780, 0x17DD), (0x2E80, 0x2FDF), (0x3005, 0x3007),
    (0x3021, 0x303C), (0x3041, 0x30FF), (0x3105, 0x312F), (0x3131, 0x318E), (0x31A0, 0x31BF), (0x31F0, 0x31FF),
    (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xA960, 0xA97F), (0xA9E0, 0xA9FF), (0xAA60, 0xAA7F), (0xAC00, 0xD7FF),
    (0xF900, 0xFAFF), (0x1AFF0, 0x1B16F), (0x20000, 0x3FFFD),
)  # fmt: skip

FLAGS: npt.NDArray[np.uint8] = np.zeros(_CODE_POINTS, np.uint8)
# 0: not looked at yet. Nothing folds to NUL, not even NUL.
FOLDED: npt.NDArray[np.uint32] = np.zeros(_CODE_POINTS, np.uint32)


def _in(ranges: tuple[tuple[int, int], ...], code: int) -> bool:
    at = bisect_right(ranges, (code, _CODE_POINTS)) - 1
    return at >= 0 and code <= ranges[at][1]


def is_ignorable(char: str) -> bool:
    """Whether a character is invisible by definition and dropped before anything else."""
    return _in(_IGNORABLE, ord(char))


def _strip(text: str) -> str:
    decomposed = unicodedata.normalize("NFD", text)
    kept = "".join(char for char in decomposed if not _in(_DECORATION, ord(char)))
    return unicodedata.normalize("NFC", kept) if len(kept) == len(decomposed) else kept


def fold(char: str) -> str:
    """Fold one NFKC character: decoration stripped, case folded. May give several characters, or none."""
    if char in _LETTERS_WITH_MARKS:
        return char.lower()
    return _SAME_AS.get(char) or _strip(_strip(char).casefold())


def is_spaceless(char: str) -> bool:
    """Whether a character is of a script that is written without spaces."""
    return _in(_SPACELESS, ord(char))


def is_word(char: str) -> bool:
    """Whether a character belongs to words: letters, digits, and the marks that are not decoration."""
    return unicodedata.category(char)[0] in "LNM" and not _in(_DECORATION, ord(char))


def is_symbol_with_letters(char: str, spelled: str) -> bool:
    """Whether NFKC spells a symbol (`™`, `²`, `℃`) with word characters that the source does not have."""
    category = unicodedata.category(char)
    return category[0] not in "LM" and category not in ("Nd", "Nl", "Pc") and any(map(is_word, spelled))


def _flags(char: str) -> int:
    """Classify one NFKC character."""
    if not is_word(char):
        return TIGHT if char in _TIGHT_JOINERS else LOOSE if char in _LOOSE_JOINERS else 0
    category = unicodedata.category(char)
    if category != "Nd" and is_spaceless(char):
        return IDEOGRAPH
    if category == "Nd":
        return WORD | DIGIT
    if char.isupper() or category == "Lt":
        return WORD | UPPER
    return WORD | LOWER if char.islower() else WORD


@lru_cache(maxsize=1)
def _joining_seconds() -> frozenset[str]:
    """Characters that may compose with the one before them and are not marks with a combining class of their own."""
    # Hangul vowels and finals compose by rule; the rest are second characters of some canonical pair.
    jamo = {chr(code) for code in (*range(0x1161, 0x1176), *range(0x11A8, 0x11C3))}
    pairs = (unicodedata.decomposition(chr(code)) for code in _composite_codes())
    return frozenset(
        jamo | {chr(int(pair.split()[1], 16)) for pair in pairs if pair and pair[0] != "<" and " " in pair}
    )


def _composite_codes() -> tuple[int, ...]:
    # Precomposed characters whose second half is a spacing letter or vowel sign lie in these blocks only.
    blocks = ((0x09C0, 0x0DE0), (0x1000, 0x1100), (0x1B00, 0x1B50), (0x11000, 0x12000))
    return tuple(code for first, last in blocks for code in range(first, last))


def _is_plain(char: str, spelled: str) -> bool:
    if len(spelled) != 1 or is_ignorable(char) or char in _joining_seconds() or spelled in _joining_seconds():
        return False
    if unicodedata.combining(spelled) or unicodedata.combining(char) or is_symbol_with_letters(char, spelled):
        return False
    return len(fold(spelled)) == 1


def _classify(code: int) -> tuple[int, int]:
    """Return flags and folded code point of one code point."""
    char = chr(code)
    category = unicodedata.category(char)
    if not code or category in ("Cs", "Co", "Cn"):
        return (AWKWARD if char == BREAK or is_ignorable(char) else 0), _SPACE
    spelled = unicodedata.normalize("NFKC", char)
    if _is_plain(char, spelled):
        return _flags(_SAME_AS.get(spelled, spelled)), ord(fold(spelled))
    folded = fold(char)
    return AWKWARD | _flags(char), ord(folded) if len(folded) == 1 else _SPACE


def _fill(code: int) -> None:
    """Put what a code point is into the tables. Of one that is like all of its page, the whole page."""
    first = code - code % _PAGE
    if 0x4E00 <= first <= 0x9E00 or 0xAC00 <= first <= 0xD600:
        # Unified ideographs and Hangul syllables all behave alike.
        FLAGS[first : first + _PAGE] = IDEOGRAPH
        FOLDED[first : first + _PAGE] = np.arange(first, first + _PAGE)
    else:
        FLAGS[code], FOLDED[code] = _classify(code)


def folded_codes(codes: npt.NDArray[np.uint32] | npt.NDArray[np.intp]) -> npt.NDArray[np.uint32]:
    """Return what each code point folds to. Afterwards FLAGS holds for all of them too."""
    # `take`: half the time of an index in brackets.
    folded = FOLDED.take(codes)
    if not folded.all():
        # Not by np.unique: its first call loads the package of masked arrays, 8 ms of a first answer.
        for code in set(codes[folded == 0].tolist()):
            if not FOLDED[code]:
                _fill(code)
        folded = FOLDED.take(codes)
    return folded


# Longer clusters do not repeat, and would fill the memory.
_KEPT_CLUSTER = 16


def rewrite(cluster: str) -> str:
    """Rewrite a plain character and the awkward ones after it as characters that each fold to one code point.

    The result keeps case (parts need it) and marks with BREAK where a symbol's letters begin and end.
    """
    return _kept_rewrite(cluster) if len(cluster) <= _KEPT_CLUSTER else _rewrite(cluster)


# Bounded: clusters come from documents. Emoji, accents in NFD and vowel signs repeat; 4,096 hold a corpus' worth.
@lru_cache(maxsize=4096)
def _kept_rewrite(cluster: str) -> str:
    return _rewrite(cluster)


def _rewrite(cluster: str) -> str:
    visible = (char if char != BREAK else " " for char in cluster if not is_ignorable(char))
    spelled = "".join(map(_spell, visible))
    return "".join(map(_single, unicodedata.normalize("NFKC", spelled)))


@lru_cache(maxsize=1024)
def _spell(char: str) -> str:
    spelled = unicodedata.normalize("NFKC", char)
    return f"{BREAK}{spelled}{BREAK}" if is_symbol_with_letters(char, spelled) else char


@lru_cache(maxsize=1024)
def _single(char: str) -> str:
    folded = fold(char)
    if len(folded) == 1 or char == BREAK:
        return char
    return folded.upper() if char.isupper() else folded
