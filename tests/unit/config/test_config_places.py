"""Directories, profile names and roots from the environment and the command line."""

import pytest
import Stemmer

from indexerd.config import default_profile, find_places, holds, make_roots, split_label
from indexerd.config.schema import LANGUAGES


def test_xdg_values_are_used():
    """Each XDG variable moves its own place."""
    places = find_places({"XDG_CONFIG_HOME": "/c", "XDG_STATE_HOME": "/s", "XDG_RUNTIME_DIR": "/r"}, 7)
    assert (places.config_file, places.state_dir("p")) == ("/c/indexerd/config.toml", "/s/indexerd/p")
    assert (places.socket("p"), places.runtime_is_fallback) == ("/r/indexerd/p.sock", False)


def test_relative_xdg_values_count_as_unset():
    """A relative value is ignored, as the base directory rules ask."""
    places = find_places({"HOME": "/h", "XDG_CONFIG_HOME": "c", "XDG_STATE_HOME": "./s", "XDG_RUNTIME_DIR": "r"}, 7)
    assert places.config_file == "/h/.config/indexerd/config.toml"
    assert places.state_home == "/h/.local/state/indexerd"
    assert (places.runtime_dir, places.runtime_is_fallback) == ("/tmp/indexerd-7", True)


def test_profile_names_are_short_plain_and_differ_by_path():
    """The name comes from the folder's name; two folders of one name get two names."""
    assert default_profile("/a/My Docs!").startswith("my-docs-")
    assert default_profile("/a/docs") != default_profile("/b/docs")
    assert default_profile("/").startswith("root-")


@pytest.mark.parametrize(
    ("text", "expected"),
    [("a=/b", ("a", "/b")), ("/a=b", (None, "/a=b")), ("./a=b", (None, "./a=b")), ("a", (None, "a"))],
)
def test_a_label_stands_before_the_first_equals_sign(text, expected):
    """`LABEL=PATH` is split; a path with `=` is written with a slash before it."""
    assert split_label(text) == expected


def test_a_root_holds_itself_and_what_lies_below():
    """A sibling whose name begins alike is not held."""
    assert holds("/a", "/a")
    assert holds("/a", "/a/b")
    assert holds("/", "/a")
    assert not holds("/a", "/ab")


def test_labels_of_odd_folder_names_are_plain():
    """A label begins source paths, so it is printable whatever the folder is called."""
    (root,) = make_roots(("/x/a\nb",), "/")
    assert root.label.isprintable()


def test_the_languages_of_the_settings_are_those_of_the_stemmer():
    """Every language that settings accept can be stemmed."""
    assert set(LANGUAGES) - {"none"} <= set(Stemmer.algorithms())


def test_a_label_is_kept_as_it_was_given_and_a_folders_name_gives_way():
    """Roots without a label are numbered where their name is taken, wherever in the row the label stands."""
    assert [root.label for root in make_roots(("/x/docs", "/y/docs", "docs=/z", "/x/docs/"), "/")] == [
        "docs-2",
        "docs-3",
        "docs",
    ]
