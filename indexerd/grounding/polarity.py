"""Whether a text affirms or denies, which way it says things go, and whom it names.

Owns: words of denial, switches (enabled, disabled), directions (rise, fall), and names, of English and Chinese text.
Knows nothing of: claims, evidence, scores, numbers.
Invariants: 1. a span is where its text stands.
Purity: pure.
See: docs/grounding.md (support).
"""

import re
from functools import lru_cache
from typing import Final

# Words of which one stands for yes and one for no, by what they speak of.
_SWITCHES: Final = (
    ("enabled enables enable 启用", "disabled disables disable 禁用 停用"),
    ("allowed allows allow permitted permits 允许", "forbidden forbids prohibited prohibits denied denies 禁止"),
    ("required requires mandatory 必须 必需", "optional 可选"),
    ("true", "false"),
    ("yes 是的", "no 否"),
    ("open opened 开启 打开", "closed 关闭"),
    ("included", "excluded"),
    ("before 之前 以前", "after 之后 以后"),
    ("minimum", "maximum"),
    ("succeeds succeeded 成功", "fails failed 失败"),
)  # fmt: skip
_SWITCH_OF: Final = {
    word: (number, side == 0)
    for number, sides in enumerate(_SWITCHES)
    for side, words in enumerate(sides)
    for word in words.split()
}
_SWITCH: Final = re.compile(
    r"(?P<not>\bnot\s+|[不未])?(?P<word>"
    + "|".join(
        rf"\b{word}\b" if word.isascii() else word for word in sorted(_SWITCH_OF, key=lambda word: (-len(word), word))
    )
    + ")",
    re.IGNORECASE,
)


def switches(text: str) -> tuple[tuple[int, bool, int, int], ...]:
    """Return the words of a text that say yes or no of something: of what, which, start, end; what is not on is off."""
    found = ((match, *_SWITCH_OF[match["word"].lower()]) for match in _SWITCH.finditer(text))
    return tuple((of, yes is not bool(match["not"]), *match.span()) for match, of, yes in found)


_NAME: Final = re.compile(r"(?<=[a-z,;:] )[A-Z][\w'’-]+|《[^》]{1,40}》")
_DENIAL: Final = re.compile(
    r"\b(?:(?:no|not)(?! (?:more|less|fewer|later|earlier) than)|never|none|neither|nor|without|"
    r"cannot|lacks?|lacking|fail(?:s|ed)?|unable|unlikely|absence)\b|n['’]t\b"
    r"|不(?![超少多高低早晚][过于])|没|未|无|非",
    re.IGNORECASE,
)
_RISE: Final = re.compile(
    r"\b(?:increas\w*|higher|high|greater|(?<!no )(?<!not )more|(?:no|not) (?:less|fewer) than|elevat\w*|rais\w*|"
    r"enhanc\w*|promot\w*|activat\w*|improv\w*|longer|larger|"
    r"ris(?:e|es|ing|en)|rose|grow(?:s|ing|n)?|grew|above|at least|began|begins?|start(?:s|ed)?|"
    r"induc\w*|gain\w*|stimulat\w*|upregulat\w*|positive\w*)\b|增|升|提高|扩大|上涨",
    re.IGNORECASE,
)
_FALL: Final = re.compile(
    r"\b(?:decreas\w*|lower|low|(?<!no )(?<!not )(?:less|fewer)|"
    r"reduc\w*|diminish\w*|suppress\w*|inhibit\w*|impair\w*|worsen\w*|shorter|smaller|"
    r"(?:no|not) more than|"
    r"fell|falls?|falling|drop(?:s|ped)?|declin\w*|below|at most|ended|ends?|stop(?:s|ped)?|"
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
    inert = {at for match in _NO_DENIAL.finditer(text) for at in range(*match.span())}
    return tuple(match.span() for match in _DENIAL.finditer(text) if match.start() not in inert)


def denies(text: str) -> bool:
    """Whether a text holds a word of denial."""
    return bool(denials(text))


# What makes a value the most, or the least, that there may be: before it, and behind what it counts.
_BEFORE_MOST: Final = (
    r"[<≤]=?|\b(?:at most|up to|(?:no|not) more than|not exceed\w*|under|below|within|max(?:imum)?(?: of)?)"
    r"|(?<!no )(?<!not )\b(?:less|fewer) than|最多|至多|不超过|不多于|不高于|低于|小于|少于|不足"
)
_BEFORE_LEAST: Final = (
    r"[>≥]=?|\b(?:at least|(?:no|not) (?:less|fewer) than|above|min(?:imum)?(?: of)?)"
    r"|(?<!no )(?<!not )\b(?:more|greater) than|最少|至少|不少于|不低于|高于|大于|多于|(?<!不)超过"
)
_LIMITS: Final = tuple(
    (name, re.compile(rf"(?:{before})\s*(?:an? )?$", re.IGNORECASE), re.compile(rf"\s*(?:{behind})", re.IGNORECASE))
    for name, before, behind in (
        ("most", _BEFORE_MOST, r"(?:\w{1,30} )?or (?:less|fewer)\b|以内|以下|之内"),
        ("least", _BEFORE_LEAST, r"(?:\w{1,30} )?or more\b|以上"),
    )
)
_LIMIT_CHARS: Final = 20


def limit(text: str, start: int, end: int) -> tuple[str, int, int]:
    """Return whether what stands there is the `most` or the `least` that there may be, and where that is said too."""
    for name, before, behind in _LIMITS:
        if match := before.search(text, max(0, start - _LIMIT_CHARS), start):
            return name, match.start(), end
        if match := behind.match(text, end):
            return name, start, match.end()
    return "", start, end


_SHORTEST: Final = 2
_NOT: Final = ("un", "in", "im", "il", "ir", "non", "non-", "dis")


def contrary(one: str, other: str) -> bool:
    """Whether two words, or the last of more, are each other's contrary: safe, unsafe."""
    shorter, longer = sorted((each.lower().rpartition(" ")[2] for each in (one, other)), key=len)
    return len(shorter) > _SHORTEST and longer.endswith(shorter) and longer.removesuffix(shorter) in _NOT


# A denial reaches no further than its clause, which may be a part that depends on another.
_SCOPE: Final = re.compile(
    r"[,;:](?!\d)|[，；：、]|\b(?:and|but|while|whereas|which|who|whose|because|although|though|if|unless|when|where|until)\b"
    r"|而|但",
    re.IGNORECASE,
)
_DENIED: Final = re.compile(rf"(?:{_DENIAL.pattern})[能可会得应准许需必]?", re.IGNORECASE)


def scopes(text: str) -> tuple[str, str]:
    """Return the clauses of a text that affirm, and those that deny without the words that do so."""
    parts = [(part, _DENIED.sub(" ", part)) for part in _SCOPE.split(text)]
    affirming, denying = (" , ".join(bare for part, bare in parts if denies(part) is deny) for deny in (False, True))
    return affirming, denying


def directions(text: str) -> tuple[bool, bool]:
    """Return whether a text speaks of a rise, and whether of a fall."""
    return bool(_RISE.search(text)), bool(_FALL.search(text))


def runs_against(claim: str, text: str) -> bool:
    """Whether a claim speaks of a rise, and a text of a fall alone, or the other way round."""
    (rises, falls), there = directions(claim), directions(text)
    return (rises and there == (False, True)) or (falls and there == (True, False))
