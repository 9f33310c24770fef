"""A text as words and blanks, of the same length: the short way to its words, for most texts.

Owns: which texts have it, and where parts begin in them.
Knows nothing of: terms, stems, queries.
Invariants: 1. a text has it if every character stands for itself in words, so that each folds to one. 2. runs and
    parts are those that `spans` finds.
Purity: pure.
See: docs/search.md (analysis).
"""

from bisect import bisect_left
from itertools import pairwise
from string import ascii_lowercase, ascii_uppercase, digits

import numpy as np
import numpy.typing as npt

from indexerd.analysis.characters import AWKWARD, FLAGS, FOLDED, LOWER, UPPER, WORD, folded_codes
from indexerd.analysis.stream import code_points

_ASCII_WORD = ascii_lowercase + ascii_uppercase + digits
# `bytes.translate` is about the quickest thing Python does to an ASCII text.
_CHARS = list(map(chr, range(256)))
_WORDS = "".join(char.lower() if char in _ASCII_WORD else " " for char in _CHARS).encode()
_CASE = bytes(LOWER if char in ascii_lowercase else UPPER if char in ascii_uppercase else 0 for char in _CHARS)
# Awkward characters that change no word beside them: the ellipsis, which is three dots to NFKC, and the selector that
# asks for the coloured form of a symbol.
_LAST_ASCII = 0x7F
_ELLIPSIS, _EMOJI_SELECTOR = 0x2026, 0xFE0F


class Letters:
    """A text without awkward characters, save harmless ones.

    Attributes:
        text: The text.
        words: Its word characters, folded, and blanks for all others.
        bounds: Positions inside runs where a part begins (`getUser`), ascending.
    """

    __slots__ = ("_gaps", "bounds", "text", "words")

    def __init__(self, text: str, words: str, bounds: list[int]) -> None:
        self.text, self.words, self.bounds = text, words, bounds
        self._gaps = [bound + number for number, bound in enumerate(bounds)]

    def folded(self) -> str:
        """Return the text with every character folded."""
        if self.text.isascii():
            return self.text.lower()
        return FOLDED[code_points(self.text)].tobytes().decode("utf-32-le")

    def parts(self) -> str:
        """Return the words with a blank at either end and one between the parts of a run."""
        if not self.bounds:
            return f" {self.words} "
        pieces = [self.words[begin:end] for begin, end in pairwise([0, *self.bounds, len(self.words)])]
        return f" {' '.join(pieces)} "

    def in_text(self, blanks: list[int]) -> list[int]:
        """Return, for places of blanks in `parts`, where the word behind each stands in the text."""
        gaps = self._gaps
        return [at - bisect_left(gaps, at) for at in blanks] if gaps else blanks


def letters_of(text: str) -> Letters | None:
    """Return a text as words and blanks; None if awkward characters may change a word in it."""
    if text.isascii():
        return _ascii_letters(text)
    codes = code_points(text)
    foreign = codes[codes > _LAST_ASCII]
    folded_codes(foreign)
    if not (FLAGS.take(foreign) & (WORD | AWKWARD)).any():
        # Dashes, quotes, arrows: blanks, like the question marks that stand for them here.
        return _ascii_letters(text)
    folded = folded_codes(codes)
    flags = FLAGS.take(codes)
    if int(flags.max()) >= AWKWARD and not _are_harmless(codes, flags):
        return None
    words = np.where(flags & (WORD | AWKWARD) == WORD, folded, np.uint32(ord(" "))).tobytes().decode("utf-32-le")
    return Letters(text, words, _cuts(flags))


def _ascii_letters(text: str) -> Letters:
    data = text.encode("ascii", "replace")
    return Letters(text, data.translate(_WORDS).decode("ascii"), _cuts(np.frombuffer(data.translate(_CASE), np.uint8)))


def _are_harmless(codes: npt.NDArray[np.uint32], flags: npt.NDArray[np.uint8]) -> bool:
    """Whether all awkward characters stand where they change no word: a selector behind a symbol, not a letter."""
    at = np.flatnonzero(flags >= AWKWARD)
    behind_symbol = (at == 0) | (flags[at - 1] == 0)
    return bool(((codes[at] == _ELLIPSIS) | ((codes[at] == _EMOJI_SELECTOR) & behind_symbol)).all())


def _cuts(flags: npt.NDArray[np.uint8]) -> list[int]:
    """Return where an upper-case letter follows a lower-case one."""
    return (np.flatnonzero((flags[:-1] << 1) & flags[1:] & UPPER != 0) + 1).tolist()
