"""Where the words of a query stand in a text.

Owns: matching the terms of a text with the words of a query, with spans in the original text.
Knows nothing of: excerpts, ranking.
Invariants: 1. a place is found if and only if the index has the term there: the short way through texts without
    awkward characters gives what the long way gives.
Purity: pure (words of queries, and stems of words of texts, are kept in bounded memos).
See: docs/search.md (analysis).
"""

import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import accumulate

from indexerd.analysis.letters import Letters, letters_of
from indexerd.analysis.query import QueryWord
from indexerd.analysis.spans import MAX_TERM, find_spans
from indexerd.analysis.stemming import NO_STEMMING, StemMemo
from indexerd.analysis.stream import origins, read_stream

Place = tuple[int, int, int]

# Texts are located together, for most of the cost is that of a call; this many characters at a time.
_TOGETHER = 1 << 16
# Of more words than that a text is read word by word, once; for few, searching it for each is quicker.
_MANY = 32
_WORD = re.compile("[^ ]+")
_WIDE = re.compile("[^\x00-\x7f]+")


def locate(text: str, words: Sequence[QueryWord], languages: tuple[str, ...], prefix: str = "") -> list[Place]:
    """Return `(start, end, index of word)` for each place where a word of the query stands in a text, ascending.

    Args:
        text: Any text.
        words: Words of a query, as `analyze_query` gives them.
        languages: The stemming languages in use.
        prefix: Surface of the word that stands for every word that begins with it; empty if none does.
    """
    return locate_each([text], words, languages, prefix)[0]


def locate_each(
    texts: Sequence[str], words: Sequence[QueryWord], languages: tuple[str, ...], prefix: str = ""
) -> list[list[Place]]:
    """Return for each text what `locate` finds in it."""
    wanted = _wanted(tuple(words), languages, prefix)
    found: list[list[Place]] = [[] for _ in texts]
    for group in _groups(texts):
        _locate_group(texts, group, wanted, found)
    return found


def _groups(texts: Sequence[str]) -> Iterator[list[int]]:
    group: list[int] = []
    size = 0
    for number, text in enumerate(texts):
        group.append(number)
        size += len(text)
        if size >= _TOGETHER:
            yield group
            group, size = [], 0
    if group:
        yield group


def _locate_group(texts: Sequence[str], group: Sequence[int], wanted: "_Wanted", found: list[list[Place]]) -> None:
    """Locate some texts, joined by line feeds, across which nothing is a word."""
    joined = "\n".join([texts[number] for number in group])
    letters = letters_of(joined)
    if letters is not None:
        places = wanted.places_among(letters)
    else:
        awkward = [number for number in group if letters_of(texts[number]) is None]
        if len(awkward) < len(group):
            _locate_group(texts, awkward, wanted, found)
            _locate_group(texts, [number for number in group if number not in awkward], wanted, found)
            return
        places = wanted.places(joined)
    starts = list(accumulate((len(texts[number]) + 1 for number in group), initial=0))
    at = 0
    for start, end, word in places:
        while start >= starts[at + 1]:
            at += 1
        found[group[at]].append((start - starts[at], end - starts[at], word))


@lru_cache(maxsize=64)
def _wanted(words: tuple[QueryWord, ...], languages: tuple[str, ...], prefix: str) -> "_Wanted":
    return _Wanted(words, languages, prefix)


