"""Where the words of a query stand in a text.

Owns: matching the terms of a text with the words of a query, with spans in the original text.
Knows nothing of: excerpts, ranking.
Invariants: 1. a place is found if and only if the index has the term there: the short way through ASCII text gives
    what the long way gives.
Purity: pure (what a word of a text means to a query is kept in a bounded memo).
See: docs/search.md (analysis).
"""

import re
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache

from indexerd.analysis.query import QueryWord
from indexerd.analysis.spans import MAX_TERM, find_spans
from indexerd.analysis.stemming import stems
from indexerd.analysis.stream import origins, read_stream

Place = tuple[int, int, int]

# A word or part of ASCII text: it ends where a capital follows a small letter.
_PART = re.compile(r"(?=[A-Za-z0-9])(?:[a-z]++(?![A-Z])|[A-Z0-9]++)*+(?:[a-z]++)?", re.ASCII)
_RUN = re.compile(r"[A-Za-z0-9]++", re.ASCII)
_CUT = re.compile(r"[a-z][A-Z]")
_NOWHERE = -1
# Words of the texts that one query is located in; beyond it the memo begins anew.
_MEMO_WORDS = 20_000


def locate(text: str, words: Sequence[QueryWord], languages: tuple[str, ...]) -> list[Place]:
    """Return `(start, end, index of word)` for each place where a word of the query stands in a text, ascending.

    Args:
        text: Any text.
        words: Words of a query, as `analyze_query` gives them.
        languages: The stemming languages in use.
    """
    wanted = _wanted(tuple(words), languages)
    plain = text if text.isascii() else _with_plain_punctuation(text)
    if plain.isascii() and not wanted.has_identifier_in(plain):
        return wanted.places_in_ascii(plain)
    return wanted.places(text)


# What makes most English texts not ASCII, and what it is to the analyzer: the apostrophe joins, the others part.
_PUNCTUATION = (("’", "'"), ("“", " "), ("”", " "), ("—", " "), ("–", " "), ("…", " "), ("•", " "))


def _with_plain_punctuation(text: str) -> str:
    for char, plain in _PUNCTUATION:
        text = text.replace(char, plain)
    return text


@lru_cache(maxsize=64)
def _wanted(words: tuple[QueryWord, ...], languages: tuple[str, ...]) -> "_Wanted":
    return _Wanted(words, languages)


class _Wanted:
    """The words of one query, ready to be looked for in many texts."""

    def __init__(self, words: tuple[QueryWord, ...], languages: tuple[str, ...]) -> None:
        self._languages = languages
        self._surfaces: dict[str, int] = {}
        self._stems: dict[str, int] = {}
        for index, word in enumerate(words):
            self._surfaces.setdefault(word.surface, index)
            for stem in word.stems:
                self._stems.setdefault(stem, index)
        self._identifiers = tuple({word.surface for word in words if word.kind == "identifier"})
        self._ideographs = tuple({word.surface for word in words if word.kind in ("cjk1", "cjk2")})
        self._memo: dict[str, int] = {}

    def has_identifier_in(self, text: str) -> bool:
        """Whether a whole identifier of the query may stand in an ASCII text."""
        if not self._identifiers:
            return False
        lower = text.lower()
        return any(identifier in lower for identifier in self._identifiers)

    def places_in_ascii(self, text: str) -> list[Place]:
        """Return the places of words and parts in an ASCII text that has none of the identifiers."""
        found: list[Place] = []
        parts = {part: part[:MAX_TERM].lower() for part in set(_PART.findall(text))}
        known = self._known(parts.values())
        for part, term in parts.items():
            index = known[term]
            if index != _NOWHERE:
                length = min(len(part), MAX_TERM)
                found += [(start, start + length, index) for start in _part_starts(text, part)]
        if _CUT.search(text):
            found += self._cut_runs(text)
        return sorted(found)

    def _cut_runs(self, text: str) -> Iterator[Place]:
        """Yield the runs of several parts (`getUserName`) that a word of the query equals."""
        for match in _RUN.finditer(text):
            run = match[0]
            if len(run) <= MAX_TERM and run.lower() in self._surfaces and _CUT.search(run):
                yield *match.span(), self._surfaces[run.lower()]

    def places(self, text: str) -> list[Place]:
        """Return the places of all kinds of terms in any text."""
        stream = read_stream([text])
        spans = find_spans(stream)
        folded = stream.codes.tobytes().decode("utf-32-le")
        begins, finishes = origins(text)
        found: list[Place] = []

        def add(start: int, end: int, index: int) -> None:
            # The stream begins with a line feed that the text does not have.
            found.append((begins[start - 1], finishes[end - 2], index))

        bounds = list(zip(spans.word_starts.tolist(), spans.word_ends.tolist(), strict=True))
        terms = [folded[start:end] for start, end in bounds]
        known = self._known(terms)
        for (start, end), term in zip(bounds, terms, strict=True):
            if known[term] != _NOWHERE:
                add(start, end, known[term])
        for start, end in zip(spans.whole_starts.tolist(), spans.whole_ends.tolist(), strict=True):
            index = self._surfaces.get(folded[start:end], _NOWHERE)
            if index != _NOWHERE:
                add(start, end, index)
        for surface in self._ideographs:
            # Every occurrence of such characters is a term, so plain searching finds them all.
            for start in _starts(folded, surface):
                add(start, start + len(surface), self._surfaces[surface])
        return sorted(found)

    def _known(self, terms: Collection[str]) -> dict[str, int]:
        """Return the query's word that each word of a text stands for: the one it equals, else the first by stem."""
        if len(self._memo) >= _MEMO_WORDS:
            # A new one rather than an emptied one: another thread may be reading the old.
            self._memo = {}
        memo = self._memo
        unknown = [term for term in dict.fromkeys(terms) if term not in memo]
        # All at once: a call of the stemmer costs as much as ten words.
        stemmed = [stems(unknown, language) for language in self._languages] if unknown else []
        for term, *of_term in zip(unknown, *stemmed, strict=True):
            index = self._surfaces.get(term)
            memo[term] = self._stem_index((*of_term, term)) if index is None else index
        return memo

    def _stem_index(self, candidates: Sequence[str]) -> int:
        for stem in candidates:
            index = self._stems.get(stem)
            if index is not None:
                return index
        return _NOWHERE


def _starts(text: str, piece: str) -> Iterator[int]:
    """Yield where a piece stands in a text, overlapping or not."""
    at = text.find(piece)
    while at >= 0:
        yield at
        at = text.find(piece, at + 1)


def _part_starts(text: str, part: str) -> Iterator[int]:
    """Yield where `part` stands as a part of its own."""
    if len(part) > MAX_TERM:
        # Searching for a long part in a longer run of its letters would take the square of its length.
        yield from (match.start() for match in _PART.finditer(text) if match[0] == part)
        return
    for at in _starts(text, part):
        if not _is_inside(text, at) and not _is_inside(text, at + len(part)):
            yield at


def _is_inside(text: str, at: int) -> bool:
    """Whether a position of an ASCII text lies within a part, not at its edge."""
    if at in (0, len(text)):
        return False
    before, behind = text[at - 1], text[at]
    return before.isalnum() and behind.isalnum() and not (before.islower() and behind.isupper())
