"""Query text to words with their places; names to comparison keys.

Owns: what a query asks for, stop words, name keys.
Knows nothing of: posting lists, scores.
Invariants: 1. any string is a query. 2. a word's surface and stems are terms that a document with the same text has.
Purity: pure (analysed pieces are kept in a bounded cache).
See: docs/search.md (analysis).
"""

import re
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from indexerd.analysis.characters import IDEOGRAPH
from indexerd.analysis.spans import Spans, find_spans, runs
from indexerd.analysis.stemming import stems
from indexerd.analysis.stream import Stream, origins, read_stream

# Words that say nothing of a topic; they leave a query only if others remain. English, as most queries are.
STOP_WORDS = frozenset(
    [
        "a",
        "about",
        "am",
        "an",
        "and",
        "any",
        "are",
        "as",
        "at",
        "be",
        "been",
        "but",
        "by",
        "can",
        "could",
        "did",
        "do",
        "does",
        "for",
        "from",
        "had",
        "has",
        "have",
        "how",
        "i",
        "if",
        "in",
        "into",
        "is",
        "it",
        "its",
        "me",
        "my",
        "no",
        "not",
        "of",
        "on",
        "or",
        "our",
        "shall",
        "should",
        "so",
        "such",
        "that",
        "the",
        "their",
        "them",
        "then",
        "there",
        "these",
        "they",
        "this",
        "those",
        "to",
        "was",
        "we",
        "were",
        "what",
        "when",
        "where",
        "which",
        "who",
        "why",
        "will",
        "with",
        "would",
        "you",
        "your",
    ]
)
# What contractions leave behind: don't, it's, we'll.
_CONTRACTION_ENDS = frozenset({"d", "ll", "m", "re", "s", "t", "ve"})


class QueryWord(NamedTuple):
    """One word of a query.

    Attributes:
        surface: The exact term.
        stems: The stem terms to look up, one for each language, distinct; `(surface,)` if it is not stemmed.
        start: Start of its span in the query text.
        end: End of its span.
        is_stop: It leaves the query if other words remain.
        kind: `word`, `identifier` (a whole), `part` (of an identifier), `cjk1`, `cjk2`.
    """

    surface: str
    stems: tuple[str, ...]
    start: int
    end: int
    is_stop: bool
    kind: str


_PIECE = re.compile(r"[^\t\n\r ]+")
_SIMPLE = re.compile(r"[a-z0-9]{1,64}")
# Longer pieces and names are no words that come again, and queries come from anybody: keeping them is not bounded.
_KEPT_PIECE, _KEPT_NAME = 32, 256


def analyze_query(text: str, languages: tuple[str, ...]) -> tuple[QueryWord, ...]:
    """Return the words of a query in the order of their starts, longer ones first.

    Args:
        text: Any text.
        languages: The stemming languages in use.
    """
    words: list[QueryWord] = []
    for match in _PIECE.finditer(text):
        shift = match.start()
        words += [
            word._replace(start=word.start + shift, end=word.end + shift) if shift else word
            for word in _piece_words(match[0], languages)
        ]
    return tuple(words)


def _piece_words(piece: str, languages: tuple[str, ...]) -> tuple[QueryWord, ...]:
    """Return the words of a piece without white space."""
    return (_kept_words if len(piece) <= _KEPT_PIECE else _read_words)(piece, languages)


# Pieces of queries repeat (completion sends each prefix again); 4,096 are about 2 MB, of the dearest kind 50 MB.
@lru_cache(maxsize=4096)
def _kept_words(piece: str, languages: tuple[str, ...]) -> tuple[QueryWord, ...]:
    return _read_words(piece, languages)


def _read_words(piece: str, languages: tuple[str, ...]) -> tuple[QueryWord, ...]:
    if _SIMPLE.fullmatch(piece):
        return (_word(piece, 0, len(piece), "word", languages),)
    stream = read_stream([piece])
    begins, finishes = origins(piece)
    text = stream.text()
    words = [
        _word(text[start:end], begins[start - 1], finishes[end - 2], kind, languages)
        for start, end, kind in _kinds(find_spans(stream))
    ]
    return tuple(sorted(words, key=lambda word: (word.start, -word.end)))


def _kinds(spans: Spans) -> list[tuple[int, int, str]]:
    wholes = list(zip(spans.whole_starts.tolist(), spans.whole_ends.tolist(), strict=True))
    inside = np.zeros(2, np.int64) if not wholes else np.array(wholes).T
    found = [(start, end, "identifier") for start, end in wholes]
    for start, end in zip(spans.word_starts.tolist(), spans.word_ends.tolist(), strict=True):
        is_part = bool(wholes) and bool(((inside[0] <= start) & (end <= inside[1])).any())
        found.append((start, end, "part" if is_part else "word"))
    found += [(start, start + 1, "cjk1") for start in spans.ideographs.tolist()]
    return found + [(start, start + 2, "cjk2") for start in spans.pairs.tolist()]


def _word(surface: str, start: int, end: int, kind: str, languages: tuple[str, ...]) -> QueryWord:
    if kind not in ("word", "part"):
        return QueryWord(surface, (surface,), start, end, False, kind)
    found = dict.fromkeys(stems([surface], language)[0] or surface for language in languages)
    is_stop = surface in STOP_WORDS or (kind == "part" and surface in _CONTRACTION_ENDS)
    return QueryWord(surface, tuple(found) or (surface,), start, end, is_stop, kind)


def name_key(text: str) -> str:
    """Return the form in which titles, aliases, file names and queries are compared; empty if there is no word in it.

    The words (`git-commit` equals `Git commit`, `GitHub` equals `github`), folded, not stemmed, without stop words
    unless there is nothing else.
    """
    return (_kept_name_key if len(text) <= _KEPT_NAME else _name_key)(text)


# Names repeat: the same command in forty languages, a title and its file name.
@lru_cache(maxsize=16384)
def _kept_name_key(text: str) -> str:
    return _name_key(text)


def _name_key(text: str) -> str:
    words = _name_words(text)
    return " ".join([word for word in words if word not in STOP_WORDS] or words)


# Words in small ASCII letters, with what tells `C++` and `C#` from `C`.
_ASCII_WORD = re.compile(r"[a-z0-9]+(?:\+\+|#(?![a-z0-9]))?")


def _name_words(text: str) -> list[str]:
    if text.isascii():
        return _ASCII_WORD.findall(text.lower())
    return _stream_words(read_stream([text]))


def _stream_words(stream: Stream) -> list[str]:
    text = stream.text()
    starts, ends = runs(stream)
    spans = [*zip(starts.tolist(), ends.tolist(), strict=True)]
    spans += [(at, at + 1) for at in np.flatnonzero(stream.flags & IDEOGRAPH).tolist()]
    return [_affixed(text, start, end) for start, end in sorted(spans)]


def _affixed(text: str, start: int, end: int) -> str:
    """Keep what tells `C++` and `C#` from `C`."""
    if text[end : end + 2] == "++":
        return text[start:end] + "++"
    return text[start:end] + ("#" if text[end] == "#" and not text[end + 1].isalnum() else "")
