"""The array analyzer against the slow one, on any text."""

import random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from indexerd.analysis import analyze_query, inversion, locate, name_key
from indexerd.analysis.inversion import Unit, invert
from indexerd.postings import Field
from tests.reference import slow_analyzer

# Texts that random characters rarely form: case, joiners, versions, marks, scripts, symbols that NFKC spells out.
PIECES = [
    "a", "b", "row", "Group", "getUserName", "HTTP", "x", "V", "v6", "6", "2.8", "0", "_", "-", "'", "’", ".",
    "..", "/", "\\", ":", "::", "@", "+", "++", "#", "&", " ", "\n", "\t", "=", "é", "e\u0301",
    "E\u0301\u0327", "й", "и\u0306", "ї", "ß", "ẞ", "İ", "ﬁ", "ŉ", "ǆ", "ǅ", "ά", "ᾳ",
    "α\u0345", "ὈΔΥΣΣΕΎΣ", "שָׁלוֹם", "مُحَمَّد", "أ", "हिन्दी", "क़",
    "की", "ไทย", "กำ", "ກຳ", "数据库", "か\u3099", "ガ", "ｶﾞ", "한글",
    "ᄒ\u1161\u11ab", "ー", "™", "²", "½", "①", "㎡", "℃", "…", "´", "¨", "\u200b", "\u200d",
    "\ufe0f", "\u00ad", "\ufeff", "👩\u200d💻", "ｆｕｌｌ", "１２．３", "\uffff", "\ue000",
    "\u0378", "\ud800", "\x00", "𝐁𝐨𝐥𝐝", "𐐀", "\u0bc6\u0bbe", "٣", "๓", "Ⅳ", "ª", "‿",
    "＿", "x" * 70, "y_" * 40, "·", "々", "〇", "\u0300", "\u093e", "Ａ\u0300",
]  # fmt: skip

texts = st.one_of(
    st.text(max_size=40),
    st.lists(st.sampled_from(PIECES), max_size=14).map("".join),
    st.lists(st.one_of(st.sampled_from(PIECES), st.characters()), max_size=14).map("".join),
)
units = st.lists(st.tuples(st.integers(0, 3), st.sampled_from(list(Field)), texts), max_size=6).map(
    lambda found: [Unit(*unit) for unit in sorted(found, key=lambda unit: unit[0])]
)


def as_rows(postings):
    rows = postings.frequencies.tolist()
    return {
        (term, int(chunk)): rows[code]
        for number, term in enumerate(postings.terms)
        for chunk, code in zip(postings.chunks_of(number), postings.codes_of(number), strict=True)
    }


def assert_same(found, language="english"):
    postings = invert(found, 4, language)
    rows, lengths = slow_analyzer.invert(found, 4, language)
    assert as_rows(postings) == rows
    assert postings.lengths.tolist() == lengths
    assert list(postings.terms) == sorted(postings.terms)
    used = {tuple(row) for row in rows.values()}
    assert [tuple(row) for row in postings.frequencies.tolist()] == sorted(used)


@settings(max_examples=400, deadline=None)
@given(units, st.sampled_from(["english", "russian", "german", "none"]))
@example([Unit(0, Field.TEXT, "ß\uffff²é")], "german")
def test_array_code_agrees_with_the_slow_analyzer(found, language):
    """Terms, chunks, counts by column, lengths, and their order are those of the slow analyzer, for any text."""
    assert_same(found, language)


def test_array_code_agrees_with_the_slow_analyzer_on_seeded_texts():
    """The same without Hypothesis: 300 seeded mixtures."""
    seeded = random.Random(5)
    for _ in range(300):
        found = [
            Unit(chunk, seeded.choice(list(Field)), "".join(seeded.choices(PIECES, k=seeded.randrange(12))))
            for chunk in range(3)
        ]
        assert_same(found)


