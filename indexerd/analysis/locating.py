"""Where the words of a query stand in a text.

Owns: matching the terms of a text with the words of a query, with spans in the original text.
Knows nothing of: excerpts, ranking.
Invariants: 1. a span is found by the same rules that index the text.
Purity: pure.
See: docs/search.md (analysis).
"""

from collections.abc import Sequence

from indexerd.analysis.query import QueryWord
from indexerd.analysis.spans import find_spans
from indexerd.analysis.stemming import stems
from indexerd.analysis.stream import origins, read_stream


def locate(text: str, words: Sequence[QueryWord], languages: tuple[str, ...]) -> list[tuple[int, int, int]]:
    """Return `(start, end, index of word)` for each place where a word of the query stands in a text, ascending.

    Args:
        text: Any text.
        words: Words of a query, as `analyze_query` gives them.
        languages: The stemming languages in use.
    """
    wanted: dict[str, int] = {}
    stemmed: dict[str, int] = {}
    for index, word in enumerate(words):
        wanted.setdefault(word.surface, index)
        for stem in word.stems:
            stemmed.setdefault(stem, index)
    stream = read_stream([text])
    spans = find_spans(stream)
    folded = stream.codes.tobytes().decode("utf-32-le")
    begins, finishes = origins(text)
    found = []
    for start, end in zip(spans.word_starts.tolist(), spans.word_ends.tolist(), strict=True):
        term = folded[start:end]
        index = wanted.get(term)
        if index is None:
            index = next((stemmed[s] for lang in languages for s in stems([term], lang) if s in stemmed), None)
        if index is not None:
            found.append((begins[start - 1], finishes[end - 2], index))
    others = [
        *zip(spans.whole_starts.tolist(), spans.whole_ends.tolist(), strict=True),
        *((start, start + 1) for start in spans.ideographs.tolist()),
        *((start, start + 2) for start in spans.pairs.tolist()),
    ]
    for start, end in others:
        index = wanted.get(folded[start:end])
        if index is not None:
            found.append((begins[start - 1], finishes[end - 2], index))
    return sorted(found)
