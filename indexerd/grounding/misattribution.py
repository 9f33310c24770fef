"""What a claim says of the wrong thing: right values and names that its passages put elsewhere.

Owns: what a passage holds together (a value and the words of its clause; a sentence, clause, record or cell), which
    of these stand beside each other, and when a claim takes one part from the one and another from the other.
Knows nothing of: scores, bands, what no passage holds.
Invariants: 1. what a passage holds together is never mixed. 2. only values of one kind stand in each other's place.
    3. a claim that speaks of both sides in one place mixes nothing, unless it lists them.
Purity: pure.
See: docs/grounding.md (values).
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import combinations, islice, permutations
from typing import Final, NamedTuple

from indexerd.grounding.alignment import Part, Said, aligned, comparable, same, telling_words
from indexerd.grounding.polarity import directions
from indexerd.grounding.records import MAX_RECORDS, Record, records
from indexerd.grounding.sentences import PRONOUN, Span, clauses, is_fenced, is_row, sentences
from indexerd.grounding.values import Value, all_values


class PlacedValue(NamedTuple):
    """A value, what it is said of, the words before its clause, the number of its sentence, and its clause."""

    value: Value
    words: frozenset[str]
    before: frozenset[str]
    sentence: int
    clause: str


Word = tuple[int, int, str]

_CLAUSE_END: Final = re.compile(
    r"[,;:](?!\d)|[.!?|](?=\s)|[(（)），；：、。！？]|\b(?:and|or|but|while|whereas)\b|和|与|而", re.IGNORECASE
)
# A sentence of more values is a table: what each is of is not to be told.
_MOST_VALUES: Final = 64
# So many sentences away another value may be of the same.
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


def _kind(value: Value) -> str:
    """Return what a value can stand in the place of: a bare year is a date."""
    return "date" if value.date else value.kind


def _excludes(one: Value, other: Value) -> bool:
    """Whether two values of one kind cannot both hold; a year and a month can."""
    if one.date and other.date:
        return any(a and b and a != b for a, b in zip(one.date, other.date, strict=True))
    return one.key != other.key


def _gives(one: Value, claimed: Value) -> bool:
    """Whether a value gives a claimed one of its kind: a day gives its year."""
    if one.date and claimed.date:
        return all(not b or a == b for a, b in zip(one.date, claimed.date, strict=True))
    return one.key == claimed.key


def placed_values(text: str, language: str) -> tuple[PlacedValue, ...]:
    """Return the values of a text with the words of their clauses; one between those of two values is of both."""
    ordered = all_values(text)
    said = [word for word in telling_words(text, language) if not _covers(ordered, word)] if ordered else []
    found = list[PlacedValue]()
    for number, span in enumerate(sentences(text)):
        own = said[bisect_left(said, (span.start,)) : bisect_left(said, (span.end,))]
        inside = ordered[_from(ordered, span.start) : _from(ordered, span.end)]
        for values, reach in _clauses(text, span, inside if len(inside) <= _MOST_VALUES else (), own):
            words = {term for start, _, term in own if reach.start <= start < reach.end}
            for value in values:
                beside = {str(other.key) for other in values if other.key != value.key}
                lent = frozenset(term for start, _, term in own if start < value.start)
                clause = text[reach.start : reach.end]
                found.append(PlacedValue(value, frozenset(words | beside), lent, number, clause))
    return tuple(found)


def _from(values: Sequence[Value], at: int) -> int:
    return bisect_left(values, at, key=lambda one: one.start)


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


def misplaced(claim: Iterable[PlacedValue], passages: Sequence[PlacedValue]) -> Iterator[Value]:
    """Yield the values that passages hold, but of something else.

    So it is where another value stands near, and that one is said of more of the claim's words: of all that the claim's
    value is said of there, save what both sentences' beginnings lend it, and of further ones.
    """
    for value, words, *_ in islice(claim, _MOST_VALUES):
        alike = [one for one in passages if _kind(one.value) == _kind(value)]
        same_there = [one for one in alike if _gives(one.value, value)]
        if not same_there:
            # Where one has a unit that is known and the other none, one number is the same, if it is of the same.
            bare = (one for one in passages if "" in (one.value.kind, value.kind))
            same_there = [one for one in bare if one.value.number == value.number]
            if same_there and all(one.words and not one.words & words for one in same_there):
                yield value
                continue
        held = frozenset[str]().union(*(one.words for one in same_there))
        told = words & held
        near = {one.sentence + step for one in same_there for step in range(-_NEAR, _NEAR + 1)}
        for other in (one for one in alike if one.sentence in near and _excludes(one.value, value)):
            more = words & other.words
            # In one sentence the second of two parts often leaves out what the first says of both.
            is_left_out = bool(more - held) and any(
                one.sentence == other.sentence and one.words - words for one in same_there
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
                one for one in all_values(claim) if match.start() <= one.start < match.end() and one.kind != "rate"
            ]
            yield from inside or [Value("name", "", *match.span())]


def _ways(text: str, language: str) -> Iterator[tuple["re.Match[str]", tuple[frozenset[str], frozenset[str]]]]:
    """Yield where something goes from one thing to another, with the words that only the one and the other have."""
    words, values = telling_words(text, language), [one for one in all_values(text) if one.kind != "rate"]
    for match in (match for way in _WAYS for match in way.finditer(text)):
        one, other = (
            frozenset(str(value.key) for value in values if start <= value.start < end)
            or frozenset(term for at, _, term in words if start <= at < end)
            for start, end in (match.span("one"), match.span("other"))
        )
        yield match, (one - other, other - one)


def moved_against(claim: Iterable[PlacedValue], passages: Sequence[PlacedValue]) -> bool:
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


# Two sentences have one shape when so much of them is the same; of short ones less, if each word has its counterpart.
ALIKE_FROM: Final = 0.55
EVEN_ALIKE_FROM: Final = 0.3
_SHORT: Final = 12
# Of longer passages the first are compared.
MAX_TEXTS: Final = 500
MAX_PAIRS: Final = 2000
_MOST: Final = 0.5
# A cell of more words, or characters, is a description, not a name.
_LONGEST_NAME: Final = 8
_REASONS: Final = {"#number": "numbers", "#version": "numbers", "#date": "dates", "#yes_no": "polarity"}


class Parallel(NamedTuple):
    """Two texts of one shape, with what stands in the same places of both."""

    one: Said
    other: Said
    places: tuple[tuple[Part, Part], ...]


class _Under(Said):
    """A text under a heading."""

    def __init__(self, text: str, language: str, heading: str) -> None:
        super().__init__(text, language)
        self.heading = Said(heading, language)
        self.whole = Said(f"{heading}\n{text}", language)


class Parallels(NamedTuple):
    """Passages, read for what stands beside what.

    Attributes:
        together: Texts of which each holds together what it holds.
    """

    together: tuple[Said, ...]
    pairs: tuple[Parallel, ...]


def parallels_of(passages: Iterable[str], language: str) -> tuple[Parallels, ...]:
    """Read passages: sentences and records, the clauses of sentences, and the columns of tables."""
    texts, parts, rows = list[_Under](), list[_Under](), list[Record]()
    for number, passage in enumerate(passages):
        rows += (row._replace(block=(number, *row.block)) for row in records(passage))
        for heading, text in _texts(passage):
            texts.append(_Under(text, language, heading))
            parts += (_Under(part, language, heading) for part in clauses(text) or (text,))
    del rows[MAX_RECORDS:]
    whole = [Said(" ".join((*row.columns, *row.cells)), language) for row in rows]
    numbers = (pair for pair in combinations(range(len(rows)), 2) if rows[pair[0]].block == rows[pair[1]].block)
    of_rows = (
        Parallel(whole[one], whole[other], _of_cells(rows[one].cells, rows[other].cells, language))
        for one, other in islice(numbers, MAX_PAIRS)
    )
    return (
        Parallels((*(text.whole for text in texts), *whole), (*_alike(texts), *_telling(of_rows))),
        Parallels((*(part.whole for part in parts), *whole), tuple(_alike(parts))),
        _of_columns(rows, language),
    )


def _alike(texts: Sequence[_Under]) -> Iterator[Parallel]:
    pairs = islice(comparable([one.sentence for one in texts[:MAX_TEXTS]], EVEN_ALIKE_FROM), MAX_PAIRS)
    beside = ((texts[one], texts[other]) for one, other in pairs)
    return _telling(Parallel(one, other, _places(one, other)) for one, other in beside)


def _telling(pairs: Iterable[Parallel]) -> Iterator[Parallel]:
    return (pair for pair in pairs if len(pair.places) > 1)


def _texts(passage: str) -> Iterator[tuple[str, str]]:
    """Yield headings and what stands under them: sentences, with the one before where they begin with a word for it."""
    before, heading = 0, ""
    for start, end in sentences(passage):
        if passage.startswith("#", start):
            heading = passage[start:end]
        elif not (is_fenced(passage[start:end]) or is_row(passage[start:end])):
            yield heading, passage[before if PRONOUN.match(passage, start) else start : end]
        before = start


def _places(one: _Under, other: _Under) -> tuple[tuple[Part, Part], ...]:
    is_short = max(len(one.sentence.tokens), len(other.sentence.tokens)) <= _SHORT
    found = aligned(one.sentence, other.sentence, EVEN_ALIKE_FROM if is_short else ALIKE_FROM)
    if found is None or (found.alike < ALIKE_FROM and not found.is_even):
        return ()
    pairs = [(one.part(*left[1:3]), other.part(*right[1:3])) for left, right in (*found.differing, *found.replaced)]
    headings = (each.heading.part(0, len(each.heading.text)) for each in (one, other))
    return _apart([*pairs, (next(headings), next(headings))])


def _of_cells(one: Sequence[str], other: Sequence[str], language: str) -> tuple[tuple[Part, Part], ...]:
    return _apart((_name(left, language), _name(right, language)) for left, right in zip(one, other, strict=False))


def _apart(pairs: Iterable[tuple[Part, Part]]) -> tuple[tuple[Part, Part], ...]:
    """Return the pairs of parts without what both sides have, where something is left of both."""
    kept = ((_without(one, other), _without(other, one)) for one, other in pairs if one != other)
    return tuple(pair for pair in kept if all(pair))


def _without(one: Part, other: Part) -> Part:
    values = tuple(value for value in one.values if not any(same(value, known) for known in other.values))
    return one._replace(values=values, words=one.words - other.words)


@lru_cache(maxsize=4096)
def _name(cell: str, language: str) -> Part:
    said = Said(cell, language)
    return said.part(0, len(cell)) if cell and len(said.sentence.tokens) <= _LONGEST_NAME else Part()


def _of_columns(rows: Sequence[Record], language: str) -> Parallels:
    """Return the cells of tables with their columns; two of one row, both with values or both without, are a pair."""
    together, pairs = list[Said](), list[Parallel]()
    for row in rows:
        named = list(zip(row.columns, row.cells, strict=False))[1:]
        said = [Said(" ".join(each), language) for each in named]
        together += said
        for one, other in islice(combinations(range(len(named)), 2), MAX_PAIRS - len(pairs)):
            pairs.append(Parallel(said[one], said[other], _of_cells(named[one], named[other], language)))
    kept = (pair for pair in _telling(pairs) if len({bool(side.values) for side in pair.places[-1]}) == 1)
    return Parallels(tuple(together), tuple(kept))


def swapped(claim: str, parallels: Iterable[Parallels], language: str) -> Iterator[tuple[str, str]]:
    """Yield what a claim, or a clause of it, takes from the other side: the code of the reason, and as it writes it."""
    for said in (Said(claim, language), *(Said(clause, language) for clause in clauses(claim))):
        for each in parallels:
            for beside in each.pairs:
                for pair in _mixed(said, beside):
                    if not _joined(pair, each.together):
                        yield from _told(said, pair)


def _told(said: Said, pair: tuple[Part, Part]) -> Iterator[tuple[str, str]]:
    for part in [part for part in pair if part.values] or pair:
        kind = part.values[0].key.partition(" ")[0] if part.values else ""
        yield _REASONS.get(kind, "names"), said.written(part)


def _mixed(said: Said, beside: Parallel) -> Iterator[tuple[Part, Part]]:
    held = [(said.share(one), said.share(other)) for one, other in beside.places]
    for at, to in permutations(range(len(held)), 2):
        is_mixed = held[at][0] >= _MOST and held[to][1] >= _MOST and not held[at][1]
        is_other = is_mixed and (not held[to][0] or said.lists(*beside.places[to]))
        if is_other and said.shared(beside.one, beside.other) >= _MOST:
            yield beside.places[at][0], beside.places[to][1]


def _joined(pair: tuple[Part, Part], together: Iterable[Said]) -> bool:
    return any(all(one.share(part) >= _MOST for part in pair) for one in together)
