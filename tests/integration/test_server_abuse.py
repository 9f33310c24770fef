"""A real daemon under abuse of its socket: bounded in memory, descriptors and threads, and everybody else is served."""

import contextlib
import json
import os
import resource
import socket
import struct
import threading
import time
from pathlib import Path

import msgpack
import pytest

from tests.fakes.costs import TRIES
from tests.fakes.daemon_process import PATIENCE_SECONDS, DaemonProcess, wait_for

LARGE = os.environ.get("INDEXERD_TEST_SIZE") == "large"
IDLE, STORM, TIMES = (5_000, 24_000, 500) if LARGE else (1_000, 2_000, 20)
# What the daemon may grow by under any of this: threads for calls, buffers of as many connections as it lets in.
GROWTH_BYTES = 96 << 20
QUERY = b'{"id":1,"method":"query","params":{"text":"abuseword"}}\n'


class Victim:
    """A daemon with its figures before the abuse, and a good client on a connection of its own."""

    def __init__(self, daemon) -> None:
        self.daemon, self.path, self.pid = daemon, daemon.socket, daemon.process.pid
        self.raw = self.connect()
        for _ in range(8):
            self.asks()
        self.before = self.memory_bytes(), self.descriptors(), self.threads()

    def connect(self):
        raw = socket.socket(socket.AF_UNIX)
        # Before there is a timeout: with one, Linux does not wait for room among those not yet accepted.
        raw.connect(self.path)
        raw.settimeout(PATIENCE_SECONDS)
        return raw

    def asks(self, raw=None):
        """Ask as a good client does, and see the right answer; again where the machine was too slow for a proof."""
        raw = raw or self.raw

        def answer():
            raw.sendall(QUERY)
            result = json.loads(read_line(raw))["result"]
            return None if "proof_budget" in result["rejected_counts"] else result

        assert wait_for(answer)["hits"][0]["source_path"] == "a.md"

    def asks_anew(self):
        """Ask on a connection made now."""
        with contextlib.closing(self.connect()) as raw:
            self.asks(raw)

    def memory_bytes(self):
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) << 10

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def threads(self):
        return len(os.listdir(f"/proc/{self.pid}/task"))

    def is_bounded(self):
        """Hold memory, descriptors and threads to their bounds, now."""
        memory, descriptors, threads = self.before
        assert self.memory_bytes() - memory < GROWTH_BYTES
        # What was just closed may take its turn to be gone.
        wait_for(lambda: self.descriptors() <= descriptors + 70)
        wait_for(lambda: self.threads() <= threads + 16)

    def is_as_before(self):
        """Wait until no connection is left but the good client's, and nothing of the others stays."""
        self.asks()
        wait_for(lambda: self.daemon.call("status")["connections"] <= 2)
        wait_for(lambda: self.descriptors() <= self.before[1] + 2)
        self.is_bounded()


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    """One daemon for all of this: what one abuse leaves behind would show in the next."""
    place = tmp_path_factory.mktemp("abused")
    (place / "notes").mkdir()
    (place / "notes" / "a.md").write_text("# A\n\nabuseword and more\n")
    started = DaemonProcess([place / "notes"], place)
    yield started.ready()
    assert started.end() == 0
    started.close()


@pytest.fixture
def victim(daemon):
    """The daemon as it is before one abuse; it must be so again afterwards."""
    found = Victim(daemon)
    yield found
    found.is_as_before()
    found.raw.close()


@pytest.fixture
def crowd(victim):
    """Open any number of connections; close them all."""
    opened = []
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, IDLE + 200)), hard))

    def open_many(count):
        opened.extend(victim.connect() for _ in range(count))
        return opened[-count:]

    yield open_many
    for raw in opened:
        raw.close()
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def read_line(raw):
    data = b""
    while not data.endswith(b"\n"):
        piece = raw.recv(1 << 16)
        assert piece, f"closed after {data[:200]!r}"
        data += piece
    return data


def read_to_the_end(raw):
    data = b""
    with contextlib.suppress(ConnectionResetError):
        while piece := raw.recv(1 << 16):
            data += piece
    return data


