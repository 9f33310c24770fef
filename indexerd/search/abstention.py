"""Whether what was found can answer the question, as far as words tell.

Owns: what a question asks about, how much of it is covered, and when evidence is withheld.
Knows nothing of: posting lists, documents, proof.
Invariants: 1. a query whose every word is in one passage is never refused. 2. coverage and answerability lie in 0..1.
Purity: pure.
See: docs/evidence.md (abstention), benchmarks/bench_quality.py for the figures.
"""

from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

from indexerd.analysis import QueryWord
from indexerd.search.words import ASKING

# Where many passages score alike, a question names what they share and not what it asks about: a candidate some places
# below the best counts against it. Not where characters are matched, which many passages that answer share too.
BELOW_COUNTS: Final = 0.5
# Evidence is withheld below these, provided that a word of the question is in no document, and no passage holds all. A
# run of characters of which the hits together lack a good part, or that no document holds, is a surer sign than a word,
# which may have been said in another way. benchmarks/bench_quality.py chose them: at most 2 % of the answerable
# questions of each of six sets, of those that share a word with a document.
REFUSE_BELOW: Final = 0.1
REFUSE_RUN_BELOW: Final = 0.3
RUNS_TOGETHER: Final = 0.7
# Where the best hit covers less of what any covers, an answer is marked weak.
WEAK_BELOW: Final = 0.3

_ASKING_LATIN: Final = frozenset(
    {"what", "which", "who", "whom", "whose", "when", "where", "why", "how", "many", "much", "long", "often"}
    | {"do", "does", "did", "can", "could", "should", "would", "take", "takes"}
    | {"tell", "explain", "describe", "list", "give", "show", "find"}
)


class Unit(NamedTuple):
    """One thing the question asks about: a word, or a run of characters in a script without spaces."""

    label: str
    weight: float
    covered: bool
    is_run: bool = False


class Judgement(NamedTuple):
    """What words tell about a question.

    Attributes:
        answerability: 0..1, the decision value: how near the best hit comes to the most that the words could score,
            less half as much of a candidate below it, where words are separated.
        missing: What the question asks about and no eligible passage holds, in query order.
        refuse: Whether so little of the question is in the best passages that they must be about other topics.
        weak: Whether the best passage holds too little to rely on.
    """

    answerability: float
    missing: tuple[str, ...]
    refuse: bool
    weak: bool


def units(text: str, words: Sequence[QueryWord], idfs: Sequence[float], present: Collection[int]) -> list[Unit]:
    """Return what a question asks about, each covered if its words are among `present` (indexes into `words`)."""
    spaced = [index for index, word in enumerate(words) if not word.kind.startswith("cjk")]
    found = [
        (words[i].start, Unit(text[words[i].start : words[i].end], idfs[i], i in present))
        for i in _outer(words, spaced, present)
    ]
    found.extend(_run_units(text, words, idfs, present))
    return [unit for _, unit in sorted(found, key=lambda pair: pair[0])]


def _outer(words: Sequence[QueryWord], spaced: Sequence[int], present: Collection[int]) -> list[int]:
    """Return words that stand for themselves: of an identifier the whole where it is present, else its parts."""
    inside: dict[int, int] = {}
    # Words stand in the order of their places, a whole before what it holds: those that are open nest.
    around: list[int] = []
    for i in spaced:
        while around and words[around[-1]].end < words[i].end:
            around.pop()
        if around and words[i].start < words[around[-1]].end:
            inside[i] = around[-1]
        if words[i].kind == "identifier":
            around.append(i)
    chosen = []
    for index in spaced:
        if words[index].surface in _ASKING_LATIN:
            continue
        if words[index].kind == "identifier":
            if index in present or index not in inside.values():
                chosen.append(index)
        elif index not in inside or inside[index] not in present:
            chosen.append(index)
    return chosen


def _run_units(
    text: str, words: Sequence[QueryWord], idfs: Sequence[float], present: Collection[int]
) -> list[tuple[int, Unit]]:
    """Split each run of unspaced characters into covered and uncovered pieces, words that ask set aside."""
    if not any(word.kind.startswith("cjk") for word in words):
        return []
    pairs = [index for index, word in enumerate(words) if word.kind == "cjk2"]
    covered = {at for i in pairs if i in present for at in range(words[i].start, words[i].end)}
    paired = {at for i in pairs for at in range(words[i].start, words[i].end)}
    singles = {words[i].start: i for i, word in enumerate(words) if word.kind == "cjk1"}
    covered |= {at for at, i in singles.items() if i in present and at not in paired}
    characters = sorted(paired | set(singles))
    aside = {at for match in ASKING.finditer(text) for at in range(*match.span())}
    weight_at = _weights(words, idfs, pairs, singles, present)
    found: list[tuple[int, Unit]] = []
    piece: list[int] = []
    for at in [*characters, -2]:
        same = piece and at == piece[-1] + 1 and at not in aside and (at in covered) == (piece[-1] in covered)
        if piece and not same:
            weight = sum(weight_at.get(place, 0.0) for place in piece)
            label, is_covered = text[piece[0] : piece[-1] + 1], piece[0] in covered
            found.append((piece[0], Unit(label, weight, is_covered, is_run=True)))
            piece = []
        if at not in aside and at >= 0:
            piece.append(at)
    # A single uncovered character between covered ones is an ending or a particle, not a topic.
    return [(at, unit) for at, unit in found if unit.covered or len(unit.label) > 1 or len(characters) == 1]


def _weights(
    words: Sequence[QueryWord],
    idfs: Sequence[float],
    pairs: Sequence[int],
    singles: dict[int, int],
    present: Collection[int],
) -> dict[int, float]:
    """Return what each character weighs: half the mean of its pairs; a character in no pair weighs what it does alone.

    Of a covered character only the pairs that are present count: a pair that reaches into the next word says nothing.
    """
    held: dict[int, list[float]] = {}
    unheld: dict[int, list[float]] = {}
    for index in pairs:
        for at in range(words[index].start, words[index].end):
            (held if index in present else unheld).setdefault(at, []).append(idfs[index] / 2)
    means = {at: sum(values) / len(values) for at, values in (unheld | held).items()}
    return {at: idfs[index] for at, index in singles.items()} | means


def share(units_of_query: Sequence[Unit]) -> float:
    """Return the covered share of the weight; 1 where nothing is asked about."""
    total = sum(unit.weight for unit in units_of_query)
    return sum(unit.weight for unit in units_of_query if unit.covered) / total if total else 1.0


def judge(everywhere: Sequence[Unit], best: float, together: float, strength: float, below: float) -> Judgement:
    """Decide from what the eligible passages hold together, and how much of it the best hit holds.

    Args:
        everywhere: What is asked about, covered where any eligible passage holds it.
        best: Largest covered share of one hit.
        together: Covered share of all hits.
        strength: Score of the best hit as a share of the most that the words could give, 0..1.
        below: The same of a candidate some places below.
    """
    missing = [unit for unit in everywhere if not unit.covered]
    has_runs = any(unit.is_run for unit in everywhere)
    lacks_run = has_runs and (together < RUNS_TOGETHER or any(unit.is_run for unit in missing))
    value = strength if has_runs else strength - BELOW_COUNTS * below
    lacks = bool(missing) or lacks_run
    refuse = lacks and best < 1.0 and value < (REFUSE_RUN_BELOW if lacks_run else REFUSE_BELOW)
    is_weak = refuse or share(everywhere) * best < WEAK_BELOW
    return Judgement(value, tuple(unit.label for unit in missing), refuse, is_weak)
