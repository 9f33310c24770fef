"""`status --watch` at a terminal and in a pipe: what it shows, and how it ends."""

import contextlib
import json
import os
import pty
import re
import signal
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from indexerd.cli.following import fitting, summary
from indexerd.cli.stating import status_lines
from tests.fakes.daemon_process import PATIENCE_SECONDS, DaemonProcess, wait_for

REPOSITORY = Path(__file__).parents[2]
ENVIRON = {
    "PATH": os.environ["PATH"],
    "PYTHONPATH": str(REPOSITORY),
    "TERM": "xterm",
    "HOME": "/nonexistent",
    "TZ": "UTC",
}


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    place = tmp_path_factory.mktemp("following")
    docs = place / ("deep" * 30) / "docs"
    docs.mkdir(parents=True)
    (docs / "a.md").write_text("# A\n")
    made = DaemonProcess([docs], place)
    made.docs = docs
    yield made.ready()
    made.close()


def command(daemon, *flags):
    return [sys.executable, "-m", "indexerd", "status", "--watch", "--socket", daemon.socket, *flags]


class Watched:
    """The command with a terminal of its own; `shows` waits for text that was drawn."""

    def __init__(self, daemon, *flags, columns=60, lines=40):
        self.master, self.slave = pty.openpty()
        termios.tcsetwinsize(self.slave, (lines, columns))
        self.before = termios.tcgetattr(self.slave)
        streams = {"stdin": self.slave, "stdout": self.slave, "stderr": self.slave}
        self.process = subprocess.Popen(command(daemon, *flags), env=ENVIRON, start_new_session=True, **streams)
        self.seen = b""
        os.set_blocking(self.master, False)

    def shows(self, text):
        def is_there():
            with contextlib.suppress(BlockingIOError):
                self.seen += os.read(self.master, 1 << 16)
            return text in self.seen

        wait_for(is_there)

    def end(self):
        """Wait for the end; return its status, and whether the terminal is as it was."""
        status = self.process.wait(PATIENCE_SECONDS)
        return status, termios.tcgetattr(self.slave) == self.before

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(PATIENCE_SECONDS)
        for descriptor in (self.master, self.slave):
            os.close(descriptor)


@pytest.fixture
def watched(daemon):
    made = []

    def start(*flags, **size):
        made.append(Watched(daemon, *flags, **size))
        return made[-1]

    yield start
    for one in made:
        one.close()


@pytest.mark.slow
def test_a_terminal_is_redrawn_in_place_until_q(daemon, watched):
    """What was saved shows up in the same place; no line wraps; afterwards the terminal is as it was."""
    terminal = watched()
    terminal.shows(b"documents    1 in 1 chunk")
    terminal.shows(b"a second")
    (daemon.docs / "b.md").write_text("# B\n")
    terminal.shows(b"documents    2 in 2 chunks")
    os.write(terminal.master, b"xq")
    assert terminal.end() == (0, True)
    drawn = terminal.seen.decode().replace("\r", "")
    frames = re.split(r"\x1b\[\d+F", drawn)
    assert len(frames) >= 2
    assert all(len(line.replace("\x1b[K", "").replace("\x1b[J", "")) < 60 for line in drawn.split("\n"))
    heights = [int(up) for up in re.findall(r"\x1b\[(\d+)F", drawn)]
    assert heights == [frame.count("\n") for frame in frames[: len(heights)]]


@pytest.mark.slow
def test_control_c_ends_it_and_a_small_window_is_enough(watched):
    """Three lines of eleven columns, then the end that every such program has."""
    terminal = watched(columns=12, lines=4)
    terminal.shows(b"current: ev\x1b[K")
    terminal.process.send_signal(signal.SIGINT)
    assert terminal.end() == (130, True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("flags", "size", "text"), [((), {"columns": 0, "lines": 0}, b"documents  "), (("--json",), {}, b'"documents":')]
)
def test_q_ends_it_in_every_form_and_size(watched, flags, size, text):
    """A terminal that does not know its size is drawn on like one of 80 by 24; JSON for eyes ends with q too."""
    terminal = watched(*flags, **size)
    terminal.shows(text)
    os.write(terminal.master, b"q")
    assert terminal.end() == (0, True)


@pytest.mark.slow
@pytest.mark.parametrize("flags", [(), ("--json",)])
def test_a_pipe_gets_a_line_a_second(daemon, flags):
    """Nothing is drawn; each line stands by itself; a reader that leaves ends it quietly."""
    process = subprocess.Popen(
        command(daemon, *flags), env=ENVIRON, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        lines = [process.stdout.readline().decode() for _ in range(2)]
        process.stdout.close()
        assert process.wait(PATIENCE_SECONDS) == 141
        assert process.stderr.read() == b""
    finally:
        process.kill()
        process.wait(PATIENCE_SECONDS)
        process.stderr.close()
    for line in lines:
        if flags:
            assert json.loads(line)["state"] == "current"
        else:
            assert re.fullmatch(r"\d{4}-\S+\+00:00 current, generation \d+, \d documents?, 0 pending\n", line)


def test_wide_characters_take_two_columns():
    """A line is cut where the terminal would wrap it."""
    assert [fitting("ab\u8a9e\u8a9ec", columns) for columns in (2, 3, 4, 6, 7)] == [
        "ab", "ab", "ab\u8a9e", "ab\u8a9e\u8a9e", "ab\u8a9e\u8a9ec",
    ]  # fmt: skip


def test_others_than_the_owner_see_state_and_generation():
    """Counts are not theirs; the lines say what is."""
    status = {"state": "current", "generation": 7}
    assert list(status_lines(status)) == ["current: everything saved is searchable", "  generation   7"]
    assert summary(status, 0).endswith(" current, generation 7")
