"""Front matter: what is a block, what is read, what is refused."""

import pytest

from indexerd.documents.frontmatter import read_front_matter


def read(block):
    return read_front_matter(f"---\n{block}---\nbody\n")


def test_scalars_are_strings_and_lists_of_scalars_tuples():
    """No value is turned into a number, a date or a truth value."""
    found = read("a: 1\nb: true\nc: 2024-01-02\nd: [x, 1]\ne:\n  - y\n  - no\nf:\ng: 'q'\n")
    assert found.values == {
        "a": "1", "b": "true", "c": "2024-01-02", "d": ("x", "1"), "e": ("y", "no"), "f": "", "g": "q",
    }  # fmt: skip
    assert (found.unread_keys, found.problem) == ((), "")


def test_the_block_ends_behind_its_closing_line():
    """`---` and `...` close; the body begins behind."""
    for closing in ("---\n", "...\n", "--- \r\n"):
        text = f"---\na: 1\n{closing}body\n"
        assert text[read_front_matter(text).end :] == "body\n"


def test_the_closing_line_may_end_the_file():
    """A document of nothing but front matter is one."""
    assert read_front_matter("---\na: 1\n---").values == {"a": "1"}


@pytest.mark.parametrize(
    "text",
    ["", "---", "---\n", "----\na: 1\n----\n", "a\n---\nb: 1\n---\n", "---\nprose\n---\nmore\n", " ---\na: 1\n---\n"],
)
def test_rules_and_prose_are_no_front_matter(text):
    """Without a first line of `---`, a closing line and a key there is no block."""
    found = read_front_matter(text)
    assert (found.end, found.values, found.problem) == (0, {}, "")


def test_an_empty_block_is_a_block():
    """Two rules at the top hold nothing, and no text is lost."""
    found = read_front_matter("---\n---\nbody\n")
    assert (found.end, found.values) == (8, {})


@pytest.mark.parametrize(
    "block",
    [
        "a: &x 1\nacl: [b]\n",
        "acl: *x\n",
        "acl: !!python/object:os.system x\n",
        "acl: [b\n",
        "\tacl: [b]\n",
        "acl: [b]\n- x\n",
        "- acl: [b]\n",
        '{"title": "x", "acl": ["b"\n',
        '{"title":"x","acl":["b"}\n',
        '{\n"title":"x",\n"acl":["b"}\n',
        "{title: x, acl: [b]\n",
    ],
)
def test_a_bad_block_is_flagged_and_names_its_keys(block):
    """Anchors, aliases, tags and broken YAML lose their values, never the fact that they name an acl."""
    found = read(block)
    assert found.problem == "bad_front_matter"
    assert found.values == {}
    assert found.end > 0
    assert "acl" in found.unread_keys


def test_a_nested_value_is_unread_and_the_rest_is_read():
    """A mapping is no value to filter or decide by; its neighbours are."""
    found = read("acl: {who: b}\ntitle: T\ndeep: [[a]]\n")
    assert found.values == {"title": "T"}
    assert found.unread_keys == ("acl", "deep")


def test_a_key_given_twice_has_no_value():
    """Which of two acls counts cannot be known."""
    found = read("acl: [a]\nacl: [b]\n")
    assert (found.values, found.unread_keys) == ({}, ("acl",))


def test_too_many_keys_and_too_long_blocks_are_refused():
    """At most 64 keys and 64 KiB; the keys are still named."""
    many = read("".join(f"k{number}: 1\n" for number in range(65)))
    assert many.problem == "front_matter_too_large"
    assert len(many.unread_keys) == 65
    long = read(f"acl: [a]\nx: {'y' * 70_000}\n")
    assert (long.problem, long.unread_keys) == ("front_matter_too_large", ("acl", "x"))


def test_an_open_block_is_text_whose_keys_are_believed():
    """A half-saved document shows an acl before its block is closed: nobody must see it meanwhile."""
    found = read_front_matter("---\nacl: [hr]\ntitle: T\n\n# Salaries\n")
    assert (found.end, found.problem) == (0, "bad_front_matter")
    assert found.unread_keys == ("acl", "title")
    assert read_front_matter('---\n{"acl": ["hr"],\n\n# Salaries\n').unread_keys == ("acl",)


def test_deep_nesting_is_refused_before_it_costs():
    """Sixty thousand brackets are read no further than the limit."""
    assert read(f"a: {'[' * 60_000}\n").problem == "bad_front_matter"
