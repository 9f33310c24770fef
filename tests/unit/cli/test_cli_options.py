"""Flags that stand for settings."""

import click
import pytest

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
        ("--language=german", {"languages": "german"}),
        ("--ignore=x", {"ignore": ["x"]}),
        # Refused by the settings' own limits; not to be mistaken for nothing.
        ("--max-chars=0", {"max_chars": 0}),
    ],
)
def test_a_flag_is_a_key_of_the_profile(flag, expected):
    """On, off, nought and repeated ones alike."""
    assert settings_of(flag) == expected
