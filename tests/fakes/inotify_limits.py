"""The kernel's limits on watching, lowered for the length of a block: they are the machine's, so be brief.

Where a daemon has a process of its own, `few_watches` lowers them for that one alone.
"""

import contextlib
import fcntl
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

LIMITS = Path("/proc/sys/fs/inotify")
# Held while a limit is lowered: another run of the tests waits for its turn.
TURN = Path(tempfile.gettempdir(), f"inotify-limits-{os.getuid()}.lock")
_lowered: list[str] = []


def few_watches(number):
    """Return what to start a daemon through so that it may watch so many folders; nobody else notices."""
    script = f'echo {number} > /proc/sys/user/max_inotify_watches && exec "$@"'
    return ("unshare", "--user", "--map-root-user", "sh", "-c", script, "sh")


def may_have_few_watches():
    """Return whether this machine lets us make a user namespace."""
    return shutil.which("unshare") is not None and not subprocess.run([*few_watches(8), "true"], check=False).returncode


def watches_in_use():
    """Return how many inotify watches this user's processes hold: the limit counts all of them."""
    count = 0
    for info in Path("/proc").glob("[0-9]*/fdinfo/*"):
        with contextlib.suppress(OSError):
            if info.parent.stat().st_uid == os.getuid():
                count += info.read_text().count("inotify wd:")
    return count


@contextlib.contextmanager
def limit(name, value):
    """Set an inotify limit of the machine for the length of a block; one run of the tests at a time."""
    file = LIMITS / name
    with TURN.open("w") as turn:
        if not _lowered:
            fcntl.flock(turn, fcntl.LOCK_EX)
        before = file.read_text()
        _lowered.append(name)
        try:
            file.write_text(str(value))
            yield
        finally:
            _lowered.pop()
            file.write_text(before)
