"""Snowball stems.

Owns: which languages there are, and the door to the stemmer.
Knows nothing of: where words come from.
Invariants: 1. a stem is a pure function of the word and the language. 2. `none` leaves words as they are.
Purity: pure.
See: docs/search.md (analysis).
"""

from collections.abc import Collection, Iterable, Sequence
from typing import AnyStr

import Stemmer

from indexerd.errors import RequestError

NO_STEMMING = "none"
LANGUAGES: tuple[str, ...] = (NO_STEMMING, *sorted(Stemmer.algorithms()))
STEMMER_VERSION: str = Stemmer.version()


def known_language(name: str) -> str:
    """Return the name of a language that a caller gave.

    Raises:
        RequestError: It is none of `LANGUAGES`, which the message lists.
    """
    if name not in LANGUAGES:
        raise RequestError(f"language: must be one of {', '.join(LANGUAGES)}, not {name!r}")
    return name


def stems(words: Sequence[AnyStr], language: str) -> list[AnyStr]:
    """Return the stem of each folded word, in UTF-8 if it is.

    Raises:
        KeyError: The language is none of `LANGUAGES`; the settings are checked before they come here.
    """
    if language == NO_STEMMING:
        return list(words)
    # A new one for each call: it is not safe to share between threads, and costs less than one word. Without its cache,
    # which takes twice the time it saves.
    stemmer = Stemmer.Stemmer(language, 0)
    found: list[AnyStr] = stemmer.stemWords(list(words))
    # A stem of nothing finds nothing: such a word (there are some in Turkish) stays as it is.
    return found if all(found) else [stem or word for stem, word in zip(found, words, strict=True)]


# About 8 MB a language when full.
_KEPT_STEMS = 32_768
_KEPT_LENGTH = 64


class StemMemo:
    """Stems of the words of texts in one language: most words of a text were in another one before.

    Safe under threads: a lost update costs a recomputation.
    """

    def __init__(self, language: str) -> None:
        self._language = language
        # The stem of each word, and the words of each stem.
        self._kept: tuple[dict[str, str], dict[str, list[str]]] = {}, {}

    def stem(self, word: str) -> str:
        """Return the stem of a word."""
        return self._kept[0].get(word) or stems([word], self._language)[0]

    def with_stem(self, words: set[str], wanted: Collection[str]) -> set[str]:
        """Return the words whose stem is one of those wanted; a word is stemmed up to its 64th character."""
        known, forms = self._kept
        found = {form for stem in wanted for form in forms.get(stem, ()) if form in words}
        unknown = list(words.difference(known))
        if unknown:
            # All at once: a call of the stemmer costs as much as ten words.
            stemmed = stems([word[:_KEPT_LENGTH] for word in unknown], self._language)
            found.update(word for word, stem in zip(unknown, stemmed, strict=True) if stem in wanted)
            self._keep(zip(unknown, stemmed, strict=True))
        return found

    def _keep(self, pairs: Iterable[tuple[str, str]]) -> None:
        if len(self._kept[0]) >= _KEPT_STEMS:
            # New ones rather than emptied ones: another thread may be reading the old.
            self._kept = {}, {}
        known, forms = self._kept
        for word, stem in pairs:
            if len(word) <= _KEPT_LENGTH:
                # The form first: whoever finds the word known looks for it there.
                forms.setdefault(stem, []).append(word)
                known[word] = stem
