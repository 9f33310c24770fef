"""Which terms a text has: the cases that people complain about elsewhere."""

import pytest

from indexerd.analysis import analyze_query, locate, name_key
from indexerd.analysis.inversion import Unit, invert
from indexerd.postings import Column, Field


def terms(text, language="none"):
    return set(invert([Unit(0, Field.TEXT, text)], 1, language).terms)


def surfaces(query):
    return {word.surface for word in analyze_query(query, ("none",))}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("row_group_size", {"row_group_size", "row", "group", "size"}),
        ("auth-flow", {"auth-flow", "auth", "flow"}),
        ("getUserName", {"getusername", "get", "user", "name"}),
        ("v6.2.8", {"v6.2.8", "6.2.8", "v6", "2", "8"}),
        ("tidb-v6.2.8.tar", {"tidb-v6.2.8.tar", "tidb-v6.2.8", "v6.2.8", "6.2.8", "tidb", "v6", "2", "8", "tar"}),
        ("base64 sha256sum", {"base64", "sha256sum"}),
        ("C++ and C#, F#.", {"c++", "c", "and", "c#", "f#", "f"}),
        (".NET ASP.NET", {".net", "net", "asp.net", "asp"}),
        ("anna@example.com", {"anna@example.com", "anna", "example", "com"}),
        ("src/store/codec.py", {"src/store/codec.py", "src", "store", "codec", "py"}),
        ("std::vec", {"std::vec", "std", "vec"}),
        ("don't don’t", {"don't", "don", "t"}),
        ("@nasa #tag $HOME --flag", {"nasa", "tag", "home", "flag"}),
        ("HTTPServer", {"httpserver"}),
        ("GitHub备份", {"github", "git", "hub", "备", "份", "备份"}),
        ("ไทย", {"ไ", "ท", "ย", "ไท", "ทย"}),
        ("résumé re\u0301sume\u0301 RÉSUMÉ", {"resume"}),
        ("हिन्दी поиск שָׁלוֹם مُحَمَّد", {"हिन्दी", "поиск", "שלום", "محمد"}),
        ("ｆｕｌｌ１２ ﬁne", {"full12", "fine"}),
        ("Foo™ x² H₂O", {"footm", "foo", "tm", "x2", "x", "2", "h2o", "h", "o"}),
        ("soft\u00adhyphen zero\u200bwidth", {"softhyphen", "zerowidth"}),
        ("か\u3099 が", {"が"}),
        ("... -- \U0001f600 \x00", set()),
    ],
)
def test_terms_of_a_text(text, expected):
    """Identifiers whole and in parts, words folded, runs without spaces as pairs and single characters."""
    assert terms(text) == expected


@pytest.mark.parametrize(
    "query",
    ["", '"', "'", "(", "AND OR", "*", "@nasa", "16-3", "don't", "a:b", "\\", "-", "+x", "\ud800", "\x00", "a\u0301"],
)
def test_any_string_is_a_query(query):
    """No string is an error, and each asks for the terms that it has as a text."""
    assert surfaces(query) == terms(query)


def test_long_words_are_cut_and_long_identifiers_have_only_parts():
    """A word of 64 characters is a term, a longer one its first 64; an identifier longer than that is not one."""
    assert terms("x" * 64) == {"x" * 64}
    assert terms("x" * 65) == {"x" * 64}
    assert terms("_".join(["ab"] * 30)) == {"ab"}


def test_words_are_counted_by_field_and_stems_apart():
    """The exact word and its stem are terms of their own, with a count for each field."""
    postings = invert([Unit(0, Field.TEXT, "running runs run"), Unit(0, Field.HEADING, "Running")], 1, "english")
    rows = {term: postings.frequencies[postings.codes_of(postings.find(term))[0]] for term in postings.terms}
    assert rows["running"][[Column.TEXT_EXACT, Column.HEADING_EXACT]].tolist() == [1, 1]
    assert rows["run"][[Column.TEXT_EXACT, Column.TEXT_STEM, Column.HEADING_STEM]].tolist() == [1, 2, 1]
    assert int(postings.lengths[0]) == 4


