"""Sentences as tokens, and what stands in the same place of two that have one shape.

Owns: which words and values a sentence is made of for a comparison with another, and their alignment.
Knows nothing of: what a difference means, claims, citations.
Invariants: 1. a token's span is where its text stands. 2. values that can be compared have one key, whatever they are.
Purity: pure.
See: docs/grounding.md (conflicts, values).
"""

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from functools import cached_property, lru_cache
from typing import Final, NamedTuple

from indexerd.analysis import analyze_query
from indexerd.analysis.query import STOP_WORDS
from indexerd.grounding.polarity import denials, switches
from indexerd.grounding.values import Value, agree, all_values


class Token(NamedTuple):
    """A word, a character of a script without spaces, or a value; values that can be compared have one key."""

    key: str
    start: int
    end: int
    value: Value | str | None = None


class Sentence(NamedTuple):
    """A sentence of a passage; `start` is where it stands there."""

    passage: int
    start: int
    text: str
    tokens: tuple[Token, ...]
    denials: tuple[Token, ...]


class Pair(NamedTuple):
    """What stands in the same place of two sentences."""

    left: Token
    right: Token


_BARE: Final = "#number "
# Values that are no numbers, and stand in the place of one.
_TOLD: Final = frozenset(("clock", "order"))


class Alignment(NamedTuple):
    """Two sentences side by side.

    Attributes:
        alike: Share of their tokens that are the same, in the same order.
        words: How many words they share; a character of a script without spaces is half a one.
        differing: Values in the same place that are not the same, equal differences once.
        replaced: Runs of telling words of which each sentence has its own, equal ones once.
        is_even: Whether neither has telling words where the other has nothing.
    """

    alike: float
    words: float
    differing: list[Pair]
    replaced: list[Pair]
    is_even: bool


# Longer sentences are put beside no other: that costs the product of both.
_MOST_TOKENS: Final = 300
_LEAD: Final = re.compile(r"\s*(?:>\s*)*(?:[-*+•]|\(?\d{1,3}[.)])\s+")
# Written for a machine: names of their own, and only as a whole. A run of word characters and full stops is read from
# its beginning only, and its first letter found once: a long one costs time in proportion.
_OPAQUE: Final = re.compile(
    r"`[^`]*`|\bhttps?://\S+|\]\([^)\s]{0,2000}+\)|\]\[\w*+\]|#\d+"
    r"|\b(?:(?<![\w.])|(?<=[^\w.]\.)|(?<=\A\.))(?:(?![A-Za-z_])[\w.])*+[A-Za-z_][\w.]*(?:[-/_]\w+)+|\b\w+(?:[-/]\w+){2,}(?<!\d{4}[-/]\d\d[-/]\d\d)"
)
WORD: Final = re.compile(
    r"[^\W\d_\u3040-\u30ff\u3400-\u9fff](?:[^\W_\u3040-\u30ff\u3400-\u9fff]|['’](?=[^\W\d_]))*|[\u3040-\u30ff\u3400-\u9fff]|\d+"
)
CJK: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_FUNCTION: Final = STOP_WORDS | frozenset(
    "的地得了是在和与及或着过也都就又还很将被把为以于从到对向由让给而但并则且等这那此其"
)


# What joins two of a list: one word may stand behind the first.
_LISTED: Final = re.compile(
    r"(?:\s\w+)?[\s,，、&]*(?:\s(?:and|or)\s|[,，、&和与及])\s*(?:the\s+|both\s+)?", re.IGNORECASE
)


def sentence_of(text: str, passage: int = 0, start: int = 0) -> Sentence:
    """Read a sentence."""
    values, denying = _values(text)
    taken = sorted((one.start, one.end) for one in (*values, *denying))
    words, at = [], 0
    for match in WORD.finditer(text):
        while at < len(taken) and taken[at][1] <= match.start():
            at += 1
        if at == len(taken) or match.end() <= taken[at][0]:
            words.append(Token(match[0].casefold(), *match.span()))
    return Sentence(passage, start, text, tuple(sorted((*values, *words), key=lambda one: one.start)), denying)


