"""Every implementation of the sources port keeps the same promises."""

import os

import pytest

from indexerd.model import Root, SourcePath
from indexerd.ports import SourceFault, SourceRead
from indexerd.sources import SourceTree, _open_by_walking
from tests.fakes.memory_sources import MemorySources


class OnDisk:
    """The real tree, with the fake's way of writing."""

    def __init__(self, folder, prefixed=False):
        self._folder = folder
        self._tree = SourceTree([Root(label="docs", path=str(folder), prefixed=prefixed)])
        self.read, self.absolute = self._tree.read, self._tree.absolute

    def write(self, name, data):
        path = self._folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.with_suffix(".new").write_bytes(data)
        path.with_suffix(".new").replace(path)

    def remove(self, name):
        (self._folder / name).unlink()


@pytest.fixture(params=["memory", "disk", "disk_without_openat2"])
def sources(request, tmp_path, monkeypatch):
    if request.param == "memory":
        return MemorySources()
    if request.param == "disk_without_openat2":
        monkeypatch.setattr("indexerd.sources.open_beneath", _open_by_walking)
    return OnDisk(tmp_path)


def test_a_file_is_read_whole(sources):
    """What was written is what is read, with its size in the stat."""
    sources.write("a/b.md", b"text\r\n")
    found = sources.read(SourcePath("a/b.md"))
    assert isinstance(found, SourceRead)
    assert (found.data, found.stat.size) == (b"text\r\n", 6)


def test_an_empty_file_is_a_file(sources):
    """No bytes are an answer, not a fault."""
    sources.write("a.md", b"")
    assert sources.read(SourcePath("a.md")).data == b""


def test_every_save_shows_in_the_stat(sources):
    """Two versions of equal length differ in their stat."""
    sources.write("a.md", b"one")
    first = sources.read(SourcePath("a.md"))
    sources.write("a.md", b"two")
    second = sources.read(SourcePath("a.md"))
    assert (second.data, second.stat == first.stat) == (b"two", False)


def test_what_is_gone_is_missing(sources):
    """A removed file, and one that never was, are missing."""
    sources.write("a.md", b"x")
    sources.remove("a.md")
    assert sources.read(SourcePath("a.md")).code == "source_missing"
    assert sources.read(SourcePath("no/such.md")).code == "source_missing"


@pytest.mark.parametrize("name", ["../a.md", "/etc/passwd", "a/../../b", "", "."])
def test_nothing_outside_has_a_name(sources, name):
    """A path that is no file's name below a root is refused, not looked for."""
    fault = sources.read(SourcePath(name))
    assert isinstance(fault, SourceFault)
    assert fault.code == "source_escapes_root"
    assert sources.absolute(SourcePath(name)) is None


def test_the_absolute_path_keeps_the_bytes_of_the_name(sources):
    """An escape in a source path stands for a byte of the name on disk."""
    assert os.path.basename(sources.absolute(SourcePath("d/%FF.md"))) == b"\xff.md"
