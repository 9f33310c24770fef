"""Ranking written to be read: every passage scored by the formula, one word at a time, in plain Python."""

import math
import re
from typing import NamedTuple

from indexerd.analysis import analyze_query, name_key
from indexerd.postings import Column
from indexerd.search.words import ASKING

FIELD_WEIGHTS = {"TEXT": 0.75, "HEADING": 0.875, "NAME": 1.125, "TAG": 0.75, "FOLDER": 0.25}
EXACT_BONUS = 0.25
CHARACTER_COUNT = 1.5


class Passage(NamedTuple):
    """A hit chunk, its terms with their frequency rows, and its length."""

    path: str
    line: int
    rows: dict[str, list[int]]
    length: int


def passages_of(segment) -> list[Passage]:
    """Return the hit chunks of a segment."""
    postings = segment.postings
    rows: list[dict[str, list[int]]] = [{} for _ in range(segment.chunk_count)]
    frequencies = postings.frequencies.tolist()
    for number in range(postings.term_count):
        for chunk, code in zip(postings.chunks_of(number), postings.codes_of(number), strict=True):
            rows[chunk][postings.term(number)] = frequencies[code]
    return [
        Passage(
            segment.paths[int(segment.document_of_chunk[chunk])],
            int(segment.start_lines[chunk]),
            rows[chunk],
            int(segment.lengths[chunk]),
        )
        for chunk in range(segment.chunk_count)
        if segment.chunk_hit[chunk]
    ]


def weighted(row: list[int], *, exact_only: bool = False) -> float:
    total = 0.0
    for column in Column:
        field, _, form = column.name.rpartition("_")
        if form == "EXACT" or not exact_only:
            total += FIELD_WEIGHTS[field] * row[column]
    return total


def frequency(passage: Passage, word) -> float:
    """Return the weighted count of a word: its stems everywhere, and a bonus where it stands as typed.

    An identifier has no stem: where the word stands only as one, that counts.
    """
    as_typed = weighted(passage.rows[word.surface], exact_only=True) if word.surface in passage.rows else 0.0
    stemmed = [weighted(passage.rows[stem]) for stem in word.stems if stem in passage.rows]
    count = (sum(stemmed) if stemmed else as_typed) + EXACT_BONUS * as_typed
    return count * CHARACTER_COUNT if word.kind in ("cjk1", "cjk2") else count


def is_compound(word) -> bool:
    return re.fullmatch(r"[^\W\d_]+([-'][^\W\d_]+)+", word.surface) is not None


def weight(word, words, holding, cut) -> float:
    """Return what a word says: little for half a word, for a compound beside its parts, for a part of a symbol."""
    if word.kind == "identifier":
        return 0.5 if is_compound(word) else 1.0
    if word.kind == "part":
        wholes = [
            whole
            for whole in words
            if whole.kind == "identifier" and whole.start <= word.start and word.end <= whole.end and holding[whole]
        ]
        if not wholes:
            return 1.0
        return 0.75 if all(map(is_compound, wholes)) else 0.25
    return 0.25 if word.surface in cut else 1.0


def searched(text: str, languages=("english",)):
    """Return the words that score, by surface, and the pairs among them of which a part asks."""
    words = analyze_query(text, languages)
    kept = [word for word in words if not word.is_stop] or words
    asking = [False] * len(text)
    for match in ASKING.finditer(text):
        asking[match.start() : match.end()] = [True] * len(match[0])
    free = {word.surface for word in words if not any(asking[word.start : word.end])}
    cut = set()
    if any(word.surface in free and word.kind != "cjk1" for word in kept) and any(w.kind == "cjk2" for w in kept):
        telling = {word.surface for word in words if not all(asking[word.start : word.end])}
        kept = [word for word in kept if word.surface in telling]
        cut = {word.surface for word in kept} - free
    first = {}
    for word in kept:
        first.setdefault(word.surface, word)
    return [first[surface] for surface in sorted(first)], cut


def rank(passages: list[Passage], text: str) -> list[tuple[float, str, int]]:
    """Return (score, path, line) of every passage that matches, best first."""
    words, cut = searched(text)
    n = len(passages)
    total = sum(passage.length for passage in passages)
    average = total / n if total else 1.0
    counts = [[frequency(passage, word) for passage in passages] for word in words]
    scores = [0.0] * n
    matched = [False] * n
    bounds = 0.0
    holding = {word: any(of_word) for word, of_word in zip(words, counts, strict=True)}
    for word, of_word in zip(words, counts, strict=True):
        df = sum(count > 0 for count in of_word)
        idf = math.log(1.0 + (n - df + 0.5) / (df + 0.5))
        scale = weight(word, words, holding, cut) * idf * 2.5
        bounds += scale
        for at, count in enumerate(of_word):
            if count > 0:
                norm = 1.5 * (1.0 - 0.75 + 0.75 * (passages[at].length / average))
                scores[at] += count * scale / (count + norm)
                matched[at] = True
    key = "\x00" + name_key(text)
    for at, passage in enumerate(passages):
        if len(key) > 1 and key in passage.rows:
            scores[at] += 1.0 + bounds
            matched[at] = True
    found = [(scores[at], passages[at].path, passages[at].line) for at in range(n) if matched[at]]
    return sorted(found, key=lambda row: (-row[0], row[1], row[2]))