def _values(text: str) -> tuple[tuple[Token, ...], tuple[Token, ...]]:
    """Return the values of a sentence and its words of denial; of two that overlap the first kind here."""
    lead, read = _LEAD.match(text), all_values(text)
    kept = [Token("lead", 0, lead.end() if lead else 0)]
    every = (
        *(Token("date", one.start, one.end, one) for one in read if one.kind == "date"),
        *(Token("code", *match.span(), match[0]) for match in _OPAQUE.finditer(text)),
        *(Token("version", one.start, one.end, str(one.key)) for one in read if one.kind == "code"),
        *(Token(f"number {one.kind}", one.start, one.end, str(one.key)) for one in read if one.kind in _TOLD),
        *(Token(f"number {one.unit}", one.start, one.end, one) for one in read if one.number is not None),
        *(Token(f"yes_no {of}", start, end, str(yes)) for of, yes, start, end in switches(text)),
        *(Token("denial", start, end) for start, end in denials(text)),
    )
    for one in every:
        at = bisect_right(kept, one.start, key=lambda other: other.start)
        if kept[at - 1].end <= one.start and (at == len(kept) or one.end <= kept[at].start):
            kept.insert(at, one)
    values = tuple(one._replace(key=f"#{one.key}") for one in kept[1:] if one.value is not None)
    return values, tuple(one for one in kept[1:] if one.value is None)


def comparable(known: Sequence[Sentence], shared_from: float) -> Iterator[tuple[int, int]]:
    """Yield the pairs of sentences that have so much of their words in common, in order."""
    keys = [frozenset(token.key for token in one.tokens) for one in known]
    holders = defaultdict[str, list[int]](list)
    for number, own in enumerate(keys):
        shared = Counter(other for key in own for other in holders[key])
        for other in sorted(shared):
            if 2 * shared[other] >= shared_from * (len(own) + len(keys[other])):
                yield other, number
        for key in own:
            holders[key].append(number)


def aligned(one: Sentence, other: Sentence, alike_from: float) -> Alignment | None:
    """Put two sentences side by side; None if they are less alike, the same, or too long."""
    mine, theirs = one.tokens, other.tokens
    if one.text == other.text or max(len(mine), len(theirs)) > _MOST_TOKENS:
        return None
    matcher = SequenceMatcher(None, [token.key for token in mine], [token.key for token in theirs], autojunk=False)
    alike = matcher.ratio() if matcher.quick_ratio() >= alike_from else 0.0
    if alike < alike_from:
        return None
    blocks = matcher.get_matching_blocks()
    pairs = [Pair(mine[a + at], theirs[b + at]) for a, b, size in blocks for at in range(size)]
    words = sum(_weight(pair.left) for pair in pairs)
    steps = matcher.get_opcodes()
    is_even = all(
        step in ("equal", "replace") or not _is_telling((*mine[a:a_end], *theirs[b:b_end]))
        for step, a, a_end, b, b_end in steps
    )
    return Alignment(alike, words, _differing(pairs), _replaced(one, other, steps), is_even)


def _weight(token: Token) -> float:
    if token.value is not None:
        return 0.0
    return 0.5 if CJK.match(token.key) else 1.0


def _differing(pairs: Sequence[Pair]) -> list[Pair]:
    """Return the values in the same place that are not the same, equal differences once."""
    found = {(pair.left.key, pair.left.value, pair.right.value): pair for pair in pairs if not same(*pair)}
    return list({(key, str(one), str(other)): pair for (key, one, other), pair in found.items()}.values())


def _replaced(one: Sentence, other: Sentence, steps: Sequence[tuple[str, int, int, int, int]]) -> list[Pair]:
    """Return the runs of telling words of which each sentence has its own, equal ones once."""
    found: dict[tuple[str, str], Pair] = {}
    for step, a, a_end, b, b_end in steps:
        mine, theirs = one.tokens[a:a_end], other.tokens[b:b_end]
        if step != "replace" or not (_is_telling(mine) and _is_telling(theirs)):
            continue
        left, right = _run(mine), _run(theirs)
        here, there = one.text[left.start : left.end], other.text[right.start : right.end]
        if not _stands_in(here, other.text) and not _stands_in(there, one.text):
            found[here, there] = Pair(left, right)
    return list(found.values())


def _stands_in(words: str, text: str) -> bool:
    """Whether words are in a text, and not in the midst of others."""
    if CJK.search(words):
        return words in text
    return bool(re.search(rf"(?<!\w){re.escape(words)}(?!\w)", text))


