"""Best line, excerpt and highlights."""

import random

import pytest

from indexerd.analysis import analyze_query, locate, locate_each
from indexerd.search.excerpt import show


def shown(text, query, limit=240):
    words = analyze_query(query, ("english",))
    return show(text, locate(text, words, ("english",)), [1.0] * len(words), limit)


def marked(found):
    return [found.excerpt[start:end] for start, end in found.highlights]


def test_the_best_line_holds_most_of_the_query():
    """Distinct words count, repetition does not; the first of equal lines is taken."""
    found = shown("alpha alpha alpha\nnothing\nalpha beta\nbeta alpha\n", "alpha beta")
    assert found.line_offset == 2
    assert found.column == 1


def test_the_column_counts_bytes_from_one():
    """As editors and `grep` count them."""
    assert shown("数据 é needle\n", "needle").column == len("数据 é ".encode()) + 1


def test_a_text_without_a_match_shows_its_first_line():
    """A passage found by its title alone is shown from its beginning."""
    found = shown("one\ntwo\n", "absent")
    assert (found.line_offset, found.column, found.highlights) == (0, 1, ())
    assert found.excerpt.startswith("one")


def test_an_excerpt_takes_whole_lines_around_the_best():
    """Lines are added while they fit, those that follow first."""
    text = "".join(f"line {n:02d} filler\n" for n in range(20)) + "needle here\n" + "after it\n" + "x" * 300 + "\n"
    found = shown(text, "needle", 60)
    assert found.excerpt == "line 18 filler\nline 19 filler\nneedle here\nafter it"
    assert marked(found) == ["needle"]


def test_a_long_line_is_cut_around_its_match():
    """Only the part around the match is shown, cut at spaces."""
    text = "word " * 300 + "needle " + "word " * 300
    found = shown(text, "needle")
    assert len(found.excerpt) <= 240
    assert marked(found) == ["needle"]
    assert not found.excerpt.startswith(("ord", "rd ", "d "))


def test_a_cut_does_not_part_a_letter_from_its_marks():
    """Emoji sequences and combining marks stay whole at the cut."""
    family = "👩\u200d👩\u200d👧"
    text = family * 100 + " needle " + "e\u0301" * 300
    excerpt = shown(text, "needle").excerpt
    assert excerpt.encode("utf-8")
    assert not excerpt.startswith(("\u200d", "\u0301"))
    assert excerpt.endswith("e\u0301")


def test_highlights_lie_inside_the_excerpt_for_random_texts():
    """Ascending, apart, within bounds, and each marks a word of the query."""
    choose = random.Random(11)
    pieces = ["needle", "needles ", "hay ", "数据库", "\n", "\r\n", " ", "row_needle_x", "…" * 50, "é"]
    for _ in range(200):
        text = "".join(choose.choices(pieces, k=choose.randint(0, 60)))
        found = shown(text, "needle 数据")
        assert found.excerpt in text
        assert all(0 <= start < end <= len(found.excerpt) for start, end in found.highlights)
        assert all(a.end <= b.start for a, b in zip(found.highlights, found.highlights[1:], strict=False))
        assert found.line_offset <= text.count("\n")


def test_texts_located_together_give_what_each_gives_alone():
    """Whatever stands at the ends of texts, nothing is found across them."""
    choose = random.Random(4)
    pieces = [
        "needle",
        "need",
        "le",
        "row_",
        "_size",
        "row_size",
        "数",
        "据",
        "数据",
        "é",
        "\u0301",
        "-",
        "v6",
        ".2",
        "\n",
        " ",
        "\r",
    ]
    words = analyze_query("needle row_size 数据 v6.2 é", ("english",))
    for _ in range(100):
        texts = ["".join(choose.choices(pieces, k=choose.randint(0, 12))) for _ in range(choose.randint(0, 8))]
        alone = [locate(text, words, ("english",)) for text in texts]
        assert locate_each(texts, words, ("english",)) == alone


def test_many_words_are_located_as_few_are():
    """A text is read once for many words, and searched for each of few: with the same places."""
    choose = random.Random(7)
    pieces = ["needle", "Needles", "row_size", "aNeedle", "rowSize", "数据", "数", "据数", "é", " ", "-", "\n", "x"]
    wanted = "needle row_size 数据 据数 é rowsize anneedle"
    few = analyze_query(wanted, ("english",))
    rest = " ".join(f"filler{n}" for n in range(40)) + "".join(chr(0x5000 + n) for n in range(40))
    many = analyze_query(f"{wanted} {rest}", ("english",))
    for _ in range(200):
        text = "".join(choose.choices(pieces, k=choose.randint(0, 12)))
        assert locate(text, many, ("english",)) == locate(text, few, ("english",))


@pytest.mark.parametrize("text", ["A record of recipes.", "Ä record of recipes.", "a récord, of recipes\u0301"])
def test_a_beginning_is_found_in_every_word_that_it_begins(text):
    """With a prefix its words are places too, whole, and the others are found as ever."""
    words = analyze_query("of rec", ("english",))
    prefix = next(index for index, word in enumerate(words) if word.surface == "rec")
    without = [place for place in locate(text, words, ("english",)) if place[2] != prefix]
    found = locate(text, words, ("english",), "rec")
    assert [place for place in found if place[2] != prefix] == without
    assert [text[start:end].rstrip("\u0301.") for start, end, word in found if word == prefix] == [
        word for word in ("record", "récord", "recipes") if word in text
    ]