@settings(max_examples=100, deadline=None)
@given(units, st.integers(1, 60))
def test_batches_do_not_show(found, size):
    """Postings are the same however the units fall into batches."""
    whole = invert(found, 4, "english")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inversion, "_BATCH", size)
        cut = invert(found, 4, "english")
    assert as_rows(cut) == as_rows(whole)
    assert cut.terms == whole.terms
    assert cut.codes.tolist() == whole.codes.tolist()
    assert cut.lengths.tolist() == whole.lengths.tolist()


@settings(max_examples=300, deadline=None)
@given(texts)
def test_a_query_asks_for_what_the_text_has(text):
    """Any text as a query gives exactly the terms that the same text has in the index."""
    words = analyze_query(text, ("english",))
    chars, found, _ = slow_analyzer.spans(text)
    assert sorted(word.surface for word in words) == sorted(chars[start:end] for start, end, _ in found)
    postings = invert([Unit(0, Field.TEXT, text)], 1, "english")
    assert {stem for word in words for stem in word.stems} <= set(postings.terms)
    assert all(0 <= word.start < word.end <= len(text) for word in words)


@settings(max_examples=200, deadline=None)
@given(texts)
def test_every_word_of_a_text_is_located_in_it(text):
    """Asked for all its own words, a text shows each of them, inside the text."""
    words = analyze_query(text, ("english",))
    found = locate(text, words, ("english",))
    assert {words[index].surface for _, _, index in found} == {word.surface for word in words}
    assert all(0 <= start < end <= len(text) for start, end, _ in found)
    assert found == sorted(found)


@settings(max_examples=200, deadline=None)
@given(texts)
def test_a_name_key_is_stable(text):
    """A key has no capital letters, no stop word beside others, and is its own key."""
    key = name_key(text)
    assert name_key(key) == key or any(mark in key for mark in ("+", "#"))


def _assert_short_as_long(text, query):
    words = analyze_query(query, ("english",))
    # Behind a mark that stands alone, only the long way is sure of what it reads.
    long = locate(text + "\n\u0301", words, ("english",))
    assert locate(text, words, ("english",)) == long


@settings(max_examples=300, deadline=None)
@given(
    st.text(st.sampled_from("abAB06 .-_'’“…+#\n"), max_size=60),
    st.text(st.sampled_from("abAB06 .-_'+#"), max_size=12),
)
def test_the_short_way_through_a_text_finds_what_the_long_way_finds(text, query):
    """Texts that are ASCII but for their punctuation give the same places as by arrays."""
    _assert_short_as_long(text, query)


HARMLESS = [
    "a",
    "B",
    "c",
    "ab",
    "Ab",
    "é",
    "Я",
    "я",
    "#",
    "+",
    ".",
    "::",
    "_",
    "数",
    "据",
    "ー",
    " ",
    "\n",
    "…",
    "⚠\ufe0f",
]


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.sampled_from([*HARMLESS, "x" * 70]), max_size=20).map("".join),
    st.lists(st.sampled_from([*HARMLESS, "x" * 64]), max_size=6).map("".join),
)
def test_the_short_way_through_other_scripts_finds_what_the_long_way_finds(text, query):
    """Accents, other alphabets, ideographs, ellipses and emoji give the same places as by arrays."""
    _assert_short_as_long(text, query)


@settings(max_examples=200, deadline=None)
@given(texts, texts)
def test_the_short_way_through_any_text_finds_what_the_long_way_finds(text, query):
    """Whatever the texts are made of, the ways agree."""
    _assert_short_as_long(text, query)


@settings(max_examples=200, deadline=None)
@given(texts)
def test_a_span_of_the_text_reads_as_its_word(text):
    """What stands at a word's place reads as that word when it stands alone."""
    for word in analyze_query(text, ("none",)):
        if word.kind == "word" and len(word.surface) < slow_analyzer.LIMIT:
            alone = analyze_query(text[word.start : word.end], ("none",))
            assert word.surface in {other.surface for other in alone}
