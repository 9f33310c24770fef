"""The socket answers good clients whatever bad ones do."""

import contextlib
import functools
import json
import os
import shutil
import socket
import stat
import struct
import tempfile
import threading
from pathlib import Path

import msgpack
import pytest

from indexerd.client import Client, call
from indexerd.errors import BusyError, IndexerdError, NotFoundError, UnreachableError
from indexerd.server import Limits, Server, listen
from indexerd.service.callers import Admission, Caller
from tests.fakes.another_user import as_user, line_from
from tests.fakes.answering import Answering
from tests.fakes.daemon_process import PATIENCE_SECONDS, wait_for
from tests.fakes.delivery import deliveries

LINE = b'{"jsonrpc":"2.0","id":1,"method":"echo","params":{"a":"\xc3\xa9"}}\n'
PACKED = msgpack.packb([0, 1, "echo", [{"a": "é"}]])


@pytest.fixture
def serve(tmp_path):
    """Start servers; stop them all."""
    running = []

    def start(service=None, **limits):
        path = str(tmp_path / f"run{len(running)}" / "s.sock")
        server = Server(listen(path), service or Answering(), Limits(**limits))
        server.start()
        running.append(server)
        return path, server

    yield start
    for server in running:
        server.stop()


@pytest.fixture
def connect():
    """Open raw connections; close them all."""
    opened = []

    def open_raw(path):
        raw = socket.socket(socket.AF_UNIX)
        raw.settimeout(PATIENCE_SECONDS)
        raw.connect(path)
        opened.append(raw)
        return raw

    yield open_raw
    for raw in opened:
        raw.close()


def read_line(raw):
    data = b""
    while not data.endswith(b"\n"):
        piece = raw.recv(65536)
        if not piece:
            break
        data += piece
    return data


def read_all(raw):
    data = b""
    while piece := raw.recv(65536):
        data += piece
    return data


