"""Globs of path rules."""

import pytest

from indexerd.access import matches


@pytest.mark.parametrize(
    ("glob", "path", "expected"),
    [
        ("policies/**", "policies/a.md", True),
        ("policies/**", "policies/x/y/a.md", True),
        ("policies/**", "other/policies/a.md", False),
        ("policies", "policies/a.md", True),
        ("policies/", "a/policies/b.md", True),
        ("/policies", "a/policies/b.md", False),
        ("*.md", "a/b.md", True),
        ("a/*.md", "a/b/c.md", False),
        ("a/**/c.md", "a/c.md", True),
        ("a/**/c.md", "a/x/y/c.md", True),
        ("**/c.md", "c.md", True),
        ("a?.md", "ab.md", True),
        ("a?.md", "a/.md", False),
        ("a[bc].md", "ac.md", True),
        ("a[!bc].md", "ac.md", False),
        ("a[!b]c", "a/c", False),
        ("a[.-0]c", "a/c", False),
        ("a[.md", "a[.md", True),
        ("a**/b", "ax/y/b", True),
        ("a.md", "axmd", False),
        ("**", "any/thing", True),
        ("star[*].md", "star*.md", True),
        ("star[*].md", "stars.md", False),
        ("star\\*", "star*", False),
        ("star\\*", "star\\s", True),
    ],
)
def test_a_glob_matches_paths_and_all_below_a_folder(glob, path, expected):
    """`*` stays in a folder, `**` does not; without a slash a name matches at any depth."""
    assert matches(glob, path) is expected


@pytest.mark.parametrize("glob", ["", "[", "[]", "[!]", "[z-a]", "***", "\\", "[\\]", "[[]", "[^a]", "[a&&b]"])
def test_no_glob_is_an_error(glob):
    """What is no set of characters is itself."""
    matches(glob, "a")
