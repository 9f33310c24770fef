"""The words of a query and where their lists are in each segment.

Owns: which words of a query search (stop words, repetition), how stems, exact forms and prefixes become one list.
Knows nothing of: eligibility, scores.
Invariants: 1. words ascend by surface, each once. 2. a chunk is in a word's list iff it holds one of its stems or
    the word itself (or a word with its prefix).
Purity: pure.
See: docs/search.md (ranking).
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from indexerd.analysis import QueryWord, analyze_query, name_key
from indexerd.search.bm25 import KIND_WEIGHTS, ChunkArray, FloatArray, Tables, WordList, tables_of, union

if TYPE_CHECKING:
    from indexerd.store.segment import Segment

NAME_TERM_PREFIX = "\x00"


@dataclass(frozen=True, slots=True)
class QueryWords:
    """What a query text searches for.

    Attributes:
        text: The query as given.
        searched: Ascending by surface: words that score.
        asked: Every word in the order of the text, stop words included.
        name: Comparison form of the whole text; empty if it has none.
        prefix: Surface of the word that is a prefix, or empty.
    """

    text: str
    searched: tuple[QueryWord, ...]
    asked: tuple[QueryWord, ...]
    name: str
    prefix: str = ""


def query_words(text: str, languages: tuple[str, ...], *, prefix: bool = False) -> QueryWords:
    """Analyse a query. Stop words stay only if nothing else remains."""
    asked = tuple(analyze_query(text, languages))
    kept = [word for word in asked if not word.is_stop] or list(asked)
    distinct = {word.surface: word for word in reversed(kept)}
    searched = tuple(distinct[surface] for surface in sorted(distinct))
    last = _last_word(asked) if prefix else ""
    if last and last not in distinct:
        searched = tuple(sorted((*searched, next(w for w in asked if w.surface == last)), key=lambda w: w.surface))
    return QueryWords(text, searched, asked, name_key(text), last)


def _last_word(asked: tuple[QueryWord, ...]) -> str:
    """Return the surface of the longest word that ends last."""
    return min(asked, key=lambda word: (-word.end, word.start)).surface if asked else ""


def weight_of(word: QueryWord) -> float:
    """Return how much a word of this kind weighs."""
    return KIND_WEIGHTS.get(word.kind, 1.0)


def word_list(segment: "Segment", word: QueryWord, prefix: str) -> WordList | None:
    """Return the list of a word in a segment; None if no chunk holds it."""
    tables = tables_of(segment)
    if prefix and word.surface == prefix:
        return _prefix_list(segment, tables, prefix)
    postings = segment.postings
    terms = [term for term in (postings.find(stem) for stem in word.stems) if term >= 0]
    exact = postings.find(word.surface)
    whole = _whole_list(segment, tables, terms, exact)
    if whole is not None or len(terms) > 1:
        return _union_list(segment, tables, terms, exact, whole)
    if not terms:
        return None
    (term,) = terms
    if word.surface == word.stems[0] and len(word.stems) == 1:
        return WordList(postings.chunks_of(term), postings.codes_of(term), tables.every_and_bonus)
    bonus = _exact_list(segment, tables, exact, term)
    table = tables.every_and_bonus if exact == term else tables.every
    return WordList(postings.chunks_of(term), postings.codes_of(term), table, bonus)


def _exact_list(segment: "Segment", tables: Tables, exact: int, term: int) -> tuple[ChunkArray, FloatArray] | None:
    """Return chunks of the exact list and what they add; only those that hold the word itself."""
    if exact < 0 or exact == term:
        return None
    chunks, bonus = segment.postings.chunks_of(exact), tables.bonus[segment.postings.codes_of(exact)]
    holding = bonus > 0
    if not holding.all():
        # The exact form may itself be the stem of other words: their chunks are not in the stem's list.
        chunks, bonus = chunks[holding], bonus[holding]
    return (chunks, bonus) if len(chunks) else None


def _whole_list(
    segment: "Segment", tables: Tables, terms: list[int], exact: int
) -> tuple[ChunkArray, FloatArray] | None:
    """Return the chunks that hold the word itself and none of its stems, with what they count; None if there are none.

    Those are identifiers: `FnOnce` is indexed whole and never stemmed, and whoever asks for `fnonce` means it too.
    """
    if exact < 0 or exact in terms:
        return None
    key = (exact, *terms)
    if key not in tables.wholes:
        postings = segment.postings
        chunks, counts = postings.chunks_of(exact), tables.exact[postings.codes_of(exact)]
        apart = counts > 0
        for term in terms:
            apart &= ~_held(chunks, postings.chunks_of(term))
        tables.wholes[key] = (chunks[apart], counts[apart]) if apart.any() else None
    return tables.wholes[key]


def _held(chunks: ChunkArray, ascending: ChunkArray) -> npt.NDArray[np.bool_]:
    """Tell which of the chunks are in an ascending list."""
    places = ascending.searchsorted(chunks)
    places[places == len(ascending)] = 0
    held: npt.NDArray[np.bool_] = ascending[places] == chunks
    return held


def _union_list(
    segment: "Segment",
    tables: Tables,
    terms: list[int],
    exact: int,
    whole: tuple[ChunkArray, FloatArray] | None,
) -> WordList:
    postings = segment.postings
    lists = [(postings.chunks_of(term), tables.every[postings.codes_of(term)]) for term in terms]
    lists += [whole] if whole is not None else []
    if exact >= 0:
        chunks, bonus = postings.chunks_of(exact), tables.bonus[postings.codes_of(exact)]
        lists.append((chunks[bonus > 0], bonus[bonus > 0]))
    return union(lists)


def _prefix_list(segment: "Segment", tables: Tables, prefix: str) -> WordList | None:
    """Return the chunks that hold a word with this prefix, counting words only, not stems: each stands there once."""
    postings = segment.postings
    lists = []
    for term in postings.terms_with_prefix(prefix):
        counts = tables.exact[postings.codes_of(term)]
        lists.append((postings.chunks_of(term)[counts > 0], counts[counts > 0]))
    joined = union(lists) if lists else None
    return joined if joined is not None and len(joined) else None


def name_chunks(segment: "Segment", name: str) -> ChunkArray | None:
    """Return the first hit chunk of each document whose title, alias or file name is the whole query."""
    term = segment.postings.find(NAME_TERM_PREFIX + name) if name else -1
    return segment.postings.chunks_of(term) if term >= 0 else None
