"""The picture in docs/editors.md is what Neovim shows."""

import os
import re
import subprocess
import sys
from html import unescape
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.fakes.editors import EDITORS, needed

PICTURE = EDITORS.parent / "docs" / "images" / "neovim.svg"


@pytest.mark.slow
def test_the_picture_shows_what_the_editor_shows():
    """The script that drew the picture still sees the same text on the screen."""
    needed("nvim")
    environ = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run(
        [sys.executable, EDITORS / "picture.py", "--text"], capture_output=True, env=environ, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    described = unescape(re.search(r"<desc>\n(.*?)</desc>", PICTURE.read_text("utf-8"), re.DOTALL)[1])
    # What is around the windows of the finder is the editor's own, and differs from version to version.
    assert framed(done.stdout) == framed(described)
    assert "ops/backup.md#L3-L7" in described


def test_the_picture_is_small_and_well_formed():
    """It is XML, and loads in a moment."""
    ElementTree.parse(PICTURE)
    assert PICTURE.stat().st_size < 40_000


def framed(text):
    return [line for line in text.splitlines() if set(line) & set("│╭╰")]
