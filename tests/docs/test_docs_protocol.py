"""The protocol's page says what the daemon does: its conversation, its errors, its methods, its parameters."""

import inspect
import json
import re
import socket
from pathlib import Path

import pytest

from indexerd.protocol.messages import RPC_NUMBERS, Limits
from indexerd.server import Limits as SocketLimits
from indexerd.service import searching
from tests.fakes.daemon_process import DaemonProcess
from tests.fakes.service_parts import SmallHouse

PAGE = (Path(__file__).parents[2] / "docs" / "protocol.md").read_text(encoding="utf-8")


def section(title):
    """Return one section of the page."""
    return re.search(rf"^##+ {re.escape(title)}\n(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL)[1]


@pytest.mark.slow
def test_the_conversation_is_true(tmp_path):
    """Each line of the page is said to a daemon, and what comes back is as the page shows."""
    docs = tmp_path / "docs"
    for name, text in re.findall(r"^```markdown (\S+)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL):
        (docs / name).parent.mkdir(parents=True, exist_ok=True)
        (docs / name).write_text(text)
    (block,) = re.findall(r"^```transcript\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    daemon = DaemonProcess([docs], tmp_path)
    try:
        daemon.ready()
        with socket.socket(socket.AF_UNIX) as raw:
            raw.settimeout(30)
            raw.connect(daemon.socket)
            for line in block.splitlines():
                if line.startswith("→ "):
                    raw.sendall(line[2:].encode() + b"\n")
                    heard = b""
                    while not heard.endswith(b"\n"):
                        heard += raw.recv(1 << 20)
                else:
                    expected = ".*?".join(map(re.escape, line[2:].split("...")))
                    assert re.fullmatch(expected, heard.decode().splitlines()[0]), (line, heard)
    finally:
        daemon.close()


def test_every_error_code_is_on_the_page_with_its_number():
    """The table of errors is the table of the program."""
    shown = dict(re.findall(r"^\| `(\w+)` \| (-\d+) \|", section("Errors"), re.MULTILINE))
    assert shown == {code: str(number) for code, number in RPC_NUMBERS.items()}


def test_every_method_is_on_the_page():
    """The table of methods is the dispatch table."""
    shown = re.findall(r"^\| `(\w+)` \|", section("Methods"), re.MULTILINE)
    service = SmallHouse().service
    assert sorted(shown) == sorted([*service._quick, *service._slow])


def test_every_search_parameter_is_on_the_page():
    """What the reader of parameters asks for is what the page lists."""
    source = inspect.getsource(searching)
    read = set(re.findall(r'fields\.\w+\("(\w+)"', source)) | set(re.findall(r'_count\(\s*fields, "(\w+)"', source))
    rows = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", section("query, evidence"), re.MULTILINE)
    shown = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert shown == read


def test_limits_and_defaults_are_those_of_the_program():
    """Numbers on the page are the numbers in force."""
    limits, sockets = Limits(), SocketLimits()
    assert (limits.in_bytes, limits.out_bytes, limits.depth, limits.items) == (1 << 20, 8 << 20, 32, 20_000)
    assert (sockets.per_user, sockets.total, sockets.message_seconds, sockets.reply_seconds) == (64, 512, 10.0, 10.0)
    assert "1 MiB, nested 32 deep, 20,000 elements" in section("Limits")
    assert "64 of one user, 512 in all" in section("Limits")


def test_json_on_the_page_is_json():
    """Every request of the conversation is one JSON object."""
    for line in re.findall(r"^→ (.*)$", PAGE, re.MULTILINE):
        assert isinstance(json.loads(line), dict)
