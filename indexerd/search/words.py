"""The words of a query, what each weighs, and where their lists are in each segment.

Owns: which words of a query search (stop words, words that ask, repetition), how much a word of each kind says, how
    stems, exact forms and prefixes become one list.
Knows nothing of: eligibility, scores.
Invariants: 1. words ascend by surface, each once. 2. a chunk is in a word's list iff it holds one of its stems or
    the word itself (or a word with its prefix).
Purity: pure.
See: docs/search.md (ranking).
"""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from indexerd.analysis import QueryWord, analyze_query, name_key
from indexerd.search.bm25 import ChunkArray, Tables, WordList, tables_of, union

if TYPE_CHECKING:
    from indexerd.store.segment import Segment

NAME_TERM_PREFIX = "\x00"

# Words that ask or only join others, in scripts whose words are not separated: they are not what a question is about.
ASKING: Final = re.compile(
    "是不是|有没有|能不能|可不可以|为什么|为何|是什么|什么样|什么|怎么样|怎样|怎么|如何|是多少|多少|几个|哪些|哪个|哪里|哪儿|哪位|哪种|哪"
    "|是谁|谁|何时|何地|何人|何种|多大|多长|多久|多远|多高|请问|请|简述|介绍|一下|可以|能否|是否|可否|应该|通常|吗|呢|吧|么|的|是|了|在|有|和|与|及|被|由|于|之|其|能|给|我|几"
    "|ですか|ますか|ください|とは|どこ|だれ|なに|なぜ|いつ|どう|どの|いくら|です|ます|[はがをにでとのもへか]"
    "|인가요|입니까|무엇|어디|언제|누구|어떻게|왜|얼마"
)
# What a word says, as the figures of benchmarks/bench_quality.py chose it. A pair that reaches into a word that asks is
# seldom a word. A compound (`low-fat`) says little beyond its parts. Of any other identifier (`row_group_size`,
# `6.2.8`) the whole is what is meant, where some passage has it: its parts stand in unrelated words.
_CUT_PAIR, _COMPOUND, _PART_OF_COMPOUND, _PART_OF_SYMBOL = 0.25, 0.5, 0.75, 0.25
_COMPOUND_FORM: Final = re.compile(r"[^\W\d_]+(?:[-'][^\W\d_]+)+")


class QueryWords(NamedTuple):
    """What a query text searches for.

    Attributes:
        text: The query as given.
        searched: Ascending by surface: words that score.
        asked: Every word in the order of the text, stop words included.
        name: Comparison form of the whole text; empty if it has none.
        prefix: Surface of the word that is a prefix, or empty.
        cut: Surfaces of pairs of characters of which a part asks.
    """

    text: str
    searched: tuple[QueryWord, ...]
    asked: tuple[QueryWord, ...]
    name: str
    prefix: str = ""
    cut: frozenset[str] = frozenset()


def query_words(text: str, languages: tuple[str, ...], *, prefix: bool = False) -> QueryWords:
    """Analyse a query. Stop words and words that ask stay only if nothing else remains."""
    words = filter_words(text, languages, prefix=prefix)
    if not any(word.kind == "cjk2" for word in words.searched):
        return words
    asking = {at for match in ASKING.finditer(text) for at in range(*match.span())}
    free = {w.surface for w in words.asked if asking.isdisjoint(range(w.start, w.end))}
    inside = {w.surface for w in words.asked if asking.issuperset(range(w.start, w.end))} - free
    if not any(word.kind != "cjk1" for word in words.searched if word.surface in free):
        return words
    kept = tuple(word for word in words.searched if word.surface not in inside or word.surface == words.prefix)
    return words._replace(searched=kept, cut=frozenset(word.surface for word in kept) - free)


def filter_words(text: str, languages: tuple[str, ...], *, prefix: bool = False) -> QueryWords:
    """Analyse what a filter names, of which no word may be set aside. Stop words stay only if nothing else remains."""
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


def weights_of(words: QueryWords, dfs: Sequence[int]) -> list[float]:
    """Return how much each searched word says; `dfs` tells how many passages hold it."""
    wholes = [word for word, df in zip(words.searched, dfs, strict=True) if df and word.kind == "identifier"]
    return [_weight(word, words.cut, wholes) for word in words.searched]


def _weight(word: QueryWord, cut: frozenset[str], wholes: Sequence[QueryWord]) -> float:
    if word.kind == "identifier":
        return _COMPOUND if _COMPOUND_FORM.fullmatch(word.surface) else 1.0
    if word.kind == "part":
        around = [whole for whole in wholes if whole.start <= word.start and word.end <= whole.end]
        if all(_COMPOUND_FORM.fullmatch(whole.surface) for whole in around):
            return _PART_OF_COMPOUND if around else 1.0
        return _PART_OF_SYMBOL
    return _CUT_PAIR if word.surface in cut else 1.0


def word_list(segment: "Segment", tables: Tables, word: QueryWord, prefix: str) -> WordList | None:
    """Return the list of a word in a segment whose tables these are; None if no chunk holds it."""
    if prefix and word.surface == prefix:
        return tables.list_of((prefix,), lambda: _prefix_list(segment, tables, prefix))
    return tables.list_of((word.surface, word.stems), lambda: _made_list(segment, tables, word))


def _made_list(segment: "Segment", tables: Tables, word: QueryWord) -> WordList | None:
    postings = segment.postings
    terms = [term for term in map(postings.find, word.stems) if term >= 0]
    if word.stems == (word.surface,):
        by_code = tables.characters if word.kind.startswith("cjk") else tables.every_and_bonus
        return WordList(postings.chunks_of(terms[0]), by_code[postings.codes_of(terms[0])]) if terms else None
    exact = postings.find(word.surface)
    if len(terms) != 1:
        joined = _union_list(segment, tables, terms, exact) if terms or exact >= 0 else None
        return joined if joined is not None and len(joined) else None
    (term,) = terms
    if exact == term:
        # It is its own stem in one language: the exact form needs no look-up of its own.
        return WordList(postings.chunks_of(term), tables.every_and_bonus[postings.codes_of(term)])
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
    terms = segment.postings.terms_with_prefix(prefix)
    chunks, codes = segment.postings.between(terms.start, terms.stop)
    # A short prefix has a good part of all postings: exact sums by ordinal, one pass over them.
    totals = np.bincount(chunks, weights=tables.exact[codes], minlength=segment.chunk_count).astype(np.float64)
    holding = np.flatnonzero(totals)
    return WordList(holding.astype(np.int32), totals[holding]) if len(holding) else None


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
