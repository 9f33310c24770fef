"""A daemon in a process of its own, for tests that kill, stop and restart it."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from indexerd.client import call
from indexerd.errors import IndexerdError

_PROGRAM = """
import json, sys
from indexerd.access.rights import AccessRules
from indexerd.config import Config, Socket
from indexerd.daemon import run
from indexerd.errors import IndexerdError
from indexerd.model import Root, Settings
given = json.loads(sys.argv[1])
roots = tuple(Root(label=f"r{n}", path=path, prefixed=len(given["roots"]) > 1) for n, path in enumerate(given["roots"]))
config = Config(
    profile="test", roots=roots, state_dir=given["state"], settings=Settings(**given["settings"]), access=AccessRules(),
    socket=Socket(path=given["socket"]),
)
say = lambda word: print(word, flush=True)
def answering():
    say("answering")
    if given["hold"]:
        sys.stdin.readline()
exec(given["before"])
try:
    hooks = {"on_answering": answering, "on_ready": lambda status: say("ready")}
    sys.exit(run(config, **hooks, **given["options"]))
except IndexerdError as error:
    say(f"{type(error).__name__}: {error}")
    sys.exit(70)
"""


# How long a machine with too much to do may take for something; used up by a fault of the program alone.
PATIENCE_SECONDS = 120.0
PATIENT_MS = 20_000


def wait_for(condition, seconds=PATIENCE_SECONDS):
    """Poll until a condition gives something true, and return that; fail when it does not come in time."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, "condition did not come true"
        time.sleep(0.01)
    return found


def has_ended(pid) -> bool:
    """Whether a process is gone; where nobody collects orphans, it stays as a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


class DaemonProcess:
    """Starts one daemon; `close` kills what is left of it.

    `settings` are fields of `Settings`, `before` is code that runs in the process before the daemon does, `hold` keeps
    it from its first scan until `release`, `environ` is added to the environment, `through` is a command that starts
    it.
    """

    def __init__(
        self,
        roots,
        place: Path,
        *,
        state=None,
        socket=None,
        settings=None,
        before="",
        hold=False,
        environ=None,
        through=(),
        **options,
    ) -> None:
        self.state = str(state or place / "state")
        self.socket = str(socket or place / "run" / "d.sock")
        places = {"roots": [str(root) for root in roots], "state": self.state, "socket": self.socket}
        given = {**places, "options": options, "settings": settings or {}, "before": before, "hold": hold}
        self.process = subprocess.Popen(
            [*through, sys.executable, "-c", _PROGRAM, json.dumps(given)],
            stdin=subprocess.PIPE if hold else None,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), **(environ or {})},
            # What starts it may stay before it, and must not end without it.
            start_new_session=bool(through),
        )
        self._is_led = bool(through)

    def said(self) -> str:
        """Return the next word: `answering`, `ready`, an error, or nothing at the end."""
        return self.process.stdout.readline().strip()

    def ready(self) -> "DaemonProcess":
        """Wait for the first index."""
        words = [self.said(), self.said()]
        assert words == ["answering", "ready"], words
        return self

    def release(self) -> None:
        """Let one that is held go on to its first scan."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def call(self, method, **params):
        """Ask it; a question waits patiently, or so long as `wait_ms` says: None for the program's own wait."""
        if method in {"query", "evidence"}:
            params = {"wait_ms": PATIENT_MS, **params}
        given = {name: value for name, value in params.items() if value is not None or name != "wait_ms"}
        # A machine that stands still amid a proof uses its time up; that is told, and another time it does not.
        for _ in range(5):
            reply = call(self.socket, method, given, timeout_seconds=60)
            if "proof_budget" not in reply.get("rejected_counts", ()):
                break
        return reply

    def answers(self) -> bool:
        """Tell whether the socket answers."""
        try:
            call(self.socket, "status", timeout_seconds=30)
        except IndexerdError:
            return False
        return True

    def end(self, number=signal.SIGTERM) -> int:
        """Send a signal, wait for the end, return the status."""
        self.process.send_signal(number)
        return self.process.wait(PATIENCE_SECONDS)

    def close(self) -> None:
        """Leave nothing behind."""
        if self._is_led:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
        elif self.process.poll() is None:
            self.process.kill()
        self.process.wait(PATIENCE_SECONDS)
        self.process.stdout.close()
        if self.process.stdin is not None:
            self.process.stdin.close()
