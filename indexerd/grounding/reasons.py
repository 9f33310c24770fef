"""In which ways passages fall short of a claim: words, numbers, units, dates, names, polarity.

Owns: what counts as missing of each kind, as the claim writes it.
Knows nothing of: scores, bands, spans.
Invariants: 1. a number, unit or date that no passage holds is always named. 2. what is named stands in the claim.
Purity: pure.
See: docs/grounding.md (support).
"""

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from indexerd.grounding.bindings import bound, counted, misplaced, moved_against, turned, within
from indexerd.grounding.passages import Passages
from indexerd.grounding.polarity import denials, denies, directions, names
from indexerd.grounding.shapes import CJK, aligned, sentence_of, telling_words
from indexerd.grounding.swaps import swapped
from indexerd.grounding.values import Exact, dates, exacts, part_key, quantities

_CALENDAR: Final = "calendar"
# A sentence so alike says the same, or the contrary.
_ALIKE_FROM: Final = 0.6
_CONTRARY: Final = {"#yes_no": "polarity", "#code": "names"}
_DAYS: Final = frozenset((_CALENDAR, "date", "year"))
_ASKS: Final = re.compile("什么|多少|哪|谁|吗|呢|几|如何|怎么|怎样|为何|是否|何时|何地")
_QUESTION_FIRST: Final = re.compile(r"(?s)(.*[?？])\s*(\S.*)")


class Reason(NamedTuple):
    """One way in which passages fall short of a claim.

    Attributes:
        code: `terms`, `numbers`, `units`, `dates`, `names` or `polarity`; `length` of a claim too long to be judged.
        missing: What the claim says and no passage does, as the claim writes it.
    """

    code: str
    missing: tuple[str, ...]


def question_and_statement(claim: str) -> tuple[str, str]:
    """Part a claim into the question it repeats, if any, and what it states."""
    if match := _QUESTION_FIRST.fullmatch(claim):
        return match[1], match[2]
    if CJK.search(claim):
        pieces = claim.split()
        asking = [piece for piece in pieces if _ASKS.search(piece)]
        if asking and len(asking) < len(pieces):
            return " ".join(asking), " ".join(piece for piece in pieces if not _ASKS.search(piece))
    return "", claim


def reasons_of(read: Passages, claim: str) -> tuple[Reason, ...]:
    """Return what of a claim is in no passage, or said there of something else."""
    numbers, days = [*_missing_numbers(read, claim)], [*_missing_dates(read, claim)]
    others = [name for name in names(claim) if name.lower() not in read.text.lower()]
    polarity = [*_polarity(read, claim)]
    bearing = read.borne(claim)
    elsewhere = () if bearing else misplaced(bound(claim, read.language), read.bound)
    for one in (*elsewhere, *turned(claim, read.text)):
        (days if one.kind in _DAYS else numbers).append(claim[one.start : one.end])
    mixed = dict[str, list[str]](numbers=numbers, dates=days, names=others, polarity=polarity)
    for code, written in (*_contrary(read, claim), *swapped(claim, read.shapes, read.language)):
        mixed[code] += [written] if not any(written in known for known in mixed[code]) else []
    found = (
        Reason("terms", tuple(_missing_terms(read, claim))),
        Reason("numbers", tuple(dict.fromkeys(numbers))),
        Reason("units", tuple(_other_units(read, claim))),
        Reason("dates", tuple(dict.fromkeys(days))),
        Reason("names", tuple(dict.fromkeys(others))),
        Reason("polarity", tuple(dict.fromkeys(polarity))),
    )
    return tuple(reason for reason in found if reason.missing)


def scattered(read: Passages, claim: str) -> tuple[str, ...]:
    """Return the words that the best sentence lacks, though each is in a passage; all words if it lacks none."""
    claim = read.rewritten(claim)
    missing = read.lacking(claim, frozenset(term for _, _, term in telling_words(read.best(claim), read.language)))
    return tuple(missing) or (claim.strip(),)


def _missing_terms(read: Passages, claim: str) -> Iterable[str]:
    # What is asked need not be in a passage that answers it.
    bearing, (_, statement) = read.borne(claim), question_and_statement(claim)
    return bearing.missing if bearing else read.lacking(read.rewritten(statement), read.terms)


def _missing_numbers(read: Passages, claim: str) -> Iterable[str]:
    days = dates(claim)
    for number in counted(claim):
        if number.value not in read.values and not within(number, days):
            yield claim[number.start : number.end]
    for one in _missing_exact(read, claim):
        if one.kind != _CALENDAR and not within(one, days):
            yield claim[one.start : one.end]


def _missing_exact(read: Passages, claim: str) -> Iterable[Exact]:
    held = {one.key for one in exacts(read.text)}
    held |= {part_key(one.value / 100) for one in quantities(read.text) if one.unit == "%"}
    return (one for one in exacts(claim) if one.key not in held and one.kind != "rate")


def _other_units(read: Passages, claim: str) -> Iterable[str]:
    for one in quantities(claim):
        # A table may give the unit in the heading of a column.
        in_cells = {other.unit for other in read.cells if other.value == one.value and other.unit}
        units = {other.unit for other in quantities(read.text) if other.value == one.value}
        units = (units - {""}) | in_cells if in_cells else units
        if one.unit and units and "" not in units and one.unit not in units:
            yield claim[one.start : one.end]


def _missing_dates(read: Passages, claim: str) -> Iterable[str]:
    known = dates(read.text)
    yield from (claim[one.start : one.end] for one in dates(claim) if not any(map(one.agrees, known)))
    for one in _missing_exact(read, claim):
        # A month within a date is compared with it.
        if one.kind == _CALENDAR and not within(one, dates(claim)):
            yield claim[one.start : one.end]


def _polarity(read: Passages, claim: str) -> Iterable[str]:
    best = read.best(claim)
    bearing = read.borne(claim)
    if bearing:
        # A cell may hold a word of denial, which the claim then has from there.
        own = [
            claim[start:end] for start, end in denials(claim) if claim[start:end].lower() not in bearing.text.lower()
        ]
        is_denied = bool(own) != bearing.denies
    else:
        is_denied = denies(claim) != denies(read.best_clause(claim))
    if is_denied:
        yield "denial"
    rises, falls = directions(claim)
    best_rises, best_falls = directions(best)
    is_against = (rises and best_falls and not best_rises) or (falls and best_rises and not best_falls)
    if is_against or moved_against(bound(claim, read.language), read.bound):
        yield "direction"


def _contrary(read: Passages, claim: str) -> Iterable[tuple[str, str]]:
    """Give the switches, names of a machine, and rates that stand where the best sentence has others."""
    best = read.best(claim)
    found = aligned(sentence_of(0, 0, claim), sentence_of(0, 0, best), _ALIKE_FROM)
    for left, _ in found.differing if found else ():
        code = _CONTRARY.get(left.key.partition(" ")[0])
        if code and claim[left.start : left.end].lower() not in best.lower():
            yield code, claim[left.start : left.end]
    rates = {one.key for one in exacts(best) if one.kind == "rate"}
    for one in exacts(claim):
        if one.kind == "rate" and rates and one.key not in rates:
            yield "numbers", claim[one.start : one.end]
