"""Flags that stand for settings, and flags that do not go together."""

import click
import pytest
from click.testing import CliRunner

from indexerd.cli.main import _apart, cli
from indexerd.cli.options import setting, take_settings


def settings_of(*arguments):
    found = {}

    @click.command()
    @setting
    def command(**flags):
        found.update(take_settings(flags))

    command.main(list(arguments), standalone_mode=False)
    return found


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["query", "-n", "x", "word"], "'-n' / '--number': 'x' is not a whole number, 0 or more."),
        (["query", "-n", "-3", "word"], "'-n' / '--number': '-3' is not a whole number, 0 or more."),
        (["generations", "1" + "0" * 30], f"'[N]': '1{'0' * 30}' is not a whole number, 0 to {(1 << 53) - 1}."),
        (["open", "x"], "'N': 'x' is not a whole number, 1 or more."),
        (["watch", "--max-chars", "1.5", "."], "'--max-chars': '1.5' is not a whole number, 0 or more."),
        (["mcp", "--wait", "99999"], "'--wait': '99999' is not a whole number, 0 to 60000."),
        (["evidence", "--min-coverage", "x", "word"], "'--min-coverage': 'x' is not a valid number."),
    ],
)
def test_a_value_that_is_no_number_is_told_in_plain_words(given, told):
    """No word of the option library's own stands in the message."""
    result = CliRunner().invoke(cli, given)
    assert result.exit_code == 2
    assert f"Invalid value for {told}" in result.stderr


@pytest.mark.parametrize("given", [["sync", ""], ["sync", ".", ""], ["watch", ""], ["config", ""], ["forget", ""]])
def test_an_empty_path_is_not_taken_for_this_folder(given):
    """It is what a shell makes of a variable that is not set."""
    result = CliRunner().invoke(cli, given)
    assert result.exit_code == 2
    assert "an empty path names nothing" in result.stderr


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


@pytest.mark.parametrize(
    ("words", "flags"),
    [
        (["documents", "-0", "--json"], ("-0", "--json")),
        (["verify", "a.md#L1-L1", "--text", "t", "--evidence", "e"], ("--text", "--evidence")),
        (["check", "--jsonl", "--evidence", "e"], ("--jsonl", "--evidence")),
        (["check", "--jsonl", "--fix", "--role", "r"], ("--fix", "--role")),
        (["check", "a", "--trace", "t", "--evidence", "e"], ("--trace", "--evidence")),
        (["check", "a", "--evidence", "e", "--checker", "c"], ("--checker", "--jsonl")),
        (["check", "a", "--evidence", "e", "--language", "german"], ("--language", "--jsonl")),
        (["check", "a", "--evidence", "e", "--sent", "s"], ("--sent", "--trace")),
        (["eval", "cases.json", "--qrels", "q"], ("--qrels", "--topics")),
        (["eval", "--topics", "t", "--html", "h"], ("--html", "CASES")),
        (["eval", "--topics", "t", "--require", "mrr>=0.9"], ("--require", "--qrels")),
        (["sync", ".", "--poll", "--no-poll"], ("--poll", "--no-poll")),
    ],
    ids=" ".join,
)
def test_no_flag_is_ignored_silently(words, flags):
    """What would have no effect beside another flag is refused with both names, before anything is read."""
    done = CliRunner().invoke(cli, _apart(words))
    assert done.exit_code == 2
    assert all(flag in done.output for flag in flags)
