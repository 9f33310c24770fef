"""Passages that disagree: two sentences that say the same thing with another value.

Owns: which values are of the same thing, and when two of them cannot both hold.
Knows nothing of: citations, documents, which of the two is right.
Invariants: 1. the order of the passages decides only which side comes first. 2. a quote is the text of its passage
    between its offsets. 3. sentences that differ in more than one thing are no conflict: each explains the other.
Purity: pure.
See: docs/grounding.md (conflicts), benchmarks/bench_grounding.py for recall and false alarms.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import islice
from typing import Final, NamedTuple

from indexerd.analysis.query import STOP_WORDS
from indexerd.grounding.sentences import sentences
from indexerd.grounding.values import Date, Quantity, dates, denials, quantities, switches, versions

# When two sentences say the same thing: so much of them is the same words in the same order, and so many words (a
# character of a script without spaces is half a one). Chosen on the first half of rgb-zh-fact.
ALIKE_FROM: Final = 0.7
WORDS_FROM: Final = 3.0
# A word in the place of another may be a synonym; in a long sentence that is otherwise the same it seldom is.
NAMES_ALIKE_FROM: Final = 0.8
NAMES_WORDS_FROM: Final = 8.0
DENIAL_ALIKE_FROM: Final = 0.92
# A name of more words than that is a clause.
_LONGEST_NAME: Final = 8
# Pairs of sentences with less in common are not compared at all.
_SHARED_FROM: Final = 0.55
# Evidence is a few hundred sentences, of which a few pairs are alike; this bounds what a caller may hand in.
MAX_SENTENCES: Final = 1000
MAX_PAIRS: Final = 5000


class ConflictSpan(NamedTuple):
    """One side of a conflict: the sentence, and the value in it; empty where only the other side denies."""

    passage: int
    start_char: int
    end_char: int
    quote: str
    value: str


class Conflict(NamedTuple):
    """Two sentences of two passages that give another value of the same thing.

    Attributes:
        kind: `number`, `date`, `version`, `yes_no` or `name`.
    """

    kind: str
    one: ConflictSpan
    other: ConflictSpan


class _Token(NamedTuple):
    """A word, a character of a script without spaces, or a value; values that can be compared have one key."""

    key: str
    start: int
    end: int
    value: Quantity | Date | str | None = None


class _Sentence(NamedTuple):
    passage: int
    start: int
    text: str
    tokens: tuple[_Token, ...]
    denials: tuple[_Token, ...]


class _Pair(NamedTuple):
    """What stands in the same place of two sentences."""

    left: _Token
    right: _Token


# What is no prose: fences, tables, headings, front matter, commands of a template.
_NO_PROSE: Final = re.compile(r"\s*(?:```|~~~|---|\||\+[-+]|#|\{\{|<|!\[)")
_LEAD: Final = re.compile(r"\s*(?:>\s*)*(?:[-*+•]|\(?\d{1,3}[.)])\s+")
# Written for a machine: names of their own, and only as a whole.
_OPAQUE: Final = re.compile(
    r"`[^`]*`|\bhttps?://\S+|\]\([^)\s]*\)|\]\[\w*\]|#\d+"
    r"|\b[\w.]*[A-Za-z_][\w.]*(?:[-/_]\w+)+|\b\w+(?:[-/]\w+){2,}(?<!\d{4}[-/]\d\d[-/]\d\d)"
)
_TOKEN: Final = re.compile(
    r"[^\W\d_\u3040-\u30ff\u3400-\u9fff](?:[^\W_\u3040-\u30ff\u3400-\u9fff]|['’](?=[^\W\d_]))*|[\u3040-\u30ff\u3400-\u9fff]|\d+"
)
_CJK: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_FUNCTION: Final = STOP_WORDS | frozenset(
    "的地得了是在和与及或着过也都就又还很将被把为以于从到对向由让给而但并则且等这那此其"
)


def conflicts(passages: Sequence[str], documents: Sequence[str] = ()) -> tuple[Conflict, ...]:
    """Return the conflicts between passages, in their order; two sentences have one at most.

    Args:
        passages: Texts. Of more than `MAX_SENTENCES` sentences, or `MAX_PAIRS` pairs that are alike, the first are
            compared.
        documents: What each is from; passages of one document are not compared: its parallel statements are of
            different things. Without it each is from its own.
    """
    known = _read(tuple(passages))
    pairs = islice(_comparable(known, documents or range(len(passages))), MAX_PAIRS)
    found = (_conflict(known[one], known[other]) for one, other in pairs)
    return tuple(conflict for conflict in found if conflict is not None)


@lru_cache(maxsize=8)
def _read(passages: tuple[str, ...]) -> tuple[_Sentence, ...]:
    every = (
        _sentence(number, span.start, text)
        for number, passage in enumerate(passages)
        for span in sentences(passage)
        for text in (passage[span.start : span.end],)
        if not _NO_PROSE.match(text)
    )
    return tuple(islice(every, MAX_SENTENCES))


def _sentence(passage: int, start: int, text: str) -> _Sentence:
    values, denying = _values(text)
    taken = sorted((one.start, one.end) for one in (*values, *denying))
    words, at = [], 0
    for match in _TOKEN.finditer(text):
        while at < len(taken) and taken[at][1] <= match.start():
            at += 1
        if at == len(taken) or match.end() <= taken[at][0]:
            words.append(_Token(match[0].casefold(), *match.span()))
    return _Sentence(passage, start, text, tuple(sorted((*values, *words), key=lambda one: one.start)), denying)


def _values(text: str) -> tuple[tuple[_Token, ...], tuple[_Token, ...]]:
    """Return the values of a sentence and its words of denial; of two that overlap the first kind here."""
    lead = _LEAD.match(text)
    kept = [_Token("lead", 0, lead.end() if lead else 0)]
    every = (
        *(_Token("date", one.start, one.end, one) for one in dates(text)),
        *(_Token("code", *match.span(), match[0]) for match in _OPAQUE.finditer(text)),
        *(_Token("version", start, end, version) for version, start, end in versions(text)),
        *(_Token(f"number {one.unit}", one.start, one.end, one) for one in quantities(text)),
        *(_Token(f"yes_no {of}", start, end, str(yes)) for of, yes, start, end in switches(text)),
        *(_Token("denial", start, end) for start, end in denials(text)),
    )
    for one in every:
        if all(one.end <= other.start or other.end <= one.start for other in kept):
            kept.append(one)
    values = tuple(one._replace(key=f"#{one.key}") for one in kept[1:] if one.value is not None)
    return values, tuple(one for one in kept[1:] if one.value is None)


def _comparable(known: Sequence[_Sentence], documents: Sequence[object]) -> Iterator[tuple[int, int]]:
    """Yield the pairs of sentences of two documents that have enough words in common, in order."""
    keys = [frozenset(token.key for token in one.tokens) for one in known]
    holders = defaultdict[str, list[int]](list)
    for number, own in enumerate(keys):
        shared = Counter(other for key in own for other in holders[key])
        for other in sorted(shared):
            enough = 2 * shared[other] >= _SHARED_FROM * (len(own) + len(keys[other]))
            if enough and documents[known[other].passage] != documents[known[number].passage]:
                yield other, number
        for key in own:
            holders[key].append(number)


def _conflict(one: _Sentence, other: _Sentence) -> Conflict | None:
    """Return what two sentences disagree on; None if they agree, or differ in more than one thing."""
    mine, theirs = one.tokens, other.tokens
    matcher = SequenceMatcher(None, [token.key for token in mine], [token.key for token in theirs], autojunk=False)
    alike = matcher.ratio() if one.text != other.text else 0.0
    if alike < ALIKE_FROM:
        return None
    blocks = matcher.get_matching_blocks()
    pairs = [_Pair(mine[a + at], theirs[b + at]) for a, b, size in blocks for at in range(size)]
    words = sum(_weight(pair.left) for pair in pairs)
    differing = _differing(pairs)
    replaced = _replaced(one, other, matcher.get_opcodes())
    if words < WORDS_FROM or len(differing) + len(replaced) > 1:
        return None
    if differing:
        pair = differing[0]
        kind = pair.left.key[1:].partition(" ")[0]
        is_one = kind != "code" and _exclusive(pair, mine, theirs)
        return Conflict(kind, _span(one, pair.left), _span(other, pair.right)) if is_one else None
    if replaced:
        is_one = alike >= NAMES_ALIKE_FROM and words >= NAMES_WORDS_FROM and _is_name(one, other, replaced[0])
        return Conflict("name", _span(one, replaced[0].left), _span(other, replaced[0].right)) if is_one else None
    if alike >= DENIAL_ALIKE_FROM and (len(one.denials) - len(other.denials)) % 2:
        return Conflict("yes_no", _span(one, *one.denials[:1]), _span(other, *other.denials[:1]))
    return None


def _weight(token: _Token) -> float:
    if token.value is not None:
        return 0.0
    return 0.5 if _CJK.match(token.key) else 1.0


def _differing(pairs: Sequence[_Pair]) -> list[_Pair]:
    """Return the values in the same place that are not the same, equal differences once."""
    found = {(pair.left.key, pair.left.value, pair.right.value): pair for pair in pairs if not _same(*pair)}
    return list({(key, str(one), str(other)): pair for (key, one, other), pair in found.items()}.values())


def _replaced(one: _Sentence, other: _Sentence, steps: Sequence[tuple[str, int, int, int, int]]) -> list[_Pair]:
    """Return the runs of telling words of which each sentence has its own, equal ones once."""
    found: dict[tuple[str, str], _Pair] = {}
    for step, a, a_end, b, b_end in steps:
        mine, theirs = one.tokens[a:a_end], other.tokens[b:b_end]
        if step != "replace" or not (_is_telling(mine) and _is_telling(theirs)):
            continue
        left, right = _run(mine), _run(theirs)
        here, there = one.text[left.start : left.end], other.text[right.start : right.end]
        if here not in other.text and there not in one.text:
            found[here, there] = _Pair(left, right)
    return list(found.values())


def _run(tokens: Sequence[_Token]) -> _Token:
    has_value = any(token.value is not None for token in tokens)
    return _Token("value" if has_value else "", tokens[0].start, tokens[-1].end)


def _is_telling(tokens: Sequence[_Token]) -> bool:
    return any(token.key not in _FUNCTION for token in tokens)


def _is_name(one: _Sentence, other: _Sentence, pair: _Pair) -> bool:
    """Whether what was replaced is a name on both sides: capitalised inside a sentence, or characters without case."""
    return all(
        not run.key and _is_named(sentence.text[run.start : run.end], is_first=run.start == sentence.tokens[0].start)
        for sentence, run in ((one, pair.left), (other, pair.right))
    )


def _is_named(text: str, *, is_first: bool) -> bool:
    words = _TOKEN.findall(text)
    if len(words) > _LONGEST_NAME:
        return False
    return all(_CJK.match(word) or (word[0].isupper() and not is_first) for word in words)


def _exclusive(pair: _Pair, mine: Sequence[_Token], theirs: Sequence[_Token]) -> bool:
    """Whether two values cannot both hold: neither is in the other sentence, and they can be compared."""
    left, right = pair
    if any(_same(left, token) for token in theirs) or any(_same(token, right) for token in mine):
        return False
    if isinstance(left.value, Date) and isinstance(right.value, Date):
        return any(a and b for a, b in zip(left.value.parts, right.value.parts, strict=True))
    return True


def _same(left: _Token, right: _Token) -> bool:
    if isinstance(left.value, Quantity) and isinstance(right.value, Quantity):
        return left.value.value == right.value.value
    if isinstance(left.value, Date) and isinstance(right.value, Date):
        return left.value.agrees(right.value)
    return left.key == right.key and left.value == right.value


def _span(sentence: _Sentence, token: _Token | None = None) -> ConflictSpan:
    value = sentence.text[token.start : token.end] if token else ""
    return ConflictSpan(
        sentence.passage, sentence.start, sentence.start + len(sentence.text), sentence.text, value.strip()
    )
