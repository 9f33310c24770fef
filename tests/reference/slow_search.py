"""Ranking written to be read: every passage scored by the formula, one word at a time, in plain Python."""

import math
from typing import NamedTuple

from indexerd.analysis import analyze_query, name_key
from indexerd.postings import Column

FIELD_WEIGHTS = {"TEXT": 1.0, "HEADING": 1.5, "NAME": 2.0, "TAG": 1.0, "FOLDER": 0.25}
KIND_WEIGHTS = {"word": 1.0, "identifier": 1.0, "part": 0.5, "cjk2": 1.0, "cjk1": 0.25}
EXACT_BONUS = 0.25


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
    return (sum(stemmed) if stemmed else as_typed) + EXACT_BONUS * as_typed


def searched(text: str, languages=("english",)):
    words = analyze_query(text, languages)
    kept = [word for word in words if not word.is_stop] or words
    first = {}
    for word in kept:
        first.setdefault(word.surface, word)
    return [first[surface] for surface in sorted(first)]


def rank(passages: list[Passage], text: str) -> list[tuple[float, str, int]]:
    """Return (score, path, line) of every passage that matches, best first."""
    words = searched(text)
    n = len(passages)
    total = sum(passage.length for passage in passages)
    average = total / n if total else 1.0
    counts = [[frequency(passage, word) for passage in passages] for word in words]
    scores = [0.0] * n
    matched = [False] * n
    bounds = 0.0
    for word, of_word in zip(words, counts, strict=True):
        df = sum(count > 0 for count in of_word)
        idf = math.log(1.0 + (n - df + 0.5) / (df + 0.5))
        scale = KIND_WEIGHTS[word.kind] * idf * 2.5
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
