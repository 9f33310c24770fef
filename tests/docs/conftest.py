"""Runs what the documents show: each `console` block is a shell session, each document one place."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

REPOSITORY = Path(__file__).parents[2]
BLOCK = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
FILE_BLOCK = re.compile(r"^```(?:markdown|toml|json|python) (?P<name>\S+)\n(?P<text>.*?)^```", re.MULTILINE | re.DOTALL)


class Command(NamedTuple):
    """A command line that a document shows, and the output lines it promises."""

    line: str
    output: tuple[str, ...]


def documents() -> list[Path]:
    """Return every document that shows commands."""
    pages = [REPOSITORY / name for name in ("README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "SECURITY.md")]
    pages += sorted((REPOSITORY / "docs").rglob("*.md")) + sorted((REPOSITORY / "systemd").rglob("*.md"))
    return [page for page in pages if page.exists()]


def commands(page: Path) -> list[Command]:
    """Return the commands of a page in order; a line that ends in a backslash goes on in the next."""
    found: list[tuple[str, list[str]]] = []
    for block in BLOCK.findall(page.read_text(encoding="utf-8")):
        for line in block.replace("\\\n", " ").splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            elif found:
                found[-1][1].append(line)
    return [Command(line, tuple(output)) for line, output in found]


def matches(expected: tuple[str, ...], actual: list[str]) -> bool:
    """Tell whether output is as promised; `...` in a line stands for anything, alone on a line for any lines."""
    pattern = "".join(
        r"(?:.*\n)*?" if line == "..." else ".*?".join(map(re.escape, line.split("..."))) + r"\n" for line in expected
    )
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in actual)) is not None


@pytest.fixture
def place(tmp_path):
    """A home of its own: no daemon, no configuration, no state, the program on the path."""
    home = tmp_path / "home"
    for name in ("home", "home/run", "home/work"):
        (tmp_path / name).mkdir(mode=0o700)
    environment = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOME": str(home),
        "XDG_RUNTIME_DIR": str(home / "run"),
        "XDG_STATE_HOME": str(home / "state"),
        "XDG_CONFIG_HOME": str(home / "config"),
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "COLUMNS": "100",
    }

    def run(line: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            ["bash", "-c", line], cwd=home / "work", env=environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60, check=False,
        )  # fmt: skip

    run.work = home / "work"
    yield run
    for socket in (home / "run").rglob("*.sock"):
        run(f"indexerd stop --socket {socket}")
