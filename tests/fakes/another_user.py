"""Something done by another user, in a process of its own."""

import contextlib
import os
import socket


def as_user(uid, act, *, gid=None, groups=()):
    """Return the bytes that `act` returns when another user calls it, in a process that has nothing of root left."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reading)
            os.setgroups(groups)
            os.setgid(uid if gid is None else gid)
            os.setuid(uid)
            os.write(writing, act())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as heard:
        said = heard.read()
    os.waitpid(child, 0)
    return said


def line_from(path, line):
    """Send one line to a socket, and return the first line that comes back, or why there is none."""
    with socket.socket(socket.AF_UNIX) as raw:
        raw.settimeout(120)
        try:
            raw.connect(path)
        except OSError as error:
            return type(error).__name__.encode()
        # A refusal may have closed the connection already; what it said can still be read.
        with contextlib.suppress(BrokenPipeError):
            raw.sendall(line)
        with raw.makefile("rb") as answers:
            return answers.readline()
