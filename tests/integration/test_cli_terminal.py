"""The command line at a terminal: what is drawn, and what its end means."""

import contextlib
import os
import pty
import signal
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from tests.fakes.daemon_process import PATIENCE_SECONDS, wait_for

REPOSITORY = Path(__file__).parents[2]
pytestmark = pytest.mark.slow


class Terminal:
    """`indexerd watch` with a terminal of its own."""

    def __init__(self, base, columns=80):
        (base / "docs").mkdir()
        (base / "run").mkdir(mode=0o700)
        for number in range(20):
            (base / f"docs/{number}.md").write_text(f"# Note {number}\n\nquokka {number}\n")
        self.master, slave = pty.openpty()
        termios.tcsetwinsize(slave, (24, columns))
        self.environ = {
            "HOME": str(base),
            "XDG_RUNTIME_DIR": str(base / "run"),
            "PATH": os.environ["PATH"],
            "TERM": "xterm",
            "PYTHONPATH": str(REPOSITORY),
        }
        self.process = subprocess.Popen(
            [sys.executable, "-m", "indexerd", "watch", "docs"],
            cwd=base,
            env=self.environ,
            stdin=slave,
            stdout=slave,
            stderr=slave,
        )
        os.close(slave)
        self.seen = b""
        os.set_blocking(self.master, False)

    def shows(self, text):
        """Wait until a text was drawn."""

        def is_there():
            with contextlib.suppress(BlockingIOError):
                self.seen += os.read(self.master, 1 << 16)
            return text in self.seen

        wait_for(is_there)

    def hang_up(self):
        """Close the window, as the kernel tells it."""
        os.close(self.master)
        self.process.send_signal(signal.SIGHUP)

    def close(self):
        self.process.kill()
        self.process.wait()


@pytest.fixture
def terminal(tmp_path):
    made = []

    def begin(**options):
        made.append(Terminal(tmp_path, **options))
        return made[-1]

    yield begin
    for one in made:
        one.close()


def test_a_closed_window_ends_the_daemon_in_order(terminal, tmp_path):
    """Nobody would find a daemon that outlives the terminal it was started in."""
    one = terminal()
    one.shows(b"indexerd stop")
    one.hang_up()
    assert one.process.wait(PATIENCE_SECONDS) == 0
    assert not list((tmp_path / "run").rglob("*.sock"))


def test_sighup_with_the_window_open_ends_nothing(terminal):
    """As long as the terminal is there the signal asks for a look at everything."""
    one = terminal()
    one.shows(b"indexerd stop")
    one.process.send_signal(signal.SIGHUP)
    asked = subprocess.run(
        [sys.executable, "-m", "indexerd", "query", "quokka"], capture_output=True, check=False, env=one.environ
    )
    assert asked.returncode == 0
    assert one.process.poll() is None
