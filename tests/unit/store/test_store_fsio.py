"""What only a real state directory can show: links, other kinds of file, modes."""

import os
import stat

import pytest

from indexerd.store.fsio import RealStoreFilesystem


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
        fs.map("a")


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
