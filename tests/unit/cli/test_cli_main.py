"""What the command line says when a call is wrong, or when its output cannot be written."""

import json
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from indexerd.cli.main import GROUPS, cli, run
from indexerd.cli.printing import write


def test_a_call_without_a_command_shows_the_help(capfdbinary):
    """The bare name is a wrong call that is answered with what there is, line by line."""
    assert run([]) == 2
    out, err = capfdbinary.readouterr()
    assert out == b""
    assert err.startswith(b"Usage: indexerd [OPTIONS] COMMAND")
    assert b"\n  watch " in err


def test_the_help_cuts_no_summary_short(capfdbinary):
    """Each command is introduced by a whole sentence, the first of its own help."""
    assert run(["--help"]) == 0
    assert b"..." not in capfdbinary.readouterr().out.partition(b"Everyday:")[2]
    context = click.Context(cli)
    for name, _, summary in (command for commands in GROUPS.values() for command in commands):
        assert cli.get_command(context, name).get_short_help_str(limit=200) == summary


@pytest.mark.parametrize(
    ("command", "typed"),
    [
        ("sync", "sync PATH..."),
        ("show", "show CITATION"),
        ("open", "open N"),
        ("completion", "completion {bash|zsh|fish}"),
    ],
)
def test_an_argument_that_is_missing_is_told_as_what_to_type(command, typed, capfdbinary):
    """Whichever command lacks one."""
    assert run([command]) == 2
    assert (
        capfdbinary.readouterr().err.decode().startswith(f"indexerd: an argument is missing: type `indexerd {typed}`\n")
    )


@pytest.mark.parametrize(("arguments", "is_told"), [(["query", "-rf"], True), (["stop", "-x"], False)])
def test_an_unknown_flag_tells_how_to_give_a_word(arguments, is_told, capfdbinary):
    """Where words are expected, a dash in front of one is a slip that can be mended."""
    assert run(arguments) == 2
    assert (b"Put -- before" in capfdbinary.readouterr().err) is is_told


@pytest.mark.parametrize(("word", "meant"), [("quer", "query"), ("synch", "sync"), ("xyzzy", None)])
def test_an_unknown_command_tells_the_nearest_one(word, meant, capfdbinary):
    """A slip of the finger is named; what is like nothing gets no guess."""
    assert run([word, "text"]) == 2
    told = capfdbinary.readouterr().err.decode()
    assert told.startswith(f"indexerd: No such command {word!r}.{f' Did you mean {meant!r}?' if meant else ''}\n")


def test_a_json_caller_gets_the_same_sentence(capfdbinary):
    """The message is the same in both forms."""
    assert run(["sync", "--json"]) == 2
    assert "\n" not in json.loads(capfdbinary.readouterr().out)["error"]["message"]


def test_a_full_output_is_an_error_that_names_it():
    """Whoever redirects to a full disk learns that it was the output that failed."""
    with open("/dev/full", "wb") as full, pytest.raises(OSError, match="standard output"):
        write(full.fileno(), b"text")


def test_what_standard_error_does_not_take_is_lost():
    """Notes that nobody can read never make a command fail."""
    code = "import os; from indexerd.cli.printing import write; os.close(2); assert write(2, b'x') is False"
    assert subprocess.run([sys.executable, "-c", code], check=False, cwd=Path(__file__).parents[3]).returncode == 0


def test_help_needs_no_output():
    """With standard output closed there is nothing to flush, and nothing to complain about."""
    done = subprocess.run(
        ["/bin/sh", "-c", f"exec {sys.executable} -m indexerd watch --help >&-"],
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
    )
    assert (done.returncode, done.stderr) == (0, b"")
