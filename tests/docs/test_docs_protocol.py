"""The protocol's page says what the daemon does: its conversation, its errors, its methods, its parameters."""

import inspect
import json
import re
import socket
from pathlib import Path

import msgpack
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


def said_in_lines(connection, said):
    """Say one JSON line; return the line that answers it."""
    connection.sendall(said.encode() + b"\n")
    heard = b""
    while not heard.endswith(b"\n"):
        heard += connection.recv(1 << 20)
    return heard.decode().splitlines()[0]


def said_in_msgpack(connection, said):
    """Say one message written as JSON; return the answer, written so too."""
    packed = msgpack.packb(json.loads(said))
    assert not said.startswith('[0,1,"query"') or packed.hex(" ").startswith("94 00 01 a5 71 75 65 72 79 91")
    connection.sendall(packed)
    unpacker = msgpack.Unpacker()
    while True:
        unpacker.feed(connection.recv(1 << 20))
        for message in unpacker:
            return json.dumps(message, ensure_ascii=False, separators=(",", ":"))


def said_in_http(connection, said):
    """Say one request; return head and body of the response, lines as the page has them."""
    head, _, body = said.partition("\n\n")
    connection.sendall(head.replace("\n", "\r\n").encode() + b"\r\n\r\n" + body.encode())
    heard = b""
    while (end := heard.find(b"\r\n\r\n")) < 0:
        heard += connection.recv(1 << 20)
    length = int(re.search(rb"Content-Length: (\d+)", heard)[1]) if not said.startswith("HEAD") else 0
    while len(heard) < end + 4 + length:
        heard += connection.recv(1 << 20)
    return heard.decode().replace("\r\n", "\n").rstrip("\n") + "\n" * said.startswith("HEAD")


FRAMINGS = {"lines": said_in_lines, "msgpack": said_in_msgpack, "http": said_in_http}


def exchanges(framing):
    """Return what a page's conversation says and hears, one after another; a line alone with its mark is empty."""
    (block,) = re.findall(rf"^```transcript {framing}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    found = []
    for line in block.splitlines():
        mark, text = line[0], line[2:]
        if mark == "→" and (not found or found[-1][1]):
            found.append(([], []))
        found[-1]["→←".index(mark)].append(text)
    if framing != "http":
        assert all(len(said) == len(heard) == 1 for said, heard in found)
    return [("\n".join(said), "\n".join(heard)) for said, heard in found]


@pytest.mark.slow
@pytest.mark.parametrize("framing", FRAMINGS)
def test_the_conversations_are_true(framing, tmp_path):
    """Each exchange of the page is had with a daemon, in each framing, and what comes back is as the page shows."""
    docs = tmp_path / "docs"
    for name, text in re.findall(r"^```markdown (\S+)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL):
        (docs / name).parent.mkdir(parents=True, exist_ok=True)
        (docs / name).write_text(text)
    daemon = DaemonProcess([docs], tmp_path)
    try:
        daemon.ready()
        with socket.socket(socket.AF_UNIX) as raw:
            raw.settimeout(120)
            raw.connect(daemon.socket)
            for said, expected in exchanges(framing):
                heard = FRAMINGS[framing](raw, said)
                pattern = ".*?".join(map(re.escape, expected.split("...")))
                assert re.fullmatch(pattern, heard, re.DOTALL), (said, heard)
    finally:
        daemon.close()


@pytest.mark.parametrize("framing", FRAMINGS)
def test_every_framing_shows_a_version_that_does_not_fit(framing):
    """The page tells what a client of another protocol version hears."""
    assert sum("protocol_mismatch" in heard for _, heard in exchanges(framing)) == 1


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
    requests = [said for said, heard in exchanges("lines") if "parse_error" not in heard]
    assert all(isinstance(json.loads(said), dict) for said in requests)
