"""The analyzer again, one character at a time: slow, obvious, and the judge of the array code.

It shares with the real one only data: what a character folds to, and which characters are invisible or spaceless.
"""

import itertools
import unicodedata
from collections import Counter

import Stemmer

from indexerd.analysis.characters import BREAK, fold, is_ignorable, is_spaceless, is_symbol_with_letters, is_word
from indexerd.postings import Column

LIMIT = 64
TIGHT = ("_", "-", "'")
LOOSE = (".", "/", "\\", ":", "@", "+", "&", "::")


def normalized(text):
    """NFKC without invisible characters, with BREAK around the letters of symbols."""
    spelled = []
    for char in text:
        if is_ignorable(char):
            continue
        if char == BREAK:
            spelled.append(" ")
            continue
        new = unicodedata.normalize("NFKC", char)
        spelled.append(BREAK + new + BREAK if is_symbol_with_letters(char, new) else char)
    return unicodedata.normalize("NFKC", "".join(spelled))


def kind_of(char):
    """U upper, l lower, w other word character, d digit, i ideograph, blank for the rest."""
    if not is_word(char):
        return " "
    if unicodedata.category(char) == "Nd":
        return "d"
    if is_spaceless(char):
        return "i"
    return "u" if char.isupper() or unicodedata.category(char) == "Lt" else "l" if char.islower() else "w"


def read(text):
    """Return folded characters, their kinds, and the positions where a part ends between word characters."""
    chars, kinds, breaks = [], [], set()
    for char in normalized(text):
        if char == BREAK:
            breaks.add(len(chars))
            continue
        known = unicodedata.category(char) not in ("Cs", "Co", "Cn")
        expanded = fold(char) if known else " "
        for folded in expanded:
            chars.append(folded)
            kinds.append("u" if char.isupper() else kind_of(folded if len(expanded) > 1 else char))
    return "".join(chars), "".join(kinds), breaks


def runs_of(kinds):
    runs, start = [], None
    for at, kind in enumerate(kinds + " "):
        if kind in "ulwd" and start is None:
            start = at
        elif kind not in "ulwd" and start is not None:
            runs.append((start, at))
            start = None
    return runs


def link(chars, kinds, left, right):
    """How two neighbouring runs are joined: 0 not, 1 a number's dot, 2 tight, 3 loose."""
    gap = chars[left[1] : right[0]]
    if gap == "." and kinds[left[1] - 1] == "d" and kinds[right[0]] == "d":
        return 1
    return 2 if gap in TIGHT else 3 if gap in LOOSE else 0


def chains(links, level):
    """Lists of at least two runs joined by links of at most this level, with one of exactly this level."""
    found, start = [], 0
    for at in range(len(links) + 1):
        if at == len(links) or not 0 < links[at] <= level:
            if level in links[start:at]:
                found.append((start, at))
            start = at + 1
    return found


def parts_of(run, kinds, breaks):
    cuts = [at for at in range(run[0] + 1, run[1]) if kinds[at - 1 : at + 1] == "lu" or at in breaks]
    return list(zip([run[0], *cuts], [*cuts, run[1]], strict=True))


def spans(text):
    """Return folded text, (start, end, kind) of every term, and how many of them count into the length."""
    chars, kinds, breaks = read(text)
    runs = runs_of(kinds)
    links = [link(chars, kinds, left, right) for left, right in itertools.pairwise(runs)]
    found = []
    for run in runs:
        parts = parts_of(run, kinds, breaks)
        found += [(start, min(end, start + LIMIT), "word") for start, end in parts]
        if len(parts) > 1:
            found.append((*run, "whole"))
        if chars[run[1] : run[1] + 2] == "++":
            found.append((run[0], run[1] + 2, "whole"))
        if chars[run[1] : run[1] + 1] == "#" and (kinds + " ")[run[1] + 1] not in "ulwd":
            found.append((run[0], run[1] + 1, "whole"))
        before = run[0] - 2
        free = before < 0 or (kinds[before] not in "ulwdi" and chars[before] != ".")
        if run[0] and chars[run[0] - 1] == "." and kinds[run[0]] != "d" and free:
            found.append((run[0] - 1, run[1], "whole"))
    for level in (1, 2, 3):
        for first, last in chains(links, level):
            found.append((runs[first][0], runs[last][1], "whole"))
            if level == 1 and chars[runs[first][0]] == "v" and kinds[runs[first][0] + 1] == "d":
                found.append((runs[first][0] + 1, runs[last][1], "whole"))
    for at, kind in enumerate(kinds):
        if kind == "i":
            found.append((at, at + 1, "one"))
            if kinds[at + 1 : at + 2] == "i":
                found.append((at, at + 2, "two"))
    counted = sum(1 for at in range(len(runs)) if at == 0 or not links[at - 1]) + kinds.count("i")
    return chars, [span for span in found if span[1] - span[0] <= LIMIT], counted


def stem(word, language):
    return word if language == "none" else Stemmer.Stemmer(language).stemWord(word) or word


def invert(units, chunk_count, language):
    """Return {(term, chunk): frequency row} and the lengths."""
    counts, lengths = Counter(), [0] * chunk_count
    for chunk, field, text in units:
        chars, found, counted = spans(text)
        lengths[chunk] += counted
        for start, end, kind in found:
            term = chars[start:end]
            counts[term, chunk, 2 * field] += 1
            if kind == "word" and stem(term, language) != term:
                counts[stem(term, language), chunk, 2 * field + 1] += 1
    rows = {}
    for (term, chunk, column), count in counts.items():
        rows.setdefault((term, chunk), [0] * len(Column))[column] = count
    return rows, lengths
