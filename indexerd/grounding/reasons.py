"""In which ways passages fall short of a claim: words, numbers, units, dates, names, polarity.

Owns: what counts as missing of each kind, as the claim writes it.
Knows nothing of: scores, bands, spans.
Invariants: 1. a number, unit or date that no passage holds is always named. 2. what is named stands in the claim.
Purity: pure.
See: docs/grounding.md (support).
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from indexerd.grounding.bindings import EXACT_KINDS, bound, misplaced, moved_against, turned, within
from indexerd.grounding.dates import Date, dates
from indexerd.grounding.passages import Passages
from indexerd.grounding.polarity import contrary, denials, denies, directions
from indexerd.grounding.shapes import CJK, Alignment, aligned, sentence_of, telling_words
from indexerd.grounding.swaps import swapped
from indexerd.grounding.values import Exact, Quantity, exacts, part_key, quantities

_CALENDAR: Final = "calendar"
# A sentence so alike says the same, or the contrary.
_ALIKE_FROM: Final = 0.6
# What alone is another in a sentence of characters that is otherwise the same is a name.
_NAMES_ALIKE_FROM: Final = 0.8
_LONGEST_NAME: Final = 4
_MOST_WORDS: Final = 3
_COGNATE: Final = 3
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
    numbers, days, units = (
        [claim[one.start : one.end] for one in found]
        for found in (_missing_numbers(read, claim), _missing_dates(read, claim), read.other_units(claim))
    )
    others = [*read.missing_names(claim)]
    best = read.best(claim)
    beside = aligned(sentence_of(0, 0, claim), sentence_of(0, 0, best), _ALIKE_FROM)
    polarity = [*_polarity(read, claim, [*_opposite(claim, best, beside)])]
    bearing = read.borne(claim)
    elsewhere = () if bearing else misplaced(bound(claim, read.language), read.bound)
    for one in (*elsewhere, *turned(claim, read.text, read.language)):
        of_kind = days if one.kind in _DAYS else others if one.kind == "name" else numbers
        of_kind.append(claim[one.start : one.end])
    mixed = dict[str, list[str]](numbers=numbers, dates=days, names=others, polarity=polarity)
    for code, written in (*_contrary(read, claim, best, beside), *swapped(claim, read.shapes, read.language)):
        mixed[code] += [written] if not any(written in known for known in mixed[code]) else []
    found = (
        Reason("terms", tuple(_missing_terms(read, claim))),
        Reason("numbers", tuple(dict.fromkeys(numbers))),
        Reason("units", tuple(units)),
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


def _missing_numbers(read: Passages, claim: str) -> Iterable[Quantity | Exact]:
    yield from (one for one in read.missing_values(claim, EXACT_KINDS) if isinstance(one, Quantity))
    days = dates(claim)
    yield from (one for one in _missing_exact(read, claim) if one.kind != _CALENDAR and not within(one, days))


def _missing_exact(read: Passages, claim: str) -> Iterable[Exact]:
    held = {one.key for one in exacts(read.text) if one.kind != "rate"}
    held |= {part_key(one.value / 100) for one in quantities(read.text) if one.unit == "%"}
    return (
        one
        for one in exacts(claim)
        if one.key not in held and one.kind != "rate" and not (one.kind == "code" and _stands_in(one.key, read.text))
    )


def _stands_in(code: str, text: str) -> bool:
    return bool(re.search(rf"(?<![\w.]){re.escape(code)}(?![\w.]*\d)", text, re.IGNORECASE))


def _missing_dates(read: Passages, claim: str) -> Iterable[Date | Exact]:
    yield from (one for one in read.missing_values(claim, EXACT_KINDS) if isinstance(one, Date))
    yield from (one for one in _missing_exact(read, claim) if one.kind == _CALENDAR)


def _polarity(read: Passages, claim: str, opposite: Sequence[str]) -> Iterable[str]:
    best = read.best(claim)
    bearing = read.borne(claim)
    if bearing:
        # A cell may hold a word of denial, which the claim then has from there.
        own = [
            claim[start:end] for start, end in denials(claim) if claim[start:end].lower() not in bearing.text.lower()
        ]
        is_denied = bool(own) != bearing.denies
    else:
        is_denied = denies(claim) != read.denies(claim)
    # What is not unsafe is safe.
    if is_denied != bool(len(opposite) % 2):
        yield from opposite or ("denial",)
    rises, falls = directions(claim)
    best_rises, best_falls = directions(best)
    is_against = (rises and best_falls and not best_rises) or (falls and best_rises and not best_falls)
    if is_against or moved_against(bound(claim, read.language), read.bound):
        yield "direction"


def _opposite(claim: str, best: str, beside: Alignment | None) -> Iterable[str]:
    """Give the words that stand where the best sentence, which is alike, has their contrary."""
    for left, right in (*beside.differing, *beside.replaced) if beside else ():
        one, other = claim[left.start : left.end], best[right.start : right.end]
        if left.key.startswith("#yes_no") or (not left.key and contrary(one, other)):
            yield one


def _is_another(read: Passages, mine: str, other: str, alike: float) -> bool:
    """Whether what alone differs in two sentences is another thing: a name, or what another sentence speaks of."""
    if CJK.match(mine) and CJK.match(other):
        return alike >= _NAMES_ALIKE_FROM and max(len(mine), len(other)) <= _LONGEST_NAME
    words, others = mine.lower().split(), other.lower().split()
    is_kin = any(one[:_COGNATE] == each[:_COGNATE] for one in words for each in others)
    is_known = not read.lacking(mine, read.terms)
    return is_known and not is_kin and max(len(words), len(others)) <= _MOST_WORDS


def _contrary(read: Passages, claim: str, best: str, beside: Alignment | None) -> Iterable[tuple[str, str]]:
    """Give the names, also of a machine, and rates that stand where the best sentence has others."""
    for left, _ in beside.differing if beside else ():
        if left.key == "#code" and claim[left.start : left.end].lower() not in best.lower():
            yield "names", claim[left.start : left.end]
    if beside and beside.is_even and len(beside.replaced + beside.differing) == 1:
        for left, right in beside.replaced:
            mine, other = claim[left.start : left.end], best[right.start : right.end]
            if _is_another(read, mine, other, beside.alike):
                yield "names", mine
    rates = {one.key for one in exacts(best) if one.kind == "rate"}
    for one in exacts(claim):
        if one.kind == "rate" and rates and one.key not in rates:
            yield "numbers", claim[one.start : one.end]
