"""A daemon to measure: started on a folder, asked over its socket, stopped."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

PROGRAM = [sys.executable, "-m", "indexerd"]


def resident(pid: int) -> int:
    """Return VmRSS of a process in bytes, 0 where it has gone."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS:"))


def ticks(pid: int) -> list[int]:
    """Return the processor time of a process, in user and system mode, and of its children that have ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return []
    return [int(field) for field in fields[11:15]]


class Connection:
    """One JSON-RPC connection, one call at a time."""

    def __init__(self, path: Path) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(str(path))
        self.stream = self.socket.makefile("rb")
        self.number = 0

    def call(self, method: str, **params):
        self.number += 1
        message = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}
        self.socket.sendall(json.dumps(message).encode() + b"\n")
        reply = json.loads(self.stream.readline())
        if "error" in reply:
            raise RuntimeError(reply["error"])
        return reply["result"]

    def close(self) -> None:
        self.stream.close()
        self.socket.close()


class Daemon:
    """`indexerd watch` on one root with its own state directory and socket."""

    def __init__(self, root: Path, place: Path, *flags: str) -> None:
        self.root, self.state, self.path = root, place / "state", place / "s" / "indexerd.sock"
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.started, self.peak = time.perf_counter(), 0
        self.process = subprocess.Popen(
            [*PROGRAM, "watch", str(root), "--state-dir", str(self.state), "--socket", str(self.path), *flags],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=dict(os.environ, PYTHONUNBUFFERED="1"),
        )  # fmt: skip

    def connect(self, seconds: float = 60) -> Connection:
        deadline = time.perf_counter() + seconds
        while True:
            try:
                return Connection(self.path)
            except OSError:
                if time.perf_counter() > deadline or self.process.poll() is not None:
                    raise
                time.sleep(0.002)

    def wait_current(self, seconds: float = 600) -> float:
        """Wait until `status` says current; return seconds since the process was started."""
        connection = self.connect()
        deadline = time.perf_counter() + seconds
        looks = 0
        while connection.call("status")["state"] not in {"current", "degraded"}:
            if time.perf_counter() > deadline:
                raise TimeoutError("not current")
            if looks % 10 == 0:
                self.note_peak()
            looks += 1
            time.sleep(0.02)
        connection.close()
        return time.perf_counter() - self.started

    def wait_at_rest(self, seconds: float = 120) -> None:
        """Wait until what follows a first index is over: the second look at new files, merges, their process."""
        deadline = time.perf_counter() + seconds
        while True:
            before = self.cpu_seconds()
            for _ in range(10):
                time.sleep(0.3)
                self.note_peak()
            if not self._is_parent() and self.cpu_seconds() - before <= 2 / os.sysconf("SC_CLK_TCK"):
                return
            if time.perf_counter() > deadline:
                raise TimeoutError("not at rest")

    def _is_parent(self) -> bool:
        found = subprocess.run(
            ["ps", "-o", "pid=", "--ppid", str(self.process.pid)], stdout=subprocess.PIPE, check=False
        )
        return bool(found.stdout.strip())

    def cpu_seconds(self) -> float:
        return sum(ticks(self.process.pid)[:2]) / os.sysconf("SC_CLK_TCK")

    def spent_seconds(self) -> float:
        """Return the processor time of the daemon and of all processes it has or had."""
        return sum(sum(ticks(pid)) for pid in self.pids()) / os.sysconf("SC_CLK_TCK")

    def pids(self) -> list[int]:
        tasks = Path(f"/proc/{self.process.pid}/task").glob("*/children")
        return [self.process.pid, *(int(pid) for task in tasks for pid in task.read_text().split())]

    def memory_bytes(self) -> int:
        return resident(self.process.pid)

    def note_peak(self) -> None:
        """Look at the memory of the daemon and of the processes it has; keep the largest sum in `peak`."""
        self.peak = max(self.peak, sum(map(resident, self.pids())))

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(30)
