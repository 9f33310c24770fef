"""The installed daemon is killed: at each system call by which it touches its store, and at any moment under load."""

import contextlib
import itertools
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from indexerd.client import call
from indexerd.errors import IndexerdError
from indexerd.store import open_reader
from indexerd.store.dump import canonical_digest
from indexerd.store.fsio import RealStoreFilesystem
from tests.fakes.crash_shapes import LARGE, content_of
from tests.fakes.daemon_process import PATIENCE_SECONDS, wait_for
from tests.fakes.sync_rig import Rig

REPOSITORY = Path(__file__).parents[2]
# Those by which a store is changed or flushed; `strace` counts them for each thread and call. Death on the way into one
# that only reads leaves what death at the next of these does.
CALLS = ["openat", "write", "fdatasync", "fsync", "renameat", "unlinkat"]
EDITS = 25 if LARGE else 2
CALL_SECONDS, LOAD_SECONDS = (7200, 3600) if LARGE else (45, 25)
LOAD_KILLS = 2000 if LARGE else 50
MANY = 4


@dataclass
class Daemon:
    """The installed program on a folder of notes, and the states through which the notes have gone."""

    place: Path
    through: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    states: list[dict[str, str]] = field(default_factory=list)
    searchable: int = 0
    durable: int = 0

    def __post_init__(self) -> None:
        self.notes, self.state, self.socket = self.place / "notes", self.place / "state", self.place / "s"
        self.notes.mkdir(parents=True, exist_ok=True)

    def save(self, files: dict[str, str | None]) -> None:
        """Write files, each beside its place and moved there, or remove them; remember each state on the way."""
        for name, text in files.items():
            now = dict(self.states[-1]) if self.states else {}
            if text is None:
                (self.notes / name).unlink()
                del now[name]
            else:
                beside = self.notes / f".{name}.tmp"
                beside.write_text(text)
                now[name] = text
            # Remembered before it can be indexed.
            self.states.append(now)
            if text is not None:
                beside.rename(self.notes / name)

    def start(self) -> None:
        environ = {**os.environ, "PYTHONPATH": str(REPOSITORY), "HOME": str(self.place)}
        for name in ("RUNTIME_DIR", "STATE_HOME", "CONFIG_HOME"):
            environ[f"XDG_{name}"] = str(self.place)
        command = [sys.executable, "-m", "indexerd", "watch", str(self.notes), "--state-dir", str(self.state)]
        self.process = subprocess.Popen(
            [*self.through, *command, "--socket", str(self.socket), *self.options],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environ,
            start_new_session=True,
        )

    def is_current(self) -> bool:
        """Tell whether all that was saved is searchable; note what is reported. True also when the daemon has died."""
        if self.process.poll() is not None:
            return True
        saved = len(self.states) - 1
        try:
            reply = call(str(self.socket), "query", {"text": "words", "wait_ms": 5000}, timeout_seconds=60)
            status = call(str(self.socket), "status", timeout_seconds=60)
        except (IndexerdError, OSError):
            return False
        self.durable = max(self.durable, status["durable_generation"] or 0)
        if reply["freshness"]["state"] != "current":
            return False
        self.searchable = max(self.searchable, saved)
        return True

    def check(self) -> None:
        """Hold what the dead daemon left to what was seen of it; then see that the next one catches up."""
        snapshot = open_reader(RealStoreFilesystem.open_directory(os.fsencode(self.state), create=True))
        generation = snapshot.generation if snapshot else 0
        assert generation >= self.durable
        if snapshot:
            assert canonical_digest(snapshot) in {content_of(files) for files in self.states[self.searchable :]}
        else:
            assert not self.searchable
        with Rig(self.place, self.notes, watch=False) as rig:
            rig.loop.sync_once()
            assert rig.digest() == content_of(self.states[-1])
            assert rig.generation() >= generation

    def ask_to_end(self) -> None:
        """Ask the program itself, not what traces it."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(wait_for(self._program) if self.through else self.process.pid, signal.SIGTERM)
        self.process.wait(PATIENCE_SECONDS)

    def _program(self) -> int:
        """Return the traced process; 0 while the kernel does not list it."""
        if self.process.poll() is not None:
            raise ProcessLookupError
        listed = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return int(listed[0]) if listed else 0

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(PATIENCE_SECONDS)


def first(daemon):
    """Index for the first time, and be told to end."""


def edits(daemon):
    """Edit, add and delete, each seen by a query before the next."""
    for number in range(EDITS):
        daemon.save({"a.md": f"# A\n\nwords of edit {number}\n", f"new{number}.md": f"more words {number}\n"})
        wait_for(daemon.is_current)
        if number % 2:
            daemon.save({f"new{number}.md": None})
            wait_for(daemon.is_current)


SCENARIOS = {"first": (first, ()), "edits": (edits, ()), "edits, always durable": (edits, ("--durability", "always"))}


def played(place, name, through):
    """Play a scenario until it is over or the daemon is dead; return the daemon."""
    scenario, options = SCENARIOS[name]
    daemon = Daemon(place, through, options)
    daemon.save({"a.md": "# A\n\nalpha words\n", "b.md": "# B\n\nbeta words\n"})
    daemon.start()
    try:
        wait_for(daemon.is_current)
        scenario(daemon)
        daemon.ask_to_end()
    finally:
        daemon.kill()
    return daemon


def traced(place, calls, *more):
    paths = itertools.chain.from_iterable(("-P", name) for name in (str(place / "state"), "latest", "durable"))
    # A path of the store cannot be asked for where a call has only a descriptor of one of its files.
    limited = [] if calls in (["write"], ["fdatasync"]) else list(paths)
    return ("strace", "-f", "-qq", *limited, "-e", f"trace={','.join(calls)}", *more)


def points(place, name):
    """Return the calls by which an undisturbed run changes its store: as the how manieth of its thread each comes."""
    found = {}
    groups = [["write"], ["fdatasync"], [one for one in CALLS if one not in ("write", "fdatasync")]]
    for number, calls in enumerate(groups):
        where = place / str(number)
        log = place / f"{number}.log"
        daemon = played(where, name, traced(where, calls, "--seccomp-bpf", "-y", "-o", str(log)))
        assert daemon.process.returncode == 0
        counted = Counter()
        for line in log.read_text().splitlines():
            thread, _, rest = line.partition(" ")
            one = rest.strip().partition("(")[0]
            counted[thread, one] += 1
            if f"{where}/state" in rest and (one != "openat" or "O_CREAT" in rest):
                found[name, one, counted[thread, one]] = None
        shutil.rmtree(where)
    return list(found)


def kill_at(place, point):
    """Play a scenario in which the daemon dies on its way into a system call; return whether it came to that."""
    name, one, number = point
    where = place / f"{name.replace(' ', '')}-{one}-{number}"
    through = traced(where, [one], "-e", f"inject={one}:signal=KILL:when={number}", "-o", "/dev/null")
    daemon = played(where, name, through)
    daemon.check()
    shutil.rmtree(where)
    return daemon.process.returncode != 0


@pytest.mark.slow
def test_killed_at_a_system_call_the_daemon_loses_nothing(tmp_path, tally):
    """At each call that touches its store the daemon dies; what is left is known, and the next one catches up."""
    if shutil.which("strace") is None:
        pytest.skip("needs strace")
    with ThreadPoolExecutor(2) as pool:
        found = pool.map(lambda name: points(tmp_path / str(list(SCENARIOS).index(name)), name), SCENARIOS)
        every = list(itertools.chain.from_iterable(found))
        random.Random(1).shuffle(every)
        killed, deadline = [], time.monotonic() + CALL_SECONDS

        def kill_in_time(point):
            # As many as there is time for, and some on any machine.
            if time.monotonic() < deadline or sum(killed) < MANY:
                killed.append(kill_at(tmp_path, point))

        list(pool.map(kill_in_time, every))
    tally("kills of the daemon at a system call", sum(killed))
    tally("system calls at which the daemon could be killed", len(every))
    assert sum(killed) >= MANY


@pytest.mark.slow
def test_killed_at_any_moment_under_load_the_daemon_loses_nothing(tmp_path, tally):
    """While files are saved without a pause the daemon is killed and started, again and again."""
    rng, daemon = random.Random(1), Daemon(tmp_path)
    daemon.save({"a.md": "words 0\n", "b.md": "words 0\n"})
    deadline = time.monotonic() + LOAD_SECONDS
    for kill in range(LOAD_KILLS):
        daemon.options = rng.choice([(), ("--durability", "always")])
        daemon.start()
        ends = time.monotonic() + rng.choice([0.0, 0.3, 0.6]) + rng.random()
        for number in itertools.count():
            daemon.save({rng.choice(["a.md", "b.md", "c.md"]): f"words {kill} {number}\n"})
            daemon.is_current() if daemon.socket.exists() else time.sleep(0.02)
            if time.monotonic() > ends:
                break
        daemon.save({"a.md": f"words at the end {kill}\n"})
        daemon.kill()
        daemon.check()
        daemon.states, daemon.searchable = daemon.states[-1:], 0
        tally("kills of the daemon under load")
        if time.monotonic() > deadline:
            break
