"""Random histories of changes and faults under a real daemon: afterwards the index is what an empty store would give.

`INDEXERD_TEST_SIZE=large` runs two thousand; one that fails is run again alone by its number: `-k "[17]"`.
"""

import contextlib
import os
import shutil
import signal
import stat
from pathlib import Path

import pytest

from tests.fakes.inotify_limits import limit
from tests.fakes.tree_history import FOLDERS, History
from tests.fakes.watched_notes import PERMISSIONS_COUNT, Notes

HISTORIES = 2_000 if os.environ.get("INDEXERD_TEST_SIZE") == "large" else 50
ACTIONS = 14
QUEUE = 32
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(PERMISSIONS_COUNT) and shutil.which("setpriv") is None, reason="needs setpriv"),
]


class Drill:
    """One tree, one daemon, and what is done to both."""

    def __init__(self, place: Path, seed: int) -> None:
        self.notes = Notes(place, through=PERMISSIONS_COUNT)
        self.history = History(self.notes.root, place / "outside", seed)
        self.choose, self.place, self.done = self.history.random, place, []
        self._closed: list[Path] = []

    def start(self) -> None:
        """Start the daemon, with a short queue of events where the machine lets us."""
        with limit("max_queued_events", QUEUE) if os.geteuid() == 0 else contextlib.nullcontext():
            self.notes.start()

    def act(self) -> None:
        """Do something: mostly to files, sometimes to what they stand on."""
        faults = [self.overflow, self.permissions, self.root_away, self.other_root, self.kill, self.restart,
                  self.settings, self.own_rules, self.hang_up, self.open_again, self.ask]  # fmt: skip
        action = self.choose.choice(faults) if self.choose.random() < 0.5 else self.burst
        self.done.append(action.__name__)
        action()

    def burst(self) -> None:
        for _ in range(self.choose.randrange(1, 12)):
            self.history.step()

    def ask(self) -> None:
        self.notes.ask("words")

    def overflow(self) -> None:
        """Let more happen than the queue holds while the daemon stands still."""
        process = self.notes.daemon.process
        process.send_signal(signal.SIGSTOP)
        try:
            for number in range(QUEUE):
                self.notes.write(f"c/flood{number % 5}.md", f"text {self.choose.random()}\n")
                self.history.step()
        finally:
            process.send_signal(signal.SIGCONT)

    def permissions(self) -> None:
        """Take the rights on a folder or file away; nothing beneath is deleted for that."""
        path = self.choose.choice([self.notes.root, self.notes.root / self.choose.choice(FOLDERS), self.history.path()])
        if path.exists() and not path.is_symlink() and path not in self._closed:
            before = set(self.notes.documents())
            path.chmod(0)
            self._closed.append(path)
            assert before <= set(self.notes.documents())
            if path.is_dir():
                # What follows is done by a user who may look everywhere.
                self.burst()

    def open_again(self) -> None:
        for path in self._closed:
            with contextlib.suppress(OSError):
                path.chmod(0o755 if path.is_dir() else 0o644)
        self._closed.clear()
        # What was closed may have been moved since.
        for top in (self.notes.root, self.history.outside):
            for path in top.rglob("*"):
                if not path.is_symlink():
                    path.chmod(0o755 if path.is_dir() else 0o644)

    def root_away(self) -> None:
        before = set(self.notes.documents())
        away = self.notes.root.with_name("away")
        self.notes.root.rename(away)
        assert set(self.notes.documents()) == before
        away.rename(self.notes.root)

    def other_root(self) -> None:
        """Put another folder in the root's place for a while: with it there, the index is of it."""
        away = self.notes.root.with_name("away")
        self.notes.root.rename(away)
        self.notes.write("other.md", "anotherroot\n")
        if self.choose.random() < 0.5:
            assert self.notes.found("anotherroot") == ["other.md"]
        shutil.rmtree(self.notes.root)
        away.rename(self.notes.root)

    def kill(self) -> None:
        is_known = self.notes.status()["generation"] > 0
        self.notes.daemon.end(signal.SIGKILL)
        self._while_down(is_known=is_known)

    def restart(self) -> None:
        is_known = self.notes.status()["generation"] > 0
        assert self.notes.daemon.end() == 0
        self._while_down(is_known=is_known)

    def settings(self) -> None:
        """Start again with another chunk size: everything is redone."""
        self.notes.options["settings"] = {"max_chars": self.choose.choice([120, 400, 900])}
        self.restart()

    def own_rules(self) -> None:
        self.notes.save(".indexerdignore", self.choose.choice(["", "c/\n", "*.txt\n!y.md\n", "a/b\n"]))

    def hang_up(self) -> None:
        self.notes.daemon.process.send_signal(signal.SIGHUP)

    def _while_down(self, *, is_known: bool) -> None:
        if self.choose.random() < 0.7:
            self.burst()
        # A root that was never indexed and cannot be read is a mistake, and no daemon starts with it.
        if not is_known and not self.notes.root.stat().st_mode & stat.S_IRUSR:
            self.open_again()
        self.start()

    def check(self) -> None:
        """With every fault taken away: current, nothing held, and the index of a fresh start."""
        self.open_again()
        self.notes.ask("words")
        status = self.notes.settle()
        assert (status["problems"], status["held"]) == ([], 0)
        assert self.notes.digest() == self.notes.scratch_digest()


@pytest.mark.parametrize("seed", range(HISTORIES))
def test_a_random_history_ends_in_the_index_of_a_fresh_start(tmp_path, seed):
    """Changes, lost events, lost rights, lost roots, kills and new settings in any order leave no trace."""
    drill = Drill(tmp_path, seed)
    drill.burst()
    drill.start()
    try:
        for _ in range(ACTIONS):
            drill.act()
        drill.check()
    except AssertionError as error:
        raise AssertionError(f"after {' '.join(drill.done)}: {error}") from error
    finally:
        drill.notes.close()
