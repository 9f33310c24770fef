"""What each character means to the analyzer."""

import unicodedata

import pytest

from indexerd.analysis import characters
from indexerd.analysis.characters import AWKWARD, BREAK, FLAGS, FOLDED, fold, folded_codes, rewrite
from indexerd.analysis.stream import code_points


def table_of_all():
    folded_codes(code_points("".join(map(chr, range(0x110000)))))


@pytest.mark.slow
def test_plain_characters_stand_for_one_code_point_whatever_their_neighbours():
    """No plain character is spelled or folded to several, combines, or composes with the one before it."""
    table_of_all()
    seconds = set()
    for code in range(0x110000):
        pair = unicodedata.decomposition(chr(code))
        if pair and pair[0] != "<" and " " in pair:
            first, second = (chr(int(part, 16)) for part in pair.split())
            if unicodedata.normalize("NFC", first + second) == chr(code):
                seconds.add(second)
    for code in range(0x110000):
        char = chr(code)
        if FLAGS[code] & AWKWARD or unicodedata.category(char) in ("Cs", "Co", "Cn") or not code:
            continue
        spelled = unicodedata.normalize("NFKC", char)
        assert len(spelled) == 1, hex(code)
        assert not unicodedata.combining(spelled), hex(code)
        assert spelled not in seconds, hex(code)
        assert FOLDED[code] == ord(fold(spelled)), hex(code)


@pytest.mark.slow
def test_rewriting_leaves_characters_that_fold_to_one():
    """What a cluster is rewritten to has exactly one folded code point a character."""
    table_of_all()
    for code in range(0x110000):
        if FLAGS[code] & AWKWARD:
            for char in rewrite(chr(code)).replace(BREAK, ""):
                known = unicodedata.category(char) not in ("Cs", "Co", "Cn")
                assert FOLDED[ord(char)] == (ord(fold(char)) if known else 32), hex(code)


@pytest.mark.parametrize(
    ("char", "folded"),
    [
        ("É", "e"), ("ß", "ss"), ("İ", "i"), ("Σ", "σ"), ("ς", "σ"), ("Ё", "е"), ("Й", "й"), ("ї", "ї"), ("ά", "α"),
        ("ᾳ", "α"), ("أ", "ا"), ("ִ", ""), ("ि", "ि"), ("が", "が"), ("한", "한"), ("’", "'"), ("‐", "-"),
    ],
)  # fmt: skip
def test_folding(char, folded):
    """Case and decoration go; letters of their own, vowel signs and syllables stay."""
    assert fold(char) == folded


def test_characters_are_classified_as_they_are_met(monkeypatch):
    """A character is looked up when the first text needs it, and once."""
    filled = []
    monkeypatch.setattr(characters, "_fill", lambda code, real=characters._fill: (filled.append(code), real(code)))
    FOLDED[0x1E900:0x1EA00] = 0
    for _ in range(2):
        folded_codes(code_points("\U0001e922"))
    assert filled == [0x1E922]
