"""The StoreFilesystem port: one suite for the real state directory and for the fake."""

import pytest

from indexerd.store.fsio import RealStoreFilesystem
from tests.fakes.forgetful_filesystem import Disk, ForgetfulFilesystem


@pytest.fixture(params=["real", "fake"])
def hold(request, tmp_path):
    """Return a function that opens the same directory again, as another process would."""
    if request.param == "real":
        opened = []

        def again():
            opened.append(RealStoreFilesystem.open_directory(tmp_path / "state", create=True))
            return opened[-1]

        yield again
        for fs in opened:
            fs.close()
    else:
        disk = Disk()
        yield lambda: ForgetfulFilesystem(disk)


@pytest.fixture
def fs(hold):
    return hold()


def test_what_was_written_is_read_back(fs):
    """The parts are one after the other in the file, empty ones included."""
    fs.write_new("a", [b"one ", memoryview(b"two"), b"", memoryview(b"")])
    assert fs.read("a") == b"one two"
    assert fs.open("a").read_at(0, 7) == b"one two"


def test_large_parts_are_written_whole(fs):
    """A file of several megabytes in several parts is written to its last byte."""
    parts = [bytes([n]) * 1_000_003 for n in range(3)]
    fs.write_new("a", parts)
    assert fs.read("a") == b"".join(parts)


def test_an_empty_file_can_be_read(fs):
    """A file without bytes is no error."""
    fs.write_new("a", [])
    assert fs.read("a") == b"" == fs.open("a").read_at(0, 1)


def test_names_are_sorted(fs):
    """Names come in the same order whatever order the files came in."""
    for name in ("c", "a", "b"):
        fs.write_new(name, [b"x"])
    assert list(fs.names()) == ["a", "b", "c"]


def test_a_file_is_never_written_twice(fs):
    """A name that exists is refused, and its bytes stay."""
    fs.write_new("a", [b"first"])
    with pytest.raises(FileExistsError):
        fs.write_new("a", [b"second"])
    assert fs.read("a") == b"first"


@pytest.mark.parametrize("operation", ["read", "open", "remove", "flush_file"])
def test_a_missing_file_is_said_to_be_missing(fs, operation):
    """Every operation on a file that is not there says so."""
    with pytest.raises(FileNotFoundError):
        getattr(fs, operation)("missing")


def test_replace_moves_a_file_onto_another(fs):
    """The target has the source's bytes and the source's name is gone."""
    fs.write_new("new", [b"new"])
    fs.write_new("slot", [b"old"])
    fs.replace("new", "slot")
    assert fs.read("slot") == b"new"
    assert list(fs.names()) == ["slot"]


def test_replacing_with_a_missing_file_changes_nothing(fs):
    """Without a source there is an error, and the target stays."""
    fs.write_new("slot", [b"old"])
    with pytest.raises(FileNotFoundError):
        fs.replace("new", "slot")
    assert fs.read("slot") == b"old"


def test_an_open_file_outlives_its_name(fs):
    """What a reader holds open stays readable after the file was removed."""
    fs.write_new("a", [b"pinned" * 1000])
    held = fs.open("a")
    fs.remove("a")
    assert held.read_at(6, 6) == b"pinned"


def test_flushing_succeeds_on_a_whole_disk(fs):
    """Files and the directory can be flushed, again too."""
    fs.write_new("a", [b"x"])
    for _ in range(2):
        fs.flush_file("a")
        fs.flush_directory()


def test_one_holder_has_the_lock(hold):
    """A second holder is refused until the first is closed."""
    first, second = hold(), hold()
    assert first.lock()
    assert first.lock()
    assert not second.lock()
    first.close()
    assert second.lock()


def test_entropy_has_the_length_asked_for(fs):
    """Random bytes come in the number asked for and differ."""
    assert len(fs.entropy(12)) == 12
    assert fs.entropy(12) != fs.entropy(12)
