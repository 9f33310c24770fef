"""The expressions that pathspec writes have the parts that we cut off, replace and split at."""

import pytest
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern


@pytest.mark.parametrize(
    ("line", "expression"),
    [
        ("/a/", "^a(?P<ps_d>/)"),
        ("/a*b?/", "^a[^/]*b[^/](?P<ps_d>/)"),
        ("/*/", "^[^/]+(?P<ps_d>/)"),
        ("/**/a/", "^(?:.+/)?a(?P<ps_d>/)"),
        ("/a/**/b/", "^a(?:/.+)?/b(?P<ps_d>/)"),
        ("/**/*/", "(?P<ps_d>/)"),
        ("/\\*\\[(/", r"^\*\[\((?P<ps_d>/)"),
        ("/\u0100\xe0/", "^\u0100\xe0(?P<ps_d>/)"),
    ],
)
def test_a_folder_line_has_the_form_we_rely_on(line, expression):
    """The mark of a folder ends it; stars and folders between are written as known; other signs pass unchanged."""
    assert GitIgnoreSpecPattern.pattern_to_regex(line) == (expression, True)


def test_a_backslash_with_nothing_behind_is_an_error():
    """Git has such a line match nothing; pathspec says that it cannot be read."""
    with pytest.raises(ValueError, match="Invalid git pattern"):
        GitIgnoreSpecPattern.pattern_to_regex("/a\\/")
