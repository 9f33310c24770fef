"""What a good client waits for while others abuse the socket: p99 beside the quiet daemon, interleaved."""

import contextlib
import json
import socket
import subprocess
import sys
import time
from pathlib import Path

import corpus
from measuring import Line, milliseconds, percentile, ratio
from running import Daemon

ROUNDS, QUERIES = 6, 150
# One process for each: the good client must not share an interpreter with those who disturb it.
ABUSE = {
    "1,000 idle connections": "held = [connect() for _ in range(1000)]; time.sleep(60)",
    "a connection storm": "while True:\n with contextlib.suppress(OSError): connect().close(); time.sleep(0.001)",
    "60 clients that drip bytes": (
        "held = [connect() for _ in range(60)]\n"
        "for byte in LINE * 100:\n"
        " for one in held:\n  with contextlib.suppress(OSError): one.send(bytes([byte]))\n"
        " time.sleep(0.1)"
    ),
    "30 clients that never read": (
        "held = [connect() for _ in range(30)]\n"
        "for one in held:\n one.setblocking(False)\n"
        " with contextlib.suppress(OSError):\n  for _ in range(10000): one.send(LINE)\n"
        "time.sleep(60)"
    ),
    "garbage": (
        "while True:\n"
        " with contextlib.suppress(OSError), connect() as one: one.send(bytes(9)); one.recv(99)\n"
        " time.sleep(0.001)"
    ),
    "half closes in mid-message": (
        "while True:\n"
        " with contextlib.suppress(OSError), connect() as one: one.send(LINE[:9]); one.shutdown(1); one.recv(999)\n"
        " time.sleep(0.001)"
    ),
}
PROLOGUE = """
import contextlib, socket, sys, time
LINE = b'{"id":1,"method":"status"}\\n'
def connect():
    one = socket.socket(socket.AF_UNIX)
    one.connect(sys.argv[1])
    return one
print("up", flush=True)
"""


def ask(raw, text: str) -> float:
    start = time.perf_counter()
    raw.sendall(json.dumps({"id": 1, "method": "query", "params": {"text": text, "wait_ms": 0}}).encode() + b"\n")
    data = b""
    while not data.endswith(b"\n"):
        piece = raw.recv(1 << 18)
        if not piece:
            raise RuntimeError("a good client was cut off")
        data += piece
    return time.perf_counter() - start


@contextlib.contextmanager
def abused(path: Path, code: str):
    process = subprocess.Popen([sys.executable, "-c", PROLOGUE + code, str(path)], stdout=subprocess.PIPE)
    process.stdout.readline()
    time.sleep(0.5)
    try:
        yield
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def row_abuse(files, place):
    """A good client's p99 while others abuse the socket, beside the same in peace."""
    corpus.write(place / "root", files)
    daemon = Daemon(place / "root", place)
    daemon.wait_current()
    asked = corpus.queries([data.decode("utf-8", "replace") for _, data in files[:2000]], QUERIES)
    with socket.socket(socket.AF_UNIX) as raw:
        raw.connect(str(daemon.path))
        for text in asked:
            ask(raw, text)
        for name, code in ABUSE.items():
            quiet, loud, before = [], [], daemon.memory_bytes()
            for _ in range(ROUNDS):
                quiet += [ask(raw, text) for text in asked]
                with abused(daemon.path, code):
                    loud += [ask(raw, text) for text in asked]
            grown = (daemon.memory_bytes() - before) / (1 << 20)
            calm, pressed = percentile(quiet, 0.99), percentile(loud, 0.99)
            yield Line(
                f"query p99 beside {name} (in peace {milliseconds(calm)}; {grown:+.0f} MiB)",
                milliseconds(pressed),
                "target 2x",
                ratio(pressed, calm),
            )
    daemon.stop()


ROWS = {"abuse": row_abuse}
