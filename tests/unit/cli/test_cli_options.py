"""Flags that stand for settings."""

import click
import pytest

from indexerd.cli.main import _apart
from indexerd.cli.options import setting, take_settings


def settings_of(*arguments):
    found = {}

    @click.command()
    @setting
    def command(**flags):
        found.update(take_settings(flags))

    command.main(list(arguments), standalone_mode=False)
    return found


def test_flags_that_are_not_given_set_nothing():
    """What the file says stays."""
    assert settings_of() == {}


@pytest.mark.parametrize(
    ("flag", "expected"),
    [
        ("--hidden", {"hidden": True}),
        ("--no-hidden", {"hidden": False}),
        ("--no-node-modules", {"node_modules": False}),
        ("--tagged-caches", {"tagged_caches": True}),
        ("--poll", {"poll": True}),
        ("--no-poll", {"poll": False}),
        ("--poll=2.5", {"poll": 2.5}),
        ("--language=german", {"languages": "german"}),
        ("--ignore=x", {"ignore": ["x"]}),
        # Refused by the settings' own limits; not to be mistaken for nothing.
        ("--max-chars=0", {"max_chars": 0}),
    ],
)
def test_a_flag_is_a_key_of_the_profile(flag, expected):
    """On, off, nought and repeated ones alike."""
    assert settings_of(flag) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["watch", "--poll", "./docs"], ["watch", "--poll=always", "./docs"]),
        (["watch", "--poll", "2.5", "./docs"], ["watch", "--poll", "2.5", "./docs"]),
        (["watch", "./docs", "--poll"], ["watch", "./docs", "--poll=always"]),
        (["query", "--", "--poll", "x"], ["query", "--", "--poll", "x"]),
    ],
)
def test_a_root_behind_the_flag_is_not_taken_for_seconds(given, expected):
    """`--poll` may stand alone or before a number."""
    assert _apart(given) == expected
