"""Tags and the words of a path."""

import pytest

from indexerd.documents.names import inline_tags, path_words
from indexerd.documents.outline import Block


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("#one and #two-words, (#three) #vier/fünf.", ["one", "two-words", "three", "vier/fünf"]),
        ("中文，#标签。", ["标签"]),
        ("#12 #1a a#b https://x/#frag &#39; ##double # space", ["1a"]),
        ("`#code` #real ``x ` #code`` #also", ["real", "also"]),
        ("`unclosed #tag", ["tag"]),
        ("    #code\n\t#code\n#tag\n", ["tag"]),
    ],
)
def test_tags_stand_at_the_start_of_a_word_outside_code(text, tags):
    """Numbers, fragments, entities and code are no tags."""
    assert inline_tags(text, ()) == tags


def test_tags_in_fences_are_code():
    """A fence holds none, a table may."""
    text = "```\n#no\n```\n| #yes |\n"
    assert inline_tags(text, [Block(0, 12), Block(12, 21, 21)]) == ["yes"]


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("a.md", ("a", "")),
        ("x/y/Meeting with Anna.md", ("Meeting with Anna", "x/y")),
        ("x/.hidden", (".hidden", "x")),
        ("v1.2/notes.v2.txt", ("notes.v2", "v1.2")),
        ("a%0Ab%FF.md", ("a\nb\ufffd", "")),
        ("50% off.md", ("50% off", "")),
        ("not%canonical%4.md", ("not%canonical%4", "")),
    ],
)
def test_a_path_gives_the_words_of_its_name_and_folders(path, words):
    """Decoded, without the ending."""
    assert path_words(path) == words
