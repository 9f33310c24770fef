"""Snowball stems.

Owns: which languages there are, and the door to the stemmer.
Knows nothing of: where words come from.
Invariants: 1. a stem is a pure function of the word and the language. 2. `none` leaves words as they are.
Purity: pure.
See: docs/search.md (analysis).
"""

from collections.abc import Sequence

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
