"""Identifiers are found by their whole form, however the question is typed."""

import pytest

from tests.fakes.searching import Library, paths

FILES = {
    "camel.md": "The trait FnOnce is called.\n",
    "plain.md": "People write fnonce too.\n",
    "stem.md": "Several fnonces in a row.\n",
    "other.md": "Nothing of the kind.\n",
}


@pytest.mark.parametrize("text", ["fnonce", "FNONCE"])
def test_a_word_typed_plainly_finds_the_identifier_and_its_stems(text):
    """An identifier is never stemmed, yet a plain word equal to its whole form means it, beside its own stems."""
    assert {"camel.md", "plain.md", "stem.md"} <= set(paths(Library(FILES).query(text, k=0)))


def test_a_plain_word_finds_the_identifier_where_no_stem_is_indexed():
    """The whole form alone is enough."""
    assert paths(Library({"camel.md": FILES["camel.md"]}).query("fnonce", k=0)) == ["camel.md"]


def test_other_documents_are_not_found():
    """What holds neither word nor identifier stays out."""
    assert "other.md" not in paths(Library(FILES).query("fnonce", k=0))


def test_words_that_ask_leave_a_query_only_if_others_remain():
    """A question word between characters is set aside; alone, or as half of the only word, it is searched."""
    library = Library({"a.md": "数据库备份\n", "b.md": "什么什么什么的\n", "c.md": "和平协议\n"})
    assert paths(library.query("什么是备份")) == ["a.md"]
    assert paths(library.query("什么")) == ["b.md"]
    assert paths(library.query("和平")) == ["c.md"]


def test_the_parts_of_a_symbol_weigh_little_where_the_symbol_is_found():
    """The exact form is first however often the parts stand elsewhere; where it is nowhere, the parts weigh in full."""
    parts = {f"p{n}.md": "row group size row group size row group size\n" for n in range(4)}
    found = Library({"z.md": "set row_group_size to something that fits many other words beside it\n", **parts})
    assert paths(found.query("row_group_size"))[0] == "z.md"
    missing = Library({"a.md": "the row of the group has a size\n"}).query("row_group_size", explain=True)
    assert {part.weight for part in missing.hits[0].explain} == {1.0}
