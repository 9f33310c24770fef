"""What only a real state directory can show: links, other kinds of file, modes."""

import errno
import os
import stat

import pytest

from indexerd.store.fsio import RealStoreFilesystem
from tests.fakes.costs import open_descriptors


@pytest.fixture
def state(tmp_path):
    fs = RealStoreFilesystem.open_directory(tmp_path / "deep" / "state", create=True)
    yield fs, tmp_path / "deep" / "state"
    fs.close()


def test_the_directory_and_its_files_are_private(state):
    """A state directory made by us is 0700 and its files are 0600, whatever the umask."""
    fs, path = state
    fs.write_new("a", [b"x"])
    assert stat.S_IMODE(path.stat().st_mode) == 0o700
    assert stat.S_IMODE((path / "a").stat().st_mode) == 0o600


def test_a_link_is_never_followed(state, tmp_path):
    """A link in a file's place is refused for reading and writing, and its target is untouched."""
    fs, path = state
    secret = tmp_path / "secret"
    secret.write_bytes(b"secret")
    (path / "a").symlink_to(secret)
    with pytest.raises(OSError):
        fs.read("a")
    with pytest.raises(FileExistsError):
        fs.write_new("a", [b"mine"])
    assert secret.read_bytes() == b"secret"


@pytest.mark.parametrize("kind", ["fifo", "folder"])
def test_only_regular_files_are_read(state, kind):
    """A FIFO or a folder in a file's place is an error at once; nothing hangs."""
    fs, path = state
    if kind == "fifo":
        os.mkfifo(path / "a")
    else:
        (path / "a").mkdir()
    with pytest.raises(OSError):
        fs.read("a")
    with pytest.raises(OSError):
        fs.open("a")


def test_a_link_in_the_directorys_place_is_refused(tmp_path):
    """A state directory that is a link is not opened."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with pytest.raises(OSError):
        RealStoreFilesystem.open_directory(tmp_path / "link", create=False)


def test_an_error_of_writing_names_the_directory(state):
    """What people are told is the directory, which they know, and the exact cause."""
    fs, path = state
    fs.write_new("a", [b"x"])
    with pytest.raises(FileExistsError) as caught:
        fs.write_new("a", [b"x"])
    assert caught.value.filename == str(path)


def test_closing_twice_is_no_error(state):
    """Closing again does nothing."""
    fs, _ = state
    fs.close()
    fs.close()


def test_short_writes_are_gone_on_with(state, monkeypatch):
    """A disk that takes seven bytes at a time gets all of them."""
    fs, _ = state
    write = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: write(fd, data[:7]))
    fs.write_new("a", [b"one " * 10, memoryview(b"two")])
    assert fs.read("a") == b"one " * 10 + b"two"


def test_a_disk_that_takes_nothing_is_an_error_and_no_endless_loop(state, monkeypatch):
    """A write that writes no byte and says no error is one all the same, and leaves no file."""
    fs, _ = state
    monkeypatch.setattr(os, "write", lambda fd, data: 0)
    with pytest.raises(OSError) as caught:
        fs.write_new("a", [b"one"])
    assert caught.value.errno == errno.EIO
    assert list(fs.names()) == []


@pytest.mark.parametrize("call", ["write", "close"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EINTR])
def test_a_write_that_fails_in_the_middle_leaves_no_file(state, monkeypatch, call, code):
    """Half of a file is removed, its descriptor is closed once, and the cause is told."""
    fs, _ = state
    descriptors = open_descriptors()
    real, done = getattr(os, call), []

    def failing(fd, *data):
        done.append(real(fd, *[piece[:3] for piece in data]))
        if call == "close" or len(done) == 2:
            monkeypatch.setattr(os, call, real)
            raise OSError(code, os.strerror(code))
        return done[-1]

    monkeypatch.setattr(os, call, failing)
    with pytest.raises(OSError) as caught:
        fs.write_new("a", [b"one two three"])
    assert caught.value.errno == code
    assert list(fs.names()) == []
    assert open_descriptors() == descriptors


def test_a_folder_in_a_files_place_is_moved_aside(state):
    """What lies in it is somebody's; what is to have its name has it, or nothing could ever be committed again."""
    fs, path = state
    (path / "latest").mkdir()
    (path / "latest" / "precious").write_text("kept")
    fs.write_new("new", [b"slot"])
    fs.replace("new", "latest")
    (aside,) = path.glob("latest.damaged-*")
    assert (fs.read("latest"), (aside / "precious").read_text()) == (b"slot", "kept")
