"""Runs what the documents show: each `console` block is a shell session, each document one place."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import REPOSITORY


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
        "INDEXERD_EDITORS": str(REPOSITORY / "editors"),
    }

    def run(line: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            ["bash", "-c", line], cwd=home / "work", env=environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300, check=False,
        )  # fmt: skip

    run.work = home / "work"
    yield run
    for socket in (home / "run").rglob("*.sock"):
        run(f"indexerd stop --socket {socket}")
