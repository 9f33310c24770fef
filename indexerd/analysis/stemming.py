"""Snowball stems.

Owns: which languages there are, and the door to the stemmer.
Knows nothing of: where words come from.
Invariants: 1. a stem is a pure function of the word and the language. 2. `none` leaves words as they are.
Purity: pure.
See: docs/search.md (analysis).
"""

from collections.abc import Collection, Iterable, Sequence
from collections.abc import Set as AbstractSet

import Stemmer

NO_STEMMING = "none"
LANGUAGES: tuple[str, ...] = (NO_STEMMING, *sorted(Stemmer.algorithms()))
STEMMER_VERSION: str = Stemmer.version()


def stems(words: Sequence[str], language: str) -> list[str]:
    """Return the stem of each folded word.

    Raises:
        KeyError: The language is none of `LANGUAGES`; the settings are checked before they come here.
    """
    if language == NO_STEMMING:
        return list(words)
    # A new one for each call: it is not safe to share between threads, and costs less than one word. Without its cache,
    # which takes twice the time it saves.
    stemmer = Stemmer.Stemmer(language, 0)
    found: list[str] = stemmer.stemWords(list(words))
    # A stem of nothing finds nothing: such a word (there are some in Turkish) stays as it is.
    return found if all(found) else [stem or word for stem, word in zip(found, words, strict=True)]


# About 6 MB a language when full.
_KEPT_STEMS = 32_768
_KEPT_LENGTH = 64


class StemMemo:
    """Stems of the words of texts in one language: most words of a text were in another one before.

    Safe under threads: a lost update costs a recomputation.
    """

    def __init__(self, language: str) -> None:
        self._language = language
        self._kept: dict[str, str] = {}

    def stem(self, word: str) -> str:
        """Return the stem of a word."""
        return self._kept.get(word) or stems([word], self._language)[0]

    def with_stem(self, words: Collection[str], wanted: AbstractSet[str]) -> list[str]:
        """Return the words whose stem is one of those wanted; a word is stemmed up to its 64th character."""
        kept = self._kept
        found, unknown = [], []
        for word, stem in zip(words, map(kept.get, words), strict=True):
            if stem is None:
                unknown.append(word)
            elif stem in wanted:
                found.append(word)
        if unknown:
            # All at once: a call of the stemmer costs as much as ten words.
            stemmed = stems([word[:_KEPT_LENGTH] for word in unknown], self._language)
            found += [word for word, stem in zip(unknown, stemmed, strict=True) if stem in wanted]
            self._keep(zip(unknown, stemmed, strict=True))
        return found

    def _keep(self, pairs: Iterable[tuple[str, str]]) -> None:
        if len(self._kept) >= _KEPT_STEMS:
            # A new one rather than an emptied one: another thread may be reading the old.
            self._kept = {}
        self._kept.update((word, stem) for word, stem in pairs if len(word) <= _KEPT_LENGTH)
