"""The socket file is made safely, taken over from the dead, and never from the living."""

import os
import signal
import socket
import stat
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from indexerd.errors import BusyError, ConfigError
from indexerd.server import listen, take_over


def mode_of(path):
    return stat.S_IMODE(Path(path).stat().st_mode)


@pytest.fixture
def place(tmp_path):
    return tmp_path / "run" / "s.sock"


def test_the_socket_is_private_whatever_the_mask_and_its_directory_too(place):
    """Mode 0600 in a directory of mode 0700 under any umask."""
    before = os.umask(0)
    try:
        listener = listen(str(place))
    finally:
        assert os.umask(before) == 0
    assert (mode_of(place), mode_of(place.parent)) == (0o600, 0o700)
    listener.close()
    assert not place.exists()


def test_our_own_directory_is_made_private_again(place):
    """A directory of ours that somebody opened is closed before the socket is there."""
    place.parent.mkdir(mode=0o777)
    place.parent.chmod(0o777)
    listen(str(place)).close()
    assert mode_of(place.parent) == 0o700


def test_a_group_may_be_let_in(place):
    """Mode and group are those of the configuration, and the directory can be passed by the group."""
    listener = listen(str(place), mode=0o660, group=os.getegid())
    assert (mode_of(place), mode_of(place.parent)) == (0o660, 0o750)
    assert place.stat().st_gid == os.getegid()
    listener.close()


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o1777, 0o720])
def test_a_given_directory_that_others_can_write_is_refused(place, mode):
    """Whoever can write the directory could put another socket in place of ours."""
    place.parent.mkdir()
    place.parent.chmod(mode)
    with pytest.raises(ConfigError, match="written by others"):
        listen(str(place), own_directory=False)
    assert not place.exists()


def test_a_given_directory_must_exist(place):
    """Only our own directory is made."""
    with pytest.raises(ConfigError, match="No such file"):
        listen(str(place), own_directory=False)


def test_a_link_in_place_of_our_directory_is_refused(place):
    """Our own directory is never another one that a link leads to."""
    (place.parent.parent / "elsewhere").mkdir()
    place.parent.symlink_to("elsewhere")
    with pytest.raises(ConfigError):
        listen(str(place))


@pytest.mark.root
@pytest.mark.skipif(os.getuid() != 0, reason="makes a directory of another user")
def test_a_directory_of_another_user_is_refused(place):
    """The fallback directory in /tmp may have been made by somebody else first."""
    place.parent.mkdir()
    os.chown(place.parent, 65534, 65534)
    with pytest.raises(ConfigError, match="belongs to user 65534"):
        listen(str(place))


def test_what_is_no_socket_is_never_removed(place):
    """A file at the path is somebody's file."""
    place.parent.mkdir()
    place.write_text("precious")
    with pytest.raises(ConfigError, match="is no socket"):
        listen(str(place))
    assert place.read_text() == "precious"


def test_a_living_daemon_is_not_replaced_and_keeps_its_file(place):
    """The second starter is told, and the first one still answers."""
    first = listen(str(place))
    with pytest.raises(BusyError, match="already running"):
        listen(str(place))
    with socket.socket(socket.AF_UNIX) as probe:
        probe.connect(str(place))
    first.close()


def test_the_socket_of_a_killed_process_is_taken_over(place):
    """What kill -9 leaves behind does not stop the next start."""
    program = (
        "import sys, time; from indexerd.server import listen\n"
        "kept = listen(sys.argv[1]); print('up', flush=True); time.sleep(600)"
    )
    root = Path(__file__).parents[2]
    child = subprocess.Popen(
        [sys.executable, "-c", program, str(place)], stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(root)}
    )
    assert child.stdout.readline() == b"up\n"
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()
    assert place.is_socket()
    listen(str(place)).close()
    assert not place.exists()


def test_closing_leaves_a_file_that_is_not_ours(place):
    """A socket that somebody put in place of ours is not removed with it."""
    first = listen(str(place))
    place.unlink()
    second = listen(str(place))
    first.close()
    assert place.is_socket()
    second.close()


def test_a_path_too_long_for_the_kernel_is_told_before_anything_is_made(tmp_path):
    """The limit of 107 bytes is named."""
    with pytest.raises(ConfigError, match="107 bytes"):
        listen(str(tmp_path / ("x" * 120) / "s.sock"))
    assert not list(tmp_path.iterdir())


def test_a_socket_of_the_service_manager_is_used_and_its_file_left(place):
    """LISTEN_FDS hands over a listening socket; its file is the manager's."""
    place.parent.mkdir()
    given = socket.socket(socket.AF_UNIX)
    given.bind(str(place))
    given.listen()
    listener = take_over(os.dup(given.fileno()))
    assert listener.path == str(place)
    listener.close()
    assert place.is_socket()
    given.close()


def test_a_descriptor_that_is_no_unix_socket_is_refused():
    """A wrong hand-over is a wrong configuration."""
    reading, writing = os.pipe()
    with pytest.raises(ConfigError):
        take_over(reading)
    os.close(reading)
    os.close(writing)
    with socket.socket(socket.AF_INET) as tcp, pytest.raises(ConfigError):
        take_over(os.dup(tcp.fileno()))


def test_a_full_backlog_is_a_sign_of_life(place):
    """A daemon too busy to accept is not taken for dead."""
    place.parent.mkdir()
    busy = socket.socket(socket.AF_UNIX)
    busy.bind(str(place))
    busy.listen(0)
    waiting = []
    for _ in range(3):
        one = socket.socket(socket.AF_UNIX)
        one.setblocking(False)
        with suppress(BlockingIOError):
            one.connect(str(place))
        waiting.append(one)
    with pytest.raises(BusyError):
        listen(str(place))
    for one in [*waiting, busy]:
        one.close()