def test_idle_connections_neither_take_the_owners_place_nor_the_daemons_memory(victim, crowd):
    """With a thousand idle connections a good client's goes on, and a new one is let in."""
    for _ in range(10):
        crowd(IDLE // 10)
        victim.asks()
        victim.asks_anew()
    victim.is_bounded()


def test_a_storm_of_connections_is_taken_in_and_forgotten(victim):
    """Connections that are made and dropped at once, some in the middle of a message, leave nothing."""
    for number in range(STORM):
        raw = victim.connect()
        if number % 3 == 1:
            raw.send(b'{"id":1,"meth')
        elif number % 3 == 2:
            raw.send(b"\x94\x00\x01\xa5qu")
        raw.close()
        if number % 200 == 0:
            victim.asks()
    victim.asks_anew()


@pytest.mark.parametrize("start", [QUERY, b"\x94\x00\x01\xa6status\x90", b'{"id":1', b"\x94\x00", b""])
def test_half_closed_connections_are_answered_and_closed(victim, start):
    """A peer that is done writing gets what it asked for, an error for half a line, and the end."""
    for _ in range(TIMES):
        with contextlib.closing(victim.connect()) as raw:
            raw.sendall(start)
            raw.shutdown(socket.SHUT_WR)
            said = read_to_the_end(raw)
            assert bool(said) == (len(start) > 2)


def test_clients_that_drip_bytes_hold_up_nobody(victim, crowd):
    """As many slow clients as there is room for send a byte now and then; a good one is served between them."""
    slow = crowd(63)
    for at in range(TIMES):
        for raw in slow:
            # Whoever takes longer for it than a message may take has been cut off.
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                raw.send(QUERY[at : at + 1])
        victim.asks()
    victim.asks_anew()
    victim.is_bounded()


def test_clients_that_never_read_hold_up_nobody(victim, crowd):
    """Thirty clients ask without end and read nothing; what waits for them is bounded, and a good one is served."""
    for raw in crowd(30):
        raw.setblocking(False)
        with contextlib.suppress(BlockingIOError, BrokenPipeError, ConnectionResetError):
            for _ in range(10_000):
                raw.send(b'{"id":1,"method":"status"}\n')
    for _ in range(TIMES):
        victim.asks()
    victim.is_bounded()


def test_ten_thousand_pipelined_queries_are_answered_in_order_beside_a_good_client(victim):
    """Requests sent without waiting are answered one after another, each once."""
    count = 10_000

    def write(raw):
        for number in range(count):
            raw.sendall(b'{"id":%d,"method":"status"}\n' % number)
        raw.shutdown(socket.SHUT_WR)

    with contextlib.closing(victim.connect()) as raw, raw.makefile("rb") as replies:
        writer = threading.Thread(target=write, args=(raw,))
        writer.start()
        for number, line in enumerate(replies):
            assert line.endswith(b'"id":%d}\n' % number) or b'"id":%d,' % number in line
            if number % 2_000 == 0:
                victim.asks()
        writer.join(PATIENCE_SECONDS)
        assert number == count - 1
    victim.is_bounded()


LENGTHS = (0, 1, (1 << 20) - 16, 1 << 20, (1 << 20) + 1, 1 << 31, (1 << 32) - 1)
ANNOUNCED = {"text": b"\xdb", "bytes": b"\xc6", "array": b"\xdd", "map": b"\xdf", "extension": b"\xc9"}


@pytest.mark.parametrize("kind", ANNOUNCED)
def test_an_announced_length_costs_nothing_until_it_comes(victim, crowd, kind):
    """Lengths from none to 2^32 - 1 are announced, and nothing is sent: refused at once, or waited for in vain."""
    for length in LENGTHS:
        for raw in crowd(4):
            raw.sendall(b"\x94\x00\x01" + ANNOUNCED[kind] + struct.pack(">I", length))
            if length > 1 << 20:
                raw.shutdown(socket.SHUT_WR)
                assert msgpack.unpackb(read_to_the_end(raw))[2][1]
        victim.asks()
    victim.is_bounded()


@pytest.mark.parametrize("length", [*LENGTHS, (1 << 64) - 1, -1])
def test_an_announced_length_of_a_body_costs_nothing_until_it_comes(victim, length):
    """A body that HTTP announces is refused by its length, or waited for; what its length does not tell is an error."""
    head = f"POST /rpc HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n"
    for _ in range(4):
        with contextlib.closing(victim.connect()) as raw:
            raw.sendall(head.encode())
            raw.shutdown(socket.SHUT_WR)
            said = read_to_the_end(raw)
            assert said.startswith(b"HTTP/1.1 4") or (1 <= length <= 1 << 20 and not said)
    victim.asks()
    victim.is_bounded()


BOMBS = {
    "nested JSON": b'{"id":1,"method":"query","params":{"text":' + b"[" * 100_000 + b"\n",
    "nested MessagePack": b"\x94\x00\x01\xa5query\x91" + b"\x91" * 100_000,
    "a long number": b'{"id":1,"method":"query","params":{"k":' + b"9" * 5_000 + b"}}\n",
    "not a number": b'{"id":1,"method":"query","params":{"k":NaN}}\n',
    "a key twice": b'{"id":1,"method":"query","params":{"text":"a","text":"b"}}\n',
    "half a pair": b'{"id":1,"method":"query","params":{"text":"\\ud800"}}\n',
    "a million keys": b'{"id":1,"method":"query","params":{"where":{'
    + b",".join(b'"%d":1' % number for number in range(90_000))
    + b"}}}\n",
    "a header of blanks": b"GET /healthz HTTP/1.1\r\nHost: x\r\na:" + b" " * 16_000 + b"\r.\r\n\r\n",
    "a head without end": b"GET /healthz HTTP/1.1\r\n" + b"a: b\r\n" * 100_000,
    "a long address": b"GET /query?q=" + b"%41" * 100_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
    "an endless line": b'{"id":1,"method":"' + b"x" * (2 << 20),
    "a long method": b'{"id":1,"method":"' + b"x" * 1_000_000 + b'"}\n',
    "a long field": b'{"id":1,"method":"status","params":{"' + b"x" * 1_000_000 + b'":1}}\n',
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_message_made_to_be_dear_is_refused_cheaply(victim, name):
    """Each is answered by one error, whose text is short, and costs the daemon little time."""

    def costs_little():
        cpu = ticks(victim.pid)
        for _ in range(5):
            drop(victim, BOMBS[name])
            victim.asks()
        return ticks(victim.pid) - cpu < 5 * 0.5

    # What a busy machine makes dear now and then is dear each time only by the program's fault.
    assert any(costs_little() for _ in range(TRIES))
    victim.is_bounded()


def drop(victim, bomb):
    """Send a message and see one short error."""
    with contextlib.closing(victim.connect()) as raw, contextlib.suppress(BrokenPipeError, ConnectionResetError):
        raw.sendall(bomb)
        raw.shutdown(socket.SHUT_WR)
        said = read_to_the_end(raw)
        assert b"error" in said or b"_" in said
        assert len(said) < 2_000


def ticks(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.slow
def test_a_good_client_is_served_through_a_mixture_of_all(victim, crowd):
    """While garbage, storms, drips and dear queries go on, each question of a good client gets its right answer."""
    ends = threading.Event()
    dear = json.dumps({"id": 1, "method": "query", "params": {"text": " ".join(f"w{n}" for n in range(800))}}).encode()

    def abuse(send):
        while not ends.is_set():
            with contextlib.closing(victim.connect()) as raw, contextlib.suppress(OSError):
                raw.sendall(send)
                raw.recv(1 << 16)

    threads = [threading.Thread(target=abuse, args=(send,)) for send in (dear + b"\n", b"\x00garbage", b"{}\n")]
    for thread in threads:
        thread.start()
    crowd(200)
    until = time.monotonic() + (60 if LARGE else 3)
    try:
        while time.monotonic() < until:
            victim.asks()
            victim.asks_anew()
            victim.is_bounded()
    finally:
        ends.set()
        for thread in threads:
            thread.join(PATIENCE_SECONDS)
