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
    inert = {at for match in _NO_DENIAL.finditer(text) for at in range(*match.span())}
    return tuple(match.span() for match in _DENIAL.finditer(text) if match.start() not in inert)


def denies(text: str) -> bool:
    """Whether a text holds a word of denial."""
    return bool(_DENIAL.search(text))


def directions(text: str) -> tuple[bool, bool]:
    """Return whether a text speaks of a rise, and whether of a fall."""
    return bool(_RISE.search(text)), bool(_FALL.search(text))