def test_counts_beyond_what_is_packed_are_exact():
    """Sixty-four occurrences and more are counted one by one, in several fields too."""
    units = [Unit(0, Field.TEXT, "a " * 1000), Unit(0, Field.HEADING, "a " * 64), Unit(0, Field.TAG, "a")]
    postings = invert(units, 1, "none")
    assert postings.frequencies[int(postings.codes_of(0)[0])].tolist() == [1000, 0, 64, 0, 0, 0, 1, 0, 0, 0]


def test_parts_do_not_lengthen_a_chunk():
    """An identifier counts as one word, a character of a script without spaces as one."""
    assert invert([Unit(0, Field.TEXT, "row_group_size getUserName C++ 数据")], 1, "none").lengths.tolist() == [5]


def test_kinds_places_and_stop_words_of_a_query():
    """Each word of a query says what it is and where it stands."""
    words = analyze_query("the auth-flow 数据", ("english",))
    assert [(word.surface, word.kind, word.start, word.end, word.is_stop) for word in words] == [
        ("the", "word", 0, 3, True),
        ("auth-flow", "identifier", 4, 13, False),
        ("auth", "part", 4, 8, False),
        ("flow", "part", 9, 13, False),
        ("数据", "cjk2", 14, 16, False),
        ("数", "cjk1", 14, 15, False),
        ("据", "cjk1", 15, 16, False),
    ]


def test_a_query_has_a_stem_for_each_language():
    """Words are looked up by the stem of every language in use, each once; identifiers by themselves."""
    (word,) = analyze_query("houses", ("english", "german", "none"))
    assert word.stems == ("hous", "houses")
    assert analyze_query("row_sizes", ("english",))[0].stems == ("row_sizes",)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Meeting with Anna", "meeting anna"), ("git-commit", "Git Commit"), ("GitHub", "github"),
        ("Résumé", "resume"), ("C++", "c++"), ("数据库", "数 据 库"), ("", "..."),
    ],
)  # fmt: skip
def test_names_that_are_the_same(one, other):
    """Separators, case, marks and stop words beside others do not tell names apart."""
    assert name_key(one) == name_key(other)


def test_names_that_differ():
    """What tells C from C++ and C# stays in the key."""
    assert len({name_key("C"), name_key("C++"), name_key("C#")}) == 3
    # Nothing but stop words: all of them count, in order.
    assert len({name_key("The Who"), name_key("Who the"), name_key("Who")}) == 3


def test_places_are_those_of_the_text():
    """A match covers the whole original word, marks included, however it is written."""
    text = "Re\u0301sume\u0301s, ｆｕｌｌ 数据库 running"
    words = analyze_query("resume full 数据 runs", ("english",))
    found = {(words[index].surface, text[start:end]) for start, end, index in locate(text, words, ("english",))}
    assert found == {
        ("resume", "Re\u0301sume\u0301s"),
        ("full", "ｆｕｌｌ"),
        ("数据", "数据"),
        ("数", "数"),
        ("据", "据"),
        ("runs", "running"),
    }


@pytest.mark.parametrize("unit", ["a", "a ", "aB", "_a", "数", "é", "e\u0301", "\u200d", "™"])
def test_a_line_of_any_kind_is_read_in_linear_time(unit):
    """Half a million of anything in one line is inverted and searched without a pause."""
    text = unit * 500_000
    assert invert([Unit(0, Field.TEXT, text)], 1, "none").term_count < 200
    assert isinstance(locate(text[:100_000], analyze_query(unit * 70, ("none",)), ("none",)), list)


def test_a_build_does_not_show_what_was_built_before():
    """The vocabulary that is kept between builds saves work; the lists hold the terms of their own texts only."""

    def built(text):
        made = invert([Unit(0, Field.TEXT, text)], 1, "english")
        return made.terms, made.starts.tolist(), made.chunks.tolist(), made.codes.tolist(), made.frequencies.tolist()

    alone = built("running shoes")
    built("shoes that nobody runs in; many words: " + " ".join(f"word{number}" for number in range(9000)))
    assert built("running shoes") == alone
