"""Passages that disagree: two sentences that say the same thing with another value.

Owns: which values are of the same thing, and when two of them cannot both hold.
Knows nothing of: citations, documents, which of the two is right.
Invariants: 1. the order of the passages decides only which side comes first. 2. a quote is the text of its passage
    between its offsets. 3. sentences that differ in more than one thing are no conflict: each explains the other.
Purity: pure.
See: docs/grounding.md (conflicts), benchmarks/bench_grounding.py for recall and false alarms.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import islice
from typing import Final, NamedTuple

from indexerd.grounding.alignment import CJK, WORD, Pair, Sentence, Token, aligned, comparable, same, sentence_of
from indexerd.grounding.sentences import sentences
from indexerd.grounding.values import Value

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


# What is no prose: fences, tables, headings, front matter, commands of a template.
_NO_PROSE: Final = re.compile(r"\s*(?:```|~~~|---|\||\+[-+]|#|\{\{|<|!\[)")


def conflicts(passages: Sequence[str], documents: Sequence[str] = ()) -> tuple[Conflict, ...]:
    """Return the conflicts between passages, in their order; two sentences have one at most.

    Args:
        passages: Texts. Of more than `MAX_SENTENCES` sentences, or `MAX_PAIRS` pairs that are alike, the first are
            compared.
        documents: What each is from; passages of one document are not compared: its parallel statements are of
            different things. Without it each is from its own.
    """
    known = _read(tuple(passages))
    source = documents or range(len(passages))
    pairs = (
        (known[one], known[other])
        for one, other in comparable(known, _SHARED_FROM)
        if source[known[one].passage] != source[known[other].passage]
    )
    found = (_conflict(*pair) for pair in islice(pairs, MAX_PAIRS))
    return tuple(conflict for conflict in found if conflict is not None)


@lru_cache(maxsize=8)
def _read(passages: tuple[str, ...]) -> tuple[Sentence, ...]:
    every = (
        sentence_of(text, number, span.start)
        for number, passage in enumerate(passages)
        for span in sentences(passage)
        for text in (passage[span.start : span.end],)
        if not _NO_PROSE.match(text)
    )
    return tuple(islice(every, MAX_SENTENCES))


def _conflict(one: Sentence, other: Sentence) -> Conflict | None:
    """Return what two sentences disagree on; None if they agree, or differ in more than one thing."""
    found = aligned(one, other, ALIKE_FROM)
    if found is None or found.words < WORDS_FROM or len(found.differing) + len(found.replaced) > 1:
        return None
    if found.differing:
        pair = found.differing[0]
        kind = pair.left.key[1:].partition(" ")[0]
        is_one = kind != "code" and _exclusive(pair, one.tokens, other.tokens)
        return Conflict(kind, _span(one, pair.left), _span(other, pair.right)) if is_one else None
    if found.replaced:
        pair = found.replaced[0]
        is_long = found.alike >= NAMES_ALIKE_FROM and found.words >= NAMES_WORDS_FROM
        is_one = is_long and _is_name(one, other, pair)
        return Conflict("name", _span(one, pair.left), _span(other, pair.right)) if is_one else None
    if found.alike >= DENIAL_ALIKE_FROM and (len(one.denials) - len(other.denials)) % 2:
        return Conflict("yes_no", _span(one, *one.denials[:1]), _span(other, *other.denials[:1]))
    return None


def _is_name(one: Sentence, other: Sentence, pair: Pair) -> bool:
    """Whether what was replaced is a name on both sides: capitalised inside a sentence, or characters without case."""
    return all(
        not run.key and _is_named(sentence.text[run.start : run.end], is_first=run.start == sentence.tokens[0].start)
        for sentence, run in ((one, pair.left), (other, pair.right))
    )


def _is_named(text: str, *, is_first: bool) -> bool:
    words = WORD.findall(text)
    if len(words) > _LONGEST_NAME:
        return False
    return all(CJK.match(word) or (word[0].isupper() and not is_first) for word in words)


def _exclusive(pair: Pair, mine: Sequence[Token], theirs: Sequence[Token]) -> bool:
    """Whether two values cannot both hold: neither is in the other sentence, and they can be compared."""
    left, right = pair
    if any(same(left, token) for token in theirs) or any(same(token, right) for token in mine):
        return False
    if isinstance(left.value, Value) and isinstance(right.value, Value) and left.value.date and right.value.date:
        return any(a and b for a, b in zip(left.value.date, right.value.date, strict=True))
    return True


def _span(sentence: Sentence, token: Token | None = None) -> ConflictSpan:
    value = sentence.text[token.start : token.end] if token else ""
    return ConflictSpan(
        sentence.passage, sentence.start, sentence.start + len(sentence.text), sentence.text, value.strip()
    )
