"""Every command and output that README and docs show is true."""

import re
import shlex
import subprocess
import time

import pytest

from tests.docs.pages import FILE_BLOCK, REPOSITORY, commands, documents, matches
from tests.fakes.editors import needed

# Shown for people, changing the machine: their form is checked, and the targets or files they name.
NOT_RUN = ("make", "systemctl", "sudo", "git", "cd", "pipx")
# Not on every machine.
EDITORS = {"nvim", "vim", "emacs"}
# What the program says where its default wait of 100 ms was too short, as on a machine that runs other tests too.
NOT_YET = re.compile(r"^(?:building|pending):|still being built|not indexed yet", re.MULTILINE)
PATIENCE_SECONDS = 120


@pytest.mark.slow
@pytest.mark.parametrize("page", documents(), ids=lambda page: page.relative_to(REPOSITORY).as_posix())
def test_every_command_of_a_page_does_what_the_page_says(page, place):
    """The commands of a page, run in order in a fresh home, print what the page shows."""
    for program in sorted({command.line.split()[0] for command in commands(page)} & EDITORS):
        needed(program)
    for match in FILE_BLOCK.finditer(page.read_text(encoding="utf-8")):
        target = place.work / match["name"]
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(match["text"], encoding="utf-8")
    for command in commands(page):
        if command.line.split()[0] in NOT_RUN:
            continue
        done = patiently(place, command)
        assert matches(command.output, done.stdout.splitlines()), f"$ {command.line}\n{done.stdout}"


def patiently(place, command):
    """Run a command; again, for as long as it says that the index is not there yet."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        done = place(command.line)
        if matches(command.output, done.stdout.splitlines()) or not NOT_YET.search(done.stdout):
            return done
        if time.monotonic() > deadline:
            return done


@pytest.mark.parametrize("page", documents(), ids=lambda page: page.relative_to(REPOSITORY).as_posix())
def test_commands_that_are_not_run_are_at_least_well_formed(page):
    """A command that would change the machine parses, and a make target it names exists."""
    for command in commands(page):
        words = shlex.split(command.line, comments=True)
        if words[0] == "make":
            targets = [word for word in words[1:] if "=" not in word]
            dry = subprocess.run(["make", "-n", *targets], cwd=REPOSITORY, capture_output=True, check=False)
            assert dry.returncode == 0, command.line
        subprocess.run(["bash", "-n", "-c", command.line], check=True)


def test_the_readme_shows_the_two_commands():
    """The README names `make run` and `make test`."""
    shown = [command.line for command in commands(REPOSITORY / "README.md")]
    assert any(line.startswith("make run") for line in shown)
    assert any(line.startswith("make test") for line in shown)
