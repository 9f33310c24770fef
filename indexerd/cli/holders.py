"""Who holds a state directory, as the kernel knows it: the sockets of the process with its lock.

Owns: reading `/proc/locks`, a process's descriptors and `/proc/net/unix`.
Knows nothing of: daemons; whoever asks a socket found here still checks who answers.
Invariants: 1. what cannot be read gives no answer, never a wrong one.
Purity: shell (reads `/proc`); the reading of each list is pure.
See: docs/operations.md (finding the daemon).
"""

import os
from collections.abc import Iterable

# In the flags column: the socket was told to listen.
_LISTENING = 0x10000


def sockets_of_holder(state_dir: str) -> list[str]:
    """Return the paths of the listening Unix sockets of processes that hold a lock on a directory."""
    pids = _lockers(state_dir)
    sockets = listening(_read("/proc/net/unix").splitlines()) if pids else {}
    return [sockets[inode] for pid in pids for inode in _socket_inodes(pid) if inode in sockets]


def holding_processes(state_dir: str) -> list[int]:
    """Return the processes that hold a lock on a directory and have it open, as far as this user may see."""
    real = os.path.realpath(state_dir)
    return [pid for pid in _lockers(state_dir) if real in _opened(pid)]


def _lockers(state_dir: str) -> list[int]:
    try:
        return holders(_read("/proc/locks").splitlines(), os.stat(state_dir).st_ino)
    except OSError:
        return []


def holders(locks: Iterable[str], number: int) -> list[int]:
    """Return the processes that hold a whole-file lock on the inode of this number, whatever its device."""
    # `1: FLOCK  ADVISORY  WRITE 4242 08:01:131 0 EOF`; one that waits has `->` behind the first word.
    rows = [line.split() for line in locks]
    return [
        int(row[4])
        for row in rows
        if len(row) >= 6 and row[1] == "FLOCK" and row[4].isdigit() and row[5].rpartition(":")[2] == str(number)
    ]


def listening(sockets: Iterable[str]) -> dict[str, str]:
    """Return the paths of listening Unix sockets by inode."""
    # `Num RefCount Protocol Flags Type St Inode Path`
    rows = [line.split(None, 7) for line in sockets]
    named = [row for row in rows if len(row) == 8 and row[7].startswith("/")]
    return {row[6]: row[7] for row in named if int(row[3], 16) & _LISTENING}


def _socket_inodes(pid: int) -> list[str]:
    return [link[len("socket:[") : -1] for link in _opened(pid) if link.startswith("socket:[")]


def _opened(pid: int) -> list[str]:
    """Return what a process's descriptors lead to."""
    try:
        names = os.listdir(f"/proc/{pid}/fd")
    except OSError:
        return []
    return [_link(f"/proc/{pid}/fd/{name}") for name in names]


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.read()
    except OSError:
        return ""
