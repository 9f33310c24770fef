"""Completion in the real shells, and the manual page."""

import contextlib
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from indexerd.cli.completing import bash_script, described, fish_script, zsh_script
from indexerd.cli.main import GROUPS, cli
from tests.fakes.daemon_process import wait_for
from tests.fakes.editors import needed

DOCS = Path(__file__).parents[2] / "docs"
NAMES = [name for commands in GROUPS.values() for name, *_ in commands]
BASH = """
source "$1"
compopt() { :; }
shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
_indexerd
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def commands():
    """Every command as a value."""
    with click.Context(cli, info_name="indexerd") as context:
        return [described(context, name) for name in NAMES]


def completed_by_bash(script, *words):
    """Return what bash offers for the last word."""
    done = subprocess.run(
        ["bash", "-c", BASH, "bash", script, *words],
        capture_output=True,
        text=True,
        check=True,
        stdin=subprocess.DEVNULL,
    )
    assert not done.stderr
    return done.stdout.split()


def test_bash_completes_commands_flags_and_values(commands, tmp_path):
    """Every command and flag is offered, fixed values after their flag, nothing after a flag with a free value."""
    script = tmp_path / "completion.bash"
    script.write_text(bash_script(commands))
    assert completed_by_bash(script, "indexerd", "") == NAMES
    assert completed_by_bash(script, "indexerd", "qu") == ["query"]
    for command in commands:
        offered = completed_by_bash(script, "indexerd", command.name, "--")
        flags = [name for flag in command.flags for name in flag.names if name.startswith("--")]
        assert offered == flags
    assert completed_by_bash(script, "indexerd", "query", "--sort", "") == ["score", "modified", "path"]
    assert completed_by_bash(script, "indexerd", "completion", "f") == ["fish"]
    assert completed_by_bash(script, "indexerd", "query", "--tag", "") == []


def test_fish_completes_commands_flags_and_values(commands, tmp_path):
    """Fish offers the same, with what they mean."""
    script = tmp_path / "indexerd.fish"
    script.write_text(fish_script(commands))
    environ = {**os.environ, "HOME": str(tmp_path)}

    def offered(line):
        done = subprocess.run(
            [needed("fish"), "--no-config", "-c", f"source {script}; complete -C '{line}'"],
            capture_output=True, text=True, check=True, env=environ, cwd=tmp_path,
        )  # fmt: skip
        return dict(row.partition("\t")[::2] for row in done.stdout.splitlines())

    assert set(offered("indexerd ")) == set(NAMES)
    assert offered("indexerd quer") == {"query": next(one.summary for one in commands if one.name == "query")}
    assert "--vimgrep" in offered("indexerd query --")
    assert set(offered("indexerd query --sort ")) == {"score", "modified", "path"}
    assert set(offered("indexerd completion ")) == {"bash", "zsh", "fish"}


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("indexerd quer", "indexerd query "),
        ("indexerd query --vimg", "--vimgrep "),
        ("indexerd query --sort m", "modified "),
    ],
)
def test_zsh_completes_commands_flags_and_values(commands, tmp_path, typed, shown):
    """The tab key writes the rest of a command, a flag, a value."""
    (tmp_path / "_indexerd").write_text(zsh_script(commands))
    (tmp_path / ".zshrc").write_text(
        "PS1='> '; unsetopt prompt_sp\nautoload -Uz compinit; compinit -D -u\nsource ~/_indexerd\necho is-ready\n"
    )
    program = needed("zsh")
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(tmp_path)
        os.execve(program, ["zsh", "-d"], {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "TERM": "dumb"})
    os.set_blocking(terminal, False)
    seen = b""

    def shows(text):
        nonlocal seen
        with contextlib.suppress(BlockingIOError):
            seen += os.read(terminal, 1 << 16)
        return text in re.sub(rb"\x1b\[[0-9;?]*[a-zA-Z]|\r|.\x08", b"", seen).decode()

    try:
        wait_for(lambda: shows("is-ready\n> "))
        os.write(terminal, f"{typed}\t".encode())
        wait_for(lambda: shows(shown))
    finally:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
        os.close(terminal)


def test_a_completion_runs_no_program(commands):
    """The scripts are the same everywhere, and never call `indexerd`."""
    for script in (bash_script(commands), zsh_script(commands), fish_script(commands)):
        assert sys.prefix not in script
        assert not re.search(r"\$\((?!compgen)|`indexerd complet", script)


def test_the_manual_page_is_in_step():
    """docs/indexerd.1 is what `make man` writes."""
    done = subprocess.run([sys.executable, DOCS / "manual.py"], capture_output=True, text=True, check=True)
    assert (DOCS / "indexerd.1").read_text("utf-8") == done.stdout, "run `make man`"


def test_the_manual_page_has_no_faults():
    """Groff has no warning for it, and shows each command and flag."""
    done = subprocess.run(
        [needed("groff"), "-man", "-Tascii", "-P-cbou", "-ww", DOCS / "indexerd.1"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert not done.stderr
    # There `man` reads which preprocessors the page wants.
    assert not (DOCS / "indexerd.1").read_text("utf-8").startswith("'\\\"")
    assert all(f"indexerd {name}" in done.stdout for name in NAMES)
    assert "--vimgrep" in done.stdout
