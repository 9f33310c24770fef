"""The pictures in docs/editors.md are what the editors show."""

import os
import re
import subprocess
import sys
from html import unescape
from xml.etree import ElementTree

import pytest

from tests.fakes.editors import EDITORS, needed

IMAGES = EDITORS.parent / "docs" / "images"
# What is the plugin's own on the screen; the rest differs from version to version of the editor.
OWN = {
    "neovim": re.compile("[│╭╰]"),
    "vim": re.compile(r"\.md\|"),
    "emacs": re.compile("data centre|^[0-9]+: |^=> |^[a-z-]+[.]md$"),
}
PROGRAMS = {"neovim": "nvim"}


@pytest.mark.slow
@pytest.mark.parametrize("editor", OWN)
def test_a_picture_shows_what_the_editor_shows(editor):
    """The script that drew the picture still sees the same text on the screen."""
    needed(PROGRAMS.get(editor, editor))
    environ = {**os.environ, "PATH": f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"}
    command = [sys.executable, EDITORS / "picture.py", "--text", editor]
    done = subprocess.run(command, capture_output=True, env=environ, text=True, check=False)
    assert done.returncode == 0, done.stderr
    described = re.search(r"<desc>\n(.*?)</desc>", (IMAGES / f"{editor}.svg").read_text("utf-8"), re.DOTALL)[1]
    assert own(editor, done.stdout) == own(editor, unescape(described)) != []


@pytest.mark.parametrize("editor", OWN)
def test_a_picture_is_small_and_well_formed(editor):
    """It is XML, and loads in a moment."""
    ElementTree.parse(IMAGES / f"{editor}.svg")
    assert (IMAGES / f"{editor}.svg").stat().st_size < 40_000


def own(editor, text):
    """Return the lines that the plugin makes."""
    return [line for line in text.splitlines() if OWN[editor].search(line)]