@pytest.mark.parametrize("sample", [LINE, PACKED], ids=["line", "msgpack"])
def test_a_request_is_answered_however_it_arrives(serve, connect, sample):
    """Whole, byte by byte, with a second request behind it: each is answered once, in order."""
    path, _ = serve()
    replies = set()
    for pieces in deliveries(sample * 2):
        raw = connect(path)
        for piece in pieces:
            raw.sendall(piece)
        raw.shutdown(socket.SHUT_WR)
        replies.add(read_all(raw))
    (reply,) = replies
    half = reply[: len(reply) // 2]
    assert reply == half * 2
    value = json.loads(half)["result"] if sample is LINE else msgpack.unpackb(half)[3]
    assert value["echo"] == {"a": "é"}


def test_errors_keep_their_code_and_hide_the_inside(serve):
    """A refusal arrives as its class; a bug arrives as an internal error without its text."""
    path, _ = serve()
    with Client(path) as client:
        with pytest.raises(NotFoundError, match="nothing here"):
            client.call("missing")
        for method in ("broken", "slow"):
            with pytest.raises(IndexerdError) as caught:
                client.call(method)
            assert "secret" not in str(caught.value)
        assert client.call("echo", {"b": 1})["echo"] == {"protocol": 1, "b": 1}


def test_status_like_calls_are_answered_while_others_wait(serve):
    """A call that waits holds up nobody on another connection."""
    service = Answering()
    path, _ = serve(service)
    waiting = threading.Thread(target=call, args=(path, "wait"))
    waiting.start()
    assert service.entered.acquire(timeout=PATIENCE_SECONDS)
    assert call(path, "echo", timeout_seconds=60)["echo"] == {"protocol": 1}
    service.gate.set()
    waiting.join(PATIENCE_SECONDS)
    assert not waiting.is_alive()


def test_long_calls_never_stand_in_the_way_of_queries(serve, connect):
    """More long calls than there are threads for them, and a query is answered all the same."""
    service = Answering()
    path, _ = serve(service, calls=2, long_calls=1)
    waiting = [connect(path) for _ in range(5)]
    for raw in waiting:
        raw.sendall(b'{"id":1,"method":"long"}\n')
    assert service.entered.acquire(timeout=PATIENCE_SECONDS)
    assert call(path, "big", {"size": 3}, timeout_seconds=60)["text"] == "xxx"
    service.gate.set()
    for raw in waiting:
        assert b'"result"' in read_line(raw)


ABUSES = {
    "garbage": b"\x00\xff\x00garbage\n" * 100,
    "http": b"GET nothing HTTP/1.1\r\nHost: x\r\n\r\n",
    "1 GB header": b"\x94\x00\x01\xc6" + struct.pack(">I", 1 << 30),
    "2 GB text": b"\x94\x00\x01\xdb" + struct.pack(">I", (1 << 31) - 1),
    "array of 2^32": b"\xdd\xff\xff\xff\xff",
    "endless line": b'{"a":"' + b"x" * (2 << 20),
    "deep": b'{"a":' + b"[" * 200_000 + b"\n",
    "deep msgpack": b"\x91" * 200_000,
}


@pytest.mark.parametrize("abuse", ABUSES)
def test_abuse_is_answered_once_and_the_connection_ends(serve, connect, abuse):
    """Bytes that cannot be understood get one error and the end; others are served."""
    path, _ = serve()
    raw = connect(path)
    with contextlib.suppress(BrokenPipeError):
        raw.sendall(ABUSES[abuse])
    try:
        said = read_all(raw)
    except ConnectionResetError:
        said = b""
    if said.startswith(b"{"):
        assert json.loads(said)["error"]["data"]["code"] in {"parse_error", "too_large", "invalid_request"}
    elif said.startswith(b"HTTP/1.1 400 "):
        assert json.loads(said.partition(b"\r\n\r\n")[2])["error"]["data"]["code"] == "invalid_request"
    elif said:
        assert msgpack.unpackb(said)[2][1]
    assert call(path, "echo")["echo"] == {"protocol": 1}


def test_half_a_message_is_cut_off_after_its_deadline_even_if_it_drips(serve, connect):
    """A message that has begun has so long to be finished, however many bytes come."""
    path, _ = serve(message_seconds=0.3)
    silent, dripping, idle = connect(path), connect(path), connect(path)
    silent.sendall(LINE[:10])
    said, dripped = b"", 0
    dripping.settimeout(0.02)
    # All of it would take two minutes.
    while not said and dripped < 6_000:
        # What was said before the end can be read behind it.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            dripping.sendall(LINE[:-1][dripped % 50 :][:1])
        with contextlib.suppress(TimeoutError):
            said = dripping.recv(4096)
        dripped += 1
    assert json.loads(said)["error"]["data"]["code"] == "timeout"
    assert json.loads(read_all(silent))["error"]["data"]["code"] == "timeout"
    idle.sendall(LINE)
    assert b'"result"' in read_line(idle)


def test_a_client_that_never_reads_is_cut_off_and_holds_little(serve, connect):
    """Replies nobody takes stop the reading of further requests, and then the connection."""
    path, server = serve(reply_seconds=0.5)
    raw = connect(path)
    request = b'{"id":1,"method":"big","params":{"size":1000000}}\n'
    raw.settimeout(0.2)
    sent = 0
    try:
        for _ in range(20_000):
            raw.sendall(request)
            sent += len(request)
    except (TimeoutError, BrokenPipeError, ConnectionResetError):
        pass
    assert sent < 5_000_000
    assert call(path, "echo", timeout_seconds=60)["echo"] == {"protocol": 1}
    wait_for(lambda: server.statistics()["connections"] == 0)


def test_what_is_sent_ahead_of_quick_answers_waits_with_the_peer(serve, connect):
    """Requests that are answered at once, without end and never read: what the daemon takes in is bounded too."""
    path, _ = serve(reply_seconds=100)
    raw = connect(path)
    raw.settimeout(0.5)
    sent = 0
    with contextlib.suppress(TimeoutError):
        while sent < 50_000_000:
            sent += raw.send(LINE * 1_000)
    assert sent < 5_000_000
    assert call(path, "echo", timeout_seconds=60)["echo"] == {"protocol": 1}


def test_a_slow_reader_that_reads_gets_everything(serve, connect):
    """Who takes a little in every span of the deadline is not cut off."""
    path, server = serve(reply_seconds=1.0)
    now = server._loop.time()
    # Time passes by hand: a machine that stands still cuts nobody off here.
    server._loop.time = lambda: now
    raw = connect(path)
    raw.sendall(b'{"id":1,"method":"big","params":{"size":6000000}}\n')
    data = raw.recv(1)
    (talk,) = server._talks
    left, spans = talk._transport.get_write_buffer_size, 0
    known = wait_for(left)
    while not data.endswith(b"\n"):
        piece = raw.recv(300_000)
        assert piece
        data += piece
        # A quarter of the deadline has passed whenever the daemon got rid of something.
        if left() < known:
            known, spans, now = left(), spans + 1, now + 0.25
    del server._loop.time
    assert spans > 10
    assert len(json.loads(data)["result"]["text"]) == 6_000_000


def test_ten_thousand_pipelined_requests_are_answered_and_others_are_served_between(serve, connect):
    """Pipelining is paid by who does it."""
    path, _ = serve()
    raw = connect(path)

    def write():
        raw.sendall(LINE * 10_000)
        raw.shutdown(socket.SHUT_WR)

    writer = threading.Thread(target=write)
    writer.start()
    answered, between = 0, 0
    while piece := raw.recv(65536):
        answered += piece.count(b"\n")
        # Most of them are still to be answered, as fast as they are read here.
        if answered < 8_000:
            call(path, "echo", timeout_seconds=60)
            between += 1
    writer.join(PATIENCE_SECONDS)
    assert answered == 10_000
    assert between > 3


class _AsGuest(Admission):
    """To whom everybody is somebody else than the owner, root too."""

    def admit(self, peer):
        return Caller(uid=peer.uid, gid=peer.gid, groups=peer.groups, is_owner=False, roles=frozenset())


class _AsGuestFirst(Admission):
    """To whom the first so many are guests of another user, and the rest the owner."""

    def __new__(cls, guests):
        made = super().__new__(cls, owner_uid=os.getuid())
        made.left = [None] * guests
        return made

    def admit(self, peer):
        if not self.left:
            return super().admit(peer)
        self.left.pop()
        return Caller(uid=54321, gid=1, groups=frozenset(), is_owner=False, roles=frozenset())


def test_connections_of_one_user_are_bounded_and_come_back(serve, connect):
    """One more than the cap is told that the daemon is busy; after one leaves there is room again."""
    path, server = serve(Answering(_AsGuest(owner_uid=12345)), per_user=4, total=20)
    held = [connect(path) for _ in range(4)]
    wait_for(lambda: server.statistics()["connections"] == 4)
    with pytest.raises(BusyError):
        call(path, "echo")
    held[0].close()
    wait_for(lambda: server.statistics()["connections"] == 3)
    assert call(path, "echo")["echo"] == {"protocol": 1}


def test_the_owner_always_gets_in(serve, connect):
    """At the owner's cap the connection that never asked makes room, before those that did, before a subscriber."""
    path, server = serve(per_user=4, total=10)
    subscriber, asking, mute, half = [connect(path) for _ in range(4)]
    subscriber.sendall(b'{"id":1,"method":"subscribe"}\n')
    asking.sendall(LINE)
    half.sendall(LINE[:5])
    assert b"subscribed" in read_line(subscriber)
    assert b"result" in read_line(asking)
    wait_for(lambda: server.statistics()["connections"] == 4)
    newer = []
    for closed in (mute, half):
        newer.append(connect(path))
        newer[-1].sendall(LINE)
        assert b"result" in read_line(newer[-1])
        assert json.loads(read_all(closed))["error"]["data"]["code"] == "busy"
    for raw in (subscriber, asking, *newer):
        raw.sendall(LINE)
        assert b"result" in read_line(raw)
    # Now `subscriber` is the longest silent of those that asked, and stays all the same.
    connect(path).sendall(LINE)
    assert b"busy" in read_all(asking)
    wait_for(lambda: server.statistics()["connections"] == 4)


def test_a_connection_at_work_is_never_closed_for_another(serve, connect):
    """When each connection of the owner waits for an answer, one more is told that the daemon is busy."""
    service = Answering()
    path, _ = serve(service, per_user=2, total=10, calls=2)
    working = [connect(path) for _ in range(2)]
    for raw in working:
        raw.sendall(b'{"id":1,"method":"wait"}\n')
        assert service.entered.acquire(timeout=PATIENCE_SECONDS)
    assert b"busy" in read_all(connect(path))
    service.gate.set()
    assert all(b"result" in read_line(raw) for raw in working)


def test_a_peer_that_does_not_read_gives_its_place_up_at_once(serve, connect):
    """Room is made by cutting off, not by waiting until what was written is taken."""
    path, server = serve(per_user=1, total=10, reply_seconds=1_000)
    first = connect(path)
    first.sendall(b'{"id":1,"method":"big","params":{"size":5000000}}\n')
    first.recv(1)
    assert call(path, "echo")["echo"] == {"protocol": 1}
    with contextlib.suppress(ConnectionResetError):
        assert len(read_all(first)) < 5_000_000
    wait_for(lambda: server.statistics()["connections"] == 0)


def test_calls_of_others_never_stand_before_the_owners(serve, connect):
    """However many calls other users have waiting, the owner's next one is answered."""
    service = Answering(_AsGuestFirst(30))
    path, _ = serve(service, calls=2, other_calls=2)
    others = [connect(path) for _ in range(30)]
    for raw in others:
        raw.sendall(b'{"id":1,"method":"wait"}\n')
    assert service.entered.acquire(timeout=PATIENCE_SECONDS)
    assert call(path, "big", {"size": 3}, timeout_seconds=60)["text"] == "xxx"
    service.gate.set()
    assert all(b"result" in read_line(raw) for raw in others)


def test_a_thousand_connects_leave_room_for_the_owner_afterwards(serve):
    """A storm of connections is counted off again."""
    path, server = serve()
    for _ in range(1000):
        raw = socket.socket(socket.AF_UNIX)
        raw.connect(path)
        raw.close()
    wait_for(lambda: server.statistics()["connections"] == 0)
    assert call(path, "echo")["echo"] == {"protocol": 1}


def test_who_is_not_admitted_is_told_and_closed(serve, connect):
    """A peer without a place in the configuration gets one refusal."""
    path, _ = serve(Answering(_nobody()))
    raw = connect(path)
    assert json.loads(read_all(raw))["error"]["data"]["code"] == "forbidden"


def _nobody():
    class Nobody(Admission):
        def admit(self, peer):
            return None

    return Nobody(owner_uid=12345)


@pytest.mark.root
@pytest.mark.skipif(os.getuid() != 0, reason="becomes another user")
def test_another_user_is_refused_or_gets_its_mapped_roles():
    """The kernel says who connects; roles come from the map of users and groups."""
    # Outside of the test's own folder, whose parents nobody else may enter.
    folder = Path(tempfile.mkdtemp(prefix="indexerd-test-"))
    try:
        for number, (users, expected) in enumerate((({}, b"forbidden"), ({65534: ("guest",)}, b'"roles":["guest"]'))):
            listener = listen(str(folder / f"{number}.sock"))
            server = Server(listener, Answering(Admission(owner_uid=0, users=users)))
            server.start()
            folder.chmod(0o755)
            Path(listener.path).chmod(0o666)
            assert expected in as_user(65534, functools.partial(line_from, listener.path, LINE))
            server.stop()
    finally:
        shutil.rmtree(folder)


def test_subscribers_hear_of_changes_and_only_they(serve, connect):
    """A notification reaches who subscribed, in its own framing."""
    path, server = serve()
    lines, packed, other = connect(path), connect(path), connect(path)
    lines.sendall(b'{"id":1,"method":"subscribe"}\n')
    packed.sendall(msgpack.packb([0, 1, "subscribe", []]))
    assert b"index/changed" in read_line(lines)
    assert b"index/changed" in packed.recv(4096)
    server.tell("index/changed", lambda caller: {"generation": 5} if caller.is_owner else None)
    assert json.loads(read_line(lines))["params"] == {"generation": 5}
    assert msgpack.unpackb(packed.recv(4096)) == [2, "index/changed", [{"generation": 5}]]
    other.sendall(LINE)
    assert b'"echo"' in read_line(other)


def test_stop_finishes_what_is_at_work_and_tells_the_others(serve, connect):
    """A call under way is answered; an idle connection is told that the daemon stops; the file is gone."""
    service = Answering()
    path, server = serve(service)
    idle, busy = connect(path), connect(path)
    busy.sendall(b'{"id":1,"method":"wait"}\n')
    assert service.entered.acquire(timeout=PATIENCE_SECONDS)
    stopping = threading.Thread(target=server.stop)
    stopping.start()
    service.gate.set()
    assert b'"result"' in read_line(busy)
    assert b"shutting_down" in read_all(idle)
    stopping.join(PATIENCE_SECONDS)
    assert not stopping.is_alive()
    assert not Path(path).exists()
    with pytest.raises(UnreachableError):
        call(path, "echo")


def test_the_socket_has_its_mode_before_it_listens(serve):
    """A loose umask does not show."""
    before = os.umask(0)
    try:
        path, _ = serve()
    finally:
        os.umask(before)
    assert stat.S_IMODE(Path(path).stat().st_mode) == 0o600
    assert stat.S_IMODE(Path(path).parent.stat().st_mode) == 0o700
