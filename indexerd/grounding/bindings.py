"""Which of a text's exact values is said of what: right numbers on the wrong thing are told from right ones.

Owns: a text's exact values, the words that each is bound to, and when a passage gives them another value.
Knows nothing of: scores, bands.
Invariants: 1. a value that a passage gives for all of the claim's words is never misplaced. 2. only values of one
    kind stand in each other's place.
Purity: pure.
See: docs/grounding.md (values).
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Container, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice, pairwise
from typing import Final, NamedTuple

from indexerd.grounding.dates import Date, dates
from indexerd.grounding.polarity import directions, limit
from indexerd.grounding.sentences import PRONOUN, Span, sentences
from indexerd.grounding.shapes import CJK, telling_words
from indexerd.grounding.values import Exact, Quantity, exacts, measure, quantities


class Value(NamedTuple):
    """An exact value: its kind, what it is compared by, where it stands, whether it is the most or least, its number.

    A bare year and a number without a known unit have the number alone for a key.
    """

    kind: str
    key: object
    start: int
    end: int
    limit: str = ""
    limit_start: int = 0
    limit_end: int = 0
    number: float | None = None


class Bound(NamedTuple):
    """A value, what it is said of, the words before its clause, the number of its sentence, and its clause."""

    value: Value
    words: frozenset[str]
    before: frozenset[str]
    sentence: int
    clause: str


Word = tuple[int, int, str]

# What the weights were fitted without.
NO_COUNT: Final = frozenset(("clock", "code", "part", "calendar"))
EXACT_KINDS: Final = NO_COUNT | {"order", "span", "rate"}
_YEARS: Final = range(1500, 2101)

# Units that stand in each other's place.
_KINDS: Final = {
    unit: kind
    for kind in ("ms s min h d wk mo y", "KB KiB MB MiB GB GiB TB B", "mg g kg", "mm cm m km")
    for unit in kind.split()
}

_CLAUSE_END: Final = re.compile(
    r"[,;:](?!\d)|[.!?|](?=\s)|[(（)），；：、。！？]|\b(?:and|or|but|while|whereas)\b|和|与|而", re.IGNORECASE
)
# What follows a value at once is its own: `two senior testers`, 三名测试人员.
_OWN_WORDS: Final = 3
_OWN_CHARACTERS: Final = 6
_LISTED: Final = re.compile(r"[-*+•|]|\(?\d{1,3}[.)]\s")
# A sentence of more values is a table: what each is of is not to be told.
_MOST_VALUES: Final = 64
_NEAR: Final = 1
# From one to another, or to the other from the one.
_END_OF_WAY: Final = r"(?:[^.,;。，；\n]|[.,](?=\d)){1,40}"
_WAYS: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"(?:\bfrom\s|[从由])(?P<one>{_END_OF_WAY}?)(?:\bto\s|[至到]|[前飞开]往)(?P<other>{_END_OF_WAY})",
        rf"\bto\s(?P<other>{_END_OF_WAY}?)\bfrom\s(?P<one>{_END_OF_WAY})",
    )
)
_JOINT: Final = re.compile(r"[\s-]*")


def counted(text: str, apart: Container[str] = EXACT_KINDS) -> tuple[Quantity, ...]:
    """Return the quantities that are no part of what is exact in another way: a time of day, a place in an order."""
    inside = [one for one in exacts(text) if one.kind in apart]
    return tuple(one for one in quantities(text) if not within(one, inside))


def within(one: Quantity | Exact | Date, others: Sequence[Exact | Date]) -> bool:
    """Whether it lies in the last of the others, which are in order, that begins no later."""
    at = bisect_right(others, one.start, key=lambda other: other.start)
    return at > 0 and one.end <= others[at - 1].end


@lru_cache(maxsize=4096)
def exact_values(text: str) -> tuple[Value, ...]:
    """Return the exact values of a text in order; a date is one."""
    days = dates(text)
    found = [Value("date", one.parts, one.start, one.end) for one in days]
    found += [Value(one.kind, one.key, one.start, one.end) for one in exacts(text) if not within(one, days)]
    found += [
        Value(
            _KINDS.get(one.unit, one.unit) or ("year" if one.value in _YEARS else ""),
            measure(one) if one.unit in _KINDS else one.value,
            one.start,
            one.end,
            number=one.value,
        )
        for one in counted(text)
        if not within(one, days)
    ]
    limited = (Value(*one[:4], *limit(text, one.start, one.end), one.number) for one in found)
    return tuple(sorted(limited, key=lambda one: one.start))


def _excludes(one: Value, other: Value) -> bool:
    """Whether two values of one kind cannot both hold; a year and a month can."""
    if one.kind == "date" and isinstance(one.key, tuple) and isinstance(other.key, tuple):
        return any(a and b and a != b for a, b in zip(one.key, other.key, strict=True))
    return one.key != other.key


def _dated(one: Bound) -> Bound:
    """Return a bare year as the date that it is."""
    value = one.value
    if value.kind != "year" or not isinstance(value.key, float):
        return one
    return one._replace(value=value._replace(kind="date", key=(int(value.key), 0, 0)))


def _is_same(one: Value, claimed: Value) -> bool:
    """Whether a value of the kind that a claimed one has bears it: a day bears its year."""
    if one.kind == "date" and isinstance(one.key, tuple) and isinstance(claimed.key, tuple):
        return all(not b or a == b for a, b in zip(one.key, claimed.key, strict=True))
    return one.key == claimed.key


def _is_same_number(one: Value, claimed: Value) -> bool:
    """Whether both are one number, of which one has a unit that is known and the other has none."""
    return "" in (one.kind, claimed.kind) and one.number == claimed.number is not None


def bound(text: str, language: str) -> tuple[Bound, ...]:
    """Return the values of a text with the words of their clauses.

    Clauses between those of two values belong to both. Where a clause has several values, what follows one at once is
    its own, and all else is said of each.
    """
    ordered, words = exact_values(text), telling_words(text, language)
    if not ordered:
        return ()
    said = [word for word in words if not _covers(ordered, word)]
    found, number, before, is_listed = list[Bound](), 0, list[Word](), False
    for span in sentences(text):
        # The items of a list, and the rows of a table, stand beside each other like the parts of one sentence.
        was_listed, is_listed = is_listed, bool(_LISTED.match(text, span.start))
        number += not (was_listed and is_listed)
        own = _between(said, span)
        own = [*before, *own] if PRONOUN.match(text, span.start) else own
        inside = ordered[_from(ordered, span.start) : _from(ordered, span.end)]
        for clause, reach in _clauses(text, span, inside if len(inside) <= _MOST_VALUES else (), own):
            said_there = [word for word in own if word[0] < span.start or reach.start <= word[0] < reach.end]
            for value, of in _within(text, clause, said_there):
                lent = frozenset(term for start, _, term in own if start < value.start)
                found.append(Bound(value, of, lent, number, text[reach.start : reach.end]))
        before = _subject(own)
    return tuple(found)


def _subject(words: Sequence[Word]) -> list[Word]:
    """Return the words that a sentence begins with, up to the first that stands apart: what `it` is in the next one."""
    at = next((at for at, (one, other) in enumerate(pairwise(words), 1) if other[0] > one[1] + 1), len(words))
    return list(words[:at])


def _from(values: Sequence[Value], at: int) -> int:
    return bisect_left(values, at, key=lambda one: one.start)


def _between(words: Sequence[Word], span: Span) -> list[Word]:
    return list(words[bisect_left(words, (span.start,)) : bisect_left(words, (span.end,))])


def _covers(values: Sequence[Value], word: Word) -> bool:
    """Whether a word is of the last value that begins before its end."""
    at = _from(values, word[1])
    return at > 0 and values[at - 1].end > word[0]


def _clauses(
    text: str, span: Span, values: Sequence[Value], words: Sequence[Word]
) -> Iterator[tuple[list[Value], Span]]:
    """Part the values of a sentence by clauses that say something, each with its reach."""
    start, clause = span.start, list(values[:1])
    for value in values[1:]:
        ends = list(_CLAUSE_END.finditer(text, clause[-1].end, value.start))
        if ends and _has_word(words, start, ends[0].start()) and _has_word(words, ends[-1].end(), span.end):
            yield clause, Span(start, ends[-1].start() if len(ends) > 1 else ends[0].start())
            start, clause = ends[0].end(), []
        clause.append(value)
    if clause:
        yield clause, Span(start, span.end)


def _has_word(words: Sequence[Word], start: int, end: int) -> bool:
    return any(start <= at < end for at, _, _ in words)


def _within(text: str, values: Sequence[Value], words: Sequence[Word]) -> Iterator[tuple[Value, frozenset[str]]]:
    """Yield the values of a clause, each with what it is said of."""
    owned = [_own(text, value, words) for value in values]
    for at in range(len(values) - 2, -1, -1):
        owned[at] = owned[at] or owned[at + 1]
    shared = frozenset(words) - frozenset[Word]().union(*owned)
    for value, own in zip(values, owned, strict=True):
        beside = {str(other.key) for other in values if other.key != value.key}
        yield value, frozenset({term for _, _, term in (*shared, *own)} | beside)


def _own(text: str, value: Value, words: Sequence[Word]) -> frozenset[Word]:
    """Return the words that follow a value with nothing between."""
    own, end = list[Word](), value.end
    for word in words:
        if word[0] < value.end:
            continue
        is_near = word[0] < value.end + _OWN_CHARACTERS if CJK.match(word[2]) else len(own) < _OWN_WORDS
        if not is_near or (word[0] > end and not _JOINT.fullmatch(text, end, word[0])):
            break
        own.append(word)
        end = max(end, word[1])
    return frozenset(own)


def misplaced(claim: Iterable[Bound], passages: Sequence[Bound]) -> Iterator[Value]:
    """Yield the values that passages hold, but of something else.

    So it is where another value stands near, and that one is said of more of the claim's words: of all that the claim's
    value is said of there, save what both sentences' beginnings lend it, and of further ones.
    """
    passages = [*map(_dated, passages)]
    for value, words, *_ in map(_dated, islice(claim, _MOST_VALUES)):
        alike = [one for one in passages if one.value.kind == value.kind]
        same = [one for one in alike if _is_same(one.value, value)]
        same = same or [one for one in passages if _is_same_number(one.value, value)]
        held = frozenset[str]().union(*(one.words for one in same))
        told = words & held
        near = {one.sentence + step for one in same for step in range(-_NEAR, _NEAR + 1)}
        for other in alike:
            if other.sentence not in near or not _excludes(other.value, value):
                continue
            more = words & other.words
            # In one sentence the second of two parts often leaves out what the first says of both.
            is_left_out = bool(more - held) and any(
                one.sentence == other.sentence and one.words - words for one in same
            )
            if (len(more) > len(told) or is_left_out) and told <= more | other.before:
                yield value
                break


def turned(claim: str, passages: str, language: str) -> Iterator[Value]:
    """Yield the ends of what a claim says went from one thing to another, and the passages from that to the one."""
    there = [ends for _, ends in _ways(passages, language)]
    for match, (one, other) in _ways(claim, language):
        is_turned = any(one & last and other & first and not one & first for first, last in there)
        if is_turned and not any(one & first and other & last for first, last in there):
            inside = [
                one for one in exact_values(claim) if match.start() <= one.start < match.end() and one.kind != "rate"
            ]
            yield from inside or [Value("name", "", *match.span())]


def _ways(text: str, language: str) -> Iterator[tuple["re.Match[str]", tuple[frozenset[str], frozenset[str]]]]:
    """Yield where something goes from one thing to another, with the words that only the one and the other have."""
    words, values = telling_words(text, language), [one for one in exact_values(text) if one.kind != "rate"]
    for match in (match for way in _WAYS for match in way.finditer(text)):
        one, other = (
            frozenset(str(value.key) for value in values if start <= value.start < end)
            or frozenset(term for at, _, term in words if start <= at < end)
            for start, end in (match.span("one"), match.span("other"))
        )
        yield match, (one - other, other - one)


def moved_against(claim: Iterable[Bound], passages: Sequence[Bound]) -> bool:
    """Whether a claim lets rise by a value what falls in the passages, or has for the least what there is the most."""
    for one in islice(claim, _MOST_VALUES):
        own = directions(one.clause)
        same = [other for other in passages if other.value[:2] == one.value[:2]]
        there = [directions(other.clause) for other in same]
        if there and own[0] != own[1] and all(each == (own[1], own[0]) for each in there):
            return True
        limits = {other.value.limit for other in same} - {one.value.limit}
        if same and one.value.limit and "" not in limits and all(other.value.limit in limits for other in same):
            return True
    return False
