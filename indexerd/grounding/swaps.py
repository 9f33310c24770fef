"""What a claim takes from two sentences or records of one shape: the one's name with the other's value.

Owns: which sentences and records stand beside each other, what is in the same place of two, and which
    claims mix them.
Knows nothing of: scores, bands, reasons.
Invariants: 1. what one sentence or record holds together is never mixed. 2. a claim that speaks of both sides in one
    place mixes nothing, unless it lists them.
Purity: pure.
See: docs/grounding.md (values).
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import combinations, islice, permutations
from typing import Final, NamedTuple

from indexerd.grounding.records import MAX_RECORDS, Record, records
from indexerd.grounding.sentences import PRONOUN, clauses, is_fenced, is_row, sentences
from indexerd.grounding.shapes import Part, Said, aligned, comparable, same

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
_CODES: Final = {"#number": "numbers", "#version": "numbers", "#date": "dates", "#yes_no": "polarity"}


class Place(NamedTuple):
    """What stands in the same place of two sentences or records."""

    one: Part
    other: Part


class Beside(NamedTuple):
    """Two texts of one shape, with what stands in the same places of both."""

    one: Said
    other: Said
    places: tuple[Place, ...]


class _Under(Said):
    """A text under a heading."""

    def __init__(self, text: str, language: str, heading: str) -> None:
        super().__init__(text, language)
        self.heading = Said(heading, language)
        self.whole = Said(f"{heading}\n{text}", language)


class Shapes(NamedTuple):
    """Passages, read for what stands beside what.

    Attributes:
        together: Texts of which each holds together what it holds.
    """

    together: tuple[Said, ...]
    pairs: tuple[Beside, ...]


def shapes_of(passages: Iterable[str], language: str) -> tuple[Shapes, ...]:
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
        Beside(whole[one], whole[other], _of_cells(rows[one].cells, rows[other].cells, language))
        for one, other in islice(numbers, MAX_PAIRS)
    )
    return (
        Shapes((*(text.whole for text in texts), *whole), (*_alike(texts), *_telling(of_rows))),
        Shapes((*(part.whole for part in parts), *whole), tuple(_alike(parts))),
        _of_columns(rows, language),
    )


def _alike(texts: Sequence[_Under]) -> Iterator[Beside]:
    pairs = islice(comparable([one.sentence for one in texts[:MAX_TEXTS]], EVEN_ALIKE_FROM), MAX_PAIRS)
    beside = ((texts[one], texts[other]) for one, other in pairs)
    return _telling(Beside(one, other, _places(one, other)) for one, other in beside)


def _telling(pairs: Iterable[Beside]) -> Iterator[Beside]:
    return (
        pair for pair in pairs if len(pair.places) > 1 or (pair.places and _denies(pair.one) != _denies(pair.other))
    )


def _denies(said: Said) -> bool:
    return len(said.sentence.denials) % 2 == 1


def _texts(passage: str) -> Iterator[tuple[str, str]]:
    """Yield headings and what stands under them: sentences, with the one before where they begin with a word for it."""
    before, heading = 0, ""
    for start, end in sentences(passage):
        if passage.startswith("#", start):
            heading = passage[start:end]
        elif not (is_fenced(passage[start:end]) or is_row(passage[start:end])):
            yield heading, passage[before if PRONOUN.match(passage, start) else start : end]
        before = start


def _places(one: "_Under", other: "_Under") -> tuple[Place, ...]:
    is_short = max(len(one.sentence.tokens), len(other.sentence.tokens)) <= _SHORT
    found = aligned(one.sentence, other.sentence, EVEN_ALIKE_FROM if is_short else ALIKE_FROM)
    if found is None or (found.alike < ALIKE_FROM and not found.is_even):
        return ()
    pairs = [(one.part(*left[1:3]), other.part(*right[1:3])) for left, right in (*found.differing, *found.replaced)]
    headings = (each.heading.part(0, len(each.heading.text)) for each in (one, other))
    return _apart([*pairs, (next(headings), next(headings))])


def _of_cells(one: Sequence[str], other: Sequence[str], language: str) -> tuple[Place, ...]:
    return _apart((_name(left, language), _name(right, language)) for left, right in zip(one, other, strict=False))


def _apart(pairs: Iterable[tuple[Part, Part]]) -> tuple[Place, ...]:
    """Return the pairs of parts without what both sides have, where something is left of both."""
    kept = (Place(_without(one, other), _without(other, one)) for one, other in pairs if one != other)
    return tuple(place for place in kept if all(place))


def _without(one: Part, other: Part) -> Part:
    values = tuple(value for value in one.values if not any(same(value, known) for known in other.values))
    return one._replace(values=values, words=one.words - other.words)


@lru_cache(maxsize=4096)
def _name(cell: str, language: str) -> Part:
    said = Said(cell, language)
    return said.part(0, len(cell)) if cell and len(said.sentence.tokens) <= _LONGEST_NAME else Part()


def _of_columns(rows: Sequence[Record], language: str) -> Shapes:
    """Return the cells of tables with their columns; two of one row, both with values or both without, are a pair."""
    together, pairs = list[Said](), list[Beside]()
    for row in rows:
        named = list(zip(row.columns, row.cells, strict=False))[1:]
        said = [Said(" ".join(each), language) for each in named]
        together += said
        for one, other in islice(combinations(range(len(named)), 2), MAX_PAIRS - len(pairs)):
            pairs.append(Beside(said[one], said[other], _of_cells(named[one], named[other], language)))
    kept = (pair for pair in _telling(pairs) if bool(pair.places[-1].one.values) == bool(pair.places[-1].other.values))
    return Shapes(tuple(together), tuple(kept))


def swapped(claim: str, shapes: Iterable[Shapes], language: str) -> Iterator[tuple[str, str]]:
    """Yield what a claim, or a clause of it, takes from the other side: the code of the reason, and as it writes it."""
    for said in (Said(claim, language), *(Said(clause, language) for clause in clauses(claim))):
        for each in shapes:
            for beside in each.pairs:
                if _denied(said, beside):
                    yield "polarity", "denial"
                for pair in _mixed(said, beside):
                    if not _joined(pair, each.together):
                        yield from _told(said, pair)


def _denied(said: Said, beside: Beside) -> bool:
    """Whether a text denies of one side what only the other does, or the other way round."""
    sides = ((beside.one, place.one, place.other) for place in beside.places)
    others = ((beside.other, place.other, place.one) for place in beside.places)
    return (
        _denies(beside.one) != _denies(beside.other)
        and any(
            said.share(own) >= _MOST and not said.share(foreign) and _denies(said) != _denies(side)
            for side, own, foreign in (*sides, *others)
        )
        and said.shared(beside.one, beside.other) >= _MOST
    )


def _told(said: Said, pair: tuple[Part, Part]) -> Iterator[tuple[str, str]]:
    for part in [part for part in pair if part.values] or pair:
        kind = part.values[0].key.partition(" ")[0] if part.values else ""
        yield _CODES.get(kind, "names"), said.written(part)


def _mixed(said: Said, beside: Beside) -> Iterator[tuple[Part, Part]]:
    held = [(said.share(place.one), said.share(place.other)) for place in beside.places]
    for at, to in permutations(range(len(held)), 2):
        is_mixed = held[at][0] >= _MOST and held[to][1] >= _MOST and not held[at][1]
        is_other = is_mixed and (not held[to][0] or said.lists(*beside.places[to]))
        if is_other and said.shared(beside.one, beside.other) >= _MOST:
            yield beside.places[at].one, beside.places[to].other


def _joined(pair: tuple[Part, Part], together: Iterable[Said]) -> bool:
    return any(all(one.share(part) >= _MOST for part in pair) for one in together)