def _run(tokens: Sequence[Token]) -> Token:
    has_value = any(token.value is not None for token in tokens)
    return Token("value" if has_value else "", tokens[0].start, tokens[-1].end)


def _is_telling(tokens: Sequence[Token]) -> bool:
    return any(token.key not in _FUNCTION for token in tokens)


def same(left: Token, right: Token) -> bool:
    """Whether two values are the same, in any notation; unit and all else of their kind set aside."""
    one, other = left.value, right.value
    if not isinstance(one, Value) or not isinstance(other, Value):
        return left.key == right.key and one == other
    return agree(one, other) if one.date and other.date else one.number == other.number


@lru_cache(maxsize=4096)
def telling_words(text: str, language: str) -> tuple[tuple[int, int, str], ...]:
    """Return start, end and term of the words of a text that say something; of all words if none does."""
    words = [word for word in analyze_query(text, (language,)) if word.kind != "cjk1"]
    telling = [word for word in words if not word.is_stop] or words or analyze_query(text, (language,))
    return tuple((word.start, word.end, word.stems[0]) for word in telling)


def _is_for(one: Token, said: Token) -> bool:
    """Whether what is said is a value: 5 is, where there are 5 dollars, but 5 dollars are not 5 users."""
    is_number = one.key.startswith(_BARE) and said.key.startswith(_BARE)
    return same(one, said) and (not is_number or said.key in (one.key, _BARE))


class Part(NamedTuple):
    """What of a text another can hold: values, else characters of a script without spaces, else words (stems)."""

    values: tuple[Token, ...] = ()
    characters: str = ""
    words: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.values or self.characters or self.words)


class Said:
    """A text, read for what it holds."""

    def __init__(self, text: str, language: str) -> None:
        self.text, self._language = text, language

    @cached_property
    def sentence(self) -> Sentence:
        """Its tokens."""
        return sentence_of(self.text)

    @cached_property
    def values(self) -> tuple[Token, ...]:
        """Its values."""
        return tuple(token for token in self.sentence.tokens if token.value is not None)

    @cached_property
    def words(self) -> tuple[tuple[int, int, str], ...]:
        """Start, end and stem of the words that say something."""
        return telling_words(self.text, self._language)

    @cached_property
    def stems(self) -> frozenset[str]:
        """The stems of its words."""
        return frozenset(stem for _, _, stem in self.words)

    def part(self, start: int, end: int) -> Part:
        """Return what stands between two places."""
        if values := tuple(token for token in self.values if start <= token.start < end):
            return Part(values)
        if CJK.search(self.text, start, end):
            # A single character is in too many words.
            alone = end - start == 1
            return Part(
                characters=self.text.casefold()[start - (alone and end == len(self.text)) : end + alone].strip()
            )
        return Part(words=frozenset(stem for at, _, stem in self.words if start <= at < end))

    def share(self, part: Part) -> float:
        """Return how much of a part this holds, 0..1."""
        if part.values:
            return float(any(_is_for(one, other) for one in part.values for other in self.values))
        if part.characters:
            return float(part.characters in self.text.casefold())
        return len(part.words & self.stems) / len(part.words)

    def shared(self, *others: "Said") -> float:
        """Return how many of the words others have, 0..1."""
        held = frozenset[str]().union(*(other.stems for other in others))
        return len(self.stems & held) / max(len(self.stems), 1)

    def written(self, part: Part) -> str:
        """Return a part as this text writes it."""
        start, end = self._place(part)
        return self.text[start:end] or part.characters

    def lists(self, one: Part, other: Part) -> bool:
        """Whether this says the same of two parts: `the api and the db`."""
        (start, end), (start_other, end_other) = sorted((self._place(one), self._place(other)))
        return start < end and start_other < end_other and bool(_LISTED.fullmatch(self.text, end, start_other))

    def _place(self, part: Part) -> tuple[int, int]:
        spans = [(one.start, one.end) for one in self.values for other in part.values if same(other, one)]
        spans = spans or [(start, end) for start, end, stem in self.words if stem in part.words]
        if part.characters and (at := self.text.casefold().find(part.characters)) >= 0:
            spans = [(at, at + len(part.characters))]
        return (spans[0][0], spans[-1][1]) if spans else (0, 0)
