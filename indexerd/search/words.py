"""The words of a query and where their lists are in each segment.

Owns: which words of a query search (stop words, repetition), how stems, exact forms and prefixes become one list.
Knows nothing of: eligibility, scores.
Invariants: 1. words ascend by surface, each once. 2. a chunk is in a word's list iff it holds one of its stems or
    the word itself (or a word with its prefix).
Purity: pure.
See: docs/search.md (ranking).
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from indexerd.analysis import QueryWord, analyze_query, name_key
from indexerd.search.bm25 import KIND_WEIGHTS, ChunkArray, Tables, WordList, tables_of, union

if TYPE_CHECKING:
    from indexerd.store.segment import Segment

NAME_TERM_PREFIX = "\x00"


class QueryWords(NamedTuple):
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
        return tables.list_of((prefix,), lambda: _prefix_list(segment, tables, prefix))
    return tables.list_of((word.surface, word.stems), lambda: _made_list(segment, tables, word))


def _made_list(segment: "Segment", tables: Tables, word: QueryWord) -> WordList | None:
    postings = segment.postings
    terms = [term for term in map(postings.find, word.stems) if term >= 0]
    if word.stems == (word.surface,):
        return _own_stem(segment, tables, terms[0]) if terms else None
    exact = postings.find(word.surface)
    if len(terms) != 1:
        joined = _union_list(segment, tables, terms, exact) if terms or exact >= 0 else None
        return joined if joined is not None and len(joined) else None
    (term,) = terms
    if exact == term:
        return _own_stem(segment, tables, term)
    chunks, counts = postings.chunks_of(term), tables.every[postings.codes_of(term)]
    if exact < 0:
        return WordList(chunks, counts)
    exact_chunks = postings.chunks_of(exact)
    bonus = tables.bonus[postings.codes_of(exact)]
    places = chunks.searchsorted(exact_chunks)
    places[places == len(chunks)] = 0
    inside = chunks[places] == exact_chunks
    if not inside.all():
        if bonus[~inside].any():
            return _union_list(segment, tables, terms, exact)
        places, bonus = places[inside], bonus[inside]
    counts[places] += bonus
    return WordList(chunks, counts)


def _own_stem(segment: "Segment", tables: Tables, term: int) -> WordList:
    """Return the list of a word that is its own stem: the exact form needs no look-up of its own."""
    return WordList(segment.postings.chunks_of(term), tables.every_and_bonus[segment.postings.codes_of(term)])


def _union_list(segment: "Segment", tables: Tables, terms: list[int], exact: int) -> WordList:
    """Return the chunks that hold any of the stems, or the word itself though none of its stems.

    The latter hold it as an identifier: `FnOnce` is indexed whole and never stemmed, and `fnonce` asks for it too.
    """
    postings = segment.postings
    lists = [(postings.chunks_of(term), tables.every[postings.codes_of(term)]) for term in terms]
    if exact >= 0:
        chunks, codes = postings.chunks_of(exact), postings.codes_of(exact)
        counts = tables.bonus[codes]
        if exact not in terms:
            stemmed = np.zeros(segment.chunk_count, dtype=np.bool_)
            for stem_chunks, _ in lists:
                stemmed[stem_chunks] = True
            counts = np.where(stemmed[chunks], counts, counts + tables.exact[codes])
        lists.append((chunks[counts > 0], counts[counts > 0]))
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


def chunks_as_written(segment: "Segment", word: QueryWord) -> ChunkArray:
    """Return the chunks that hold a word itself, not only words with it as their stem."""
    term = segment.postings.find(word.surface)
    if term < 0:
        return np.zeros(0, dtype=np.int32)
    exact = tables_of(segment).exact[segment.postings.codes_of(term)]
    return segment.postings.chunks_of(term)[exact > 0]


def name_chunks(segment: "Segment", name: str) -> ChunkArray | None:
    """Return the first hit chunk of each document whose title, alias or file name is the whole query."""
    term = segment.postings.find(NAME_TERM_PREFIX + name) if name else -1
    return segment.postings.chunks_of(term) if term >= 0 else None
