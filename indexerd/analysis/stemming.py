"""Snowball stems.

Owns: which languages there are, and one stemmer for each.
Knows nothing of: where words come from.
Invariants: 1. a stem is a pure function of the word and the language. 2. `none` leaves words as they are.
Purity: pure (stemmers are kept, one for each thread).
See: docs/search.md (analysis).
"""

import threading
from collections.abc import Sequence

import Stemmer

NO_STEMMING = "none"
LANGUAGES: tuple[str, ...] = (NO_STEMMING, *sorted(Stemmer.algorithms()))
STEMMER_VERSION: str = Stemmer.version()


class _Stemmers(threading.local):
    """One stemmer for each language and thread: a stemmer is not safe to share."""

    def __init__(self) -> None:
        self._by_language: dict[str, Stemmer.Stemmer] = {}

    def of(self, language: str) -> Stemmer.Stemmer:
        if language not in self._by_language:
            # Without its cache, which costs twice what it saves: each term is stemmed once.
            self._by_language[language] = Stemmer.Stemmer(language, 0)
        return self._by_language[language]


_stemmers = _Stemmers()


def stems(words: Sequence[str], language: str) -> list[str]:
    """Return the stem of each folded word.

    Raises:
        KeyError: The language is none of `LANGUAGES`; the settings are checked before they come here.
    """
    if language == NO_STEMMING:
        return list(words)
    found: list[str] = _stemmers.of(language).stemWords(list(words))
    # A stem of nothing finds nothing: such a word (there are some in Turkish) stays as it is.
    return found if all(found) else [stem or word for stem, word in zip(found, words, strict=True)]
