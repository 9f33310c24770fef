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