class _Wanted:
    """The words of one query, ready to be looked for in many texts."""

    def __init__(self, words: tuple[QueryWord, ...], languages: tuple[str, ...], prefix: str) -> None:
        self._prefix = prefix
        self._memos = [_memo_of(language) for language in languages if language != NO_STEMMING]
        self._surfaces: dict[str, int] = {}
        self._stems: dict[str, int] = {}
        for index, word in enumerate(words):
            self._surfaces.setdefault(word.surface, index)
            for stem in word.stems:
                self._stems.setdefault(stem, index)
        self._terms = self._surfaces.keys() | self._stems.keys()
        self._has_longest = any(len(term) >= MAX_TERM for term in self._terms)
        self._ideographs = {word.surface for word in words if word.kind in ("cjk1", "cjk2")}
        self._joined = tuple({word.surface for word in words if word.kind == "identifier" and _has_joiner(word)})

    def places_among(self, letters: Letters) -> list[Place]:
        """Return the places of all kinds of terms in a text without awkward characters."""
        spaced = letters.parts()
        found: list[Place] = []
        meant = self._meant(set(spaced.split()))
        for form, blanks in _where(spaced, meant).items():
            size, index = min(len(form), MAX_TERM), meant[form]
            found += [(at, at + size, index) for at in letters.in_text(blanks)]
        if letters.bounds:
            found += self._cut_runs(letters)
        if self._ideographs and not letters.text.isascii():
            found += self._characters(letters.folded())
        if self._joined:
            found += self._identifiers(letters)
        return sorted(found)

    def _cut_runs(self, letters: Letters) -> Iterator[Place]:
        """Yield the runs of several parts (`getUserName`) that a word of the query equals."""
        words, end = f"{letters.words} ", 0
        for bound in letters.bounds:
            if bound >= end:
                begin, end = words.rfind(" ", 0, bound) + 1, words.find(" ", bound)
                index = self._surfaces.get(words[begin:end])
                if index is not None:
                    yield begin, end, index

    def _characters(self, folded: str) -> Iterator[Place]:
        # Every occurrence of such characters is a term, so plain searching finds them all.
        if len(self._ideographs) <= _MANY:
            places = ((at, surface) for surface in self._ideographs for at in _starts(folded, surface))
        else:
            wide = (at for match in _WIDE.finditer(folded) for at in range(*match.span()))
            pieces = ((at, folded[at : at + size]) for at in wide for size in (1, 2) if at + size <= len(folded))
            places = ((at, piece) for at, piece in pieces if piece in self._ideographs)
        for at, surface in places:
            yield at, at + len(surface), self._surfaces[surface]

    def _identifiers(self, letters: Letters) -> Iterator[Place]:
        """Yield the identifiers that have joiners, from the lines in which they may be: none goes across lines."""
        folded, text = letters.folded(), letters.text
        begins = sorted({text.rfind("\n", 0, at) + 1 for name in self._joined for at in _starts(folded, name)})
        if not begins:
            return
        lines = [text[begin : _line_end(text, begin)] for begin in begins]
        stream = read_stream(lines)
        spans, codes, starts = find_spans(stream), stream.text(), stream.starts.tolist()
        for start, end in zip(spans.whole_starts.tolist(), spans.whole_ends.tolist(), strict=True):
            if codes[start:end] in self._joined:
                number = bisect_right(starts, start) - 1
                firsts, lasts = origins(lines[number])
                first, last = firsts[start - starts[number]], lasts[end - 1 - starts[number]]
                yield begins[number] + first, begins[number] + last, self._surfaces[codes[start:end]]

    def places(self, text: str) -> list[Place]:
        """Return the places of all kinds of terms in any text."""
        stream = read_stream([text])
        spans = find_spans(stream)
        folded = stream.text()
        bounds = list(zip(spans.word_starts.tolist(), spans.word_ends.tolist(), strict=True))
        meant = self._meant({folded[start:end] for start, end in bounds})
        found = [(start, end, meant[term]) for start, end in bounds if (term := folded[start:end]) in meant]
        for start, end in zip(spans.whole_starts.tolist(), spans.whole_ends.tolist(), strict=True):
            if folded[start:end] in self._surfaces:
                found.append((start, end, self._surfaces[folded[start:end]]))
        found += self._characters(folded)
        begins, finishes = origins(text)
        # The stream begins with a line feed that the text does not have.
        return sorted((begins[start - 1], finishes[end - 2], index) for start, end, index in found)

    def _meant(self, forms: set[str]) -> dict[str, int]:
        """Return the query's word for each form that stands for one: the one it equals, else the first by stem.

        Longer forms than MAX_TERM stand for what their beginning stands for.
        """
        matched: set[str] = forms & self._terms
        if self._has_longest:
            matched.update(form for form in forms if len(form) > MAX_TERM and form[:MAX_TERM] in self._terms)
        for memo in self._memos:
            matched.update(memo.with_stem(forms, self._stems.keys()))
        if self._prefix:
            matched.update(form for form in forms if form.startswith(self._prefix))
        return {form: self._index(form[:MAX_TERM]) for form in matched}

    def _index(self, term: str) -> int:
        index = self._surfaces.get(term)
        if index is not None:
            return index
        by_stem = (self._stems[stem] for stem in self._stems_of(term) if stem in self._stems)
        return next(by_stem, self._surfaces.get(self._prefix, 0))

    def _stems_of(self, term: str) -> Iterable[str]:
        yield from (memo.stem(term) for memo in self._memos)
        yield term


@cache
def _memo_of(language: str) -> StemMemo:
    return StemMemo(language)


def _has_joiner(word: QueryWord) -> bool:
    """Whether an identifier is more than one run: `row_group`, not `getUserName`."""
    letters = letters_of(word.surface)
    return letters is None or letters.words != word.surface


def _line_end(text: str, begin: int) -> int:
    end = text.find("\n", begin)
    return end if end >= 0 else len(text)


def _where(spaced: str, forms: Collection[str]) -> dict[str, list[int]]:
    """Return where the blank before each of some words stands; of many words the text is read once for all."""
    if len(forms) <= _MANY:
        return {form: _starts(spaced, f" {form} ") for form in forms}
    found: dict[str, list[int]] = {}
    for match in _WORD.finditer(spaced):
        if match[0] in forms:
            found.setdefault(match[0], []).append(match.start() - 1)
    return found


def _starts(text: str, piece: str) -> list[int]:
    """Return where a piece stands in a text, overlapping or not."""
    found, find = [], text.find
    at = find(piece)
    while at >= 0:
        found.append(at)
        at = find(piece, at + 1)
    return found
